//! A cheap check of a line, so that most lines skip the matchers.

/// The result of the cheap check of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefilter {
    /// The sum of the scores of its [`NEEDLES`].
    pub(super) score: i32,
    /// True if it may have a location: a digit after `:`, `(` or `[`, or the word `line`.
    pub(super) may_have_location: bool,
    /// True if no matcher starts at such a line.
    pub(super) can_skip: bool,
}

/// Substrings in lower case that mark a line of interest, and the score of each; one with score 0 only keeps the matchers
/// from being skipped. Sorted by first letter.
const NEEDLES: [(&str, i32); 74] = [
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

/// Maximum number of bytes of a line that are scanned. Longer lines are never skipped.
const MAX_SCANNED_LINE_BYTES: usize = 1200;

/// Checks a line in one pass.
pub(super) fn prefilter(line: &str) -> Prefilter {
    let bytes = &line.as_bytes()[..line.len().min(MAX_SCANNED_LINE_BYTES)];
    let first = bytes.iter().copied().find(|byte| *byte != b' ' && *byte != b'\t').unwrap_or(b' ');
    let mut score = 0;
    let mut can_skip = !matches!(first, b'_' | b'=' | b'[' | b'+' | b'>' | b'|')
        // sqlfluff's rows, and the header of PHPStan's table.
        && !line.starts_with("L:")
        && !line.starts_with("  Line   ")
        && line.len() <= MAX_SCANNED_LINE_BYTES;
    let mut may_have_location = false;
    for (at, byte) in bytes.iter().copied().enumerate() {
        let lower = byte | 0x20;
        if lower.is_ascii_lowercase() {
            let from = NEEDLES.partition_point(|needle| needle.0.as_bytes()[0] < lower);
            for (needle, value) in NEEDLES[from..].iter().take_while(|needle| needle.0.as_bytes()[0] == lower)
            {
                let rest = &bytes[at..];
                if rest.len() >= needle.len() && rest[..needle.len()].eq_ignore_ascii_case(needle.as_bytes())
                {
                    score += value;
                    can_skip = false;
                    may_have_location |= *needle == "line ";
                }
            }
        } else if byte.is_ascii_digit() {
            let before = if at == 0 { b' ' } else { bytes[at - 1] };
            may_have_location |= matches!(before, b':' | b'(' | b'[');
            can_skip &= bytes.get(at + 1) != Some(&b')');
        } else if byte >= 0x80
            || (byte == b':' && bytes.get(at + 1) == Some(&b':') && line.contains(".py::"))
            || (byte == b']' && line.ends_with("[E]"))
            || (byte == b'=' && bytes.get(at + 1) == Some(&b'>'))
        {
            can_skip = false;
        }
    }
    Prefilter { score, may_have_location, can_skip: can_skip && !may_have_location }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needles_are_sorted_by_first_letter() {
        assert!(NEEDLES.is_sorted_by_key(|(word, _)| word.as_bytes()[0]));
        assert!(
            NEEDLES.iter().all(|(word, _)| word.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase()))
        );
    }

    #[test]
    fn lines_without_signs_of_failure_can_be_skipped() {
        for (line, can_skip) in [
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
            assert_eq!(prefilter(line).can_skip, can_skip, "{line}");
        }
        assert_eq!(prefilter("Error: expected x").score, 10);
    }
}
