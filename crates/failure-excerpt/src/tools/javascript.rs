//! jest and its kin, vitest, bun, node's own runner, and all who put a cross before what failed.

use super::super::failure::{Failure, FrameOrder, SUITE, Stage, indent_of};
use super::super::line_kind::LineKind;
use super::super::location::{find_location, is_file};
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::super::words::{contains_any, starts_with_any, starts_with_digit, strip_any};
use super::runner_lines::{add_tap_comments, unwrap_ava_error, without_duration};

/// Starts of what follows a failed test of jest and its kin.
const JEST_ENDS: &[&str] = &["FAIL ", "PASS ", " FAIL ", " PASS ", " RUNS ", "-----"];
/// The same, behind any blanks.
const INDENTED_JEST_ENDS: &[&str] = &["● ", "Test Suites:", "⎯⎯⎯", "Test Files ", "Summary of all failing"];

/// jest's `● group › name`, vitest's `FAIL  file > group > name`.
pub(super) fn bullet(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let text = line.trim_start();
    let is_end = |line: &str| {
        let text = line.trim_start();
        starts_with_any(line, JEST_ENDS) || starts_with_any(text, INDENTED_JEST_ENDS)
    };
    if let Some(name) = text.strip_prefix("● ") {
        if starts_with_any(name, &["Console", "Validation Warning", "Deprecation"])
            || name.contains("open handle")
        {
            return None;
        }
        let end = page.find_end(at + 1, is_end);
        let suite = page.find_above(at, 600, |line| line.trim_start().starts_with("FAIL "));
        let is_load = name.starts_with("Test suite failed to run");
        let file = suite
            .map(|at| page.line(at).trim_start()[5..].trim())
            .and_then(|rest| rest.split_whitespace().next())
            .unwrap_or_default();
        let id = if is_load { file } else { name };
        let mut failure = Failure::new(if is_load { Stage::Build } else { Stage::Test }, "jest")
            .with_id(id)
            .with_line(at, LineKind::Head);
        if is_load && let Some(suite) = suite {
            failure.add(suite, LineKind::Location);
        }
        failure.add_body(page, at + 1, end, FrameOrder::NewestFirst);
        return Some((failure, end));
    }
    let rest = text.strip_prefix("FAIL ")?.trim();
    let (file, name) = rest.split_once(" > ").unwrap_or((rest, ""));
    let first = file.split_whitespace().next().unwrap_or_default();
    let is_project = file.starts_with('|') && !name.is_empty();
    if !is_file(first) && !is_project {
        return None;
    }
    let end = page.find_end(at + 1, is_end);
    let stage = if name.is_empty() { Stage::Build } else { Stage::Test };
    let (failure, end) = Failure::new(stage, "jest").with_id(rest).in_block(page, at, end);
    if name.is_empty() && !(failure.message.contains("Error") || failure.message.contains("rror:")) {
        // Only the name of a file whose tests are listed below.
        let mut failure = Failure::new(Stage::Test, SUITE).with_id(first);
        failure.add(at, LineKind::Note);
        return Some((failure, at + 1));
    }
    Some((failure, end))
}

/// Deno's `name => ./a_test.ts:9:6`, with the error below.
pub(super) fn deno(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let (name, rest) = page.line(at).split_once(" => ")?;
    let said = page.line(at + 1).strip_prefix("error: ")?;
    find_location(rest).filter(|location| location.end == rest.len())?;
    let end = page.find_end(at + 2, |line| {
        matches!(line, " FAILURES" | " ERRORS") || line.contains(" => ") && find_location(line).is_some()
    });
    let mut failure = Failure::new(Stage::Test, "deno")
        .with_id(name)
        .with_message(said)
        .with_line(at, LineKind::Head)
        .with_line(at + 1, LineKind::Message);
    failure.add_body(page, at + 2, end, FrameOrder::NewestFirst);
    Some((failure, end))
}

/// Dart's and Flutter's `00:01 +1 -1: name [E]`.
pub(super) fn dart(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let is_clock = |line: &str| line.as_bytes().get(2) == Some(&b':') && line.get(5..7) == Some(" +");
    let line = page.line(at);
    let name = line.strip_suffix(" [E]").filter(|_| is_clock(line))?.split_once(": ")?.1;
    let end = page.find_end(at + 1, |line| is_clock(line));
    Some(Failure::new(Stage::Test, "dart").with_id(name).in_block(page, at, end))
}

/// The crosses that runners draw.
const CROSSES: [&str; 9] = ["✖ ", "✗ ", "✕ ", "✘ ", "× ", "❌ ", "(fail) ", "⨯ ", "𐄂 "];
/// What runners draw before anything else.
const OTHERS: [&str; 12] = ["✔", "✓", "▶", "ℹ", "√", "✅", "(pass)", "﹣", "○", "»", "➜", "🧪"];

/// `✖ name (0.3ms)`: node's own runner, ava, bats, vitest's tree, playwright.
pub(super) fn marked(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let text = line.trim_start();
    if text.is_ascii() && !text.starts_with("(fail)") {
        return None;
    }
    let rest = strip_any(text, &CROSSES)?.trim();
    if rest == "failing tests:" || rest.contains(" problem") || rest.starts_with("Failed Tests") {
        return None;
    }
    if let Some(rest) = rest.strip_prefix("[fail]: ") {
        return Some(ava(page, at, without_duration(rest.trim_end_matches(" Error thrown in test"))));
    }
    let name = without_duration(rest);
    let indent = indent_of(line);
    let mut end = page.find_end(at + 1, |line| {
        let text = line.trim_start();
        CROSSES.iter().chain(&OTHERS).any(|mark| text.starts_with(mark.trim_end()))
            // playwright prints each test in a numbered list.
            || text.starts_with("1) [")
            || (line.starts_with("test at ") && text.contains(':'))
            || (!text.is_empty() && indent_of(line) < indent)
            || (is_summary(text)
                && (!line.starts_with(' ') || text.ends_with(" pass") || text.ends_with(" fail")))
    });
    // Two blank lines end it in any case.
    if let Some(gap) = (at + 1..end).find(|&at| {
        page.line(at).is_empty()
            && page.line(at + 1).is_empty()
            && at + 2 < end
            && !page.line(at + 2).starts_with(' ')
    }) {
        end = gap;
    }
    let mut failure = Failure::new(Stage::Test, "marked").with_id(name).with_line(at, LineKind::Head);
    let below = page.line(at + 1).trim_start();
    if starts_with_any(below, &["(in test", "(from function"]) {
        add_tap_comments(page, &mut failure, at + 1, end);
    } else {
        failure.add_body(page, at + 1, end, FrameOrder::NewestFirst);
    }
    // A list of marks alone names groups of tests as well as tests.
    if !failure.is_explained() {
        failure.tool = SUITE;
    }
    if at > 0 && page.line(at - 1).starts_with("test at ") {
        failure.add(at - 1, LineKind::Frame);
    }
    Some((failure, end))
}

/// ava prints each failed test below a rule, after the list of all tests.
fn ava(page: &Page, at: usize, name: &str) -> (Failure, usize) {
    let mut failure = Failure::new(Stage::Test, "ava").with_id(name).with_line(at, LineKind::Head);
    let is_rule = |line: &str| line.trim() == "─";
    let stop = page.end_of_stream(at).min(at + 2000);
    let title = (at + 1..stop).find(|&at| page.line(at).trim() == name && page.line(at - 1).is_empty());
    if let Some(title) = title {
        let end = page.find_end(title + 1, is_rule);
        failure.add_body(page, title + 1, end, FrameOrder::NewestFirst);
        unwrap_ava_error(page, &mut failure);
    }
    (failure, at + 1)
}

fn is_summary(text: &str) -> bool {
    starts_with_digit(text) && contains_any(text, &[" test", " pass", " fail"])
}
