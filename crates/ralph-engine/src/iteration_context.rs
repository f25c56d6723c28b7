//! The context of an iteration for later prompts: from the spool right after it, or from the record.

use std::fs::File;
use std::io;

use anyhow::{Context, Result};
use camino::Utf8Path;
use failure_excerpt::{Cut, Output, Tally, examine};
use redact_stream::Redactor;
use serde_json::Value;

use ralph_agent::answer::{answer, recorded_parser};
use ralph_core::judge::{self, NothingToRun};
use ralph_core::progress::{IterationContext, cause};
use ralph_core::record::{Exit, Iteration, LogEntry, Outcome, Validation};
use ralph_project::project_files::open_plain;
use ralph_store::{Slot, Store, names};

use super::window::Window;

/// Bytes of the end of a recorded stream that are read when a session is resumed.
const TAIL_BYTES: usize = 1 << 20;

/// Returns the context of an iteration: the end of the validation's streams, or of the agent's final text.
/// `None` if nothing ran to its end.
fn context_from(
    iteration: &Iteration,
    directory: &Utf8Path,
    read: &mut dyn FnMut(&str) -> Result<Window>,
) -> Result<Option<IterationContext>> {
    let is_validated = iteration.exit.validation.is_some();
    let (code, reason, duration_ms) = if is_validated {
        (iteration.exit.validation, iteration.validation_exit_reason(), iteration.duration_ms.validation)
    } else {
        (iteration.exit.agent, iteration.exit_reason, iteration.duration_ms.agent)
    };
    let (Some(code), true) = (code, iteration.outcome != Outcome::Interrupted) else {
        return Ok(None);
    };
    let (stdout, stderr) = if is_validated {
        (read("validation/stdout")?, read("validation/stderr")?)
    } else {
        // Of one that did well, stderr is noise.
        let stderr = if code == 0 { Window::default() } else { read("agent/stderr")? };
        (read("agent/stdout")?, stderr)
    };
    // If nothing else can be shown of an agent, its error is all there is.
    let is_silent = stdout.text.trim().is_empty() && stderr.text.trim().is_empty();
    Ok(Some(IterationContext {
        session: None,
        iteration: iteration.iteration,
        task: iteration.task.clone(),
        attempt: iteration.attempt,
        outcome: iteration.outcome,
        is_left_open: iteration.is_left_open(),
        cause: (iteration.outcome != Outcome::Success).then(|| iteration.cause().into_owned()),
        validation_command: iteration.validation_command.clone().filter(|_| is_validated),
        exit: Exit { code, reason },
        agent_failure: agent_failure(iteration).filter(|_| is_validated || is_silent),
        cut: Cut { stdout: stdout.is_cut, stderr: stderr.is_cut },
        directory: directory.to_string(),
        stdout: stdout.text,
        stderr: stderr.text,
        duration_ms: duration_ms.unwrap_or_default(),
        files_changed: iteration.files_changed.clone(),
        final_message: iteration.facts.final_message.clone(),
        summary: iteration.facts.summarized.clone(),
    }))
}

/// Returns how an agent failed, with its error message.
fn agent_failure(iteration: &Iteration) -> Option<String> {
    let how = match (iteration.exit.agent, iteration.failure_class) {
        (Some(code), _) if code != 0 => format!("exited {code}"),
        (_, Some(class)) if !class.is_question() => class.to_string(),
        _ => return None,
    };
    Some(iteration.error.as_ref().map_or_else(|| how.clone(), |words| format!("{how}: {words}")))
}

/// Returns the context of an iteration from the spool, right after it.
pub fn live_context(
    slot: &Slot,
    iteration: &Iteration,
    final_text: &str,
    directory: &Utf8Path,
) -> Result<Option<IterationContext>> {
    context_from(iteration, directory, &mut |path| match path {
        "validation/stdout" => window_of(&slot.path(names::VALIDATION_STDOUT)),
        "validation/stderr" => window_of(&slot.path(names::VALIDATION_STDERR)),
        "agent/stderr" => window_of(&slot.path(names::AGENT_STDERR)),
        _ => Ok(Window::whole(final_text.as_bytes())),
    })
}

/// Returns the end of what the agent of an iteration wrote to stderr.
pub fn agent_stderr(slot: &Slot) -> Result<String> {
    Ok(window_of(&slot.path(names::AGENT_STDERR))?.text)
}

/// Returns why a validation outside of iterations failed, from its output in `slot`, without secrets, and the fingerprint of
/// that, as an iteration would have it. `None` if it passed.
pub fn validation_cause(
    slot: &Slot,
    validation: &Validation,
    redactor: &Redactor,
    directory: &Utf8Path,
) -> Result<Option<(String, Option<String>)>> {
    let stdout = window_of(&slot.path(names::VALIDATION_STDOUT))?;
    let stderr = window_of(&slot.path(names::VALIDATION_STDERR))?;
    let examined = examine(&Output {
        stdout: &redactor.redact_text(&stdout.text).0,
        stderr: &redactor.redact_text(&stderr.text).0,
        exit_code: Some(validation.exit.code),
        cwd: Some(directory.as_str()),
        ..Output::default()
    });
    let cause = cause::of_validation(validation, &examined);
    let fingerprint = || examined.fingerprint().map(|fingerprint| fingerprint.strict);
    Ok(cause.map(|cause| (redactor.redact_text(&cause).0, fingerprint())))
}

/// Returns what there was not to run for a validation, by the end of what it printed into two files of `slot`.
pub fn nothing_to_run(
    slot: &Slot,
    [stdout, stderr]: [&str; 2],
    validation: &Validation,
    tests: &Tally,
) -> Result<Option<NothingToRun>> {
    let [stdout, stderr] = [window_of(&slot.path(stdout))?.text, window_of(&slot.path(stderr))?.text];
    let exit_code = Some(validation.exit.code);
    let examined = examine(&Output { stdout: &stdout, stderr: &stderr, exit_code, ..Output::default() });
    Ok(judge::nothing_to_run(validation.exit, [&stdout, &stderr], &examined, tests))
}

/// Returns what a validation printed of its tests into two files of `slot`, with the secrets in their names removed.
/// Where so much was printed that a part of it is not read, the numbers are known only from a single summary.
pub fn tally(
    slot: &Slot,
    stdout: &str,
    stderr: &str,
    redactor: &Redactor,
    directory: &Utf8Path,
) -> Result<Tally> {
    let stdout = window(&slot.path(stdout), Window::to_count)?;
    let stderr = window(&slot.path(stderr), Window::to_count)?;
    let mut tally = examine(&Output {
        stdout: &stdout.text,
        stderr: &stderr.text,
        exit_code: None,
        cwd: Some(directory.as_str()),
        is_partial: stdout.is_cut || stderr.is_cut,
    })
    .tally();
    let named = tally.named.iter_mut().map(|test| &mut test.name);
    let failing = tally.failing.iter_mut().flatten();
    for text in failing.chain(&mut tally.focused).chain(&mut tally.cached).chain(named) {
        *text = redactor.redact_text(text).0;
    }
    Ok(tally)
}

/// Returns the context of a recorded iteration. `begin` is the start or resume record before `entry`; if it is `None`,
/// the session is read to find it.
pub fn recorded_context(
    store: &Store,
    entry: &LogEntry,
    begin: Option<&LogEntry>,
    iteration: &Iteration,
    directory: &Utf8Path,
) -> Result<Option<IterationContext>> {
    context_from(iteration, directory, &mut |path| {
        let (bytes, is_cut) = store.tail(&entry.commit(), path, TAIL_BYTES)?;
        if path != "agent/stdout" {
            return Ok(Window::tail(&bytes, is_cut));
        }
        // What was kept is all that it printed; what counts is what it said last.
        Ok(Window::whole(last_words(store, entry, begin, iteration, &bytes).as_bytes()))
    })
}

/// Returns what the agent of a recorded iteration said last, from the end of its output; `begin` as for [`recorded_context`].
///
/// The record has no copy of it, so that a corrected parser corrects old records as well.
pub fn last_words(
    store: &Store,
    entry: &LogEntry,
    begin: Option<&LogEntry>,
    iteration: &Iteration,
    output: &[u8],
) -> String {
    let session = match begin {
        Some(begin) => store.readable_session(begin),
        None => store.or_leave_out(entry, store.begun(entry)).flatten(),
    };
    let configuration = session.map_or(Value::Null, |session| session.configuration);
    let parser = recorded_parser(&configuration, &iteration.agent);
    // A secret that was streamed in pieces is whole again only here; rules of the user's own have seen the pieces.
    Redactor::default().redact_text(&answer(parser, output)).0
}

fn window_of(path: &Utf8Path) -> Result<Window> {
    window(path, Window::of_file)
}

fn window(path: &Utf8Path, read: fn(File) -> io::Result<Window>) -> Result<Window> {
    let read = open_plain(path).and_then(|file| file.map(read).transpose());
    Ok(read.with_context(|| format!("read {path}"))?.unwrap_or_default())
}
