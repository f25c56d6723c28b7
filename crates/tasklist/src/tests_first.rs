//! Whether a list asks for tests that must fail before the code they are for is written.

use std::sync::LazyLock;

use regex::Regex;

use super::failing_tests::TESTS;
use super::{Item, TaskList};

/// The work of a task that is a test: `Contract test for login in tests/test_login.py`, `Write a failing test`.
static TEST_TASK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^\W*(?:[\w/`().-]+\s+){0,5}tests?\b").expect("a valid expression"));

/// A task that asks for such a test itself: `Write a failing test for login`, `Add failing integration tests`.
static FAILING_TEST_TASK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W*(?:write|add|create)\s+(?:an?\s+|the\s+)?failing\s+(?:[\w-]+\s+){0,3}tests?\b")
        .expect("a valid expression")
});

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
        let open: Vec<&Item> = self.tasks().filter(|item| !item.done).collect();
        open.iter().any(|item| item.is_test())
            && (self.asks_for_failing_tests || open.iter().any(|item| FAILING_TEST_TASK.is_match(&item.text)))
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

#[cfg(test)]
mod tests {
    use super::*;

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
