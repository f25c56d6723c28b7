//! go test, and a Go program that panics.

use super::super::failure::{Failure, FrameOrder, SUITE, Stage, indent_of};
use super::super::line_kind::LineKind;
use super::super::location::{extension, file_in, find_location, is_external};
use super::super::page::{MAX_LOOKBACK_LINES, Page};
use super::super::scan_state::ScanState;
use super::super::words::{starts_with_any, strip_any};

/// Matches `--- FAIL: TestX (0.00s)`, also of a subtest.
pub(super) fn test(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let rest = line.trim_start().strip_prefix("--- FAIL: ")?;
    let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
    let is_end = |line: &str| {
        let text = line.trim_start();
        starts_with_any(text, &["--- ", "=== ", "panic: "])
            || matches!(text, "FAIL" | "PASS")
            || starts_with_any(line, &["FAIL\t", "ok  \t", "?   \t"])
    };
    let end = page.find_end(at + 1, is_end);
    let (mut failure, end) = Failure::new(Stage::Test, "go").with_id(name).in_block(page, at, end);
    if !failure.is_explained() {
        // With -v, the test's output is before this line, after its `=== RUN`.
        let indent = indent_of(line);
        let run = page.find_above(at, MAX_LOOKBACK_LINES, |line| {
            strip_any(line.trim_start(), &["=== RUN ", "=== CONT ", "=== NAME "])
                .is_some_and(|started| started.trim() == name)
        });
        if let Some(run) = run {
            let end = (run + 1..at)
                .find(|&index| is_end(page.line(index)) && indent_of(page.line(index)) <= indent)
                .unwrap_or(at);
            failure.add_body(page, run + 1, end, FrameOrder::NewestFirst);
        }
    }
    if !failure.is_explained() {
        // Only its subtests say why.
        failure.tool = SUITE;
    }
    // Split `    a_test.go:12: got 3` into file and message.
    let message = std::mem::take(&mut failure.message);
    failure.message = match find_location(&message) {
        Some(location) => {
            location.file.clone_into(&mut failure.file);
            message[location.end..].trim_start_matches(':').trim().to_owned()
        }
        None => message,
    };
    Some((failure, end))
}

/// Matches `panic: x` with the stacks of its goroutines, `WARNING: DATA RACE`, and `fatal error: all goroutines are asleep`.
pub(super) fn panic(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    if line == "WARNING: DATA RACE" {
        let end = page.find_end(at + 1, |line| line.starts_with("====="));
        return Some(Failure::new(Stage::Crash, "go").with_message("DATA RACE").in_block(page, at, end));
    }
    let message = strip_any(line, &["panic: ", "fatal error: "])?;
    let message = message.strip_suffix(" [recovered]").unwrap_or(message);
    // Only Go prints the stacks of goroutines after the message.
    if !(at + 1..(at + 30).min(page.len())).any(|index| page.line(index).starts_with("goroutine ")) {
        return None;
    }
    let end = page.find_end(at + 1, |line| {
        line == "FAIL" || starts_with_any(line, &["FAIL\t", "exit status ", "ok  \t"])
    });
    let is_hang = message.starts_with("test timed out");
    let mut failure = Failure::new(if is_hang { Stage::Hang } else { Stage::Crash }, "go")
        .with_message(message)
        .with_line(at, LineKind::Head);
    let mut frames = Vec::new();
    for index in at + 1..end {
        let line = page.line(index);
        // After a timeout, `running tests:` lists them, one in each line.
        if line.trim_start().starts_with("Test") && line.starts_with('\t') {
            failure.add(index, LineKind::Head);
        }
        let Some(location) =
            find_location(line).filter(|location| line.starts_with('\t') && location.start <= 2)
        else {
            continue;
        };
        if location.file.starts_with('/') || is_external(location.file) || extension(location.file) != "go" {
            continue;
        }
        // The function is in the line above.
        frames.push(index);
        if frames.len() <= 4 {
            failure.add(index - 1, LineKind::Location);
        }
        if failure.id.is_empty()
            && let Some(name) = test_name(page.line(index - 1))
        {
            name.clone_into(&mut failure.id);
        }
    }
    failure.add_frames(page, &frames, FrameOrder::NewestFirst);
    if let Some(&first) = frames.first() {
        failure.add(first, LineKind::Location);
        file_in(page.line(first)).clone_into(&mut failure.file);
    }
    Some((failure, end))
}

/// Returns the test that a line of a stack is in: `pkg.TestTake(0x1)`, `pkg.TestTake.func1(0x1)`.
fn test_name(line: &str) -> Option<&str> {
    let start = line.rfind(".Test").or_else(|| line.rfind(".Fuzz")).or_else(|| line.rfind(".Benchmark"))? + 1;
    let end = line[start..].find(['(', '.']).map_or(line.len(), |at| start + at);
    Some(&line[start..end])
}
