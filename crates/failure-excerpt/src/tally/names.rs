//! The names of failed tests.

use crate::failure::{Failure, SUITE, Severity, Stage};
use crate::location::is_file;

/// Maximum length of a name, in bytes. If one is longer, no names are given.
const MAX_NAME_BYTES: usize = 1000;

/// Returns the names of the `count` tests that failed, or `None` unless all of them are known.
pub(super) fn failing(failures: &[Failure], count: u64) -> Option<Vec<String>> {
    let errors = failures.iter().filter(|failure| failure.severity == Severity::Error);
    if errors.clone().any(|failure| matches!(failure.stage, Stage::Build | Stage::Crash)) {
        return None;
    }
    let tests = errors.filter(|failure| failure.stage == Stage::Test && failure.tool != SUITE);
    let mut names: Vec<String> = tests.map(name).collect();
    names.sort_unstable();
    names.dedup();
    let is_known = names.iter().all(|name| !name.is_empty() && name.len() <= MAX_NAME_BYTES);
    (is_known && names.len() as u64 == count).then_some(names)
}

/// Returns the name of a test as its runner prints it, with its file if that is known to be one of tests.
fn name(failure: &Failure) -> String {
    let id = stable(&failure.id);
    let file = failure.file.strip_prefix("./").unwrap_or(&failure.file);
    if id.is_empty() || !is_test_file(file) || id.contains(file) {
        return id;
    }
    format!("{file} › {id}")
}

/// Returns true if a path looks like a test file; a test may also fail in a helper.
fn is_test_file(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let extension = path.rsplit('.').next();
    !path.starts_with('/')
        && (path.contains("test") || path.contains("spec") || matches!(extension, Some("bats" | "t")))
}

/// Drops rulers, times and line numbers, which change from run to run.
fn stable(id: &str) -> String {
    let mut text = id.trim_end_matches(['─', ' ']);
    if let Some((name, time)) = text.rsplit_once(" (")
        && time.starts_with(|c: char| c.is_ascii_digit())
        && time.ends_with("s)")
    {
        text = name;
    }
    // Playwright numbers its tests in the order in which they ended.
    if let Some((number, rest)) = text.split_once(' ')
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && rest.split(' ').next().is_some_and(|path| without_line(path) != path)
    {
        text = rest;
    }
    let words: Vec<&str> = text.split(' ').map(without_line).collect();
    words.join(" ")
}

/// `a.spec.js:3:1` is `a.spec.js`.
fn without_line(word: &str) -> &str {
    let path = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    if path.len() < word.len() && word[path.len()..].starts_with(':') && is_file(path) { path } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_its_file_and_nothing_that_changes_between_runs() {
        for (id, file, expected) in [
            ("math › adds", "test/math.test.js", "test/math.test.js › math › adds"),
            ("tests/test_a.py::test_b[1]", "tests/test_a.py", "tests/test_a.py::test_b[1]"),
            ("math adds", "src/math.js", "math adds"),
            ("adds", "./names.bats", "names.bats › adds"),
            ("tests/a.spec.js:3:1 › adds ────", "tests/a.spec.js", "tests/a.spec.js › adds"),
            ("2 tests/a.spec.js:3:1 › adds", "", "tests/a.spec.js › adds"),
            ("2 apples", "", "2 apples"),
            ("adds (12ms)", "", "adds"),
            ("adds (in place)", "", "adds (in place)"),
            ("is 12:30", "", "is 12:30"),
        ] {
            let failure = Failure::new(Stage::Test, "jest").with_id(id).with_file(file);
            assert_eq!(failing(&[failure], 1), Some(vec![expected.to_owned()]), "{id}");
        }
    }

    #[test]
    fn names_are_all_of_them_or_none() {
        let test = |id: &str| Failure::new(Stage::Test, "jest").with_id(id);
        let build = || Failure::new(Stage::Build, "tsc");
        assert_eq!(failing(&[], 0), Some(Vec::new()));
        assert_eq!(failing(&[test("a"), test("b")], 2), Some(vec!["a".to_owned(), "b".to_owned()]));
        for (failures, count) in [
            (vec![test("a")], 2),
            (vec![test("a"), test("a")], 2),
            (vec![test("a"), test("")], 2),
            (vec![test("a"), build()], 1),
            (vec![build()], 0),
        ] {
            assert_eq!(failing(&failures, count), None);
        }
    }
}
