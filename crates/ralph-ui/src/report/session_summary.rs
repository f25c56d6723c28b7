//! One session in figures, for pages that show several.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::ending;
use crate::style::{duration, grouped};
use ralph_core::history::stats::rate;
use ralph_core::record::{
    Cost, LogEntry, Session, SessionId, SessionTotals, Status, StopReason, Timestamp, Tokens,
};

/// What stands in a cell without a value.
pub(super) const NO_VALUE: &str = "–";

/// What was read of a session.
pub struct RecordedSession {
    pub session: Session,
    /// Its iterations, oldest first.
    pub iterations: Vec<LogEntry>,
    /// False if this clone lacks its first records.
    pub is_whole: bool,
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
    /// True if a task was done more than once.
    #[serde(skip)]
    pub was_reopened: bool,
    /// The status in words.
    pub state: String,
    /// False if this clone lacks its first records: then the counts are too low.
    pub is_whole: bool,
    /// In the order of their first iterations.
    pub agents: Vec<String>,
    pub models: Vec<String>,
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
    pub tokens: Tokens,
}

impl SessionSummary {
    pub fn new(recorded: &RecordedSession) -> Self {
        let RecordedSession { session, iterations, is_whole } = recorded;
        let totals = SessionTotals::fold(&session.id, iterations);
        let SessionTotals { attempts, succeeded, given_up, .. } = totals;
        let agents = distinct(iterations.iter().filter_map(|entry| entry.agent.as_deref()));
        let last = iterations.last().map_or(session.started_at, |entry| entry.ended_at);
        let last_at = session.ended_at.unwrap_or(last);
        // A task that was opened again and done again is one task.
        let closed: BTreeSet<_> = iterations.iter().flat_map(|entry| &entry.closed).collect();
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
            was_reopened: session
                .tasks_completed
                .max(iterations.iter().map(|entry| entry.closed.len()).sum())
                > completed,
            state: ending::state(session.status, session.stop_reason, &given_up),
            is_whole: *is_whole,
            agents: if agents.is_empty() { vec![session.agent.clone()] } else { agents },
            models: distinct(iterations.iter().filter_map(|entry| entry.model.as_deref())),
            tasks_completed: completed,
            tasks_done: session.tasks_done,
            tasks_remaining: session.tasks_remaining,
            attempts,
            succeeded,
            success_rate: rate(succeeded, attempts),
            cost,
            cost_per_task: known.map(|usd| usd / f64::from(u32::try_from(completed).unwrap_or(u32::MAX))),
            span_ms: session.started_at.ms_until(last_at),
            tokens: session.tokens,
        }
    }

    /// `3 of 5`
    pub(super) fn tasks(&self) -> String {
        match self.tasks_done + self.tasks_remaining {
            0 => NO_VALUE.to_owned(),
            all => format!("{} of {}", grouped(self.tasks_done as u64), grouped(all as u64)),
        }
    }

    pub(super) fn rate_in_words(&self) -> String {
        percent(self.success_rate)
    }

    pub(super) fn cost_in_words(&self) -> String {
        self.cost.shown().unwrap_or_else(|| "unknown".to_owned())
    }

    pub(super) fn span_in_words(&self) -> String {
        duration(self.span_ms)
    }
}

/// `67 %`, or a dash without a value.
pub(super) fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| NO_VALUE.to_owned(), |rate| format!("{:.0} %", rate * 100.0))
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found
}
