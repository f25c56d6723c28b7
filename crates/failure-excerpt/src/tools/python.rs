//! pytest, unittest, and any traceback of Python.

use super::super::failure::{Failure, FrameOrder, Stage, indent_of};
use super::super::line_kind::{LineKind, is_external_frame, is_frame};
use super::super::location::{extension, find_location, is_external};
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::super::words::{contains_any, starts_with_any, strip_any};

/// The sections of pytest, its verbose lines, and its summary.
pub(super) fn pytest(page: &Page, at: usize, state: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    match line.as_bytes().first().copied().unwrap_or(b' ') {
        b'=' => {
            let title = line.trim_matches('=').trim();
            state.in_pytest_failures =
                matches!(title, "FAILURES" | "ERRORS") || (state.in_pytest_failures && title.is_empty());
            None
        }
        b'_' if state.in_pytest_failures => block(page, at),
        b'F' | b'E' => summary(page, at).or_else(|| conftest(page, at)),
        b'I' => conftest(page, at),
        b'[' => {
            let rest = line.strip_prefix("[gw")?.split_once("] ")?.1;
            let rest = rest.split_once("%] ").map_or(rest, |(_, rest)| rest);
            let id = strip_any(rest.trim_start(), &["FAILED ", "ERROR "])?;
            Some(Failure::new(Stage::Test, "pytest").with_id(id).in_line(at)).filter(|_| is_id(id))
        }
        _ => verbose(page, at),
    }
}

fn is_id(text: &str) -> bool {
    text.contains("::")
        && text.split("::").next().is_some_and(|file| extension(file) == "py" || file.contains(".py "))
}

/// `tests/a.py::test_x FAILED   [ 6%]`; with `-s` the word may follow later.
fn verbose(page: &Page, at: usize) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let file = line.find(".py::")?;
    if line[..file].contains(' ') {
        return None;
    }
    let failed = |text: &str| text.find(" FAILED").or_else(|| text.find(" ERROR"));
    let id_end = match failed(line) {
        Some(end)
            if line[end..]
                .trim_start()
                .split(' ')
                .next()
                .is_some_and(|word| word == "FAILED" || word == "ERROR") =>
        {
            end
        }
        _ => {
            // Its own output is between name and result.
            if contains_any(line, &[" PASSED", " SKIPPED", " XFAIL", " XPASS"]) {
                return None;
            }
            let limit = (at + 200).min(page.len());
            let result = (at + 1..limit).find(|&at| {
                let line = page.line(at);
                line.contains(".py::")
                    || starts_with_any(line, &["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL"])
            })?;
            let result = page.line(result);
            if !starts_with_any(result, &["FAILED", "ERROR"]) || result.contains(".py::") {
                return None;
            }
            let brackets = line[file..].find(']').map(|at| file + at + 1);
            let blank = line[file..].find(' ').map_or(line.len(), |at| file + at);
            brackets.filter(|_| line[file..blank].contains('[')).unwrap_or(blank)
        }
    };
    Some(Failure::new(Stage::Test, "pytest").with_id(&line[..id_end]).in_line(at))
}

/// `FAILED tests/a.py::test_x - assert 1 == 2`
fn summary(page: &Page, at: usize) -> Option<(Failure, usize)> {
    let rest = strip_any(page.line(at), &["FAILED ", "ERROR "])?;
    let (id, message) = rest.split_once(" - ").unwrap_or((rest, ""));
    if !is_id(id) && extension(id.trim()) != "py" {
        return None;
    }
    let stage =
        if page.line(at).starts_with("ERROR ") && !id.contains("::") { Stage::Build } else { Stage::Test };
    let message = message.strip_suffix("...").unwrap_or(message);
    let message = if stage == Stage::Test { message } else { "" };
    Some(Failure::new(stage, "pytest").with_id(id).with_message(message).in_line(at))
}

/// `_____ TestA.test_x _____` and what follows.
fn block(page: &Page, at: usize) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let title = line.trim_matches('_').trim();
    if title.is_empty() || !line.starts_with("__") || !line.ends_with("__") {
        return None;
    }
    let is_head = |line: &str| {
        line.starts_with("___") && line.ends_with("__") && !line.trim_matches('_').trim().is_empty()
    };
    let end =
        page.find_end(at + 1, |line| is_head(line) || (line.starts_with("===") && line.ends_with("==")));
    let (stage, name) = match title.strip_prefix("ERROR collecting ") {
        Some(file) => (Stage::Build, file),
        None => (
            Stage::Test,
            title
                .split_once(" of ")
                .filter(|_| title.starts_with("ERROR at"))
                .map_or(title, |(_, name)| name),
        ),
    };
    let mut failure = Failure::new(stage, "pytest").with_id(name).with_line(at, LineKind::Head);
    let captured = (at + 1..end)
        .find(|&at| page.line(at).starts_with("----") && page.line(at).contains(" Captured "))
        .unwrap_or(end);
    add_body(page, &mut failure, at + 1, captured);
    failure.add_all(captured..end, LineKind::Foreign);
    Some((failure, end))
}

/// The lines of a failure as pytest prints it: source, `E` lines, places.
fn add_body(page: &Page, failure: &mut Failure, from: usize, to: usize) {
    let mut frames = Vec::new();
    let mut said_more = 0;
    // The source line that failed, nearest to the error.
    let failed = (from..to).rev().find(|&at| page.line(at).starts_with('>'));
    for at in from..to {
        let line = page.line(at);
        let text = line.trim();
        if text.is_empty() || text == "E" || text.starts_with("_ _ _") {
            continue;
        }
        if let Some(said) = line.strip_prefix("E ") {
            let said = said.trim();
            if failure.message.is_empty()
                && !said.starts_with("File \"")
                && !said.is_empty()
                && !is_source_of_error(page, at)
            {
                said.clone_into(&mut failure.message);
                failure.add(at, LineKind::Message);
            } else {
                // How much of a difference is shown depends on how chatty the run is.
                if said.starts_with("assert ") {
                    failure.values.push(said.to_owned());
                }
                said_more += 1;
                let is_where = starts_with_any(said, &["+  where", "+    where", "+  and"]);
                failure.add(at, if is_where || said_more > 6 { LineKind::Note } else { LineKind::Value });
            }
            if said.starts_with("File \"")
                && let Some(location) = find_location(said)
            {
                location.file.clone_into(&mut failure.file);
            }
        } else if line.starts_with('>') {
            failure.add(at, if Some(at) == failed { LineKind::Message } else { LineKind::Frame });
        } else if is_frame(text) {
            if !is_external_frame(text) {
                frames.push(at);
            }
        } else if frames.last() == Some(&at.saturating_sub(1)) {
            failure.add(at, LineKind::Frame);
        } else {
            failure.add(at, LineKind::Foreign);
        }
    }
    // The last location is printed below its error.
    failure.add_frames(page, &frames, FrameOrder::NewestLast);
}

/// Returns true if an `E` line shows the source at which a syntax error is.
fn is_source_of_error(page: &Page, at: usize) -> bool {
    let is_e = |at: usize, start: &str| {
        page.line(at).strip_prefix("E ").is_some_and(|line| line.trim().starts_with(start))
    };
    (at > 0 && is_e(at - 1, "File \"")) || (at > 1 && is_e(at - 2, "File \"") && page.line(at).contains('^'))
}

/// What happens before any test: a conftest that cannot be imported.
fn conftest(page: &Page, at: usize) -> Option<(Failure, usize)> {
    let line = page.line(at);
    if !line.starts_with("ImportError while loading conftest") {
        return None;
    }
    let end = page.find_end(at + 1, str::is_empty);
    let mut failure = Failure::new(Stage::Build, "pytest").with_line(at, LineKind::Note);
    add_body(page, &mut failure, at + 1, end);
    Some((failure, end))
}

/// `FAIL: test_x (tests.A.test_x)` below a line of `=`.
pub(super) fn unittest(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let rest = strip_any(line, &["FAIL: ", "ERROR: "])?;
    if at == 0 || !page.line(at - 1).starts_with("=====") {
        return None;
    }
    let name = rest.split_once(" (").map_or(rest, |(name, _)| name);
    let end = page.find_end(at + 1, |line| line.starts_with("====="));
    // The count is below a rule.
    let ran =
        (at + 2..end).find(|&at| page.line(at).starts_with("Ran ") && page.line(at - 1).starts_with("-----"));
    let end = ran.map_or(end, |ran| ran - 1);
    let body = page.find_end(at + 1, |line| line.starts_with("-----")) + 1;
    let is_load = rest.contains("_FailedTest");
    // A sub-test has its parameters after the name.
    let parameters = rest.rfind(") (").filter(|_| rest.ends_with(')')).map_or("", |at| &rest[at + 2..]);
    let name = if parameters.is_empty() { name.to_owned() } else { format!("{name} {parameters}") };
    let mut failure = Failure::new(if is_load { Stage::Build } else { Stage::Test }, "unittest")
        .with_id(&name)
        .with_line(at, LineKind::Head);
    let first = (body..end).find(|&at| page.line(at).starts_with("Traceback")).unwrap_or(body);
    let mut from = first;
    // What comes after the last frame is the message; of several exceptions the last one is what the test saw.
    let captured = (first..end).find(|&at| matches!(page.line(at), "Stdout:" | "Stderr:")).unwrap_or(end);
    while let Some(next) = (from + 1..captured).find(|&at| page.line(at).starts_with("Traceback")) {
        let mut earlier = Failure::new(Stage::Test, "unittest");
        earlier.add_body(page, from, next, FrameOrder::NewestLast);
        for (line, kind) in earlier.parts {
            failure.add(line, kind.max(LineKind::Frame));
        }
        from = next;
    }
    failure.add_body(page, from, captured, FrameOrder::NewestLast);
    Some((failure, end))
}

/// Errors of a file that cannot be loaded.
const LOAD_ERRORS: &[&str] = &["SyntaxError", "ImportError", "ModuleNotFoundError", "IndentationError"];

/// Returns a traceback wherever it stands, and the dump of a Python that died.
pub(super) fn traceback(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    if let Some(at_error) = line.find("Fatal Python error: ") {
        let end = page.find_end(at + 1, |line| line.starts_with("Extension modules:"));
        let mut failure = Failure::new(Stage::Crash, "python")
            .with_message(&line[at_error..])
            .with_line(at, LineKind::Head);
        let frames: Vec<usize> = (at + 1..end)
            .filter(|&at| {
                let text = page.line(at).trim_start();
                text.starts_with("File \"")
                    && !is_external_frame(text)
                    && find_location(text).is_some_and(|location| !is_external(location.file))
            })
            .collect();
        failure.add_frames(page, &frames, FrameOrder::NewestFirst);
        let name = frames
            .iter()
            .find_map(|&at| page.line(at).rsplit_once(" in ").filter(|(_, name)| name.starts_with("test")));
        failure.id = name.map(|(_, name)| name.to_owned()).unwrap_or_default();
        return Some((failure, end));
    }
    let text = line.trim_start_matches(['#', ' ', '|', '+']);
    if !text.starts_with("Traceback (most recent call last)") {
        return None;
    }
    let indent = indent_of(line);
    let error = page.find_end(at + 1, |line| {
        !line.trim().is_empty()
            && indent_of(line) <= indent
            && !line.trim_start_matches(['#', ' ']).starts_with("File \"")
    });
    // A message may have more lines, up to the next blank one.
    let is_over = |at: &usize| {
        let line = page.line(*at);
        line.trim().is_empty() || indent_of(line) < indent || line.contains("Traceback (most")
    };
    let last = page.end_of_stream(at).min(error + 12);
    let end = (error + 1..last).find(is_over).unwrap_or(last.max(error + 1));
    let mut failure =
        Failure::new(Stage::Other, "python").with_message(page.line(error).trim_start_matches(['#', ' ']));
    failure.add_body(page, at + 1, error, FrameOrder::NewestLast);
    failure.add(error, LineKind::Head);
    failure.add_all(error + 1..end, LineKind::Value);
    if starts_with_any(&failure.message, LOAD_ERRORS) {
        failure.stage = Stage::Build;
    }
    Some((failure, end))
}
