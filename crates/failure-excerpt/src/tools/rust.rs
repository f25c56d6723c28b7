//! rustc, clippy, libtest, nextest, and other tools that point with an arrow: ruff, miette, Elm's kin.

use super::super::failure::{Failure, FrameOrder, Severity, Stage};
use super::super::line_kind::{LineKind, is_code};
use super::super::location::{file_in, find_location};
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::super::words::{starts_with_any, strip_any};

/// `---- books::top stdout ----`, `test books::top ... FAILED`, `FAIL [ 0.01s] crate books::top`
pub(super) fn test(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    if let Some(rest) = line.strip_prefix("---- ") {
        let name = rest.strip_suffix(" stdout ----").or_else(|| rest.strip_suffix(" stderr ----"))?;
        let end = page.find_end(at + 1, |line| {
            line.starts_with("---- ") || line == "failures:" || line.starts_with("test result:")
        });
        let mut failure = Failure::new(Stage::Test, "libtest").with_id(name).with_line(at, LineKind::Head);
        let panic = (at + 1..end).find(|&at| panicked(page.line(at)).is_some());
        match panic {
            Some(panic) => said(page, &mut failure, panic, end),
            None => failure.add_body(page, at + 1, end, FrameOrder::NewestFirst),
        }
        return Some((failure, end));
    }
    if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... FAILED")) {
        return Some(Failure::new(Stage::Test, "libtest").with_id(name.0).in_line(at));
    }
    let text = line.trim_start();
    let (_, rest) = strip_any(text, &["FAIL [", "SIGSEGV [", "SIGABRT [", "TIMEOUT ["])?.split_once("] ")?;
    let name = rest.rsplit(' ').next()?;
    Some(Failure::new(Stage::Test, "libtest").with_id(name).in_line(at))
}

/// A panic outside the section of its test: output that is not captured, or a program.
pub(super) fn panic(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    if let Some(name) = overflowed(line) {
        let mut failure = Failure::new(Stage::Crash, "libtest")
            .with_id(name)
            .with_message("stack overflow")
            .with_line(at, LineKind::Head);
        let end = page.find_end(at + 1, |line| line.is_empty() || line.starts_with("error:"));
        failure.add_all(at + 1..end, LineKind::Message);
        return Some((failure, end));
    }
    let name = panicked(line)?;
    let is_test = name != "main";
    let stage = if is_test { Stage::Test } else { Stage::Crash };
    let mut failure = Failure::new(stage, "libtest").with_id(if is_test { name } else { "" });
    failure.add(at, LineKind::Head);
    let end = page
        .find_end(at + 1, |line| line.is_empty() || starts_with_any(line, &["test ", "error:", "thread '"]));
    said(page, &mut failure, at, end);
    Some((failure, end))
}

/// Returns the thread that overflowed its stack.
fn overflowed(line: &str) -> Option<&str> {
    line.strip_prefix("thread '")?
        .split_once('\'')
        .filter(|(_, rest)| rest.contains("has overflowed its stack"))
        .map(|(name, _)| name)
}

/// Returns the thread that panicked.
fn panicked(line: &str) -> Option<&str> {
    let (name, rest) = line.trim_start().strip_prefix("thread '")?.split_once('\'')?;
    rest.contains(" panicked at ").then_some(name)
}

/// What a panic at line `at` says.
fn said(page: &Page, failure: &mut Failure, at: usize, end: usize) {
    let line = page.line(at);
    failure.add(at, LineKind::Location);
    file_in(line.split_once(" panicked at ").map_or(line, |(_, rest)| rest)).clone_into(&mut failure.file);
    // Older compilers put the message on the line.
    if let Some((_, rest)) = line.split_once(" panicked at '") {
        rest.rsplit_once("', ").map_or(rest, |(message, _)| message).clone_into(&mut failure.message);
    }
    let stop = (at + 1..end).find(|&at| page.line(at).starts_with("stack backtrace:")).unwrap_or(end);
    let mut is_first = failure.message.is_empty();
    for at in at + 1..stop {
        let text = page.line(at).trim();
        if text.is_empty() || text.starts_with("note: run with") || text.starts_with("note: Some details") {
            continue;
        }
        if text.starts_with("thread '") {
            break;
        }
        if is_first {
            is_first = false;
            text.clone_into(&mut failure.message);
            failure.add(at, LineKind::Message);
        } else {
            failure.add_value(text);
            failure.add(at, LineKind::Value);
        }
    }
    let frames: Vec<usize> = (stop..end)
        .filter(|&at| starts_with_any(page.line(at).trim_start(), &["at ./", "at src/"]))
        .collect();
    failure.add_frames(page, &frames, FrameOrder::NewestFirst);
}

/// Returns a head line, an arrow that points to a location, and a frame of source below.
pub(super) fn framed(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let head = page.line(at);
    if head.starts_with(' ') && !head.trim_start().starts_with(['×', '⚠', '✖', 'x', '✘']) {
        return None;
    }
    // The arrow follows within a few lines, all of which belong to the message.
    let arrow = (at + 1..(at + 5).min(page.end_of_stream(at))).find(|&at| is_arrow(page.line(at)))?;
    let is_of_head = |at: usize| match page.line(at) {
        "" => page.line(arrow).trim_start().starts_with(['╭', '┌']),
        line => line.starts_with(' '),
    };
    if !(at + 1..arrow).all(is_of_head) {
        return None;
    }

    let location = find_location(page.line(arrow))?;
    let (severity, code, message) = judged(head);
    if message.is_empty() {
        return None;
    }
    let mut failure = Failure::new(Stage::Build, "compiler")
        .with_code(code)
        .with_message(message)
        .with_file(location.file)
        .with_line(at, LineKind::Head);
    failure.severity = severity;
    failure.add_all(at + 1..arrow, LineKind::Message);
    failure.add(arrow, LineKind::Location);
    let end = page.find_end(arrow + 1, str::is_empty);
    let mut is_help = false;
    for at in arrow + 1..end {
        let text = page.line(at).trim();
        is_help |= starts_with_any(text, &["help:", "note:", "= help", "= note"]);
        let label = label(text).filter(|_| !is_help);
        let lint = lint_name(text).filter(|_| !is_code(text) && !is_arrow(text));
        if let Some(label) = label
            && failure.values.len() < 8
        {
            failure.values.push(label.to_owned());
        }
        if let Some(lint) = lint
            && failure.code.is_empty()
        {
            lint.clone_into(&mut failure.code);
        }
        let kind = match (label.or(lint), is_help) {
            (Some(_), _) => LineKind::Value,
            (None, true) => LineKind::Note,
            (None, false) => LineKind::Code,
        };
        failure.add(at, kind);
    }
    Some((failure, end))
}

fn is_arrow(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '|', '│']);
    starts_with_any(text, &["--> ", "╭─[", "┌─ ", "╭▸ ", "╭───["]) && find_location(text).is_some()
}

/// Returns what is said beside the carets that point into a line of source.
fn label(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').strip_prefix(['|', '│'])?;
    let at = rest.rfind("^ ").map(|at| at + 2)?;
    Some(rest[at..].trim()).filter(|label| !label.is_empty())
}

/// Returns the name of the rule in clippy's notes.
fn lint_name(text: &str) -> Option<&str> {
    if let Some((_, name)) = text.split_once("rust-clippy/").and_then(|(_, rest)| rest.split_once('#')) {
        return Some(name);
    }
    let rest = text.split_once("= note: `")?.1;
    let name = rest.split(['`', ')']).next()?;
    let name = name.trim_start_matches("-D ").trim_start_matches("#[warn(").trim_start_matches("#[deny(");
    (text.contains("on by default") || text.contains("implied by")).then_some(name)
}

/// Severity, code and message of a head line.
fn judged(head: &str) -> (Severity, &str, &str) {
    let text = head.trim().trim_start_matches(['×', '⚠', '✖', '✘', ' ']);
    for (word, severity) in [
        ("error", Severity::Error),
        ("warning", Severity::Warning),
        ("fatal error", Severity::Error),
        ("Error", Severity::Error),
    ] {
        let Some(rest) = text.strip_prefix(word) else { continue };
        if let Some((code, message)) = rest.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            return (severity, code, message);
        }
        if let Some(message) = rest.strip_prefix(": ") {
            return (severity, "", message);
        }
    }
    // `F401 [*] unused`, `invalid-syntax: x`
    let (code, message) = text.split_once([' ', ':']).unwrap_or((text, text));
    let is_code = code.len() < 24
        && (code.bytes().any(|byte| byte.is_ascii_digit()) || code.contains('-') || message.starts_with(' '));
    let severity = if head.trim_start().starts_with('⚠') { Severity::Warning } else { Severity::Error };
    if is_code {
        (severity, code, message.trim_start_matches(':').trim().trim_start_matches("[*] "))
    } else {
        (severity, "", text)
    }
}
