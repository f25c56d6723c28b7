//! The test that had begun when everything ended: all that a hang or a crash leaves behind.

use super::failure::{Failure, Stage};
use super::line_kind::LineKind;
use super::page::Page;
use super::place::{extension, is_file};
use super::tools::boxed;
use super::words::{contains_any, is_digits, starts_with_any};

/// How far from the end a test may have begun, in lines: it may have written much since.
const REACH: usize = 400;

/// The test that was started last and has no result, or `None` if all ended.
pub(super) fn unfinished(page: &Page) -> Option<Failure> {
    page.last_lines().into_iter().flatten().find_map(|last| {
        let start = last.saturating_sub(REACH).max(page.start_of_stream(last));
        let (at, name) = started(page, start, last)?;
        Some(
            Failure::new(Stage::Hang, "started")
                .named(&name)
                .with_message("did not end")
                .with(at, LineKind::Head),
        )
    })
}

fn started(page: &Page, start: usize, last: usize) -> Option<(usize, String)> {
    let mut found: Option<(usize, String)> = None;
    for at in start..=last {
        let line = page.line(at);
        let text = line.trim();
        if text.is_empty() {
            continue;
        }
        if let Some(name) = begun(text, at == last) {
            found = Some((at, name));
        } else if found.is_some() && is_result(text) {
            found = None;
        }
    }
    found
}

/// The name of a test that begins here and has no result on its line.
fn begun(text: &str, is_last: bool) -> Option<String> {
    if let Some(rest) = text.strip_prefix("test ")
        && let Some((name, result)) = rest.split_once(" ...")
    {
        let is_over = ["ok", "FAILED", "ignored", "bench"]
            .iter()
            .any(|word| result.trim().starts_with(word) || result.ends_with(&format!(" {word}")));
        return (!is_over).then(|| name.to_owned());
    }
    if let Some(name) = text.strip_prefix("=== RUN ") {
        return Some(name.trim().to_owned());
    }
    if let Some(("RUN", name)) = boxed(text) {
        return Some(name.to_owned());
    }
    if let Some(file) = text.find(".py::").filter(|&at| !text[..at].contains(' ')) {
        let is_over = contains_any(text, &["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS"]);
        let end = text[file..].find(' ').map_or(text.len(), |at| file + at);
        return (!is_over).then(|| text[..end].to_owned());
    }
    if let Some((name, _)) =
        text.split_once(") ...").filter(|(name, rest)| name.contains(" (") && rest.trim().is_empty())
    {
        return Some(name.split(" (").next().unwrap_or(name).to_owned());
    }
    if let Some(rest) = text.strip_prefix("Start ")
        && let Some((number, name)) = rest.trim_start().split_once(": ")
        && is_digits(number)
    {
        return Some(name.to_owned());
    }
    if !is_last {
        return None;
    }
    // `tests/a.py ..`, `t/slow.t ..`
    let (file, dots) = text.split_once(' ').unwrap_or((text, ""));
    let is_progress = dots.bytes().all(|byte| matches!(byte, b'.' | b' ' | b's' | b'x' | b'F' | b'E'));
    (is_file(file) && is_progress && matches!(extension(file), "py" | "t")).then(|| file.to_owned())
}

/// Starts of the result of a test, and of the end of a run.
const RESULT_STARTS: &[&str] =
    &["--- ", "PASS", "FAIL", "ok", "test result:", "====", "----", "ERROR", "SKIPPED"];

/// Returns true if a line is the result of a test, or the end of a run.
fn is_result(text: &str) -> bool {
    boxed(text).is_some() || starts_with_any(text, RESULT_STARTS) || text.contains("Test #")
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
            assert_eq!(unfinished(&page).map(|failure| failure.id).as_deref(), expected, "{output}");
        }
    }
}
