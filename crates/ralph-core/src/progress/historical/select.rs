//! Which older iterations have to do with a task.

use std::collections::{HashMap, HashSet};

use crate::history::failure_key::FailureKey;
use crate::progress::Selection;
use crate::progress::attempts::is_like;
use crate::record::{Iteration, Outcome, Task};

use super::settings::{HistorySettings, Mode};

/// What an older iteration has in common with the task at hand, most relevant first. Kinds, as the weights of a score
/// of likeness cannot be checked.
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

/// Why an iteration is not in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftOut {
    /// The last attempt, the progress or the learnings of the prompt say all that it has.
    Elsewhere,
    /// It has nothing in common with the task, or not enough for `history.threshold`.
    Kind,
    /// There are newer ones of its kind: `history.lookback`.
    Lookback,
    /// It left nothing that could be said.
    Nothing,
}

impl LeftOut {
    /// Returns the reason behind the names of iterations: `#1 to #3 said elsewhere in the prompt`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elsewhere => "said elsewhere in the prompt",
            Self::Kind => "with nothing in common with the task (`history.threshold`)",
            Self::Lookback => "beyond `history.lookback`",
            Self::Nothing => "without anything to tell",
        }
    }
}

/// Which iterations a history has, and why not the others: places in the past.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Those of one kind together, and the newest of a kind first.
    pub chosen: Vec<(usize, Kind)>,
    pub left_out: Vec<(usize, LeftOut)>,
}

/// Returns the iterations that have to do with `task`; at most `lookback` of a kind.
///
/// What other parts of the prompt describe does not count for that, unless it is `new` all the same: it would take the place of
/// what is in none.
pub(super) fn select(
    selection: &Selection<'_>,
    task: &Task,
    settings: &HistorySettings,
    is_new: impl Fn(usize, Kind) -> bool,
) -> Found {
    let past = selection.past;
    let most = settings.lookback.unwrap_or(usize::MAX);
    let last = past.iter().rev().find(|iteration| is_failure_of(iteration, &task.name));
    let of_last: HashSet<&str> = last.into_iter().flat_map(files).collect();
    let mut counts: HashMap<Kind, usize> = HashMap::new();
    let mut found = Found::default();
    let mut age = 0;
    let newest = past.iter().enumerate().rev();
    let ran = newest.filter(|(_, one)| one.is_attempt());
    for (place, iteration) in ran {
        let kind = if iteration.task.as_ref() == Some(&task.name) {
            Kind::Task
        } else if last.is_some_and(|last| has_same_cause(iteration, last)) {
            Kind::Cause
        } else if files(iteration).any(|file| of_last.contains(file) || names_file(&task.text, file)) {
            Kind::File
        } else {
            Kind::Newest
        };
        let count = counts.entry(kind).or_default();
        let is_full = *count >= most;
        let has_news = !is_full && is_new(place, kind);
        if !has_news && selection.is_described(place) {
            found.left_out.push((place, LeftOut::Elsewhere));
            // Unless it was asked for, there is no more of what has nothing to do with the task than the newest.
            age += usize::from(!settings.is_asked);
            continue;
        }
        let is_recent = age < most;
        age += 1;
        let is_of_kind = settings.mode == Mode::Full || kind.score() >= settings.threshold;
        let is_near = kind == Kind::Task || is_recent || settings.mode != Mode::Full && kind != Kind::Newest;
        let is_unlike = kind == Kind::Newest && iteration.outcome == Outcome::Failure;
        let why = if !is_of_kind || !has_news && !is_full && is_unlike {
            LeftOut::Kind
        } else if is_full || !is_near {
            LeftOut::Lookback
        } else if !has_news {
            LeftOut::Nothing
        } else {
            *count += 1;
            found.chosen.push((place, kind));
            continue;
        };
        found.left_out.push((place, why));
    }
    // Sorting keeps the newer before the older.
    found.chosen.sort_by_key(|(_, kind)| *kind);
    found
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
        | Outcome::Integrated
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
