//! Whether a list asks for tests that must fail before the code they are for is written.

use std::sync::LazyLock;

use regex::Regex;

use super::{Item, TaskList};

/// Where one thought of a Markdown text ends and the next begins.
static BREAK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[.!?|]\s|\n\s*\n|\n\s*(?:[-*#>]|[0-9]+\.)").expect("a valid expression"));

static TESTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)\btests?\b").expect("a valid expression"));

static MUST_FAIL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:must|ensure|should|verify|verifies|confirm\w*|observed|automated)\b.{0,60}?\bfail(?:s|ing)?\b")
        .expect("a valid expression")
});

static FIRST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:first|before|initially)\b").expect("a valid expression"));

static NOT_FAIL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:not|never|no|without)\b.{0,12}\bfail").expect("a valid expression")
});

/// The work of a task that is a test: `Contract test for login in tests/test_login.py`, `Write a failing test`.
static TEST_TASK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^\W*(?:[\w/`().-]+\s+){0,5}tests?\b").expect("a valid expression"));

/// A task that asks for such a test itself: `Write a failing test for login`, `Add failing integration tests`.
static FAILING_TEST_TASK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W*(?:write|add|create)\s+(?:an?\s+|the\s+)?failing\s+(?:[\w-]+\s+){0,3}tests?\b")
        .expect("a valid expression")
});

/// A heading such as `Phase 3.2: Tests First (TDD)`; not `Run all tests first`.
static TESTS_FIRST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(?:^\W*|[:.–—-]\s*)tests?[\s-]+first\b").expect("a valid expression"));

static FAIL: LazyLock<Regex> = LazyLock::new(|| Regex::new("(?i)fail").expect("a valid expression"));

/// First words of a task that runs tests, or has them pass.
const RUNS: &[&str] = &["ensure", "execute", "fix", "make", "rerun", "run", "verify"];

impl TaskList {
    /// Returns true if the list asks for tests that must fail first, and tasks for such tests are open.
    ///
    /// spec-kit's lists do (`Write these tests FIRST, ensure they FAIL before implementation`), those with a heading
    /// `Tests first`, and those with an open task such as `Write failing tests`. Between such a test and its code no
    /// check of the whole project passes.
    ///
    /// ```
    /// let source = "Tests MUST be written and FAIL before implementation.\n\n- [ ] T001 Unit test for login\n";
    /// let list = tasklist::TaskList::parse(source.as_bytes()).expect("it is UTF-8");
    /// assert!(list.has_tests_that_fail_first());
    /// ```
    pub fn has_tests_that_fail_first(&self) -> bool {
        let open = || self.tasks().filter(|item| !item.done);
        open().any(Item::is_test)
            && (self.asks_for_failing_tests || open().any(|item| FAILING_TEST_TASK.is_match(&item.text)))
    }
}

impl Item {
    /// Returns true if its work is to write a test.
    pub fn is_test(&self) -> bool {
        let is_below_tests = self.headings.last().is_some_and(|heading| TESTS.is_match(heading));
        let first = self.text.split_whitespace().next().unwrap_or_default().to_lowercase();
        !RUNS.contains(&first.trim_matches(|c: char| !c.is_alphanumeric()))
            && (is_below_tests || TEST_TASK.is_match(&self.text))
    }
}

/// Returns true if a text or one of its headings asks for tests that must fail first.
pub(super) fn asks_for_failing_tests(source: &str, headings: &[String]) -> bool {
    headings.iter().any(|heading| TESTS_FIRST.is_match(heading))
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

    #[test]
    fn only_open_tasks_for_tests_count() {
        let note = "Tests MUST be written and FAIL before implementation.\n\n";
        for (tasks, expected) in [
            ("- [ ] T001 [US1] Contract test for login in tests/test_login.py\n", true),
            ("- [ ] T001 Write failing unit tests\n", true),
            ("## Tests for User Story 1\n- [ ] T001 Login\n", true),
            ("- [x] T001 Unit test for login\n- [ ] T002 Login\n", false),
            (
                "- [ ] T001 Run the tests\n- [ ] T002 Login as users of the web expect it, in tests too\n",
                false,
            ),
            ("- [ ] T001 Log in with the latest key\n", false),
        ] {
            let source = format!("{note}{tasks}");
            let list = TaskList::parse(source.as_bytes()).unwrap();
            assert_eq!(list.has_tests_that_fail_first(), expected, "{tasks}");
        }
    }

    #[test]
    fn headings_and_tasks_ask_for_tests_first_too() {
        let has = |source: &str| TaskList::parse(source.as_bytes()).unwrap().has_tests_that_fail_first();
        for heading in [
            "Tests first",
            "Phase 3.2: Tests First (TDD) ⚠️ MUST COMPLETE BEFORE 3.3",
            "User Story 1 - Test-first",
        ] {
            assert!(
                has(&format!("## {heading}\n- [ ] T001 Login page\n- [ ] T002 Login test\n")),
                "{heading}"
            );
        }
        for heading in ["Run all tests first", "Tests", "The first of all tests"] {
            assert!(!has(&format!("## {heading}\n- [ ] T001 Login test\n")), "{heading}");
        }
        for (task, expected) in [
            ("- [ ] T001 [P] [US1] Write failing tests for login", true),
            ("- [ ] T001 Add a failing integration test", true),
            ("- [ ] T001 **Create** failing test", false),
            ("- [ ] T001 **Create failing test**", true),
            ("- [x] T001 Write failing tests\n- [ ] T002 Unit test for login", false),
            ("- [ ] T001 Write a test for failing logins", false),
            ("- [ ] T001 Fix the failing tests", false),
        ] {
            assert_eq!(has(&format!("{task}\n")), expected, "{task}");
        }
    }
}
