//! What the screen asks for, and the values that it gets.

use std::borrow::Cow;
use std::sync::Arc;

use anyhow::Result;

use crate::evidence::EvidenceWords;
use crate::row::{self, IterationLine};
use ralph_core::history::clusters::Cluster;
use ralph_core::progress::historical::HistoricalContext;
use ralph_core::record::{
    AgentEvent, Cost, DiffStat, Exits, FailureClass, Iteration, IterationFacts, ObjectId, Outcome, Session,
    SessionId, SessionTotals, Status, StopReason, Task, Timestamp, TrailerCounts, Waiting,
};
use ralph_store::{Ask, FilePart, RemoteRun, names};

/// All that the screen can ask for. Every question may take its time: none is asked where keys are read.
pub trait Source: Send + Sync {
    /// How everything stands, newest session first; `None` if nothing changed since the last call.
    fn look(&self) -> Result<Option<Overview>>;

    /// A part of a file.
    fn part(&self, file: &File, ask: Ask) -> Result<FilePart>;

    /// What an agent did, by what it printed; `None` if its output is text for people already.
    fn parse_transcript(&self, author: &Author, output: &[u8]) -> Option<Vec<AgentEvent>>;

    fn iteration(&self, commit: &ObjectId) -> Result<Iteration>;

    /// What the newest `session.json` of a session says.
    fn session(&self, session: &SessionRow) -> Result<Session>;

    /// How much a session changed; `None` without snapshots.
    fn changes(&self, session: &SessionRow) -> Result<Option<DiffStat>>;

    /// The task list as it stood after that record.
    fn tasks(&self, commit: &ObjectId) -> Result<Option<Vec<u8>>>;

    /// The changes of an iteration, or of a whole session, as a patch.
    fn diff(&self, change: &DiffTarget) -> Result<Patch>;

    /// Returns what the next prompt of this feature contains about earlier iterations.
    fn history(&self, feature: &str) -> Result<PromptMemory>;
}

/// A file of an iteration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub place: Place,
    pub stream: Stream,
    pub author: Option<Author>,
}

/// An agent, which prints as its session set it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub session: SessionId,
    pub agent: String,
}

/// Where an iteration is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Record(ObjectId),
    /// It runs, or ran until its loop died.
    Spool(SessionId, u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// What a patch is of: an iteration, or a whole session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffTarget {
    pub session: SessionId,
    pub iteration: Option<u32>,
}

/// Lines of a patch, as git prints them without colours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    pub text: String,
    /// Why it is not all of it.
    pub left_out: Option<String>,
}

/// What the next prompt of a feature contains about earlier iterations.
#[derive(Debug, Clone, Default)]
pub struct PromptMemory {
    /// `None` if no task can be picked any more.
    pub task: Option<Task>,
    pub mode: String,
    pub why: String,
    /// In tokens.
    pub budget: usize,
    /// `None` if history is off for the task.
    pub context: Option<HistoricalContext>,
    /// What failed so far by its cause: what is open first, then the most frequent.
    pub clusters: Vec<Cluster>,
}

/// How everything stands.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// Newest first.
    pub sessions: Vec<Arc<SessionRow>>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

/// A session in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    pub id: SessionId,
    pub feature: String,
    pub status: Status,
    pub stop_reason: Option<StopReason>,
    pub started_at: Timestamp,
    /// When its newest record was written.
    pub last_at: Timestamp,
    pub tasks: TrailerCounts,
    /// Oldest first.
    pub iterations: Arc<Vec<IterationRow>>,
    /// The first record and the newest.
    pub ends: [ObjectId; 2],
    /// The newest record that has a task list.
    pub with_tasks: ObjectId,
    /// Set if it runs on another machine.
    pub elsewhere: Option<RemoteRun>,
    pub live: Option<Live>,
}

/// What is known of a session that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    pub pid: u32,
    pub in_flight: Option<InFlight>,
    pub waiting: Option<Waiting>,
    pub is_stopping: bool,
}

/// An iteration that is not a commit yet.
#[derive(Debug, Clone, PartialEq)]
pub struct InFlight {
    pub number: u32,
    pub task: Task,
    pub attempt: u32,
    pub agent: String,
    pub started_at: Timestamp,
    /// Bytes so far of the agent's stdout and stderr and the validation's; `None` if a stream is not open yet.
    pub lengths: [Option<u64>; 4],
}

/// An iteration in the list. Many fields: what list, failure and dashboard show without reading its record again.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationRow {
    pub number: u32,
    pub commit: ObjectId,
    pub task: Option<String>,
    pub outcome: Outcome,
    pub failure_class: Option<FailureClass>,
    pub has_false_claim: bool,
    pub attempt: Option<u32>,
    pub title: String,
    /// Why it did not succeed, or what else there is to say.
    pub note: String,
    pub cost: Cost,
    pub ended_at: Timestamp,
    /// Of agent and validation; `None` if nothing ran.
    pub duration_ms: Option<u64>,
    pub exit: Exits,
    pub tokens: Option<u64>,
    pub agent: Option<Arc<str>>,
    /// The first iteration of its session that failed in the same way.
    pub repeats: Option<u32>,
    /// What it was judged by.
    pub evidence: EvidenceWords,
}

impl IterationRow {
    /// The row that stands for it.
    pub fn line(&self) -> IterationLine<'_> {
        IterationLine {
            number: self.number,
            outcome: Some(self.outcome),
            task: self.task.as_deref().unwrap_or("no task").into(),
            attempt: self.attempt,
            title: self.title.as_str().into(),
            note: self.note.as_str().into(),
            repeats: self.repeats,
            evidence: self.evidence.clone(),
            tail: row::tail(self.duration_ms, self.cost, self.ended_at, self.commit.as_str(), None),
        }
    }

    /// What is counted of it.
    pub fn facts(&self) -> IterationFacts<'_> {
        IterationFacts {
            task: self.task.as_deref().map(Cow::from),
            iteration: self.number,
            outcome: self.outcome,
            failure_class: self.failure_class,
            agent_exit: self.exit.agent,
            cost: self.cost,
            cause: (!self.note.is_empty()).then(|| self.note.as_str().into()),
            started_at: None,
            ended_at: self.ended_at,
        }
    }

    pub fn is_failed(&self) -> bool {
        self.outcome == Outcome::Failure
    }
}

impl SessionRow {
    /// What its iterations come to.
    pub fn totals(&self) -> SessionTotals {
        let mut totals = SessionTotals::default();
        self.iterations.iter().for_each(|row| totals.count(&self.id, &row.facts()));
        totals
    }

    pub fn iteration(&self, number: u32) -> Option<&IterationRow> {
        let found = self.iterations.binary_search_by_key(&number, |row| row.number);
        found.ok().map(|place| &self.iterations[place])
    }

    pub fn in_flight(&self) -> Option<&InFlight> {
        self.live.as_ref()?.in_flight.as_ref()
    }
}

impl Overview {
    pub fn session(&self, id: &SessionId) -> Option<&Arc<SessionRow>> {
        self.sessions.iter().find(|session| session.id == *id)
    }
}
