//! Finds the test that was still running when the output ended, as after a hang or a crash.

use super::failure::{Failure, Stage};
use super::line_kind::LineKind;
use super::location::{extension, is_file};
use super::page::{MAX_LOOKBACK_LINES, Page};
use super::tools::bracketed;
use super::words::{contains_any, is_digits, starts_with_any};

/// Returns the test that was started last and has no result, or `None` if every test has one.
pub(super) fn unfinished_test(page: &Page) -> Option<Failure> {
    page.last_lines().into_iter().flatten().find_map(|last| {
        let start = last.saturating_sub(MAX_LOOKBACK_LINES).max(page.start_of_stream(last));
        let mut found = None;
        for at in start..=last {
            let text = page.line(at).trim();
            if let Some(name) = started_test_name(text, at == last) {
                found = Some((at, name));
            } else if bracketed(text).is_some()
                || starts_with_any(text, RESULT_PREFIXES)
                || text.contains("Test #")
            {
                found = None;
            }
        }
        let (at, name) = found?;
        let failure = Failure::new(Stage::Hang, "started").with_id(name).with_message("did not end");
        Some(failure.with_line(at, LineKind::Head))
    })
}

/// Prefixes of lines that hold a test's result or end a run.
const RESULT_PREFIXES: &[&str] =
    &["--- ", "PASS", "FAIL", "ok", "test result:", "====", "----", "ERROR", "SKIPPED"];

/// Results behind the name of a test.
const RESULTS: &[&str] =
    &[" ok", " FAILED", " ignored", " bench", "PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"];

/// Returns the name of the test that this line starts, unless the line has its result too.
fn started_test_name(text: &str, is_last: bool) -> Option<&str> {
    // libtest, `pytest -v`, `unittest -v`
    let libtest = text.strip_prefix("test ").and_then(|rest| rest.split_once(" ..."));
    let pytest = text.split_once(' ').unwrap_or((text, ""));
    let unittest = text.split_once(" (").filter(|(_, rest)| rest.trim_end().ends_with(") ..."));
    let pytest = Some(pytest).filter(|(name, _)| name.contains(".py::"));
    if let Some((name, result)) = libtest.or(pytest).or(unittest) {
        return (!contains_any(result, RESULTS)).then_some(name);
    }
    // `go test -v`, googletest, ctest
    if let Some(name) = text.strip_prefix("=== RUN ") {
        return Some(name.trim());
    }
    if let Some(("RUN", name)) = bracketed(text) {
        return Some(name);
    }
    if let Some((number, name)) = text.strip_prefix("Start ").and_then(|rest| rest.trim().split_once(": ")) {
        return is_digits(number).then_some(name);
    }
    // pytest and prove: `tests/a.py ..`, `t/slow.t ..`
    let (file, dots) = text.split_once(' ').unwrap_or((text, ""));
    let is_progress = dots.bytes().all(|byte| matches!(byte, b'.' | b' ' | b's' | b'x' | b'F' | b'E'));
    (is_last && is_progress && is_file(file) && matches!(extension(file), "py" | "t")).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_that_did_not_end_is_found() {
        for (output, expected) in [
            ("running 2 tests\ntest a::b ... ok\ntest a::c ... ", Some("a::c")),
            ("running 2 tests\ntest a::b ... ok\ntest a::c ... ok\n", None),
            ("test a::c ... case 1\nmore\n", Some("a::c")),
            ("test a::c ... case 1\nok\n", None),
            ("=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    b.go:1: x\n", Some("TestB")),
            ("[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n[ RUN      ] A.C\n", Some("A.C")),
            ("t/a.py::test_a PASSED  [ 1%]\nt/a.py::test_b ", Some("t/a.py::test_b")),
            ("t/a.py ...    [ 10%]\nt/b.py ..", Some("t/b.py")),
            ("test_a (t.A.test_a) ... ok\ntest_b (t.A.test_b) ... ", Some("test_b")),
            ("    Start 1: a\n1/2 Test #1: a ....   Passed\n    Start 2: b\n", Some("b")),
            ("t/fast.t .. ok\nt/slow.t .. ", Some("t/slow.t")),
            ("all is well\n", None),
        ] {
            let page = Page::new(output, "", None);
            assert_eq!(unfinished_test(&page).map(|failure| failure.id).as_deref(), expected, "{output}");
        }
    }
}
