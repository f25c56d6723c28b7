//! Whether a validation that failed does so only by tests that failed before the start.

use std::collections::BTreeSet;

use failure_excerpt::Tally;

use crate::record::Exit;

/// Which tests fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownFailures {
    /// Only this many that may. It counts as a success.
    Only(usize),
    /// These others too. Run again: they may be flaky.
    New(Vec<String>),
    /// It did not end by itself, its failing tests are not all known, or fewer ran than before.
    Unknown,
}

/// Compares the failing tests of a red validation with those that may fail. `trusted_executed` is how many tests ran in
/// the trusted state, without those that the attempt removed because a task asks for it.
pub fn known_failures(
    exit: Exit,
    tests: Option<&Tally>,
    legacy: &[String],
    trusted_executed: Option<u64>,
) -> KnownFailures {
    let Some(tests) = tests else { return KnownFailures::Unknown };
    let is_stopped = exit.is_success() || !exit.ended_by_itself();
    let has_all = tests.executed().zip(trusted_executed).is_some_and(|(now, before)| now >= before);
    let failing = tests.failing.as_deref().unwrap_or_default();
    if is_stopped || !has_all || failing.is_empty() {
        return KnownFailures::Unknown;
    }
    let new: Vec<String> = failing.iter().filter(|name| !legacy.contains(name)).cloned().collect();
    if new.is_empty() { KnownFailures::Only(failing.len()) } else { KnownFailures::New(new) }
}

/// Divides new failures by a second run into those that failed twice, and those that passed in it. Where its failing tests
/// are not known, all failed twice.
pub fn confirm(new: &[String], second: Option<&[String]>) -> (Vec<String>, Vec<String>) {
    new.iter().cloned().partition(|name| second.is_none_or(|second| second.contains(name)))
}

/// Returns the tests that may still fail after a success: what was repaired stays repaired.
pub fn still_known(known: &[String], failing: &[String]) -> Vec<String> {
    let failing: BTreeSet<&String> = failing.iter().collect();
    known.iter().filter(|name| failing.contains(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ExitReason;

    fn names(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn only_known_failures_of_a_whole_run_are_accepted() {
        let red = Tally { passed: Some(8), failed: Some(2), failing: Some(names("a b")), ..Tally::default() };
        let exit = |code: i32| Exit { code, reason: None };
        let case =
            |legacy: &str, before: Option<u64>| known_failures(exit(1), Some(&red), &names(legacy), before);
        assert_eq!(case("a b c", Some(10)), KnownFailures::Only(2));
        assert_eq!(case("a", Some(9)), KnownFailures::New(names("b")));
        assert_eq!(case("", Some(10)), KnownFailures::New(names("a b")));
        assert_eq!(case("a b", Some(11)), KnownFailures::Unknown);
        assert_eq!(case("a b", None), KnownFailures::Unknown);
        let known = names("a b");
        for exit in [124, 126, 127, 137, -1].map(exit) {
            assert_eq!(
                known_failures(exit, Some(&red), &known, Some(10)),
                KnownFailures::Unknown,
                "{exit:?}"
            );
        }
        let stopped = Exit { code: 1, reason: Some(ExitReason::Timeout) };
        assert_eq!(known_failures(stopped, Some(&red), &known, Some(10)), KnownFailures::Unknown);
        assert_eq!(known_failures(exit(1), None, &known, Some(10)), KnownFailures::Unknown);
        for failing in [None, Some(Vec::new())] {
            let tests = Tally { failing, ..red.clone() };
            assert_eq!(known_failures(exit(1), Some(&tests), &known, Some(10)), KnownFailures::Unknown);
        }
    }

    #[test]
    fn what_fails_twice_is_no_flake() {
        let new = names("a b");
        let case = |second: Option<&str>| confirm(&new, second.map(names).as_deref());
        assert_eq!(case(Some("b c")), (names("b"), names("a")));
        assert_eq!(case(Some("")), (names(""), names("a b")));
        assert_eq!(case(None), (names("a b"), names("")));
        assert_eq!(still_known(&names("a b c"), &names("d c a")), names("a c"));
    }
}
