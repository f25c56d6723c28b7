//! Text from outside as it may stand in a page: no markup, and nothing that is obeyed instead of shown.

use crate::style::{is_unseen, picture};

/// What a character that would be obeyed is shown as; none for those that are only shown.
fn shown(c: char) -> Option<String> {
    match c {
        '\n' | '\t' => None,
        c if is_unseen(c) => Some(format!("\u{27e8}U+{:04X}\u{27e9}", u32::from(c))),
        c => picture(c).map(String::from),
    }
}

/// Returns the entity for a character, or `None` if it needs none.
fn entity(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        _ => None,
    }
}

/// `text` as it may stand in an element, or in an attribute with quotes around it.
pub fn escape(text: &str) -> String {
    written(text, entity)
}

/// `text` with everything visible that would be obeyed. Line ends of Windows become plain ones.
fn written(text: &str, entity: impl Fn(char) -> Option<&'static str>) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if let Some(entity) = entity(c) {
            out.push_str(entity);
        } else if c.is_ascii() && !c.is_ascii_control() {
            out.push(c);
        } else if let Some(sign) = shown(c) {
            if c != '\r' || rest.peek() != Some(&'\n') {
                out.push_str(&sign);
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// How many bytes a character takes in a page.
pub fn width(c: char) -> usize {
    match entity(c) {
        Some(entity) => entity.len(),
        None if c.is_ascii() && !c.is_ascii_control() => 1,
        None => shown(c).map_or(c.len_utf8(), |sign| sign.len()),
    }
}

/// How many bytes a text takes in a page.
#[cfg(test)]
pub fn escaped_len(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// On one line.
pub fn one_line(text: &str) -> String {
    written(&text.split_whitespace().collect::<Vec<_>>().join(" "), |_| None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_markup_and_nothing_is_obeyed() {
        for (text, expected) in [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("a\" onload='x' & b", "a&quot; onload=&#39;x&#39; &amp; b"),
            ("a\r\nb\rc\td", "a\nb\u{240d}c\td"),
            ("\x1b[31mred\x07\x7f\0", "\u{241b}[31mred\u{2407}\u{2421}\u{2400}"),
            ("user\u{202e}txt.exe\u{2066}", "user\u{27e8}U+202E\u{27e9}txt.exe\u{27e8}U+2066\u{27e9}"),
            ("\u{9b}31m\u{2028}", "\u{27e8}U+009B\u{27e9}31m\u{27e8}U+2028\u{27e9}"),
            ("schön 日本 שלום 👩‍💻", "schön 日本 שלום 👩‍💻"),
        ] {
            assert_eq!(escape(text), expected);
        }
        assert_eq!(one_line(" a\n\tb \u{202e}"), "a b \u{27e8}U+202E\u{27e9}");
    }

    proptest! {
        #[test]
        fn no_text_at_all_leaves_its_place(text in "(?s).{0,200}") {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            prop_assert!(!escaped.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(escaped.len() <= escaped_len(&text));
        }
    }
}
