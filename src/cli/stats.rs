//! `specify ralph stats`: iterations, repeated failures, tokens and times in numbers.

use std::io::{Write, stderr};

use anyhow::Result;
use serde::Serialize;

use crate::history::captures::{Captured, captured};
use crate::history::later_attempts::LaterAttempts;
use crate::history::state::CumulativeState;
use crate::history::stats::Stats;
use crate::record::{LogEntry, SessionId};
use crate::store::{SessionLog, Store};
use crate::view::stats::{write, write_captured, write_state};
use crate::view::style::Paint;

use super::args::ReadArgs;
use super::caller::Caller;
use super::context;
use super::exit_code::ExitCode;
use super::output::{print_json, stdout};
use super::sessions::{self, SessionChoice};

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    stats: Stats,
    later_attempts: LaterAttempts,
    /// Whose state it is: the latest.
    session: Option<SessionId>,
    state: CumulativeState,
    captured: Vec<Captured>,
}

pub fn run(args: &ReadArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = context::open(caller)?;
    let choice = SessionChoice { session: args.session.clone(), feature: args.feature.clone() };
    let logs = sessions::chosen(&store, &choice)?;
    if logs.is_empty() {
        let _closed = writeln!(stderr(), "{}", sessions::nothing_recorded(&store)).is_err();
    }
    let stats = Stats::of(logs.iter().flat_map(SessionLog::iterations));
    let latest = logs.last();
    let entries: Vec<_> = latest.into_iter().flat_map(SessionLog::iterations).cloned().collect();
    let records = store.read_iterations(&entries)?;
    let (so_far, captured) = (CumulativeState::of(&records), captured(&records));
    let later_attempts = later_attempts(&store, &logs)?;
    let mut out = stdout();
    if args.json.json {
        let session = latest.map(|log| log.id().clone());
        print_json(&mut out, &Report { stats, later_attempts, session, state: so_far, captured })?;
    } else {
        write(&mut out, &stats, later_attempts, paint)?;
        write_state(&mut out, &so_far)?;
        write_captured(&mut out, &captured)?;
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

/// Returns how later attempts ended. Of other iterations nothing is read.
fn later_attempts(store: &Store, logs: &[SessionLog]) -> Result<LaterAttempts> {
    let is_later = |entry: &&LogEntry| entry.is_run() && entry.attempt.is_some_and(|attempt| attempt > 1);
    let entries: Vec<_> = logs.iter().flat_map(SessionLog::iterations).filter(is_later).cloned().collect();
    Ok(LaterAttempts::of(&store.read_iterations(&entries)?))
}
