//! Programs that panicked, crashed or could not run, and error lines of no particular tool: of make, shells and linkers.

use super::prelude::*;

/// Matches a Rust panic, in a test or in a program, or a stack overflow.
pub(super) fn panicked(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let (thread, rest) = line.trim_start().strip_prefix("thread '")?.split_once('\'')?;
    if rest.contains("has overflowed its stack") {
        let end = page.find_end(at + 1, |line| line.is_empty() || line.starts_with("error:"));
        let mut failure =
            Failure::new(Stage::Crash, "libtest").with_id(thread).with_message("stack overflow");
        failure.add(at, LineKind::Head);
        failure.add_all(at + 1..end, LineKind::Message);
        return Some((failure, end));
    }
    let (_, place) = rest.split_once(" panicked at ")?;
    // Another thread of a test may panic within the test's section.
    let above =
        page.find_above(at, MAX_LOOKBACK_LINES, |line| section(line).is_some() || line == "failures:");
    let test = above.and_then(|at| section(page.line(at))).or((thread != "main").then_some(thread));
    let stage = if test.is_some() { Stage::Test } else { Stage::Crash };
    let mut failure = Failure::new(stage, "libtest")
        .with_id(test.unwrap_or_default())
        .with_file(file_in(place))
        .with_line(at, LineKind::Head)
        .with_line(at, LineKind::Location);
    let end = page.find_end(at + 1, |line| {
        line.is_empty() || starts_with_any(line.trim_start(), &["test ", "error:", "thread '", "---- "])
    });
    let stack = (at + 1..end).find(|&at| page.line(at).starts_with("stack backtrace:")).unwrap_or(end);
    for at in at + 1..stack {
        let text = page.line(at).trim();
        if starts_with_any(text, &["note: run with", "note: Some details"]) {
            continue;
        }
        if failure.message.is_empty() {
            text.clone_into(&mut failure.message);
            failure.add(at, LineKind::Message);
        } else {
            failure.add_value(text);
            failure.add(at, LineKind::Value);
        }
    }
    let frames: Vec<usize> = (stack..end)
        .filter(|at| starts_with_any(page.line(*at).trim_start(), &["at ./", "at src/"]))
        .collect();
    failure.add_frames(page, &frames, FrameOrder::NewestFirst);
    Some((failure, end))
}

/// Returns the name of the test whose output begins at this line.
fn section(line: &str) -> Option<&str> {
    Some(line.strip_prefix("---- ")?.split_once(" std")?.0)
}

/// Matches Go's `panic: x` with the stacks of its goroutines, `WARNING: DATA RACE`, and `fatal error: all goroutines are asleep`.
pub(super) fn goroutines(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    if line == "WARNING: DATA RACE" {
        let end = page.find_end(at + 1, |line| line.starts_with("====="));
        return Some(Failure::new(Stage::Crash, "go").with_message("DATA RACE").in_block(page, at, end));
    }
    let message = strip_any(line, &["panic: ", "fatal error: "])?.trim_end_matches(" [recovered]");
    (at + 1..at + 30).find(|&at| page.line(at).starts_with("goroutine "))?;
    let end = page.find_end(at + 1, |line| {
        line == "FAIL" || starts_with_any(line, &["FAIL\t", "exit status ", "ok  \t"])
    });
    let stage = if message.starts_with("test timed out") { Stage::Hang } else { Stage::Crash };
    let mut failure = Failure::new(stage, "go").with_message(message).with_line(at, LineKind::Head);
    let mut frames = Vec::new();
    for at in at + 1..end {
        let Some(text) = page.line(at).strip_prefix('\t') else { continue };
        let file = find_location(text).filter(|found| found.start < 2).map_or("", |found| found.file);
        if extension(file) != "go" || file.starts_with('/') || is_external(file) {
            continue;
        }
        // The function is in the line above: `pkg.TestTake(0x1)`, `pkg.TestTake.func1(0x1)`.
        frames.push(at);
        if frames.len() <= 4 {
            failure.add(at - 1, LineKind::Location);
        }
        if let Some((_, name)) = page.line(at - 1).rsplit_once(".Test").filter(|_| failure.id.is_empty()) {
            failure.id = format!("Test{}", name.split(['(', '.']).next().unwrap_or_default());
        }
    }
    failure.add_all(frames.first().copied(), LineKind::Location);
    failure.add_frames(page, &frames, FrameOrder::NewestFirst);
    Some((failure, end))
}

/// Prefixes of valgrind's errors.
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

/// Matches a report of `AddressSanitizer` and its relatives, or of valgrind.
pub(super) fn sanitizer(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let start =
        line.find("ERROR: ").or_else(|| line.find("WARNING: ")).filter(|_| line.contains("Sanitizer: "));
    let Some(start) = start else { return valgrind_error(page, at) };
    let end = page
        .find_end(at + 1, |line| line.contains("ABORTING") || starts_with_any(line, &["SUMMARY: ", "make"]));
    // The address and the registers differ in each run.
    let message = line[start..].split(" on address ").next().unwrap_or_default();
    let message = message.split(" on unknown address ").next().unwrap_or_default();
    let mut failure =
        Failure::new(Stage::Crash, "sanitizer").with_message(message).with_line(at, LineKind::Head);
    let stack = (at + 1..end).find(|&at| page.line(at).trim_start().starts_with("#0")).unwrap_or(end);
    failure.add_all(at + 1..stack, LineKind::Message);
    // The first stack is where it happened, the others where the memory came from.
    let behind = page.find_end(stack, str::is_empty).min(end);
    let frames: Vec<usize> = (stack..behind).filter(|at| is_own_frame(page.line(*at))).collect();
    failure.add_frames(page, &frames, FrameOrder::NewestFirst);
    failure.add_all(
        (behind..end).filter(|at| page.line(*at).contains("is located") || is_own_frame(page.line(*at))),
        LineKind::Note,
    );
    Some((failure, end))
}

fn is_own_frame(line: &str) -> bool {
    is_frame(line.trim()) && !is_external_frame(line.trim())
}

/// Matches an error of valgrind.
fn valgrind_error(page: &Page, at: usize) -> Found {
    let said = valgrind(page.line(at))?;
    if !starts_with_any(said, VALGRIND_ERRORS) && !said.contains("definitely lost in loss record") {
        return None;
    }
    let end = page.find_end(at + 1, |line| valgrind(line).is_none_or(str::is_empty));
    let mut failure = Failure::new(Stage::Crash, "valgrind").with_message(said).with_line(at, LineKind::Head);
    failure.add_frames(
        page,
        &(at + 1..end)
            .filter(|at| {
                let file = file_in(page.line(*at));
                page.line(*at).contains('(') && !file.is_empty() && !file.starts_with("vg")
            })
            .collect::<Vec<_>>(),
        FrameOrder::NewestFirst,
    );
    Some((failure, end))
}

/// Returns what valgrind says after `==123== `.
fn valgrind(line: &str) -> Option<&str> {
    let (pid, text) = line.strip_prefix("==")?.split_once("==")?;
    is_digits(pid).then_some(text.trim())
}

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
pub(crate) fn is_secondary(text: &str) -> bool {
    starts_with_any(text, SECONDARY_PREFIXES)
        || text.ends_with("[build failed]")
        || text.ends_with("[setup failed]")
        || text.contains(" did not complete successfully: exit code: ")
        // `make: *** [Makefile:6: test] Error 1`, in any language
        || make_error(text).is_some() && text.contains("] ") && text.ends_with(|c: char| c.is_ascii_digit())
}

/// Returns what `make: *** …` and `gmake[1]: *** …` say, whatever the path.
fn make_error(text: &str) -> Option<&str> {
    let (program, said) = text.split_once(": *** ")?;
    program.split('[').next().is_some_and(|program| program.ends_with("make")).then_some(said)
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

/// Matches an error line that no particular tool printed, with the lines that belong to it.
pub(super) fn line(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let text = line.trim_start_matches(['#', ' ', '\t', '>']).trim();
    if is_secondary(text) {
        return Some(Failure::new(Stage::Secondary, "echo").with_message(text).in_line(at));
    }
    if let Some(message) = make_error(text) {
        let stage = if contains_any(text, &CRASH_MARKERS) { Stage::Crash } else { Stage::Build };
        return Some(Failure::new(stage, "make").with_message(message).in_line(at));
    }
    if line.len() < 400 && !line.starts_with([' ', '\t']) {
        if let Some(word) = CRASH_MARKERS.iter().find(|word| text.contains(**word)) {
            // Drop a process id or progress before the message, up to ` - `.
            let start = text.find(word).unwrap_or(0);
            let start = text[..start].rfind(" - ").map_or(start, |at| at + 3);
            let mut failure =
                Failure::new(Stage::Crash, "process").with_code(word).with_message(&text[start..]);
            failure.add(at, LineKind::Head);
            let end = frames_below(page, &mut failure, at);
            return Some((failure, end));
        }
        if let Some(message) = shell_error(text) {
            let failure = Failure::new(Stage::Build, "shell").with_message(message);
            return Some(failure.with_file(file_in(text)).in_line(at));
        }
    }
    // glibc's `prog: a.c:12: f: Assertion x failed.`
    if let Some(start) = text.find("Assertion ").filter(|start| find_location(&text[..*start]).is_some())
        && text.contains("failed")
    {
        let failure = Failure::new(Stage::Crash, "assert").with_message(&text[start..]);
        return Some(failure.with_file(file_in(text)).in_line(at));
    }
    if text.starts_with("ld: ") || contains_any(text, LINKER_ERRORS) {
        let message = text.rsplit_once(": ").map_or(text, |(_, message)| message);
        let failure = Failure::new(Stage::Build, "linker").with_message(message);
        return Some(failure.with_file(file_in(text)).in_line(at));
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
    let (program, rest) = text.split_once(": ").filter(|_| contains_any(text, SHELL_ERRORS))?;
    let placed = rest.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
    let message = placed.map_or(rest, |(_, message)| message);
    let message = message.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(": ");
    (!program.contains(' ') && program.len() < 80).then_some(message)
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

/// Parts of errors about a file that cannot be loaded.
const LOAD_ERRORS: &[&str] = &[
    "SyntaxError",
    "ModuleNotFoundError",
    "ImportError",
    "does not provide an export",
    "Cannot find module",
];

/// Matches a line that starts with the name of an exception (`FooError:`) or with an error word (`fatal:`).
fn error(page: &Page, at: usize, line: &str, text: &str) -> Found {
    let (head, message) = text.split_once(':')?;
    let head = strip_any(head, &["Uncaught ", "Unhandled exception. ", "[", "Exception in thread \"main\" "])
        .unwrap_or(head)
        .trim();
    let kind = head.split([' ', '[', '(']).next().unwrap_or_default().trim_end_matches(']');
    let is_name = kind.len() > 5
        && ["Error", "Exception", "Failure"].iter().any(|word| kind.ends_with(word))
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
    let stage = if is_result_summary(text) || text == "error: Test failed" {
        Stage::Secondary
    } else if head.starts_with("CMake") || contains_any(text, LOAD_ERRORS) {
        Stage::Build
    } else {
        Stage::Other
    };
    let code = if is_name { kind.rsplit(['.', ':', '\\']).next().unwrap_or(kind) } else { "" };
    let mut failure = Failure::new(stage, "error")
        .with_code(code)
        .with_message(text)
        .with_file(file_in(text))
        .with_line(at, LineKind::Head);
    // node shows the location and the source above.
    if let Some(source) = page.find_above(at, 6, |line| {
        let text = line.trim_start_matches(['#', ' ']);
        let text = text.strip_prefix("file://").unwrap_or(text);
        // OCaml: `File "src/a.ml", line 3, characters 14-19:`
        let is_ocaml = text.starts_with("File \"") && text.ends_with(':');
        find_location(text).is_some_and(|found| found.start == 0 && found.end == text.len() || is_ocaml)
    }) {
        file_in(page.line(source)).clone_into(&mut failure.file);
        failure.add(source, LineKind::Location);
        failure.add_all(
            (source + 1..at).filter(|at| !page.line(*at).trim_matches(['#', ' ']).is_empty()),
            LineKind::Code,
        );
    }
    let end = frames_below(page, &mut failure, at);
    Some((failure, end))
}

/// Adds the indented lines below an error, and returns the line after them.
fn frames_below(page: &Page, failure: &mut Failure, at: usize) -> usize {
    let is_tap_diagnostic = page.line(at).starts_with("# ");
    let mut was_empty = false;
    // Two blank lines in a row end it.
    let end = page.find_end(at + 1, |line| {
        let line = if is_tap_diagnostic { line.strip_prefix("# ").unwrap_or(line) } else { line };
        let is_gap = std::mem::replace(&mut was_empty, line.is_empty()) && line.is_empty();
        let is_part = line.is_empty()
            || line.starts_with([' ', '\t'])
            || starts_with_any(line, &["Caused by", "at "])
            || is_value(line);
        is_gap || !is_part
    });
    let end = (at + 1..end).rev().find(|&below| !page.line(below).is_empty()).map_or(at + 1, |last| last + 1);
    failure.add_body(page, at + 1, end.min(at + 60), FrameOrder::NewestFirst);
    end
}

/// Nouns beside the numbers of a runner's summary.
const SUMMARY_NOUNS: &[&str] = &[
    "failed",
    "failing",
    "failures",
    "failure",
    "passed",
    "passing",
    "errors",
    "error",
    "tests",
    "test",
    "problems",
    "problem",
    "warnings",
    "warning",
    "skipped",
    "total",
    "runs",
    "examples",
    "assertions",
    "pending",
    "suites",
    "ignored",
    "errored",
    "broken",
];

/// Returns true if a line is a summary of results: `3 failed, 10 passed in 0.12s`, `Tests: 1 failed`, `✖ 2 problems (2 errors)`.
pub(crate) fn is_result_summary(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().take(40).collect();
    let counts = words
        .windows(2)
        .filter(|pair| {
            is_number(pair[0]) && is_noun(pair[1])
                || pair[0].ends_with(':') && is_noun(pair[0]) && is_number(pair[1])
        })
        .count();
    // Prose has numbers too (`expected 3 errors`), but a summary has little else.
    counts > 0
        && words.iter().filter(|word| is_prose(word)).count() <= counts * 2 + 2
        && !text.contains("expected")
        && !text.contains("got ")
}

fn is_prose(word: &str) -> bool {
    !bare(word).is_empty() && !is_number(word) && !is_noun(word)
}

fn is_noun(word: &str) -> bool {
    SUMMARY_NOUNS.iter().any(|noun| bare(word).eq_ignore_ascii_case(noun))
}

fn is_number(word: &str) -> bool {
    let word = bare(word);
    starts_with_digit(word) && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}
