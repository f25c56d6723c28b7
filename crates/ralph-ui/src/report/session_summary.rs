//! One session in figures, for pages that show several.

use indexmap::IndexSet;
use serde::Serialize;

use crate::ending;
use crate::session_table::{End, ended};
use ralph_core::history::stats::rate;
use ralph_core::record::{
    Cost, DiffStat, EndedBy, LogEntry, Session, SessionId, SessionTotals, Status, StopReason, Timestamp,
    Tokens,
};
use ralph_core::view::SessionView;

/// What was read of a session.
pub struct RecordedSession {
    pub session: Session,
    pub view: SessionView,
    /// False if this clone lacks its first records.
    pub is_whole: bool,
    /// `None` without snapshots, and of older sessions.
    pub changes: Option<DiffStat>,
    /// How many of these files are in no commit; known of the newest session of a feature.
    pub uncommitted_files: Option<usize>,
}

/// A session in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionSummary {
    pub id: SessionId,
    pub feature: String,
    pub started_at: Timestamp,
    /// The end, or the last recorded moment of a session without an end.
    pub last_at: Timestamp,
    pub status: Status,
    pub stop_reason: Option<StopReason>,
    /// What interrupted it, as `ended_by` and `signal`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
    /// How it ended, in a few words.
    #[serde(skip)]
    pub ended: String,
    /// The status in words.
    pub state: String,
    /// False if this clone lacks its first records: then the counts are too low.
    pub is_whole: bool,
    #[serde(skip)]
    pub changes: Option<DiffStat>,
    /// As in [`RecordedSession`].
    #[serde(skip)]
    pub uncommitted_files: Option<usize>,
    /// In the order of their first iterations.
    pub agents: IndexSet<String>,
    pub models: IndexSet<String>,
    /// Tasks that this session brought to done.
    pub tasks_completed: usize,
    /// All tasks of the list that were done at its end.
    pub tasks_done: usize,
    pub tasks_remaining: usize,
    pub attempts: usize,
    pub succeeded: usize,
    /// Null without an attempt.
    pub success_rate: Option<f64>,
    #[serde(flatten)]
    pub cost: Cost,
    /// Null if no task was brought to done, or if some cost is unknown.
    pub cost_per_task: Option<f64>,
    /// From the start to the last moment, in milliseconds.
    pub span_ms: u64,
    /// The same without the breaks before it was resumed.
    pub worked_ms: u64,
    pub tokens: Tokens,
}

impl SessionSummary {
    pub fn new(recorded: &RecordedSession) -> Self {
        let RecordedSession { session, view, is_whole, changes, uncommitted_files } = recorded;
        let end = End {
            status: session.status,
            reason: session.stop_reason,
            limit: session.limit,
            by: session.ended_by,
        };
        let ended = ended(&end, &session.totals);
        let SessionTotals { attempts, succeeded, given_up, closed, .. } = &session.totals;
        let agents: IndexSet<String> =
            view.iterations().filter_map(|entry| Some(entry.agent()?.to_owned())).collect();
        let models = view.iterations().filter_map(|entry| Some(entry.model()?.to_owned()));
        let last = view.iterations().next_back().map_or(session.started_at, LogEntry::ended_at);
        let last_at = session.ended_at.unwrap_or(last);
        let completed = if *is_whole { closed.len() } else { session.tasks_completed };
        let cost = session.cost();
        let known = cost.usd.filter(|_| !cost.is_partial && completed > 0);
        Self {
            id: session.id.clone(),
            feature: session.feature.clone(),
            started_at: session.started_at,
            last_at,
            status: session.status,
            stop_reason: session.stop_reason,
            ended_by: session.ended_by,
            ended,
            state: ending::state(session.status, session.stop_reason, session.ended_by, given_up),
            is_whole: *is_whole,
            changes: *changes,
            uncommitted_files: *uncommitted_files,
            agents: if agents.is_empty() { [session.agent.clone()].into() } else { agents },
            models: models.collect(),
            tasks_completed: completed,
            tasks_done: session.tasks_done,
            tasks_remaining: session.tasks_remaining,
            attempts: *attempts,
            succeeded: *succeeded,
            success_rate: rate(*succeeded, *attempts),
            cost,
            cost_per_task: known.map(|usd| usd / f64::from(u32::try_from(completed).unwrap_or(u32::MAX))),
            span_ms: session.started_at.ms_until(last_at),
            worked_ms: session.worked_ms(last_at),
            tokens: session.tokens,
        }
    }
}
