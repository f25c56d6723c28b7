//! Source text without its comments and the contents of its strings, so that a word in these is no marker.

/// Which comments and strings a language has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Syntax {
    /// What begins a comment up to the end of the line.
    pub line_comment: &'static str,
    /// True for `/* */`.
    pub has_block_comments: bool,
    /// Quotes of strings that may go over several lines, the longest first.
    pub long_quotes: &'static [&'static str],
    /// Quotes of strings that end with their line.
    pub quotes: &'static str,
    /// True for `r#""#` and lifetimes.
    pub is_rust: bool,
    /// True for `/regular expressions/`.
    pub has_regexes: bool,
}

/// Returns text of the same length in which comments, and what is between quotes, are spaces. Line breaks stay.
pub(super) fn mask(source: &str, syntax: &Syntax) -> String {
    let bytes = source.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let (blank, end) = token(bytes, at, syntax);
        for byte in &mut masked[blank.0..blank.1] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    // Only whole characters were replaced.
    String::from_utf8(masked).unwrap_or_default()
}

/// Returns what of the token at `at` is blanked, and where the next one begins.
fn token(bytes: &[u8], at: usize, syntax: &Syntax) -> ((usize, usize), usize) {
    let rest = &bytes[at..];
    let previous = at.checked_sub(1).map(|before| bytes[before]);
    if rest.starts_with(syntax.line_comment.as_bytes()) {
        let is_word_start = previous.is_none_or(|byte| byte.is_ascii_whitespace());
        let is_comment = syntax.line_comment != "#" || is_word_start && !rest.starts_with(b"#[");
        if is_comment {
            let end = line_end(bytes, at);
            return ((at, end), end);
        }
    }
    if syntax.has_block_comments && rest.starts_with(b"/*") {
        let end = find(bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2);
        return ((at, end), end);
    }
    let is_name = previous.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if syntax.is_rust && rest[0] == b'r' && !is_name {
        let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            let start = at + hashes + 2;
            let closing = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
            let end = find(bytes, start, &closing).unwrap_or(bytes.len());
            return ((start, end), (end + closing.len()).min(bytes.len()));
        }
    }
    if syntax.is_rust && rest[0] == b'\'' {
        // Not a lifetime.
        let length = rest[1..].iter().skip(1).take_while(|byte| **byte & 0xc0 == 0x80).count() + 2;
        let is_char = rest.get(1) == Some(&b'\\') || rest.get(length) == Some(&b'\'');
        let end = if is_char { closing(bytes, at + 1, b"'", false) } else { at };
        let is_char = is_char && end < line_end(bytes, at);
        return if is_char { ((at + 1, end), end + 1) } else { ((at, at), at + 1) };
    }
    if let Some(quote) = syntax.long_quotes.iter().find(|quote| rest.starts_with(quote.as_bytes())) {
        let end = closing(bytes, at + quote.len(), quote.as_bytes(), true);
        return ((at + quote.len(), end), (end + quote.len()).min(bytes.len()));
    }
    let is_regex = syntax.has_regexes && rest[0] == b'/' && begins_regex(&bytes[..at]);
    if syntax.quotes.as_bytes().contains(&rest[0]) || is_regex {
        let end = closing(bytes, at + 1, &rest[..1], false);
        // A quote without its other one is an apostrophe.
        let is_open = bytes.get(end) != Some(&rest[0]);
        return if is_open { ((at, at), at + 1) } else { ((at + 1, end), end + 1) };
    }
    ((at, at), at + 1)
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

/// Returns where the string ends that `start` is in: at its quote, or for one without it at the end of the line.
fn closing(bytes: &[u8], start: usize, quote: &[u8], is_long: bool) -> usize {
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' if !is_long => return at,
            _ if bytes[at..].starts_with(quote) => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

fn find(bytes: &[u8], start: usize, wanted: &[u8]) -> Option<usize> {
    let rest = bytes.get(start..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|found| start + found)
}

/// Returns true if a slash behind this text cannot divide.
fn begins_regex(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    before.last().is_none_or(|byte| b"(,=:[!&|?{};".contains(byte)) || before.ends_with(b"return")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: Syntax = Syntax {
        line_comment: "//",
        has_block_comments: true,
        long_quotes: &["`"],
        quotes: "'\"",
        is_rust: false,
        has_regexes: true,
    };
    const RUST: Syntax =
        Syntax { long_quotes: &["\""], quotes: "", is_rust: true, has_regexes: false, ..SCRIPT };
    const SHARP: Syntax = Syntax {
        line_comment: "#",
        has_block_comments: false,
        long_quotes: &["\"\"\""],
        has_regexes: false,
        ..SCRIPT
    };

    #[test]
    fn comments_and_texts_are_blanked() {
        for (syntax, source, expected) in [
            (SCRIPT, "a // it's\nb", "a        \nb"),
            (SCRIPT, "f('x', \"y\\\"z\") /* ' \n */ g", "f(' ', \"    \")      \n    g"),
            (SCRIPT, "`a\n${b}` c", "` \n    ` c"),
            (SCRIPT, "x(/['`]/, 'a') / b / 'c'", "x(/    /, ' ') / b / ' '"),
            (SCRIPT, "don't\n'é'", "don't\n'  '"),
            (RUST, "f::<'a>('\\'', 'b', \"c\n\")", "f::<'a>('  ', ' ', \" \n\")"),
            (RUST, "r#\"a\"b\"# x bar\"c\"", "r#\"   \"# x bar\" \""),
            (SHARP, "a # 'b\n#[c] x#y \"\"\"d\n\"\"\"", "a     \n#[c] x#y \"\"\" \n\"\"\""),
            (SCRIPT, "'open", "'open"),
            (SCRIPT, "`open", "`    "),
            (SCRIPT, "'a\\", "'a\\"),
            (SCRIPT, "/* open", "       "),
        ] {
            assert_eq!(mask(source, &syntax), expected, "{source}");
        }
    }
}
