//! go test, and a Go program that panics.

use super::super::failure::{Failure, Stage, Trace, indent_of};
use super::super::line_kind::LineKind;
use super::super::page::Page;
use super::super::place::{extension, file_in, is_foreign, place};
use super::super::scan_state::ScanState;
use super::super::words::{starts_with_any, strip_any};

/// `--- FAIL: TestX (0.00s)`, also of a sub-test.
pub(super) fn test(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let rest = line.trim_start().strip_prefix("--- FAIL: ")?;
    let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
    let mut failure = Failure::new(Stage::Test, "go").named(name).with(at, LineKind::Head);
    let is_end = |line: &str| {
        let text = line.trim_start();
        starts_with_any(text, &["--- ", "=== ", "panic: "])
            || matches!(text, "FAIL" | "PASS")
            || starts_with_any(line, &["FAIL\t", "ok  \t", "?   \t"])
    };
    let end = page.until(at + 1, is_end);
    failure.body(page, at + 1, end, Trace::NewestFirst);
    if !failure.is_explained() {
        // With -v the words are above, below the line that starts the test.
        let start = page.start_of_stream(at);
        let indent = indent_of(line);
        let run = (start..at).rev().take(400).find(|&above| {
            let text = page.line(above).trim_start();
            strip_any(text, &["=== RUN ", "=== CONT ", "=== NAME "])
                .is_some_and(|started| started.trim() == name)
        });
        if let Some(run) = run {
            let end = (run + 1..at)
                .find(|&at| is_end(page.line(at)) && indent_of(page.line(at)) <= indent)
                .unwrap_or(at);
            failure.body(page, run + 1, end, Trace::NewestFirst);
        }
    }
    if !failure.is_explained() {
        failure.tool = "suite";
    }
    // `    a_test.go:12: got 3` is place and message in one.
    let message = std::mem::take(&mut failure.message);
    failure.message = match place(&message) {
        Some(place) => {
            place.file.clone_into(&mut failure.file);
            message[place.end..].trim_start_matches(':').trim().to_owned()
        }
        None => message,
    };
    Some((failure, end))
}

/// `panic: x` with the stacks of its goroutines; `WARNING: DATA RACE`; `fatal error: all goroutines are asleep`.
pub(super) fn panic(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    if line == "WARNING: DATA RACE" {
        let end = page.until(at + 1, |line| line.starts_with("====="));
        let mut failure = Failure::new(Stage::Crash, "go").with_message("DATA RACE").with(at, LineKind::Head);
        failure.body(page, at + 1, end, Trace::NewestFirst);
        return Some((failure, end));
    }
    let message = strip_any(line, &["panic: ", "fatal error: "])?;
    let message = message.strip_suffix(" [recovered]").unwrap_or(message);
    // It must be Go: stacks follow.
    let stack = (at + 1..(at + 30).min(page.len())).find(|&at| page.line(at).starts_with("goroutine "));
    stack?;
    let end = page
        .until(at + 1, |line| line == "FAIL" || starts_with_any(line, &["FAIL\t", "exit status ", "ok  \t"]));
    let is_hang = message.starts_with("test timed out");
    let mut failure = Failure::new(if is_hang { Stage::Hang } else { Stage::Crash }, "go")
        .with_message(message)
        .with(at, LineKind::Head);
    let mut frames = Vec::new();
    for at in at + 1..end {
        let line = page.line(at);
        if line.trim_start().starts_with("Test") && line.starts_with('\t') {
            failure.add(at, LineKind::Head);
        }
        let Some(place) = place(line).filter(|place| line.starts_with('\t') && place.start <= 2) else {
            continue;
        };
        if place.file.starts_with('/') || is_foreign(place.file) || extension(place.file) != "go" {
            continue;
        }
        // The function is in the line above.
        frames.push(at);
        if frames.len() <= 4 {
            failure.add(at - 1, LineKind::Location);
        }
        if failure.id.is_empty()
            && let Some(name) = test_name(page.line(at - 1))
        {
            name.clone_into(&mut failure.id);
        }
    }
    failure.frames(page, &frames, Trace::NewestFirst);
    if let Some(&first) = frames.first() {
        failure.add(first, LineKind::Location);
        file_in(page.line(first)).clone_into(&mut failure.file);
    }
    Some((failure, end))
}

/// The test that a line of a stack is in: `pkg.TestTake(0x1)`, `pkg.TestTake.func1(0x1)`.
fn test_name(line: &str) -> Option<&str> {
    let start = line.rfind(".Test").or_else(|| line.rfind(".Fuzz")).or_else(|| line.rfind(".Benchmark"))? + 1;
    let end = line[start..].find(['(', '.']).map_or(line.len(), |at| start + at);
    Some(&line[start..end])
}
