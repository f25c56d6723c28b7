//! Which older iterations have to do with a task.

use std::collections::{HashMap, HashSet};

use crate::history::failure_key::FailureKey;
use crate::progress::attempts::is_like;
use crate::record::{Iteration, Outcome, Task};

use super::settings::{HistorySettings, Mode};

/// What an older iteration has in common with the task at hand, most relevant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Task,
    /// It failed as the last attempt at the task did.
    Cause,
    /// It changed or failed in a file that the last attempt changed or failed in, or that the task names.
    File,
    Newest,
}

impl Kind {
    /// Returns the highest `history.threshold` that lets it in.
    pub fn score(self) -> f64 {
        match self {
            Self::Task => 1.0,
            Self::Cause => 0.9,
            Self::File => 0.8,
            Self::Newest => 0.7,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "the same task",
            Self::Cause => "the same cause",
            Self::File => "the same file",
            Self::Newest => "one of the newest",
        }
    }
}

/// Returns the places in `past` of the iterations that have to do with `task`, those of one kind together and the newest of a kind
/// first; at most `lookback` of a kind.
pub(super) fn select(past: &[Iteration], task: &Task, settings: &HistorySettings) -> Vec<(usize, Kind)> {
    let most = settings.lookback.unwrap_or(usize::MAX);
    let last = past.iter().rev().find(|iteration| is_failure_of(iteration, &task.name));
    let of_last: HashSet<&str> = last.into_iter().flat_map(files).collect();
    let mut counts: HashMap<Kind, usize> = HashMap::new();
    let mut chosen = Vec::new();
    let newest = past.iter().enumerate().rev();
    let ran = newest.filter(|(_, one)| one.is_attempt());
    for (age, (place, iteration)) in ran.enumerate() {
        let kind = if iteration.task.as_ref() == Some(&task.name) {
            Kind::Task
        } else if last.is_some_and(|last| has_same_cause(iteration, last)) {
            Kind::Cause
        } else if files(iteration).any(|file| of_last.contains(file) || names_file(&task.text, file)) {
            Kind::File
        } else {
            Kind::Newest
        };
        let is_wanted = match settings.mode {
            Mode::Full => kind == Kind::Task || age < most,
            Mode::Smart | Mode::Off => {
                kind.score() >= settings.threshold && (kind != Kind::Newest || age < most)
            }
        };
        let count = counts.entry(kind).or_default();
        if is_wanted && *count < most {
            *count += 1;
            chosen.push((place, kind));
        }
    }
    // Sorting keeps the newer before the older.
    chosen.sort_by_key(|(_, kind)| *kind);
    chosen
}

/// Returns true if the text has the name of the file.
fn names_file(text: &str, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.len() > 3 && text.contains(name)
}

/// Returns true if the box of `task` stayed open in an iteration that was not interrupted.
pub(super) fn is_failure_of(iteration: &Iteration, task: &str) -> bool {
    let is_left_open = match iteration.outcome {
        Outcome::Failure => true,
        // Another box was ticked than the one that was asked for.
        Outcome::Success => {
            !iteration.closed.is_empty() && !iteration.closed.iter().any(|closed| closed == task)
        }
        Outcome::Skipped
        | Outcome::Checked
        | Outcome::Reopened
        | Outcome::Interrupted
        | Outcome::Later(_) => false,
    };
    is_left_open && iteration.task.as_deref() == Some(task)
}

fn has_same_cause(one: &Iteration, other: &Iteration) -> bool {
    let key = FailureKey::of(one);
    (key.is_some() && key == FailureKey::of(other)) || is_like(one, other)
}

/// Returns the files that an iteration failed in or changed, but for the loop's own.
fn files(iteration: &Iteration) -> impl Iterator<Item = &str> {
    let failing = iteration.facts.errors.iter().map(|error| error.file.as_str());
    failing.filter(|file| !file.is_empty()).chain(changed_files(iteration))
}

/// Returns the files that an iteration changed, but for the loop's own.
pub(super) fn changed_files(iteration: &Iteration) -> impl Iterator<Item = &str> {
    let changed = iteration.files_changed.iter().map(String::as_str);
    changed.filter(|file| !file.ends_with("tasks.md") && !file.ends_with("progress.txt"))
}
