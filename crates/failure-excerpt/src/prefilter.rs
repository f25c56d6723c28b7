//! One quick look at a line, so that the many lines of no interest cost nothing more.

/// What a line shows at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefilter {
    /// The worth of its words of failure.
    pub(super) worth: i32,
    /// Whether it may point to a place: a number after `:`, `(` or `line`.
    pub(super) has_place: bool,
    /// Returns true if no tool begins a report in such a line.
    pub(super) is_plain: bool,
}

/// Words of failure in lower case, how much each says, and words with which tools begin. Sorted by their first letter.
const WORDS: [(&str, i32); 74] = [
    ("abort", 5),
    ("actual", 3),
    ("assert", 5),
    ("at ", 0),
    ("bad ", 3),
    ("broken", 4),
    ("bus error", 0),
    ("but ", 1),
    ("can't", 4),
    ("cannot", 4),
    ("conflict", 4),
    ("core dumped", 3),
    ("could not", 4),
    ("couldn't", 4),
    ("data race", 6),
    ("deadlock", 6),
    ("denied", 5),
    ("dereference", 2),
    ("diff in", 3),
    ("differ", 5),
    ("elifecycle", 0),
    ("err!", 4),
    ("error", 5),
    ("exception", 5),
    ("exit status", 0),
    ("expected", 5),
    ("fail", 5),
    ("fatal", 6),
    ("floating point", 3),
    ("goroutine", 0),
    ("illegal", 4),
    ("instead of", 4),
    ("invalid", 4),
    ("killed", 6),
    ("leak", 3),
    ("line ", 0),
    ("memory", 1),
    ("mismatch", 5),
    ("missing", 4),
    ("multiple definition", 5),
    ("must ", 2),
    ("no rule", 5),
    ("no space left", 8),
    ("no such", 5),
    ("no tests found", 7),
    ("not found", 5),
    ("not ok", 6),
    ("not recognized", 5),
    ("overflow", 4),
    ("panic", 6),
    ("parameter not set", 5),
    ("received", 3),
    ("refused", 4),
    ("reformat", 4),
    ("segmentation", 6),
    ("should ", 2),
    ("sigabrt", 4),
    ("sigsegv", 4),
    ("stdout ----", 0),
    ("syntax", 4),
    ("test #", 0),
    ("text file busy", 4),
    ("timed out", 6),
    ("timeout", 5),
    ("traceback", 4),
    ("unable to", 4),
    ("unbound", 5),
    ("undefined", 4),
    ("unexpected", 5),
    ("unknown", 3),
    ("unreachable", 3),
    ("unresolved", 5),
    ("violat", 4),
    ("warn", 0),
];

/// More bytes of a line are not looked at.
const MAX_SCANNED_LINE_BYTES: usize = 1200;

/// For each letter, where its words begin in [`WORDS`].
const fn starts() -> [u8; 27] {
    let mut starts = [0; 27];
    let mut letter = 0;
    while letter < 27 {
        let mut word = 0;
        while word < WORDS.len() && WORDS[word].0.as_bytes()[0] < b'a' + letter {
            word += 1;
        }
        #[expect(clippy::cast_possible_truncation, reason = "there are fewer than 256 words")]
        {
            starts[letter as usize] = word as u8;
        }
        letter += 1;
    }
    starts
}

const STARTS: [u8; 27] = starts();

/// Looks at a line once.
pub(super) fn prefilter(line: &str) -> Prefilter {
    let bytes = &line.as_bytes()[..line.len().min(MAX_SCANNED_LINE_BYTES)];
    let first = bytes.iter().copied().find(|byte| *byte != b' ' && *byte != b'\t').unwrap_or(b' ');
    let mut worth = 0;
    let mut is_plain = !matches!(first, b'_' | b'=' | b'[' | b'+' | b'>' | b'|')
        && !line.starts_with("L:")
        && !line.starts_with("  Line   ")
        && line.len() <= MAX_SCANNED_LINE_BYTES;
    let mut has_place = false;
    for (at, byte) in bytes.iter().copied().enumerate() {
        let lower = byte | 0x20;
        if lower.is_ascii_lowercase() {
            let letter = usize::from(lower - b'a');
            let (from, to) = (usize::from(STARTS[letter]), usize::from(STARTS[letter + 1]));
            for (word, value) in &WORDS[from..to] {
                let rest = &bytes[at..];
                if rest.len() >= word.len() && rest[..word.len()].eq_ignore_ascii_case(word.as_bytes()) {
                    worth += value;
                    is_plain = false;
                    has_place |= *word == "line ";
                }
            }
        } else if byte.is_ascii_digit() {
            let before = if at == 0 { b' ' } else { bytes[at - 1] };
            has_place |= matches!(before, b':' | b'(' | b'[');
            is_plain &= bytes.get(at + 1) != Some(&b')');
        } else if byte >= 0x80
            || (byte == b':' && bytes.get(at + 1) == Some(&b':') && line.contains(".py::"))
            || (byte == b']' && line.ends_with("[E]"))
            || (byte == b'=' && bytes.get(at + 1) == Some(&b'>'))
        {
            is_plain = false;
        }
    }
    Prefilter { worth, has_place, is_plain: is_plain && !has_place }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_the_order_that_the_search_needs() {
        assert!(WORDS.is_sorted_by_key(|(word, _)| word.as_bytes()[0]));
        assert!(
            WORDS.iter().all(|(word, _)| word.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase()))
        );
    }

    #[test]
    fn a_glance_tells_lines_of_no_interest() {
        for (line, is_plain) in [
            ("test a::b ... ok", true),
            ("PASS src/a.test.js", true),
            ("loading part 3 of many", true),
            ("", true),
            ("test a::b ... FAILED", false),
            ("  1) Basket", false),
            ("src/a.c:3:1 x", false),
            ("___ test_x ___", false),
            ("  ✖ name", false),
            ("t/a.py::test_b", false),
        ] {
            assert_eq!(prefilter(line).is_plain, is_plain, "{line}");
        }
        assert_eq!(prefilter("Error: expected x").worth, 10);
    }
}
