//! What is decided before a session starts.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use camino::Utf8PathBuf;
use serde_json::Value;

use crate::agent::Agent;
use crate::clock::Clock;
use crate::feature::Feature;
use crate::process::{Interrupt, Limits as ChildLimits, Marker};
use crate::progress::capture::Rules;
use crate::progress::{Choice, ProgressStrategy};
use crate::prompt::Template;
use crate::record::{SessionId, TaskName};
use crate::store::{SessionRefs, Spool, Store};

use super::ask::Asked;
use super::job::Job;
use super::memory::Telling;
use super::prompting::Prompting;

/// Everything that is decided before a session starts.
pub struct Plan<'a> {
    pub store: &'a Store,
    pub feature: &'a Feature,
    pub job: Job,
    /// Who works: the first, and where it cannot, those behind it. Never empty.
    pub agents: Vec<Candidate<'a>>,
    pub template: Template,
    pub validation_command: Option<String>,
    pub validation_limits: ChildLimits,
    /// How past iterations become the `progress` text of the next prompt.
    pub progress: Box<dyn ProgressStrategy>,
    /// Who sums up iterations, for strategies that want it.
    pub summarizer: Option<Asked>,
    /// Who sums up what older iterations teach.
    pub condenser: Option<Asked>,
    /// How older iterations are told.
    pub telling: Telling,
    /// Most tokens of a prompt, where there is a limit.
    pub prompt_budget: Option<usize>,
    /// Earlier iterations that the strategy begins with.
    pub progress_entries: usize,
    /// What to note down of outputs.
    pub capture_rules: Rules,
    /// How much of an output the journal and the prompt show, in characters.
    pub excerpt_chars: usize,
    /// Which part of it that is.
    pub choice: Choice,
    pub limits: Limits,
    pub completion: Completion,
    pub untick: Untick,
    pub snapshots: Snapshots,
    pub commits: Commits,
    /// Untracked files of more bytes stay out of snapshots.
    pub snapshot_max_file: u64,
    pub redaction_rules: Vec<String>,
    pub redaction_allow: Vec<String>,
    /// Every effective setting, for the record.
    pub configuration: Value,
    /// Values of settings that run something or decide what is done; a resumption compares them. Never shown.
    pub commands: BTreeMap<String, String>,
    /// Work on this task alone.
    pub only: Option<TaskName>,
    /// Take this session up again instead of starting one.
    pub resume: Option<SessionRefs>,
    /// The folder in which children run: where `.specify/` is, else the top of the work tree.
    pub project_root: Utf8PathBuf,
    pub host: String,
    pub clock: &'a Clock,
    pub interrupt: &'a Interrupt,
}

/// An agent that may get a turn, and what is particular to it.
pub struct Candidate<'a> {
    pub agent: &'a dyn Agent,
    pub limits: ChildLimits,
    pub model: Option<String>,
}

impl Plan<'_> {
    /// The mark of a session in this work tree, by which every descendant of it is found and stopped.
    pub(super) fn marker(&self, session: &SessionId, spool: &Spool) -> Result<Marker> {
        let marker = Marker::new(session).in_work_tree(self.store.repository().work_tree()?);
        Ok(marker.noted_in(spool.child_note()))
    }

    pub(super) fn prompting(&self) -> Prompting<'_> {
        Prompting {
            feature: self.feature,
            template: &self.template,
            job: &self.job,
            max_iterations: self.limits.max_iterations,
            validation_command: self.validation_command.as_deref(),
            progress: self.progress.as_ref(),
            hints: Vec::new(),
            telling: &self.telling,
            budget: self.prompt_budget,
        }
    }
}

/// When a session ends though tasks are open.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub max_iterations: u32,
    /// A task is skipped after so many failures in a row.
    pub skip_after: u32,
    /// The session ends after so many iterations in a row that changed nothing.
    pub stuck_after: u32,
    pub max_tokens: Option<u64>,
    pub max_cost: Option<f64>,
    pub max_duration: Option<Duration>,
    /// Longest wait in a row for an agent that cannot be used; none where the loop shall not wait.
    pub max_wait: Option<Duration>,
}

/// What makes a session complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// No task is open and the validation passes.
    Verified,
    /// The agent's promise is enough.
    Promise,
}

/// What happens to boxes that were ticked in an iteration that is no success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untick {
    OpenAgain,
    Leave,
}

/// Whether snapshots of the work tree are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Snapshots {
    Keep,
    Off,
}

/// Whether what was done is committed on the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    Off,
    /// One commit for each iteration that is a success.
    OfTasks,
}
