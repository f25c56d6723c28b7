//! `specify ralph log`: the iterations, or the sessions, of the whole repository.

use std::collections::HashMap;
use std::io::{Write, stderr};

use anyhow::Result;

use crate::history::repeats;
use crate::record::{LogEntry, Outcome};
use crate::store::SessionLog;
use crate::view::log::{Listed, iterations_json, sessions_json, write_iterations, write_sessions};
use crate::view::style::Paint;

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::stdout;
use super::sessions::{self, Choice, NOTHING_HERE};
use super::{Json, LogArgs, place};

pub fn run(args: &LogArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let choice = Choice { session: args.session.clone(), feature: args.feature.clone() };
    let logs = sessions::chosen(&store, &choice)?;
    let running = sessions::running(&store)?;
    let mut described = Vec::new();
    for log in &logs {
        let mut session = sessions::describe(&store, log, &running)?;
        if !(args.sessions && args.json.json) {
            // The biggest part of it, and nothing that is shown; of thousands of sessions it fills the memory.
            session.configuration = serde_json::Value::Null;
        }
        described.push(session);
    }
    let mut out = stdout();
    if logs.is_empty() && matches!(args.json, Json { json: false }) {
        let _closed = writeln!(stderr(), "no session is recorded here\n{NOTHING_HERE}").is_err();
    }
    let is_listed = |entry: &&LogEntry| {
        (!args.failed || entry.outcome == Some(Outcome::Failure))
            && args.task.as_ref().is_none_or(|task| entry.task.as_ref() == Some(task))
    };
    match (args.sessions, args.json) {
        (true, Json { json: true }) => print_json(&mut out, &sessions_json(&described))?,
        (true, Json { json: false }) => write_sessions(&mut out, &described, paint)?,
        (false, Json { json: true }) => {
            let entries = logs.iter().flat_map(SessionLog::iterations).filter(is_listed);
            print_json(&mut out, &iterations_json(entries))?;
        }
        (false, Json { json: false }) => {
            let is_filtered = args.failed || args.task.is_some();
            let listed = logs.iter().zip(&described).map(|(log, session)| Listed {
                session,
                iterations: log.iterations().filter(is_listed).collect(),
                repeats: repeats_of(log),
            });
            let listed: Vec<_> =
                listed.filter(|listed| !is_filtered || !listed.iterations.is_empty()).collect();
            write_iterations(&mut out, &listed, paint)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

/// The iterations of a session that failed like an earlier one, each with the first of its kind.
pub fn repeats_of(log: &SessionLog) -> HashMap<u32, u32> {
    repeats(log.iterations().map(|entry| (entry.iteration.unwrap_or_default(), entry.fingerprint.as_deref())))
}

/// Indented JSON and a line end.
pub fn print_json(out: &mut impl Write, value: &impl serde::Serialize) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}
