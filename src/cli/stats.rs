//! `specify ralph stats`: iterations, repeated failures, tokens and times in numbers.

use std::io::{Write, stderr};

use anyhow::Result;

use crate::history::stats::Stats;
use crate::store::SessionLog;
use crate::view::stats::write;
use crate::view::style::Paint;

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::log::print_json;
use super::output::stdout;
use super::sessions::{self, Choice};
use super::{Json, ReadArgs, place};

pub fn run(args: &ReadArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let choice = Choice { session: args.session.clone(), feature: args.feature.clone() };
    let logs = sessions::chosen(&store, &choice)?;
    if logs.is_empty() {
        let _closed =
            writeln!(stderr(), "no session is recorded here\n{}", sessions::nothing_here(&store)).is_err();
    }
    let stats = Stats::of(logs.iter().flat_map(SessionLog::iterations));
    let mut out = stdout();
    match args.json {
        Json { json: true } => print_json(&mut out, &stats)?,
        Json { json: false } => write(&mut out, &stats, paint)?,
    }
    out.flush()?;
    Ok(ExitCode::Done)
}
