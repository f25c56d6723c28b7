//! Whether a validation may have failed by chance, so that a second run costs less than an attempt. Pure.

use failure_excerpt::Tally;

use super::ChangedFile;
use crate::record::Exit;

/// Maximum number of tests that may fail by chance, if a tenth of all tests is less.
const MAX_FLAKY_TESTS: usize = 3;

/// Validations that take less than this, in milliseconds, run again whatever their agent took.
const SHORT_RUN_MS: u64 = 60_000;

/// Separators in names of tests.
const SEPARATORS: [&str; 4] = [" › ", "::", " > ", "#"];

/// Returns the failed tests of a red validation if all have names, are few, and passed in the trusted state.
pub fn may_be_flaky<'t>(exit: Exit, tests: &'t Tally, trusted: Option<&Tally>) -> Option<&'t [String]> {
    let failing = tests.failing.as_deref().filter(|failing| !failing.is_empty())?;
    let before = trusted?.failing.as_deref()?;
    let tenth = tests.executed().unwrap_or(0) / 10;
    let are_few = failing.len() <= MAX_FLAKY_TESTS || failing.len() as u64 <= tenth;
    let is_new = !failing.iter().any(|name| before.contains(name));
    (exit.ended_by_itself() && are_few && is_new).then_some(failing)
}

/// Returns true if a second run takes little beside what the agent took.
pub fn is_cheap(validation_ms: u64, agent_ms: u64) -> bool {
    validation_ms < SHORT_RUN_MS || validation_ms <= agent_ms / 4
}

/// Returns true if a test, by its name, is in one of the changed files: those at `paths`, some of which were read.
pub fn lies_in_changed(name: &str, paths: &[String], read: &[ChangedFile]) -> bool {
    let parts: Vec<&str> = SEPARATORS
        .iter()
        .fold(vec![name], |parts, separator| parts.iter().flat_map(|part| part.split(separator)).collect());
    let is_path =
        |part: &&&str| part.rsplit('/').next().is_some_and(|file| file.contains('.')) && !part.contains(' ');
    if let Some(file) = parts.first().filter(is_path).filter(|_| parts.len() > 1) {
        return paths.iter().any(|path| is_same_file(path, file));
    }
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').collect();
    let is_named = paths.iter().any(|path| {
        let file = path.rsplit('/').next().unwrap_or(path);
        words.contains(&file.split('.').next().unwrap_or(file))
    });
    let last = parts.last().unwrap_or(&name).split(['[', '(']).next().unwrap_or_default().trim();
    let title = if last.contains(' ') { last } else { last.rsplit('.').next().unwrap_or(last) };
    let has_title = |file: &ChangedFile| {
        let text = file.after.as_deref().map(String::from_utf8_lossy);
        text.is_some_and(|text| !title.is_empty() && text.contains(title))
    };
    is_named || read.iter().any(has_title)
}

/// Returns true if one path is the end of the other: a runner may have started in a folder of the repository.
fn is_same_file(path: &str, file: &str) -> bool {
    let is_end = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    is_end(path, file) || is_end(file, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(failing: &[&str], passed: u64) -> Tally {
        Tally {
            passed: Some(passed),
            failed: Some(failing.len() as u64),
            failing: Some(failing.iter().map(|name| (*name).to_owned()).collect()),
            ..Tally::default()
        }
    }

    #[test]
    fn few_named_tests_that_passed_before_may_be_flaky() {
        let exit = Exit { code: 1, reason: None };
        let green = tally(&[], 41);
        let case = |tests: &Tally, trusted: Option<&Tally>| may_be_flaky(exit, tests, trusted).is_some();
        assert!(case(&tally(&["a", "b", "c"], 4), Some(&green)));
        assert!(!case(&tally(&["a", "b", "c", "d"], 30), Some(&green)));
        assert!(case(&tally(&["a", "b", "c", "d"], 36), Some(&green)), "a tenth");
        assert!(!case(&tally(&["a"], 40), Some(&tally(&["a"], 40))), "it failed before");
        assert!(case(&tally(&["b"], 40), Some(&tally(&["a"], 40))));
        assert!(!case(&tally(&["a"], 40), None));
        assert!(!case(&tally(&["a"], 40), Some(&Tally::default())), "nobody knows what failed before");
        assert!(!case(&Tally { failing: None, ..tally(&["a"], 40) }, Some(&green)));
        for code in [124, 127, 137] {
            let exit = Exit { code, reason: None };
            assert_eq!(may_be_flaky(exit, &tally(&["a"], 40), Some(&green)), None, "{code}");
        }
    }

    #[test]
    fn a_second_run_is_cheap_beside_the_agent() {
        for (validation, agent, expected) in
            [(59_000, 0, true), (60_000, 239_000, false), (60_000, 240_000, true), (600_000, 60_000, false)]
        {
            assert_eq!(is_cheap(validation, agent), expected, "{validation} {agent}");
        }
    }

    #[test]
    fn a_test_in_a_changed_file_is_no_flake() {
        let file = |path: &str, text: &str| ChangedFile {
            path: path.to_owned(),
            before: None,
            after: Some(text.as_bytes().to_vec()),
        };
        for (name, path, text, expected) in [
            ("tests/test_clock.py::test_tick", "tests/test_clock.py", "", true),
            ("tests/test_clock.py::test_tick", "api/tests/test_clock.py", "", true),
            ("tests/test_clock.py::test_tick", "tests/test_other.py", "def test_tick():", false),
            ("test/math.test.js › math › adds", "test/math.test.js", "", true),
            ("test/math.test.js › math › adds", "src/math.js", "", false),
            ("clock::tests::ticks", "src/clock.rs", "", true),
            ("tests::ticks", "src/lib.rs", "fn ticks() {}", true),
            ("TestTick", "clock_test.go", "func TestTick(t *testing.T) {", true),
            ("TestTick", "other_test.go", "func TestOther(t *testing.T) {", false),
            ("com.acme.ClockTest.ticks", "src/test/java/com/acme/ClockTest.java", "", true),
            ("adds two numbers", "a.bats", "@test \"adds two numbers\" {", true),
            ("adds two numbers", "T001.txt", "x", false),
        ] {
            let found = lies_in_changed(name, &[path.to_owned()], &[file(path, text)]);
            assert_eq!(found, expected, "{name} {path}");
        }
    }
}
