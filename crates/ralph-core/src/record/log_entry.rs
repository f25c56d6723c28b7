//! The content of a record's commit message: all that a list needs, without reading a tree.

use serde::Serialize;
use strum::{EnumString, IntoStaticStr};

use super::{
    Claim, Cost, Durations, EndedBy, Exits, FailureClass, FlagCode, GoneHow, Interrupter, Interruption,
    Limit, ObjectId, Outcome, SessionId, Status, StopReason, TaskName, Timestamp, Tokens,
};

/// Longest [`LogEntry::title`].
pub const MAX_TITLE_CHARS: usize = 200;

/// What a commit on a session's ref records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum RecordKind {
    /// The first commit of a session.
    Start,
    Iteration,
    /// A session was resumed.
    Resume,
    End,
    /// A record that this version cannot read: of it no more is known than where it stands.
    Unknown,
}

impl RecordKind {
    /// Returns true if it says how the records after it are made: with which settings.
    pub fn begins(self) -> bool {
        matches!(self, Self::Start | Self::Resume)
    }
}

/// One commit of a session's log, as its message describes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogEntry {
    pub commit: ObjectId,
    #[serde(skip)]
    pub parent: Option<ObjectId>,
    #[serde(skip)]
    pub kind: RecordKind,
    #[serde(skip)]
    pub subject: String,
    pub session: SessionId,
    pub feature: String,
    pub iteration: Option<u32>,
    pub task: Option<TaskName>,
    /// The beginning of what the task asks for, of at most [`MAX_TITLE_CHARS`] characters.
    pub title: Option<String>,
    pub phase: Option<String>,
    /// Which run at this task it is in its session, from 1; `None` in older records.
    pub attempt: Option<u32>,
    pub outcome: Option<Outcome>,
    pub failure_class: Option<FailureClass>,
    /// Why it did not succeed; `None` for a success, and in older records.
    pub cause: Option<String>,
    /// Claims of the agent that proved false.
    pub false_claim: Vec<Claim>,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub exit: Exits,
    pub duration_ms: Durations,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub cost_usd: Option<f64>,
    pub closed: Vec<TaskName>,
    pub tasks_done: usize,
    pub tasks_open: usize,
    pub fingerprint: Option<String>,
    /// `None` in older records, and if no validation ran.
    pub tests: Option<TestCounts>,
    pub flags: Vec<FlagCode>,
    /// The text of the first flag, as the entry in the message has it.
    #[serde(skip)]
    pub first_flag: Option<String>,
    pub refused: Option<FlagCode>,
    pub reopened: Vec<TaskName>,
    /// Tasks whose work went or came back.
    #[serde(skip)]
    pub gone: Vec<(TaskName, GoneHow)>,
    pub head_before: Option<ObjectId>,
    pub head_after: Option<ObjectId>,
    pub snapshot: Option<ObjectId>,
    #[serde(skip)]
    pub status: Option<Status>,
    #[serde(skip)]
    pub stop_reason: Option<StopReason>,
    #[serde(skip)]
    pub limit: Option<Limit>,
    #[serde(skip)]
    pub ended_by: Option<EndedBy>,
}

/// Counts of tests that a validation printed; `None` if they are not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TestCounts {
    pub passed: Option<u64>,
    pub failed: Option<u64>,
    pub skipped: Option<u64>,
}

impl LogEntry {
    /// Returns what its agent cost.
    pub fn cost(&self) -> Cost {
        Cost::of_run(self.exit.agent, self.cost_usd)
    }

    /// Returns true if an agent ran in it.
    pub fn has_run(&self) -> bool {
        self.kind == RecordKind::Iteration && self.exit.agent.is_some()
    }

    /// Returns true if a person had the last word on a task.
    pub fn is_answer(&self) -> bool {
        self.outcome == Some(Outcome::Reopened) || self.flags.contains(&FlagCode::Accepted)
    }

    /// Returns how often a loop was started or resumed on a session; `entries` are those of its log.
    pub fn runs(entries: &[Self]) -> usize {
        let next = entries.iter().skip(1).map(Some).chain([None]);
        // A session goes on for an answer, too.
        let begins = entries
            .iter()
            .zip(next)
            .filter(|(entry, next)| entry.kind.begins() && !next.is_some_and(Self::is_answer));
        begins.count()
    }

    /// Returns how long no loop was at work on a session, in milliseconds: before it was resumed, and after it was killed.
    /// `entries` are those of its log, oldest first.
    pub fn away_ms(entries: &[Self]) -> u64 {
        let [first, .., tip] = entries else { return 0 };
        let (mut away, mut last) = (0, first.started_at);
        for entry in entries {
            if entry.kind == RecordKind::Resume {
                away += last.ms_until(entry.started_at);
            }
            let is_crash = entry.outcome.is_some_and(|outcome| {
                Interruption::of(outcome, entry.failure_class, entry.exit.agent) == Some(Interruption::Crash)
            });
            last = match entry.ended_by {
                // When it died is not known: the next start writes these records.
                _ if is_crash => entry.started_at,
                Some(by) if by.by == Interrupter::Killed => last,
                _ => entry.ended_at,
            };
        }
        away + last.ms_until(tip.ended_at)
    }

    /// Returns true if it is an attempt: an agent had its turn, and the result was judged.
    pub fn is_attempt(&self) -> bool {
        let is_acceptance = self.flags.contains(&FlagCode::Accepted);
        self.outcome.is_some_and(|outcome| outcome.is_attempt(is_acceptance))
    }
}
