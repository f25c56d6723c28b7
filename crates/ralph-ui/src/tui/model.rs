//! What the screen asks for, and the values that it gets.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use camino::Utf8Path;
use tasklist::{Item, TaskList};

use ralph_core::history::failure_key::FailureKey;
use ralph_core::record::{
    AnsweredTask, AttemptId, DiffStat, FlaggedTask, IntegrationVerdict, Iteration, LogEntry, ObjectId,
    Outcome, Session, SessionId, Summary, Task, TaskName, Timestamp, Waiting,
};
use ralph_core::view::{SessionView, integrations};
use ralph_store::{RemoteRun, names};

use crate::review::Review;

use super::row::Row;

/// Where everything on the screen comes from. Every call may take its time: none is made where keys are read.
pub trait Backend: Send + Sync {
    /// Returns the state of everything, or `None` if nothing changed since the last call.
    fn look(&self) -> Result<Option<Overview>>;

    fn read(&self, request: &Request) -> Result<Answer>;
}

/// What is to be read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    Text(File),
    /// `iteration.json` of a record.
    Iteration(ObjectId),
    Session(SessionId),
    Diff(DiffTarget),
    /// What attempts changed and is still in the work tree.
    Unfinished(DiffTarget),
    /// What the next prompt for a task of a feature has of earlier iterations; of the next task, if none is named.
    Memory {
        feature: String,
        task: Option<TaskName>,
    },
}

impl Request {
    /// Returns true if others should not have to wait for it.
    pub fn is_slow(&self) -> bool {
        matches!(self, Self::Session(_) | Self::Diff(_) | Self::Unfinished(_) | Self::Memory { .. })
    }

    /// Returns true if the answer may be another one later.
    pub fn is_volatile(&self) -> bool {
        match self {
            Self::Text(file) => matches!(file.place, Place::Spool(..)),
            _ => matches!(self, Self::Session(_) | Self::Unfinished(_) | Self::Memory { .. }),
        }
    }
}

/// What was read.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A file in rows, its length in bytes, and how many of them before the rows were left out.
    Text {
        rows: Vec<Row>,
        length: u64,
        left_out: u64,
    },
    Iteration(Box<Iteration>),
    Session(Box<SessionDetail>),
    /// A patch as git prints it without colours, or how much changed in each file.
    Diff(String),
    /// The snapshot from before attempts that did not finish their task, and what is still in the work tree of them.
    Unfinished(ObjectId, Vec<Changed>),
    /// The text of `memory`.
    Memory(String),
}

/// A file from the top of the work tree, with lines added and removed.
pub type Changed = (String, u64, u64);

/// A file of an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct File {
    pub place: Place,
    pub stream: Stream,
    /// The session and the agent that printed it, as that session set it up.
    pub author: Option<(SessionId, String)>,
}

/// Where an iteration is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    Record(ObjectId),
    /// It runs, or ran until its loop died.
    Spool(SessionId, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    Prompt,
    ValidationStdout,
    ValidationStderr,
    AgentStdout,
    AgentStderr,
}

impl Stream {
    /// Those of a run, in the order in which they begin.
    pub const OF_A_RUN: [Self; 4] =
        [Self::AgentStdout, Self::AgentStderr, Self::ValidationStdout, Self::ValidationStderr];

    /// The path in the tree of a record.
    pub fn path(self) -> &'static str {
        match self {
            Self::Prompt => "prompt.md",
            Self::ValidationStdout => "validation/stdout",
            Self::ValidationStderr => "validation/stderr",
            Self::AgentStdout => "agent/stdout",
            Self::AgentStderr => "agent/stderr",
        }
    }

    /// The name in the spool of what runs.
    pub fn spool_name(self) -> &'static str {
        match self {
            Self::Prompt => names::PROMPT,
            Self::ValidationStdout => names::VALIDATION_STDOUT,
            Self::ValidationStderr => names::VALIDATION_STDERR,
            Self::AgentStdout => names::AGENT_STDOUT,
            Self::AgentStderr => names::AGENT_STDERR,
        }
    }
}

/// Attempts of a session whose changes are looked at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DiffTarget {
    pub session: SessionId,
    /// Runs of attempts with nothing between them, oldest first: the snapshots after the first and after the last of each.
    pub runs: Vec<(ObjectId, ObjectId)>,
}

/// What is known of a session beside its rows.
#[derive(Debug, Clone)]
pub struct SessionDetail {
    pub session: Session,
    /// How much it changed; `None` without snapshots.
    pub changes: Option<DiffStat>,
    /// What of that is looked at first.
    pub review: Review,
    /// The newest learnings, each with the iteration that it is of.
    pub learnings: Vec<(AttemptId, String)>,
    /// The folder of the work tree, where its files can be opened.
    pub top: Option<String>,
}

impl SessionDetail {
    /// Returns a setting that the session began with.
    pub fn setting(&self, name: &str) -> Option<&serde_json::Value> {
        self.session.configuration.get(name).filter(|value| !value.is_null())
    }

    pub fn validation(&self) -> Option<&str> {
        self.setting("validation.command")?.as_str()
    }
}

/// The state of everything.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    pub features: Vec<Arc<FeatureOverview>>,
    /// What runs.
    pub live: HashMap<SessionId, Live>,
    /// What runs on other machines.
    pub elsewhere: HashMap<SessionId, RemoteRun>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

/// A feature with all of its sessions.
#[derive(Debug, Clone, Default)]
pub struct FeatureOverview {
    pub path: String,
    /// Those of a group as one, oldest first.
    pub sessions: Vec<SessionView>,
    /// What became of results that were queued, with the records that say so.
    pub merged: HashMap<AttemptId, (IntegrationVerdict, AttemptId)>,
    /// The task list as it is now.
    pub list: TaskList,
    pub summary: Summary,
}

/// What is known of a session that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    pub pid: u32,
    /// The process that started it, if that is known: of a loop of a group, the one that started all of them.
    pub parent: Option<u32>,
    pub in_flight: Option<LiveIteration>,
    pub waiting: Option<Waiting>,
    pub is_stopping: bool,
    /// True if it merges results that were queued: no agent runs.
    pub is_merging: bool,
}

/// An iteration that is not a commit yet.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveIteration {
    pub number: u32,
    pub task: Task,
    pub attempt: u32,
    pub agent: String,
    pub started_at: Timestamp,
    /// Bytes so far of the agent's stdout and stderr and the validation's; `None` if a stream is not open yet.
    pub lengths: [Option<u64>; 4],
    /// The last thing that the agent did.
    pub doing: Option<String>,
}

/// A loop that works on the session that is shown.
#[derive(Debug, Clone, Copy)]
pub struct Worker<'a> {
    pub session: &'a SessionId,
    pub live: &'a Live,
}

impl LiveIteration {
    pub fn is_validating(&self) -> bool {
        self.lengths[2].is_some()
    }
}

/// The state of a task of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState<'a> {
    Done,
    Asks,
    /// It asked, and its next prompt has the answer.
    Answered,
    Fails,
    Runs,
    /// For this task.
    Waits(&'a str),
    Open,
}

impl FeatureOverview {
    /// `sessions` are each by itself.
    pub fn new(path: &str, sessions: &[SessionView], list: TaskList, summary: Summary) -> Self {
        let runs = SessionView::merge_groups(sessions);
        let merged = integrations(sessions.iter().flat_map(SessionView::iterations));
        Self { path: path.to_owned(), sessions: runs, merged, list, summary }
    }

    /// Returns true if it is a task list that is named by itself.
    pub fn is_file(&self) -> bool {
        Utf8Path::new(&self.path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
    }

    /// Returns the state of a task; `running` are those that agents work on.
    pub fn state<'a>(&'a self, item: &Item, running: &[&str]) -> TaskState<'a> {
        if running.contains(&&*item.name) {
            return TaskState::Runs;
        }
        if item.done {
            return TaskState::Done;
        }
        let need = self.summary.needs_you.iter().find(|need| need.task.as_deref() == Some(&item.name));
        match need.map(|need| need.why) {
            Some(why) if why.waits_for_hint() => TaskState::Asks,
            Some(_) => TaskState::Fails,
            None if self.answer_to(&item.name).is_some() => TaskState::Answered,
            None => {
                let waiting = self.summary.waiting.iter().find(|waiting| waiting.task == item.name);
                waiting.map_or(TaskState::Open, |waiting| TaskState::Waits(&waiting.dependency))
            }
        }
    }

    /// Returns the answer that the next prompt of a task has.
    pub fn answer_to(&self, task: &str) -> Option<&AnsweredTask> {
        self.summary.answered.iter().find(|answered| answered.task == task)
    }

    /// Returns the flags of a task that is done.
    pub fn flagged(&self, task: &str) -> Option<&FlaggedTask> {
        self.summary.flagged.iter().find(|flagged| flagged.task == task)
    }

    /// Returns true if an attempt failed, and its task was done since.
    pub fn is_solved(&self, attempt: &LogEntry) -> bool {
        attempt.is_failure() && self.summary.is_solved(&attempt.id())
    }

    /// Returns the sessions in which a task was tried, newest first, each with its attempts at it, oldest first.
    pub fn attempts_at<'a>(
        &'a self,
        task: &'a str,
    ) -> impl Iterator<Item = (&'a SessionView, Vec<&'a LogEntry>)> {
        self.sessions
            .iter()
            .rev()
            .map(move |session| {
                let attempts = session.iterations();
                let is_tried = |one: &&LogEntry| one.is_of(task) && one.outcome() != Some(Outcome::Skipped);
                (session, attempts.filter(is_tried).collect())
            })
            .filter(|(_, attempts): &(_, Vec<_>)| !attempts.is_empty())
    }

    /// Returns all iterations, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &LogEntry> {
        self.sessions.iter().rev().flat_map(|session| session.iterations().rev())
    }

    /// Returns the name of an iteration: `14`, of one that ran beside others with its lane, `2:14`.
    pub fn name_of(&self, iteration: &AttemptId) -> String {
        let has_it = |session: &&SessionView| session.sessions().any(|id| *id == iteration.session);
        let session = self.sessions.iter().find(has_it);
        session.map_or_else(|| iteration.number.to_string(), |session| session.name_of(iteration))
    }

    /// Returns how often a task failed since it last succeeded.
    pub fn failures_of(&self, task: &str) -> usize {
        let of_task = self.newest_first().filter(|one| one.is_of(task) && one.is_attempt());
        of_task.take_while(|one| one.is_failure()).count()
    }

    /// Returns the names of the open tasks that wait for one.
    pub fn waiting_for<'a>(&'a self, task: &'a str) -> impl Iterator<Item = &'a TaskName> {
        self.summary.waiting.iter().filter(move |one| one.dependency == task).map(|one| &one.task)
    }
}

impl Overview {
    /// Returns a session with its feature.
    pub fn session(&self, id: &SessionId) -> Option<(&Arc<FeatureOverview>, &SessionView)> {
        self.all_sessions().find(|(_, session)| session.id == *id)
    }

    /// Returns the loops that work on a session, by their lanes.
    pub fn workers<'a>(&'a self, session: &SessionView) -> Vec<Worker<'a>> {
        let live = session.sessions().filter_map(|id| self.live.get_key_value(id));
        live.map(|(session, live)| Worker { session, live }).collect()
    }

    fn all_sessions(&self) -> impl Iterator<Item = (&Arc<FeatureOverview>, &SessionView)> {
        self.features.iter().flat_map(|feature| feature.sessions.iter().map(move |one| (feature, one)))
    }

    /// Returns all sessions, newest first.
    pub fn sessions(&self) -> Vec<(&Arc<FeatureOverview>, &SessionView)> {
        let mut sessions: Vec<_> = self.all_sessions().collect();
        sessions.sort_by(|(_, one), (_, other)| other.id.cmp(&one.id));
        sessions
    }
}

/// Returns true if two attempts failed alike.
pub fn is_same_failure(one: &LogEntry, other: &LogEntry) -> bool {
    let [one, other] = [one, other].map(FailureKey::of_entry);
    one.is_some() && one == other
}
