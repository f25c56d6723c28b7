//! What C and C++ programs, their test libraries and .NET print.

use super::super::failure::{Failure, FrameOrder, Stage};
use super::super::line_kind::{LineKind, is_external_frame, is_frame};
use super::super::location::find_location;
use super::super::page::{MAX_LOOKBACK_LINES, Page};
use super::super::scan_state::ScanState;
use super::super::words::{is_digits, starts_with_any, strip_any};
use super::runner_lines::without_duration;

/// How errors of valgrind begin.
const VALGRIND_ERRORS: &[&str] = &[
    "Invalid read",
    "Invalid write",
    "Invalid free",
    "Conditional jump",
    "Use of uninitialised",
    "Process terminating",
    "Mismatched free",
    "Syscall param",
];

/// How the reports of sanitizers begin.
const SANITIZER_REPORTS: &[&str] = &[
    "ERROR: AddressSanitizer",
    "ERROR: LeakSanitizer",
    "WARNING: ThreadSanitizer",
    "WARNING: MemorySanitizer",
    "ERROR: ThreadSanitizer",
    "ERROR: UndefinedBehaviorSanitizer",
];

/// `AddressSanitizer` and its kin, and valgrind.
pub(super) fn sanitizer(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let is_report = line.contains("Sanitizer");
    if let Some(start) = SANITIZER_REPORTS.iter().filter(|_| is_report).find_map(|word| line.find(word)) {
        let end = page.find_end(at + 1, |line| {
            line.contains("ABORTING") || starts_with_any(line, &["SUMMARY: ", "make"])
        });
        // The address and the registers are others each time.
        let message = line[start..]
            .split(" on address ")
            .next()
            .unwrap_or_default()
            .split(" on unknown address ")
            .next()
            .unwrap_or_default();
        let mut failure =
            Failure::new(Stage::Crash, "sanitizer").with_message(message).with_line(at, LineKind::Head);
        let stack = (at + 1..end).find(|&at| page.line(at).trim_start().starts_with("#0")).unwrap_or(end);
        failure.add_all(at + 1..stack, LineKind::Message);
        // The first stack is where it happened; those after it are where the memory comes from.
        let behind = page.find_end(stack, str::is_empty).min(end);
        let frames: Vec<usize> = (stack..behind)
            .filter(|&at| is_frame(page.line(at).trim()) && !is_external_frame(page.line(at).trim()))
            .collect();
        failure.add_frames(page, &frames, FrameOrder::NewestFirst);
        for at in behind..end {
            let text = page.line(at).trim();
            if text.contains("is located") || (is_frame(text) && !is_external_frame(text)) {
                failure.add(at, LineKind::Note);
            }
        }
        return Some((failure, end));
    }
    let text = valgrind(line)?;
    if !starts_with_any(text, VALGRIND_ERRORS) && !text.contains("definitely lost in loss record") {
        return None;
    }
    let end = page.find_end(at + 1, |line| valgrind(line).is_none_or(|text| text.trim().is_empty()));
    let mut failure = Failure::new(Stage::Crash, "valgrind").with_message(text).with_line(at, LineKind::Head);
    let frames: Vec<usize> = (at + 1..end)
        .filter(|&at| {
            page.line(at).contains('(')
                && find_location(page.line(at)).is_some_and(|location| {
                    !location.file.starts_with("vg_") && !location.file.starts_with("vgpreload")
                })
        })
        .collect();
    failure.add_frames(page, &frames, FrameOrder::NewestFirst);
    Some((failure, end))
}

/// Returns what valgrind says after `==123== `.
fn valgrind(line: &str) -> Option<&str> {
    let (pid, text) = line.strip_prefix("==")?.split_once("==")?;
    is_digits(pid).then_some(text.trim_start())
}

/// googletest: `[ RUN      ] A.B` ... `[  FAILED  ] A.B (0 ms)`. Others draw the same boxes.
pub(super) fn gtest(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let (word, name) = bracketed(line)?;
    if !matches!(word, "FAILED" | "FAIL" | "TIMEOUT" | "KO")
        || name.ends_with("listed below:")
        || name.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let name = without_duration(name.split(", where ").next().unwrap_or(name));
    let mut failure = Failure::new(Stage::Test, "gtest").with_id(name).with_line(at, LineKind::Head);
    let run = page.find_above(at, MAX_LOOKBACK_LINES, |line| bracketed(line) == Some(("RUN", name)));
    if let Some(run) = run {
        failure.add_body(page, run + 1, at, FrameOrder::NewestFirst);
    } else {
        // The words may follow, indented.
        let end = page.find_end(at + 1, |line| !line.starts_with(' '));
        failure.add_body(page, at + 1, end, FrameOrder::NewestFirst);
    }
    Some((failure, at + 1))
}

/// Returns what a line in brackets says, and of what: `[ RUN      ] A.B`.
pub(in super::super) fn bracketed(line: &str) -> Option<(&str, &str)> {
    let (word, name) = line.trim_start().strip_prefix('[')?.split_once(']')?;
    let word = word.trim();
    (word.len() <= 9
        && !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_uppercase())
        && name.starts_with(' '))
    .then(|| (word, name.trim()))
}

/// Catch2 and doctest: `t.cpp:12: FAILED:`, `t.cpp:12: ERROR: CHECK( x ) is NOT correct!`; googletest without its boxes.
pub(super) fn catch(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let found = find_location(line).filter(|location| location.start == 0)?;
    let rest = line[found.end..].trim_start_matches([':', ')']).trim();
    let compact = rest.strip_prefix("failed: ").filter(|said| said.contains(" for: "));
    let is_catch = rest == "FAILED:"
        || compact.is_some()
        || rest.starts_with("FAILED:")
        || rest.starts_with("Failure")
        || (rest.starts_with("ERROR: ") && rest.contains("CHECK") | rest.contains("REQUIRE"));
    let is_boost = rest.starts_with("error: in \"") || rest.starts_with("fatal error: in \"");
    let is_unity = rest.contains(":FAIL");
    if !is_catch && !is_boost && !is_unity {
        return None;
    }
    let title = if is_catch && !rest.starts_with("Failure") { title_above(page, at) } else { None };
    let (name, message) = if is_boost && let Some((_, quoted)) = rest.split_once('"') {
        quoted.split_once("\": ").unwrap_or((quoted, ""))
    } else if is_unity && let Some((test, said)) = rest.split_once(":FAIL") {
        (test, said.trim_start_matches(':').trim())
    } else if rest.starts_with("Failure") || compact.is_some() {
        ("", "")
    } else {
        (title.map_or("", |title| page.line(title).trim()), "")
    };
    let end = page.find_end(at + 1, |line| {
        line.is_empty() && !rest.starts_with("Failure")
            || starts_with_any(line, &["----", "===="])
            || bracketed(line).is_some()
            || find_location(line).is_some_and(|location| location.start == 0)
    });
    let tool = if compact.is_some() || title.is_some() { "catch2" } else { "catch" };
    let mut failure = Failure::new(Stage::Test, tool)
        .with_id(name)
        .with_message(message)
        .with_file(found.file)
        .with_line(at, LineKind::Location);
    if let Some(title) = title {
        failure.add(title, LineKind::Head);
    }
    if let Some((check, expansion)) = compact.and_then(|said| said.split_once(" for: ")) {
        check.clone_into(&mut failure.message);
        failure.values.push(expansion.to_owned());
        return Some((failure, at + 1));
    }
    if failure.id.is_empty() {
        failure.id = running(page, at).or_else(|| failed_below(page, end)).unwrap_or_default();
    }
    failure.add_body(page, at + 1, end.min(at + 30), FrameOrder::NewestFirst);
    Some((failure, end.min(at + 30)))
}

/// The name of the test case that Catch2 puts above, between rules.
fn title_above(page: &Page, at: usize) -> Option<usize> {
    let is_rule = |line: &str| starts_with_any(line, &["---", "TEST CASE"]);
    let is_title = |above: &usize| {
        let line = page.line(*above);
        !line.is_empty() && !line.starts_with(['-', '~', '.', '='])
    };
    let rule = page.find_above(at, 12, is_rule)?;
    (rule.saturating_sub(4)..rule).rev().find(is_title)
}

/// The test that was running at a line, where its runner draws boxes.
fn running(page: &Page, at: usize) -> Option<String> {
    let boxed = page.find_above(at, MAX_LOOKBACK_LINES, |line| bracketed(line).is_some())?;
    bracketed(page.line(boxed)).filter(|(word, _)| *word == "RUN").map(|(_, name)| name.to_owned())
}

/// The test whose result is below, where its runner does not say what it starts.
fn failed_below(page: &Page, at: usize) -> Option<String> {
    let (word, name) = bracketed(page.line(at))?;
    (word == "FAILED").then(|| without_duration(name.split(", where ").next().unwrap_or(name)).to_owned())
}

/// Starts of what follows a failed test of .NET.
const DOTNET_ENDS: &[&str] =
    &["Failed ", "Passed ", "failed ", "Failed!", "Total tests", "Test Run Failed", "Standard Output"];

/// `  Failed Shop.CartTests.Adds [5 ms]`
pub(super) fn dotnet(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let text = line.trim_start();
    let name = match strip_any(text, &["Failed ", "X ", "failed "]) {
        Some(rest) if rest.ends_with(']') || rest.ends_with(')') => without_duration(rest),
        _ => text.strip_prefix("[xUnit.net ")?.split_once("] ")?.1.trim().strip_suffix(" [FAIL]")?,
    };
    if name == text || !line.starts_with([' ', '[', 'f', 'F']) || name.len() == text.len() {
        return None;
    }
    let indent = line.len() - text.len();
    let end = page.find_end(at + 1, |line| {
        let text = line.trim_start();
        starts_with_any(text, DOTNET_ENDS)
            || text.starts_with("[xUnit.net") && text.contains(" [") && indent == 0
    });
    let (failure, _) = Failure::new(Stage::Test, "dotnet").with_id(name).in_block(page, at, end.min(at + 60));
    Some((failure, end))
}

/// `2/3 Test #2: wraps ....***Failed    0.01 sec`
pub(super) fn ctest(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let (_, rest) = line.split_once("Test #")?;
    let (_, rest) = rest.split_once(": ")?;
    let (name, result) = rest.split_once("***").or_else(|| rest.split_once("   "))?;
    let name = name.trim_end_matches(['.', ' ']);
    if result.trim_start().starts_with("Passed") || name.is_empty() {
        return None;
    }
    let word = result.trim().split("  ").next().unwrap_or_default();
    let stage = if word.starts_with("Timeout") {
        Stage::Hang
    } else if word.starts_with("Exception") {
        Stage::Crash
    } else {
        Stage::Test
    };
    let message = if stage == Stage::Test { "" } else { word };
    Some(Failure::new(stage, "ctest").with_id(name).with_message(message).in_line(at))
}
