//! What the next prompt should know of an iteration: from the spool right after it, or from the record.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use anyhow::{Context, Result};
use camino::Utf8Path;

use crate::progress::{Cut, IterationContext};
use crate::record::{Iteration, LogEntry, Outcome};
use crate::store::{Slot, Store, names};

/// How much of the end of a stream is read for an excerpt, in bytes. Excerpts are a few hundred characters.
const TAIL: usize = 64 * 1024;

/// What the next prompt should know of an iteration: the end of the validation's streams, or of the agent's words.
/// None where nothing ran to its end.
fn context_from(
    iteration: &Iteration,
    read: &mut dyn FnMut(&str) -> Result<Tail>,
) -> Result<Option<IterationContext>> {
    let is_validated = iteration.exit.validation.is_some();
    let (exit_code, duration_ms) = if is_validated {
        (iteration.exit.validation, iteration.duration_ms.validation)
    } else {
        (iteration.exit.agent, iteration.duration_ms.agent)
    };
    let (Some(exit_code), true) = (exit_code, iteration.outcome != Outcome::Interrupted) else {
        return Ok(None);
    };
    let (stdout, stderr) = if is_validated {
        (read("validation/stdout")?, read("validation/stderr")?)
    } else {
        (read("agent/stdout")?, read("agent/stderr")?)
    };
    Ok(Some(IterationContext {
        iteration: iteration.iteration,
        validation_command: iteration.validation_command.clone().filter(|_| is_validated),
        exit_code,
        exit_reason: iteration.exit_reason,
        cut: match (stdout.is_cut, stderr.is_cut) {
            (false, false) => Cut::Nothing,
            (true, false) => Cut::Stdout,
            (false, true) => Cut::Stderr,
            (true, true) => Cut::Both,
        },
        stdout: stdout.text,
        stderr: stderr.text,
        duration_ms: duration_ms.unwrap_or_default(),
        files_changed: iteration.files_changed.clone(),
    }))
}

/// The end of a stream.
#[derive(Debug, Default)]
struct Tail {
    text: String,
    /// Whether there was more in front.
    is_cut: bool,
}

impl Tail {
    fn of(bytes: &[u8], is_cut: bool) -> Self {
        Self { text: String::from_utf8_lossy(bytes).into_owned(), is_cut }
    }
}

/// From the spool, right after the iteration.
pub fn live_context(
    slot: &Slot,
    iteration: &Iteration,
    final_text: &str,
) -> Result<Option<IterationContext>> {
    context_from(iteration, &mut |path| match path {
        "validation/stdout" => tail_of(&slot.path(names::VALIDATION_STDOUT)),
        "validation/stderr" => tail_of(&slot.path(names::VALIDATION_STDERR)),
        "agent/stdout" => Ok(Tail::of(final_text.as_bytes(), false)),
        _ => Ok(Tail::default()),
    })
}

/// From the record, when a session is taken up again.
pub fn context_of(
    store: &Store,
    entry: &LogEntry,
    iteration: &Iteration,
) -> Result<Option<IterationContext>> {
    context_from(iteration, &mut |path| {
        let (bytes, is_cut) = store.tail(&entry.commit, path, TAIL)?;
        Ok(Tail::of(&bytes, is_cut))
    })
}

fn tail_of(path: &Utf8Path) -> Result<Tail> {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Tail::default()),
        Err(error) => return Err(error).with_context(|| format!("read {path}")),
    };
    let length = file.metadata().with_context(|| format!("read {path}"))?.len();
    let start = length.saturating_sub(TAIL as u64);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))
        .and_then(|_| file.take(TAIL as u64).read_to_end(&mut bytes))
        .with_context(|| format!("read {path}"))?;
    Ok(Tail::of(&bytes, start > 0))
}
