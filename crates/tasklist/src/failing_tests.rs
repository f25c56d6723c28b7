//! Texts that ask for tests that must fail before the code they are for is written.

use std::sync::LazyLock;

use regex::Regex;

/// Where one thought of a Markdown text ends and the next begins.
static BREAK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[.!?|]\s|\n\s*\n|\n\s*(?:[-*#>]|[0-9]+\.)").expect("a valid expression"));

pub(super) static TESTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\btests?\b").expect("a valid expression"));

static MUST_FAIL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:must|ensure|should|verify|verifies|confirm\w*|observed|automated)\b.{0,60}?\bfail(?:s|ing)?\b")
        .expect("a valid expression")
});

static FIRST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:first|before|initially)\b").expect("a valid expression"));

static NOT_FAIL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:not|never|no|without)\b.{0,12}\bfail").expect("a valid expression")
});

/// A heading such as `Phase 3.2: Tests First (TDD)`; not `Run all tests first`.
static TESTS_FIRST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(?:^\W*|[:.–—-]\s*)tests?[\s-]+first\b").expect("a valid expression"));

static FAIL: LazyLock<Regex> = LazyLock::new(|| Regex::new("(?i)fail").expect("a valid expression"));

/// Returns true if a text or one of its headings asks for tests that must fail first.
pub(super) fn asks_for_failing_tests(source: &str, headings: &[String]) -> bool {
    // Hardly a heading has this word, and the expression is large.
    let has_first = |heading: &&String| heading.to_ascii_lowercase().contains("first");
    headings.iter().filter(has_first).any(|heading| TESTS_FIRST.is_match(heading))
        || FAIL.is_match(source)
            && BREAK.split(source).filter(|thought| TESTS.is_match(thought)).any(|thought| {
                let thought = thought.split_whitespace().collect::<Vec<_>>().join(" ");
                MUST_FAIL.is_match(&thought) && FIRST.is_match(&thought) && !NOT_FAIL.is_match(&thought)
            })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_real_lists_are_understood() {
        for text in [
            "> **NOTE: Write these tests FIRST, ensure they FAIL before implementation**",
            "- Tests (if included) MUST be written and FAIL before implementation",
            "### Tests for User Story 1 (write first; must FAIL before T007)",
            "> Write these tests first and confirm the new cases fail before implementation.",
            "All tests must be written FIRST\nand observed FAILING before implementation begins",
            "| T1 | unit listing; tests MUST FAIL initially | - |",
            "1. **RED**: Write test first, verify it fails",
        ] {
            assert!(asks_for_failing_tests(text, &[]), "{text}");
        }
        for text in [
            "Run all tests before the release. They must not fail.",
            "Test tasks must never fail before the deadline",
            "- Ensure the suite passes first\n- A test of failing logins",
            "The build must fail before it is fixed",
            "Tests ensure that nothing fails",
            "",
        ] {
            assert!(!asks_for_failing_tests(text, &[]), "{text}");
        }
    }
}
