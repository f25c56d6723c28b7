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
        let (at, name) = last_unfinished_test(page, start, last)?;
        Some(
            Failure::new(Stage::Hang, "started")
                .with_id(&name)
                .with_message("did not end")
                .with_line(at, LineKind::Head),
        )
    })
}

/// Returns the line and the name of the last test in `start..=last` that has no result.
fn last_unfinished_test(page: &Page, start: usize, last: usize) -> Option<(usize, String)> {
    let mut found: Option<(usize, String)> = None;
    for at in start..=last {
        let line = page.line(at);
        let text = line.trim();
        if text.is_empty() {
            continue;
        }
        if let Some(name) = started_test_name(text, at == last) {
            found = Some((at, name));
        } else if found.is_some() && is_result(text) {
            found = None;
        }
    }
    found
}

/// Returns the name of the test that this line starts, unless the line has its result too.
fn started_test_name(text: &str, is_last: bool) -> Option<String> {
    // libtest
    if let Some(rest) = text.strip_prefix("test ")
        && let Some((name, result)) = rest.split_once(" ...")
    {
        let is_over = ["ok", "FAILED", "ignored", "bench"]
            .iter()
            .any(|word| result.trim().starts_with(word) || result.ends_with(&format!(" {word}")));
        return (!is_over).then(|| name.to_owned());
    }
    // go test -v
    if let Some(name) = text.strip_prefix("=== RUN ") {
        return Some(name.trim().to_owned());
    }
    // googletest
    if let Some(("RUN", name)) = bracketed(text) {
        return Some(name.to_owned());
    }
    // pytest -v
    if let Some(separator) = text.find(".py::").filter(|&at| !text[..at].contains(' ')) {
        let is_over = contains_any(text, &["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"]);
        let end = text[separator..].find(' ').map_or(text.len(), |at| separator + at);
        return (!is_over).then(|| text[..end].to_owned());
    }
    // unittest -v
    if let Some((name, _)) =
        text.split_once(") ...").filter(|(name, rest)| name.contains(" (") && rest.trim().is_empty())
    {
        return Some(name.split(" (").next().unwrap_or(name).to_owned());
    }
    // ctest
    if let Some(rest) = text.strip_prefix("Start ")
        && let Some((number, name)) = rest.trim_start().split_once(": ")
        && is_digits(number)
    {
        return Some(name.to_owned());
    }
    if !is_last {
        return None;
    }
    // pytest and prove: `tests/a.py ..`, `t/slow.t ..`
    let (file, dots) = text.split_once(' ').unwrap_or((text, ""));
    let is_progress = dots.bytes().all(|byte| matches!(byte, b'.' | b' ' | b's' | b'x' | b'F' | b'E'));
    (is_file(file) && is_progress && matches!(extension(file), "py" | "t")).then(|| file.to_owned())
}

/// Prefixes of lines that have a test's result or end a run.
const RESULT_PREFIXES: &[&str] =
    &["--- ", "PASS", "FAIL", "ok", "test result:", "====", "----", "ERROR", "SKIPPED"];

/// Returns true if a line has a test's result or ends a run.
fn is_result(text: &str) -> bool {
    bracketed(text).is_some() || starts_with_any(text, RESULT_PREFIXES) || text.contains("Test #")
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
