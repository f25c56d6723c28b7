//! What the loop reports while it runs. The receiver decides how to show it.

use failure_excerpt::Tally;
use serde::Serialize;

use super::{
    Baseline, Closing, Cost, Exit, Exits, FailureClass, Hint, Iteration, ObjectId, Outcome, Scope, Session,
    SessionId, Task, TaskCounts, TaskName, Timestamp, Tokens, UserFile, Waiting,
};

/// One thing that happened. As NDJSON: `type` and the fields of the variant.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    SessionStarted {
        session: SessionId,
        feature: String,
        agent: String,
        max_iterations: u32,
        loop_type: String,
        /// The file that the loop is about.
        artifact: String,
        tasks: TaskCounts,
        /// The part of the list that it works on, and the tasks of that.
        #[serde(skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        #[serde(skip_serializing_if = "Option::is_none")]
        scope_tasks: Option<TaskCounts>,
        /// Set to `story` or `phase` if iterations do more than a task, because the list asks for tests that fail first.
        #[serde(skip_serializing_if = "Option::is_none")]
        unit: Option<&'static str>,
        is_resumed: bool,
        /// What its iterations cost so far, where it is resumed.
        #[serde(flatten)]
        cost: Cost,
        agent_version: Option<String>,
        /// What the agent may do: `full`, `default` or `read-only`.
        permissions: &'static str,
        /// The command that must pass; null if nothing checks the agent's word.
        validation: Option<String>,
        /// How it went before the first iteration; null if it did not run.
        baseline: Option<Baseline>,
        /// Set if it did not run because it passed on these files before.
        is_known_to_pass: bool,
        /// Hints that wait for a prompt.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        hints: Vec<Hint>,
        /// Tasks that an earlier session gave up and that get one attempt, after all others.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        given_up: Vec<TaskName>,
        /// How many files have work of the user's that is in no commit.
        #[serde(skip_serializing_if = "is_zero")]
        user_files: usize,
        /// Files of the project that the validation itself consists of.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        validation_files: Vec<String>,
        /// What a person should know of the validation, a sentence each.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        validation_notes: Vec<String>,
    },
    IterationStarted {
        session: SessionId,
        iteration: u32,
        task: Task,
        /// Which try of this task in this session, from 1.
        attempt: u32,
        agent: String,
        /// What the user wanted to be in its prompt.
        hints: Vec<String>,
        /// All tasks that it is asked for, where that is more than one.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        unit_tasks: Vec<String>,
        started_at: Timestamp,
    },
    /// The prompt of an iteration contains older iterations.
    #[serde(rename = "history_told")]
    HistoryIncluded {
        iteration: u32,
        mode: &'static str,
        /// The failures in a row that turned it on; null if it was asked for.
        failures: Option<u32>,
        /// Iterations that it was taken from.
        scanned: usize,
        tokens: usize,
    },
    /// The loop is at this now. For people who look on: in NDJSON the other events say it.
    #[serde(skip)]
    PhaseStarted { iteration: u32, phase: Phase },
    AgentEvent {
        iteration: u32,
        #[serde(flatten)]
        event: AgentEvent,
    },
    ValidationFinished {
        iteration: u32,
        command: String,
        #[serde(flatten)]
        exit: Exit,
        duration_ms: u64,
        /// What it printed of its tests.
        #[serde(skip_serializing_if = "Option::is_none")]
        tests: Option<Box<Tally>>,
    },
    IterationRecorded {
        session: SessionId,
        iteration: u32,
        outcome: Outcome,
        exit: Exits,
        commit: ObjectId,
        /// The whole record, for those who show more than one line of it.
        #[serde(skip)]
        record: Box<Iteration>,
    },
    /// What failed attempts at a task changed was taken back.
    ChangesTakenBack {
        iteration: u32,
        task: TaskName,
        /// The snapshot from before the first of these attempts.
        restored_to: ObjectId,
        /// For `restore --undo`.
        restoration: u32,
        /// How many files were changed for it.
        files: usize,
    },
    /// No agent can run until then.
    Waiting {
        session: SessionId,
        #[serde(flatten)]
        waiting: Waiting,
        seconds: u64,
    },
    /// Another agent works from here on.
    AgentChanged {
        session: SessionId,
        from: String,
        to: String,
        /// Why the one before cannot; null where it is back.
        failure_class: Option<FailureClass>,
    },
    /// Work of the user's that was in no commit is gone since this attempt.
    UserFilesLost {
        iteration: u32,
        /// `src/store.js reverted, precious.txt deleted`
        what: String,
        /// The command that brings it back; null if no snapshot has it.
        command: Option<String>,
        files: Vec<UserFile>,
    },
    /// Something the user should know that stops nothing.
    Warning { message: String },
    SessionEnded {
        #[serde(flatten)]
        session: Box<Session>,
        commit: ObjectId,
        #[serde(flatten)]
        closing: Box<Closing>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What an iteration goes through, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The prompt is written.
    Prompt,
    /// The agent works.
    Agent { agent: String },
    /// The project's own checks run.
    Validation { command: String },
    /// What came of it goes into the repository.
    Recording,
}

impl Phase {
    /// Returns the word for it in files and in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Agent { .. } => "agent",
            Self::Validation { .. } => "validation",
            Self::Recording => "recording",
        }
    }
}

/// What an agent does right now, as far as its stream reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    Text {
        text: String,
    },
    ToolStarted {
        tool_name: String,
        arguments_summary: String,
    },
    ToolEnded {
        tool_name: String,
        is_error: bool,
        /// What came of it, in short. For people who look on: in NDJSON the record has it.
        #[serde(skip)]
        result: String,
    },
    Usage {
        tokens: Tokens,
    },
    Retry {
        message: String,
    },
    Error {
        message: String,
    },
}

impl AgentEvent {
    /// Returns what the agent does by this event, in its words; `None` if it does not say.
    pub fn doing(&self) -> Option<String> {
        Some(match self {
            Self::Text { text } => text.lines().map(str::trim).rfind(|line| !line.is_empty())?.to_owned(),
            Self::ToolStarted { tool_name, arguments_summary } => {
                format!("{tool_name} {arguments_summary}")
            }
            Self::Retry { message } => format!("retrying: {message}"),
            Self::Error { message } => format!("error: {message}"),
            Self::ToolEnded { .. } | Self::Usage { .. } => return None,
        })
    }
}
