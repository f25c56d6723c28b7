//! The message of a commit of finished tasks, and how messages name paths.

use std::fmt::Write;

use anyhow::Result;
use tasklist::TaskList;

use ralph_core::config::{SubjectParts, commit_subject};
use ralph_core::record::{SessionId, Task, TaskName, join_files};
use ralph_git::worktree::RawPath;
use ralph_store::Slot;

use super::assisted_by::assisted_by;
use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;
use crate::units::{self, UnitTasks};

/// Maximum number of paths or tasks that a message names.
pub(super) const MAX_NAMED: usize = 5;

/// Longest subject of a commit, in characters.
const MAX_SUBJECT_CHARS: usize = 72;

/// The trailer that names the iteration.
pub(super) const ITERATION_TRAILER: &str = "Ralph-Made-In";

/// The task that a commit message describes, with what is around it.
pub(crate) struct CommitSubject<'a> {
    pub session: &'a SessionId,
    pub task: &'a Task,
    /// The tasks of its story or phase that are still open, if one commit is to have the whole unit.
    pub unit: Option<&'a UnitTasks>,
    pub closed: &'a [TaskName],
    pub tasks: &'a TaskList,
    pub iteration: u32,
    /// Where the record of the iteration is put together.
    pub slot: &'a Slot,
    pub environment: &'a [(String, String)],
    /// The agent and its model, if its iteration is not recorded yet.
    pub agent: Option<(&'a str, Option<&'a str>)>,
}

/// Returns the commit message: the task or the unit as its subject, the other tasks as a list, and the trailers. `waiting`
/// are finished tasks that were not committed yet.
pub(super) fn commit_message(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    done: &CommitSubject<'_>,
    waiting: &[TaskName],
) -> Result<String> {
    let subject = |task, text: &str| subject(inputs, recorder, done.tasks, task, text);
    let mut all: Vec<&TaskName> = waiting.iter().chain(done.closed).collect();
    let whole = done.unit.filter(|_| all.len() > 1);
    let mut others = all.iter().copied().filter(|name| whole.is_some() || **name != done.task.name);
    let is_closed = done.closed.is_empty() || done.closed.contains(&done.task.name);
    let subject = match (whole, others.clone().next()) {
        (Some(unit), _) => subject(None, &units::title(done.tasks, &done.task.name, &unit.name)),
        // The agent completed another task than the one that it was given.
        (None, Some(first)) if !is_closed => {
            others.next();
            subject(Some(first), text_of(done.tasks, first))
        }
        _ => subject(Some(&done.task.name), &done.task.text),
    };
    let mut message = format!("{subject}\n\n");
    for (index, other) in others.enumerate() {
        let lead = match (index, whole) {
            (0, Some(_)) => "Done:\n",
            (0, None) => "Also done:\n",
            _ => "",
        };
        let _written = writeln!(message, "{lead}- {}", titled(other, text_of(done.tasks, other)));
    }
    if !message.ends_with("\n\n") {
        message.push('\n');
    }
    let (message, _) = recorder.redactor().redact_text(&message);
    all.push(&done.task.name);
    Ok(with_trailers(recorder, done, message) + &assisted_by(inputs, recorder, done.agent, &all)?)
}

/// Adds the trailers that say where the commit was made.
pub(crate) fn with_trailers(recorder: &Recorder<'_>, done: &CommitSubject<'_>, message: String) -> String {
    message
        + &format!(
            "{ITERATION_TRAILER}: {}:{} {}\nRalph-Feature: {}\n",
            done.session,
            done.iteration,
            done.task.name,
            recorder.place().feature
        )
}

/// Returns the subject of a commit of a task, or of a unit with this title, by the template of the user's if there is one.
pub(crate) fn subject(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    tasks: &TaskList,
    task: Option<&TaskName>,
    text: &str,
) -> String {
    let template = inputs.config.settings.commit_subject.as_deref();
    let item = task.and_then(|name| tasks.find(name));
    let parts = SubjectParts {
        feature: &inputs.feature.name,
        task: item.and_then(|item| item.id.as_deref()).unwrap_or_default(),
        text,
        phase: item.and_then(|item| item.phase.as_deref()).unwrap_or_default(),
        story: item.and_then(|item| item.story.as_deref()).unwrap_or_default(),
    };
    // Checked at the start; one that fails for this very task gives way to the usual subject.
    let subject = template.and_then(|template| commit_subject(template, &parts).ok());
    let subject = subject.unwrap_or_else(|| task.map_or_else(|| one_line(text), |name| titled(name, text)));
    // Before it is cut: half a secret is not found.
    let (subject, _) = recorder.redactor().redact_text(&subject);
    if subject.chars().count() <= MAX_SUBJECT_CHARS {
        return subject;
    }
    subject.chars().take(MAX_SUBJECT_CHARS - 1).chain(['…']).collect()
}

fn text_of<'t>(tasks: &'t TaskList, name: &TaskName) -> &'t str {
    tasks.find(name).map_or("", |item| item.text.as_str())
}

fn titled(name: &TaskName, text: &str) -> String {
    match name.as_str() {
        // Code hosts would link `#12` to an issue.
        name if name.starts_with('#') => one_line(text),
        name => one_line(&format!("{name} {text}")),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a list of paths for a message.
pub(super) fn display_paths(paths: &[RawPath]) -> String {
    let names: Vec<_> = paths.iter().map(|path| String::from_utf8_lossy(path)).collect();
    join_files(&names, MAX_NAMED).replace(char::is_control, "\u{fffd}")
}
