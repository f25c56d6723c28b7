//! Matchers for pytest, unittest and Python tracebacks.

use super::prelude::*;

/// Matches a section of pytest's report, a line with the result of a test, or a conftest that cannot be imported.
pub(super) fn pytest(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    if line.starts_with("ImportError while loading conftest") {
        let end = page.find_end(at + 1, str::is_empty);
        let mut failure = Failure::new(Stage::Build, "pytest").with_line(at, LineKind::Note);
        add_body(page, &mut failure, at + 1, end);
        return Some((failure, end));
    }
    if is_title(line) {
        return block(page, at);
    }
    // `[gw0] [ 6%] FAILED tests/a.py::test_x`
    let text = line.strip_prefix("[gw").and_then(|rest| rest.split_once("] ")).map_or(line, |(_, rest)| rest);
    let text = text.split_once("%] ").map_or(text, |(_, rest)| rest).trim_start();
    if let Some(rest) = strip_any(text, &["FAILED ", "ERROR "]) {
        let (id, message) = rest.split_once(" - ").unwrap_or((rest, ""));
        let file = id.split("::").next().unwrap_or_default();
        if extension(file.trim()) != "py" {
            return None;
        }
        let is_load = text.starts_with('E') && !id.contains("::");
        let message = if is_load { "" } else { message.trim_end_matches("...") };
        let stage = if is_load { Stage::Build } else { Stage::Test };
        return Some(Failure::new(stage, "pytest").with_id(id).with_message(message).in_line(at));
    }
    let outcome = line.find(" FAILED").or_else(|| line.find(" ERROR"));
    // With -s, the output of the test is between its name and its result.
    let end = match outcome {
        Some(end) => end,
        None if RESULTS.iter().any(|result| line.contains(result)) => return None,
        None => {
            let mut below = (at + 1..page.len().min(at + 200)).map(|at| page.line(at));
            line.find(".py::").and_then(|_| {
                below
                    .find(|line| line.contains(".py::") || starts_with_any(line, RESULTS))
                    .filter(|line| starts_with_any(line, &RESULTS[..2]) && !line.contains(".py::"))
            })?;
            line.find("] ").map(|at| at + 1).or_else(|| line.find(' ')).unwrap_or(line.len())
        }
    };
    let id = &line[..end];
    let (file, _) = id.split_once(".py::")?;
    (!file.contains(' ')).then(|| Failure::new(Stage::Test, "pytest").with_id(id).in_line(at))
}

/// Words for the result of a test; the first two are failures.
const RESULTS: &[&str] = &["FAILED", "ERROR", "PASSED", "SKIPPED", "XFAIL", "XPASS"];

/// `_____ TestA.test_x _____`
fn is_title(line: &str) -> bool {
    line.starts_with("__") && line.ends_with("__") && !line.trim_matches('_').trim().is_empty()
}

/// Matches a title with the section below it.
fn block(page: &Page, at: usize) -> Found {
    let title = page.line(at).trim_matches('_').trim();
    let end = page.find_end(at + 1, |line| is_title(line) || line.starts_with("===") && line.ends_with("=="));
    let (stage, name) = match title.strip_prefix("ERROR collecting ") {
        Some(file) => (Stage::Build, file),
        None if title.starts_with("ERROR at") => {
            (Stage::Test, title.split_once(" of ").map_or(title, |(_, name)| name))
        }
        None => (Stage::Test, title),
    };
    let mut failure = Failure::new(stage, "pytest").with_id(name).with_line(at, LineKind::Head);
    let captured = (at + 1..end)
        .find(|at| page.line(*at).starts_with("----") && page.line(*at).contains(" Captured "))
        .unwrap_or(end);
    add_body(page, &mut failure, at + 1, captured);
    failure.add_all(captured..end, LineKind::Foreign);
    failure.is_explained().then_some((failure, end))
}

/// Adds the lines of a failure as pytest prints it: source, `E` lines, locations.
fn add_body(page: &Page, failure: &mut Failure, from: usize, to: usize) {
    // The source of a syntax error is between its place and its message.
    let place =
        (from..to).rev().find(|&at| said_in(page.line(at)).is_some_and(|said| said.starts_with("File \"")));
    let message = match place {
        Some(place) => {
            file_in(page.line(place)).clone_into(&mut failure.file);
            (place + 1..to).rev().find(|&at| said_in(page.line(at)).is_some())
        }
        None => (from..to).find(|&at| said_in(page.line(at)).is_some()),
    };
    let mut frames = Vec::new();
    let mut said_more = 0;
    // The source line that failed, nearest to the error.
    let failed = (from..to).rev().find(|&at| page.line(at).starts_with('>'));
    for at in from..to {
        let text = page.line(at).trim();
        if text.is_empty() || text == "E" || text.starts_with("_ _ _") {
            continue;
        }
        let kind = if Some(at) == message {
            said_in(page.line(at)).unwrap_or_default().clone_into(&mut failure.message);
            LineKind::Message
        } else if let Some(said) = said_in(page.line(at)) {
            // How much of a diff is shown depends on pytest's verbosity.
            if said.starts_with("assert ") {
                failure.values.push(said.to_owned());
            }
            said_more += 1;
            let is_where = starts_with_any(said, &["+  where", "+    where", "+  and"]);
            if is_where || said_more > 6 { LineKind::Note } else { LineKind::Value }
        } else if text.starts_with('>') {
            if Some(at) == failed { LineKind::Message } else { LineKind::Frame }
        } else if is_frame(text) {
            if !is_external_frame(text) {
                frames.push(at);
            }
            continue;
        } else if frames.last() == Some(&at.saturating_sub(1)) {
            LineKind::Frame
        } else {
            LineKind::Foreign
        };
        failure.add(at, kind);
    }
    // The last location is printed below its error.
    failure.add_frames(page, &frames, FrameOrder::NewestLast);
}

/// Returns what a line of pytest's says of an error.
fn said_in(line: &str) -> Option<&str> {
    line.strip_prefix("E ").map(str::trim).filter(|said| !said.is_empty())
}

/// Matches `FAIL: test_x (tests.A.test_x)` below a line of `=`.
pub(super) fn unittest(page: &Page, at: usize) -> Found {
    let rest = strip_any(page.line(at), &["FAIL: ", "ERROR: "])?;
    page.line(at.checked_sub(1)?).strip_prefix("=====")?;
    let (name, module) = rest.split_once(" (").unwrap_or((rest, ""));
    // A sub-test has its parameters after the name.
    let parameters = module.split_once(") (").map_or(String::new(), |(_, more)| format!(" ({more}"));
    let stage = if rest.contains("_FailedTest") { Stage::Build } else { Stage::Test };
    let mut failure =
        Failure::new(stage, "unittest").with_id(&format!("{name}{parameters}")).with_line(at, LineKind::Head);
    let end = page.find_end(at + 1, |line| line.starts_with("=====") || line.starts_with("Ran "));
    let captured = (at + 1..end).find(|&at| matches!(page.line(at), "Stdout:" | "Stderr:")).unwrap_or(end);
    // Of several chained exceptions, the test saw the last one.
    let mut traces = (at + 1..captured).filter(|&at| page.line(at).starts_with("Traceback"));
    let first = traces.next().unwrap_or(at + 2);
    let last = traces.next_back().unwrap_or(first);
    failure.add_all(first..last, LineKind::Frame);
    failure.add_body(page, last, captured, FrameOrder::NewestLast);
    Some((failure, end))
}

/// Names of exceptions that mean that a file could not be loaded.
const LOAD_ERRORS: &[&str] = &["SyntaxError", "ImportError", "ModuleNotFoundError", "IndentationError"];

/// Matches a traceback anywhere, or the dump of an interpreter that crashed.
pub(super) fn traceback(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    if let Some(error) = line.find("Fatal Python error: ") {
        let end = page.find_end(at + 1, |line| line.starts_with("Extension modules:"));
        let mut failure =
            Failure::new(Stage::Crash, "python").with_message(&line[error..]).with_line(at, LineKind::Head);
        let frames: Vec<usize> = (at + 1..end)
            .filter(|at| {
                let text = page.line(*at).trim_start();
                text.starts_with("File \"") && !is_external_frame(text)
            })
            .collect();
        failure.add_frames(page, &frames, FrameOrder::NewestFirst);
        let mut names = frames.iter().filter_map(|&at| page.line(at).rsplit_once(" in "));
        if let Some((_, name)) = names.find(|(_, name)| name.starts_with("test")) {
            name.clone_into(&mut failure.id);
        }
        return Some((failure, end));
    }
    if !bare(line).starts_with("Traceback (most recent call last)") {
        return None;
    }
    let indent = indent_of(line);
    let error = page.find_end(at + 1, |line| {
        !line.trim().is_empty() && indent_of(line) <= indent && !bare(line).starts_with("File \"")
    });
    // A message may have several lines, up to the next blank one.
    let end = page.find_end(error + 1, |line| {
        line.trim().is_empty() || indent_of(line) < indent || line.contains("Traceback (most")
    });
    let end = end.min(error + 12);
    let message = bare(page.line(error));
    let stage = if starts_with_any(message, LOAD_ERRORS) { Stage::Build } else { Stage::Other };
    let mut failure = Failure::new(stage, "python").with_message(message);
    failure.add_body(page, at + 1, error, FrameOrder::NewestLast);
    failure.add(error, LineKind::Head);
    failure.add_all(error + 1..end, LineKind::Value);
    Some((failure, end))
}

fn bare(line: &str) -> &str {
    line.trim_start_matches(['#', ' ', '|', '+'])
}
