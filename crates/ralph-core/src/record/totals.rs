//! What sessions come to: the numbers that every screen and every JSON shows.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    AttemptId, Cost, Durations, FailureClass, FlagCode, GoneHow, LOST, LogEntry, Outcome, SessionId,
    ShortNames, StopReason, TaskName, Timestamp, Tokens, ValidationNow,
};

/// Longest answer that a line repeats, in characters.
const MAX_ANSWER_CHARS: usize = 60;

/// A feature over all of its sessions, with its present task list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    pub feature: String,
    pub sessions: usize,
    /// How many starts these are: the sessions of a group are of one.
    #[serde(skip)]
    pub starts: usize,
    #[serde(flatten)]
    pub totals: SessionTotals,
    pub tasks: TaskStates,
    pub waiting: Vec<WaitingTask>,
    pub needs_you: Vec<Need>,
    /// Tasks whose question has an answer that no attempt had yet; they do not need anybody.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<AnsweredTask>,
    /// Results that wait to be merged onto the branch of a lane.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<QueuedTask>,
    pub causes: CauseTotals,
    /// Since when tasks ask or fail, as they still do, and how often they did.
    #[serde(skip)]
    pub tried_since: BTreeMap<TaskName, (Timestamp, usize)>,
    /// Failed attempts that are solved, in order.
    #[serde(skip)]
    pub solved_attempts: Vec<AttemptId>,
    /// Tasks that are done and whose work is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub work_gone: Vec<GoneWork>,
    /// Tasks that are done and should be looked at all the same.
    pub flagged: Vec<FlaggedTask>,
    /// The session that is shown; null if there is none.
    pub session: Option<SessionPart>,
    /// What the newest validation said, and whether that holds; left out if none ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<Box<ValidationNow>>,
}

impl Summary {
    /// Returns true if an attempt failed, and its task was done later.
    pub fn is_solved(&self, attempt: &AttemptId) -> bool {
        self.solved_attempts.binary_search(attempt).is_ok()
    }

    /// Takes in that the work of a task is there again, which no record says yet.
    pub fn has_work_of(&mut self, task: &str) {
        self.work_gone.retain(|gone| gone.task != task);
        self.needs_you.retain(|need| need.why != NeedKind::Gone || need.task.as_deref() != Some(task));
        self.flagged.retain(|flagged| flagged.task != task || flagged.flags != [FlagCode::Gone]);
    }
}

/// The part of one session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionPart {
    pub id: SessionId,
    /// What its attempts are called, with those of its group.
    #[serde(skip)]
    pub names: ShortNames,
    #[serde(flatten)]
    pub totals: SessionTotals,
}

/// What iterations come to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SessionTotals {
    /// Agent runs that were judged: those that succeeded and those that failed.
    pub attempts: usize,
    pub succeeded: usize,
    pub failed: usize,
    /// Agent runs without a verdict, oldest first.
    pub cut_short: Vec<CutShort>,
    pub cost: CostTotals,
    /// Records of tasks that were given up.
    #[serde(skip)]
    pub skipped: usize,
    /// How often a loop was started or resumed on the session.
    #[serde(skip)]
    pub runs: usize,
    /// How long no loop was at work on the session, in milliseconds.
    #[serde(skip)]
    pub away_ms: u64,
    /// Tasks that were given up and not done later.
    #[serde(skip)]
    pub given_up: Vec<TaskName>,
    /// Tasks whose last attempt asked the user something.
    #[serde(skip)]
    pub asking: Vec<TaskName>,
    /// What the work on each task cost.
    #[serde(skip)]
    pub task_costs: BTreeMap<TaskName, f64>,
    /// How many attempts each task had.
    #[serde(skip)]
    pub task_attempts: BTreeMap<TaskName, usize>,
    #[serde(skip)]
    pub tokens: Tokens,
    #[serde(skip)]
    pub took: Durations,
    /// Tasks that went from open to done.
    #[serde(skip)]
    pub closed: BTreeSet<TaskName>,
    /// The iterations of one session whose agent said that something is done which was not.
    #[serde(skip)]
    pub false_claims: Vec<u32>,
}

/// What agents cost, as far as they said so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CostTotals {
    /// Of everything; null if no agent said what it cost.
    pub usd: Option<f64>,
    /// Of attempts that failed.
    pub failed_usd: Option<f64>,
    /// Of the work on tasks that are not done.
    pub not_done_usd: Option<f64>,
    /// Attempts that reported no cost.
    pub unreported: usize,
    /// The same among what was cut short.
    pub unreported_cut_short: usize,
}

impl CostTotals {
    /// Returns the cost of everything, which is partial if an agent did not say what it cost.
    pub fn total(&self) -> Cost {
        Cost { usd: self.usd, is_partial: self.unreported + self.unreported_cut_short > 0 }
    }
}

/// An agent run that got no verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CutShort {
    pub session: SessionId,
    pub iteration: u32,
    pub task: Option<TaskName>,
    pub by: Interruption,
    /// What the provider or the network said.
    pub failure_class: Option<FailureClass>,
    pub ended_at: Timestamp,
    /// When the next iteration of its session started; null if there is none.
    pub resumed_at: Option<Timestamp>,
}

/// What cut an agent run short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Interruption {
    /// A limit of the provider, or a network that could not be reached.
    Limit,
    Person,
    /// The loop itself was killed.
    Crash,
}

impl Interruption {
    /// Returns what cut an iteration short; `None` if nothing did.
    pub fn of_entry(entry: &LogEntry) -> Option<Self> {
        if entry.outcome() != Some(Outcome::Interrupted) {
            return None;
        }
        Some(Self::of_end(entry.failure_class(), entry.exit().agent))
    }

    /// Returns how an iteration was cut short, by its failure and the exit code of its agent.
    pub fn of_end(failure_class: Option<FailureClass>, agent_exit: Option<i32>) -> Self {
        match (failure_class, agent_exit) {
            (Some(_), _) => Self::Limit,
            // A loop that died left no exit code of its agent.
            (None, None) => Self::Crash,
            (None, Some(_)) => Self::Person,
        }
    }
}

/// How many tasks of the list are in each state. They add up to the tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TaskStates {
    /// Also by hand.
    pub done: usize,
    /// The last attempt asked the user something.
    pub asks: usize,
    /// Given up after several failures.
    pub fails: usize,
    /// Waits for a task that is not done.
    pub waits: usize,
    pub open: usize,
}

impl TaskStates {
    pub fn total(self) -> usize {
        self.done + self.left()
    }

    pub fn left(self) -> usize {
        self.asks + self.fails + self.waits + self.open
    }
}

/// A task that waits for another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingTask {
    pub task: TaskName,
    #[serde(rename = "for")]
    pub dependency: TaskName,
}

/// What only a person can settle. Never a task that the loop still tries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Need {
    pub why: NeedKind,
    pub task: Option<TaskName>,
    /// The question, the last failure of the task, why something cannot be used, or what was left behind.
    pub cause: Option<String>,
    pub session: SessionId,
    /// The attempt that says it; null if none does.
    pub iteration: Option<u32>,
}

impl Need {
    /// Names what needs the user, without its cause: `T034 asks`.
    pub fn subject(&self) -> String {
        match (self.why, &self.task) {
            (NeedKind::Agent, _) => "the agent cannot be used".to_owned(),
            (NeedKind::Validation, _) => "the validation is broken".to_owned(),
            (NeedKind::Git, _) => "git".to_owned(),
            (NeedKind::Files, _) => LOST.to_owned(),
            (
                NeedKind::Asks | NeedKind::Policy | NeedKind::Accept | NeedKind::Fails | NeedKind::Gone,
                None,
            ) => "a task".to_owned(),
            (NeedKind::Policy, Some(task)) => format!("{task} is refused"),
            (NeedKind::Asks, Some(task)) => format!("{task} asks"),
            (NeedKind::Accept, Some(task)) => format!("{task} asks for acceptance"),
            (NeedKind::Fails, Some(task)) => task.clone(),
            (NeedKind::Gone, Some(task)) => format!("{task}'s work is gone"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NeedKind {
    /// A task whose last attempt asked something.
    Asks,
    /// A task that the provider of the agent refuses.
    Policy,
    /// A task that passes only with its change of the validation's own files: a person says whether that is right.
    Accept,
    /// A task that was given up.
    Fails,
    /// The work of a task that is done is gone, and no task asked for that.
    Gone,
    /// The agent cannot be used.
    Agent,
    /// The validation cannot be run.
    Validation,
    /// An attempt left git in the middle of something.
    Git,
    /// Uncommitted work of the user's is gone.
    Files,
}

impl NeedKind {
    /// Returns the place among what needs somebody: what keeps all else from working comes first.
    pub fn rank(self) -> u8 {
        match self {
            Self::Validation => 0,
            Self::Agent => 1,
            Self::Files => 2,
            Self::Git => 3,
            Self::Gone => 4,
            Self::Asks | Self::Policy | Self::Accept => 5,
            Self::Fails => 6,
        }
    }

    /// Returns true if the loop gave the task up.
    pub fn is_given_up(self) -> bool {
        matches!(self, Self::Fails | Self::Accept)
    }

    /// Returns true if a hint brings the task on.
    pub fn waits_for_hint(self) -> bool {
        matches!(self, Self::Asks | Self::Policy)
    }

    /// Returns what keeps every agent from working, if that ends a session.
    pub fn of_ending(reason: StopReason) -> Option<Self> {
        match reason {
            StopReason::AgentUnusable => Some(Self::Agent),
            StopReason::ValidationUnusable => Some(Self::Validation),
            StopReason::Completed
            | StopReason::Checkpoint
            | StopReason::LimitReached
            | StopReason::Stuck
            | StopReason::Interrupted
            | StopReason::TargetRed
            | StopReason::Later(_) => None,
        }
    }
}

/// A task that is done and whose work is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GoneWork {
    pub task: TaskName,
    pub how: GoneHow,
    /// The task of the attempt that took it back; `None` if it was gone before an attempt began.
    pub since: Option<TaskName>,
    /// The record that has it.
    pub session: SessionId,
    pub iteration: u32,
}

impl GoneWork {
    /// `T003's work is gone since T014`
    pub fn words(&self) -> String {
        let since = self.since.as_ref().map_or(String::new(), |task| format!(" since {task}"));
        format!("{}'s work is gone{since}", self.task)
    }
}

/// A task that asked, and has an answer for its next prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnsweredTask {
    pub task: TaskName,
    /// The hint.
    pub answer: String,
    /// The attempt that asked.
    pub session: SessionId,
    pub iteration: u32,
}

impl AnsweredTask {
    /// `T009 answered "mail.example.org": its next prompt has it`, without the task.
    pub fn words(&self) -> String {
        let answer: Vec<&str> = self.answer.split_whitespace().collect();
        let mut answer = answer.join(" ");
        if let Some((end, _)) = answer.char_indices().nth(MAX_ANSWER_CHARS) {
            answer.truncate(end);
            answer.push('…');
        }
        format!("answered \"{answer}\": its next prompt has it")
    }
}

/// A task whose result waits to be merged onto the branch of a lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueuedTask {
    pub task: TaskName,
    pub session: SessionId,
    pub iteration: u32,
}

/// A task that is done, with what a person should know of the attempt that did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlaggedTask {
    pub task: TaskName,
    pub session: SessionId,
    pub iteration: Option<u32>,
    pub flags: Vec<FlagCode>,
    /// The text of the first flag.
    pub text: Option<String>,
}

/// Causes of failed attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CauseTotals {
    pub solved: usize,
    pub failing: usize,
    /// Failed attempts whose tasks were done later.
    pub solved_attempts: usize,
    /// What still fails first, then the most frequent; at most 20.
    pub list: Vec<FailureCause>,
}

/// A cause of failed attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailureCause {
    /// Null if neither validation nor question gave one.
    pub fingerprint: Option<String>,
    /// In the words of the newest; null in records of before causes were recorded.
    pub cause: Option<String>,
    pub times: usize,
    pub tasks: Vec<TaskName>,
    pub is_solved: bool,
    /// The iteration after which it was solved, as `SESSION:NUMBER`.
    pub solved_in: Option<String>,
}
