//! `specify ralph stats`: iterations, repeated failures, tokens and times in numbers.

use std::io::{Write, stderr};

use anyhow::Result;
use serde::Serialize;

use crate::history::state::CumulativeState;
use crate::history::stats::Stats;
use crate::record::SessionId;
use crate::store::SessionLog;
use crate::view::stats::{write, write_state};
use crate::view::style::Paint;

use super::args::ReadArgs;
use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::{print_json, stdout};
use super::place;
use super::sessions::{self, Choice};

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    stats: Stats,
    /// Whose state it is: the latest.
    session: Option<SessionId>,
    state: CumulativeState,
}

pub fn run(args: &ReadArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let choice = Choice { session: args.session.clone(), feature: args.feature.clone() };
    let logs = sessions::chosen(&store, &choice)?;
    if logs.is_empty() {
        let _closed = writeln!(stderr(), "{}", sessions::nothing_recorded(&store)).is_err();
    }
    let stats = Stats::of(logs.iter().flat_map(SessionLog::iterations));
    let latest = logs.last();
    let entries: Vec<_> = latest.into_iter().flat_map(SessionLog::iterations).cloned().collect();
    let so_far = CumulativeState::of(&store.read_iterations(&entries)?);
    let mut out = stdout();
    if args.json.json {
        let session = latest.map(|log| log.id().clone());
        print_json(&mut out, &Report { stats, session, state: so_far })?;
    } else {
        write(&mut out, &stats, paint)?;
        write_state(&mut out, &so_far)?;
    }
    out.flush()?;
    Ok(ExitCode::Done)
}
