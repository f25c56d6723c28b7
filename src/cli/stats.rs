//! `specify ralph stats`: iterations, repeated failures, tokens and times in numbers.

use anyhow::Result;
use serde::Serialize;

use ralph_core::history::captures::{Captured, captured};
use ralph_core::history::later_attempts::LaterAttempts;
use ralph_core::history::state::CumulativeState;
use ralph_core::history::stats::Stats;
use ralph_core::record::{SessionId, SessionTotals, Summary};
use ralph_store::{SessionLog, Store};
use ralph_ui::stats::{write, write_captured};

use super::args::ReadArgs;
use super::{Context, ExitCode, emit, note, sessions, summary};

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    stats: Stats,
    later_attempts: LaterAttempts,
    /// Whose state it is: the latest.
    session: Option<SessionId>,
    state: CumulativeState,
    captured: Vec<Captured>,
    /// Null if there is neither a session nor a feature.
    summary: Option<Summary>,
}

pub fn run(args: &ReadArgs, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let logs = sessions::chosen(store, &args.choice)?;
    if logs.is_empty() {
        note(sessions::nothing_recorded(store));
    }
    let stats = Stats::of(logs.iter().flat_map(SessionLog::iterations));
    let latest = logs.last();
    let entries: Vec<_> = latest.into_iter().flat_map(SessionLog::iterations).cloned().collect();
    let records = store.read_iterations(&entries)?;
    let (state, captured) = (CumulativeState::of(&records), captured(&records));
    let later_attempts = later_attempts(store, &logs)?;
    let session = latest.map(|log| log.id().clone());
    let summary = summary::of_newest(context, latest.map(|log| (log.feature(), log.id())))?;
    let mut totals = SessionTotals::default();
    for log in &logs {
        totals.add(&sessions::totals(log));
    }
    let report = Report { stats, later_attempts, session, state, captured, summary };
    emit(args.json, &report, |out| {
        write(out, &report.stats, &totals, report.later_attempts)?;
        write_captured(out, &report.captured)
    })
}

/// Returns how later attempts ended. Of other iterations nothing is read.
fn later_attempts(store: &Store, logs: &[SessionLog]) -> Result<LaterAttempts> {
    let entries: Vec<_> = logs
        .iter()
        .flat_map(SessionLog::iterations)
        .filter(|entry| entry.is_run() && entry.attempt.is_some_and(|attempt| attempt > 1))
        .cloned()
        .collect();
    Ok(LaterAttempts::of(&store.read_iterations(&entries)?))
}
