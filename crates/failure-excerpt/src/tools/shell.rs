//! Error lines of no particular tool: of make, shells, linkers and formatters, of crashes and assertions, and `…Error: …`.

use super::super::failure::{Failure, FrameOrder, Stage};
use super::super::line_kind::{LineKind, is_value};
use super::super::location::{file_in, find_location, is_file};
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::super::words::{contains_any, starts_with_any, strip_any};
use super::runner_lines::is_result_summary;

/// Prefixes of lines that only report that an earlier step failed.
const SECONDARY_PREFIXES: &[&str] = &[
    "error: could not compile",
    "error: test failed, to rerun",
    "error: aborting due to",
    "error: build failed",
    "error: test run failed",
    "error: doctest failed",
    "FAIL\t",
    "ninja: build stopped",
    "npm ERR! Lifecycle",
    "npm error Lifecycle",
    "npm ERR! Test failed",
    "ELIFECYCLE",
    " ELIFECYCLE",
    "error Command failed with exit code",
    "Command failed with exit code",
    "Errors while running CTest",
    "error: Recipe",
    "task: Failed to run",
    "BUILD FAILED",
    "FAILURE: Build failed",
    "exit status ",
    "##[error]Process completed",
    "mix test failed",
    "Error: Process completed",
    "error: process didn't exit successfully",
];

/// Returns true if `text` only reports that an earlier step failed.
pub(in super::super) fn is_secondary(text: &str) -> bool {
    if starts_with_any(text, SECONDARY_PREFIXES)
        || text.ends_with("[build failed]")
        || text.ends_with("[setup failed]")
        || text.contains(" did not complete successfully: exit code: ")
    {
        return true;
    }
    // `make: *** [Makefile:6: test] Error 1`, in any language
    is_make_error(text) && text.contains("] ") && text.ends_with(|c: char| c.is_ascii_digit())
}

/// Returns true for `make: *** …` and `gmake[1]: *** …`, whatever the path.
fn is_make_error(text: &str) -> bool {
    let Some((program, _)) = text.split_once(": *** ") else { return false };
    program.split('[').next().is_some_and(|program| program.ends_with("make"))
}

/// Messages about processes that crashed or were killed.
const CRASH_MARKERS: [&str; 16] = [
    "Segmentation fault",
    "core dumped",
    "Killed",
    "Aborted",
    "Bus error",
    "Illegal instruction",
    "Floating point exception",
    "out of memory",
    "OutOfMemory",
    "Out of memory",
    "Cannot allocate memory",
    "MemoryError",
    "memory allocation of",
    "stack overflow",
    "SIGSEGV",
    "SIGABRT",
];

/// Parts of linker errors.
const LINKER_ERRORS: &[&str] = &["undefined reference to", "undefined symbol", "multiple definition of"];

/// Matches an error line of no particular tool, and the lines that belong to it.
pub(super) fn line(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let text = line.trim_start_matches(['#', ' ', '\t', '>']).trim();
    if is_secondary(text) {
        return Some(Failure::new(Stage::Secondary, "echo").with_message(text).in_line(at));
    }
    if is_make_error(text) {
        let is_crash = contains_any(text, &CRASH_MARKERS);
        let stage = if is_crash { Stage::Crash } else { Stage::Build };
        let message = text.split_once(": *** ").map_or(text, |(_, message)| message);
        return Some(Failure::new(stage, "make").with_message(message).in_line(at));
    }
    if line.len() < 400 && !line.starts_with([' ', '\t']) {
        if let Some(word) = CRASH_MARKERS.iter().find(|word| text.contains(**word)) {
            // Drop a process id or progress before the message, up to ` - `.
            let start = text.find(word).unwrap_or(0);
            let start = text[..start].rfind(" - ").map_or(start, |at| at + 3);
            let mut failure = Failure::new(Stage::Crash, "process")
                .with_code(word)
                .with_message(&text[start..])
                .with_line(at, LineKind::Head);
            let end = frames_below(page, &mut failure, at);
            return Some((failure, end));
        }
        if let Some(message) = shell_error(text) {
            return Some(
                Failure::new(Stage::Build, "shell")
                    .with_message(message)
                    .with_file(file_in(text))
                    .in_line(at),
            );
        }
    }
    if let Some(message) = assertion(text) {
        return Some(
            Failure::new(Stage::Crash, "assert").with_message(message).with_file(file_in(text)).in_line(at),
        );
    }
    if text.starts_with("ld: ") || contains_any(text, LINKER_ERRORS) {
        let message = text.rfind(": ").map_or(text, |at| &text[at + 2..]);
        return Some(
            Failure::new(Stage::Build, "linker").with_message(message).with_file(file_in(text)).in_line(at),
        );
    }
    error(page, at, line, text)
}

/// Parts of shell errors about a command that could not run.
const SHELL_ERRORS: &[&str] = &[
    ": command not found",
    ": not found",
    ": No such file or directory",
    ": Permission denied",
    ": unbound variable",
    ": syntax error near unexpected token",
    ": Is a directory",
    ": Text file busy",
    ": parameter not set",
];

/// Returns the message of a shell error: `jq: command not found` of `run.sh: line 3: jq: command not found`.
fn shell_error(text: &str) -> Option<&str> {
    if !contains_any(text, SHELL_ERRORS) {
        return None;
    }
    let (program, rest) = text.split_once(": ")?;
    let is_program = !program.contains(' ') && program.len() < 80;
    let message = rest
        .strip_prefix("line ")
        .and_then(|rest| rest.split_once(": "))
        .map_or(rest, |(_, message)| message);
    let message = message.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(": ");
    is_program.then_some(message)
}

/// Returns glibc's message about a failed assertion: `prog: a.c:12: f: Assertion x failed.`
fn assertion(text: &str) -> Option<&str> {
    let start = text.find("Assertion ").filter(|_| text.contains("failed"))?;
    find_location(&text[..start]).map(|_| &text[start..])
}

/// Words before a colon that make a line an error.
const ERROR_WORDS: &[&str] = &[
    "error",
    "Error",
    "ERROR",
    "fatal",
    "FATAL",
    "Fatal",
    "panic",
    "FATAL ERROR",
    "fatal error",
    "Fatal error",
    "CMake Error",
    "** (Mix) Error",
    "err",
    "ERR",
    "critical",
    "CRITICAL",
    "failure",
    "usage error",
    "npm ERR! code",
    "npm error code",
    "ERR!",
];

/// Matches a line that starts with the name of an exception (`FooError:`) or with an error word (`fatal:`).
fn error(page: &Page, at: usize, line: &str, text: &str) -> Option<(Failure, usize)> {
    if line.len() > 2000 {
        return None;
    }
    let (head, message) = text.split_once(':')?;
    let head = head
        .trim_start_matches("Uncaught ")
        .trim_start_matches("Unhandled exception. ")
        .trim_start_matches('[')
        .trim();
    let kind = head.split([' ', '[', '(']).next().unwrap_or_default().trim_end_matches(']');
    let is_name = kind.len() > 5
        && (kind.ends_with("Error") || kind.ends_with("Exception") || kind.ends_with("Failure"))
        && kind.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | ':' | '$' | '\\' | '/'));
    let is_word = ERROR_WORDS.contains(&head)
        || starts_with_any(head, &["CMake Error at", "error[", "** ("])
        || starts_with_any(head, &["ERROR ", "npm ERR! "]) && head.len() < 24;
    // Logs mention errors in passing: only one at the start of a line, with a message, counts.
    let has_message = !message.trim().is_empty() || head.starts_with("CMake");
    let is_indented = line.starts_with("    ") && !line.starts_with("    Error");
    if !(is_name || is_word) || !has_message || is_indented {
        return None;
    }
    let code = if is_name { kind.rsplit(['.', ':', '\\']).next().unwrap_or(kind) } else { "" };
    let mut failure =
        Failure::new(Stage::Other, "error").with_code(code).with_message(text).with_line(at, LineKind::Head);
    if matches!(code, "SyntaxError" | "ModuleNotFoundError" | "ImportError")
        || head.starts_with("CMake")
        || contains_any(text, &["does not provide an export", "Cannot find module"])
    {
        failure.stage = Stage::Build;
    }
    if is_result_summary(text) || text == "error: Test failed" {
        failure.stage = Stage::Secondary;
    }
    file_in(text).clone_into(&mut failure.file);
    // node shows the location and the source above.
    let start = at.saturating_sub(6).max(page.start_of_stream(at));
    let source = (start..at).rev().find(|&above| {
        let text = page.line(above).trim_start_matches(['#', ' ']);
        let text = text.strip_prefix("file://").unwrap_or(text);
        // OCaml: `File "src/a.ml", line 3, characters 14-19:`
        let is_ocaml = text.starts_with("File \"") && text.ends_with(':');
        find_location(text)
            .is_some_and(|location| location.start == 0 && location.end == text.len() || is_ocaml)
    });
    if let Some(source) = source {
        for above in source..at {
            if !page.line(above).trim_matches(['#', ' ']).is_empty() {
                failure.add(above, if above == source { LineKind::Location } else { LineKind::Code });
            }
        }
        file_in(page.line(source)).clone_into(&mut failure.file);
    }
    let end = frames_below(page, &mut failure, at);
    Some((failure, end))
}

/// Adds the indented lines below an error, and returns the line after them.
fn frames_below(page: &Page, failure: &mut Failure, at: usize) -> usize {
    let is_tap_diagnostic = page.line(at).starts_with("# ");
    let end = page.find_end(at + 1, |line| {
        let line = if is_tap_diagnostic { line.strip_prefix("# ").unwrap_or(line) } else { line };
        !(line.is_empty()
            || line.starts_with([' ', '\t'])
            || line.starts_with("Caused by")
            || line.starts_with("at ")
            || is_value(line))
    });
    // Stop at two blank lines in a row, and drop those at the end.
    let end = (at + 1..end)
        .find(|&below| page.line(below).is_empty() && page.line(below + 1).is_empty())
        .unwrap_or(end);
    let end = (at + 1..end).rev().find(|&below| !page.line(below).is_empty()).map_or(at + 1, |last| last + 1);
    failure.add_body(page, at + 1, end.min(at + 60), FrameOrder::NewestFirst);
    end
}

/// What formatters print before the name of a file that they would change.
const UNFORMATTED: &[&str] = &[
    "would reformat ",
    "Would reformat: ",
    "--- would reformat ",
    "error: cannot format ",
    "File would be reformatted: ",
    "Would format ",
    "ERROR: Not formatted: ",
];

/// Matches the report of a formatter that would change a file: `would reformat a.py`, `Diff in a.rs:3:`, `[warn] a.js`.
pub(super) fn unformatted_file(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let failure = |file: &str| {
        let file = file.trim_start_matches("./").trim_end_matches([':', '.']).to_owned();
        Failure::new(Stage::Build, "format")
            .with_code("format")
            .with_message("would be reformatted")
            .with_file(&file)
    };
    if let Some(file) = strip_any(line, UNFORMATTED) {
        return Some(failure(file).in_line(at));
    }
    if let Some(rest) = line.strip_prefix("Diff in ") {
        let file = find_location(rest)
            .map_or_else(|| rest.split(" at line").next().unwrap_or(rest), |location| location.file);
        let end = page.find_end(at + 1, |line| line.starts_with("Diff in ") || line.is_empty());
        let mut failure = failure(file).with_line(at, LineKind::Head);
        for below in at + 1..end.min(at + 20) {
            let is_change = page.line(below).starts_with(['-', '+']);
            if is_change && failure.values.len() < 8 {
                failure.values.push(page.line(below).to_owned());
            }
            failure.add(below, if is_change { LineKind::Value } else { LineKind::Code });
        }
        return Some((failure, end));
    }
    let file = line.strip_prefix("[warn] ")?;
    if !is_file(file) || file.contains(' ') {
        return None;
    }
    Some(failure(file).in_line(at))
}
