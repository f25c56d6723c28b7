//! What a person wants to know when a session has ended: what is done, what is not and why, and what changed.

use serde::Serialize;

use super::{Summary, TaskName};

/// The end of a session, beside its totals.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Closing {
    /// More of why it ended, and what to do about it.
    pub why: Option<String>,
    pub hint: Option<String>,
    /// The command that comes before all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The command that brings the branch to the main one, where all is done and committed on another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// True if there are results that were not tried in a clean checkout, and could have been.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_untried: bool,
    /// Boxes with unknown marks, which no agent will tick.
    pub unrecognised: Vec<String>,
    /// Tasks that are done and in no commit, though `commit = "task"` is set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<TaskName>,
    /// Files of the work that the commits leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// What became of the logins of agents, where a person must look at that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logins: Vec<String>,
    /// Files that say what CI runs and that the session changed, from the repository's root.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ci_files: Vec<String>,
    /// Files that the session changed; null without snapshots.
    pub changes: Option<Changes>,
    /// Open tasks that were tried, in the order of their first attempts.
    pub not_done: Vec<NotDone>,
    /// What attempts at those of them came to that need somebody.
    #[serde(skip)]
    pub unfinished: Vec<Unfinished>,
    /// Iterations whose agents said that a task is done which was not.
    pub false_claims: Vec<u32>,
    /// True if others of its group go on: the last one says what came of all.
    #[serde(skip)]
    pub is_of_others: bool,
    /// The feature over all of its sessions.
    pub summary: Summary,
}

impl Closing {
    /// See [`super::Event::for_each_text`].
    pub(super) fn for_each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        let Self {
            why,
            hint,
            next,
            merge,
            is_untried: _,
            unrecognised,
            uncommitted,
            left_out,
            logins,
            ci_files,
            changes: _,
            not_done,
            unfinished,
            false_claims: _,
            is_of_others: _,
            // Read from the record, which has no secrets, but for answers of the user's.
            summary,
        } = self;
        summary.answered.iter_mut().for_each(|answered| visit(&mut answered.answer));
        let texts = why.iter_mut().chain(hint).chain(next).chain(merge);
        texts
            .chain([unrecognised, uncommitted, left_out, logins, ci_files].into_iter().flatten())
            .for_each(&mut *visit);
        for Unfinished { task, is_same: _, tried, is_taken_back: _, files, lines: _ } in unfinished {
            [task].into_iter().chain(tried).chain(files).for_each(&mut *visit);
        }
        for task in not_done {
            let NotDone {
                task,
                title,
                is_skipped: _,
                asks: _,
                attempts: _,
                cause,
                iteration: _,
                cost_usd: _,
                blocks,
            } = task;
            [task, title].into_iter().chain(cause).chain(blocks).for_each(&mut *visit);
        }
    }
}

/// What a session changed in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Changes {
    #[serde(flatten)]
    pub stat: DiffStat,
    /// Files that differ from the branch's commit.
    pub uncommitted_files: usize,
}

/// How much differs between two trees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DiffStat {
    pub files: usize,
    /// Lines of text files.
    pub added: u64,
    pub removed: u64,
}

impl DiffStat {
    /// Counts files by the lines that each of them gained and lost.
    pub fn of(files: impl Iterator<Item = (Option<u64>, Option<u64>)>) -> Self {
        files.fold(Self::default(), |stat, (added, removed)| Self {
            files: stat.files + 1,
            added: stat.added + added.unwrap_or_default(),
            removed: stat.removed + removed.unwrap_or_default(),
        })
    }
}

/// An open task that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NotDone {
    pub task: TaskName,
    pub title: String,
    pub is_skipped: bool,
    /// True if its last attempt asked the user something.
    pub asks: bool,
    /// Runs of agents on it.
    pub attempts: usize,
    /// Of the last failure.
    pub cause: Option<String>,
    /// The last iteration that failed.
    pub iteration: u32,
    pub cost_usd: Option<f64>,
    /// Open tasks that wait for it.
    pub blocks: Vec<TaskName>,
}

/// What the attempts at a task that is not done came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unfinished {
    pub task: TaskName,
    /// True if all of several failures have one cause.
    pub is_same: bool,
    /// What agents tried, each once.
    pub tried: Vec<String>,
    /// True if what attempts changed was taken back.
    pub is_taken_back: bool,
    /// Files that attempts changed and that are still as they left them.
    pub files: Vec<String>,
    /// Lines that they added to these.
    pub lines: u64,
}

impl NotDone {
    /// Returns true if only a person can bring it on: the loop tries others again by itself.
    pub fn needs_you(&self) -> bool {
        self.is_skipped || self.asks
    }
}
