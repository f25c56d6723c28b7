//! `specify ralph log`: the iterations, or the sessions, of the whole repository.

use std::io::{Write, stderr};

use anyhow::Result;

use crate::record::{LogEntry, Outcome};
use crate::store::SessionLog;
use crate::view::log::{Listed, iterations_json, sessions_json, write_iterations, write_sessions};
use crate::view::style::Paint;

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::{stdout, warn};
use super::sessions::{self, Choice};
use super::{Json, LogArgs, place};

pub fn run(args: &LogArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let choice = Choice { session: args.session.clone(), feature: args.feature.clone() };
    let chosen = sessions::chosen(&store, &choice)?;
    let running = sessions::running(&store)?;
    let (mut logs, mut described) = (Vec::new(), Vec::new());
    for log in chosen {
        let mut session = match sessions::describe(&store, &log, &running) {
            Ok(session) => session,
            Err(error) => {
                // It may have come from anybody, and must not hide the others.
                warn(&format!("left out: session {}: {error:#}", log.id()), &mut stderr());
                continue;
            }
        };
        if !(args.sessions && args.json.json) {
            // The biggest part of it, and nothing that is shown; of thousands of sessions it fills the memory.
            session.configuration = serde_json::Value::Null;
        }
        described.push(session);
        logs.push(log);
    }
    let mut out = stdout();
    if logs.is_empty() && matches!(args.json, Json { json: false }) {
        let _closed =
            writeln!(stderr(), "no session is recorded here\n{}", sessions::nothing_here(&store)).is_err();
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
            });
            let listed: Vec<_> =
                listed.filter(|listed| !is_filtered || !listed.iterations.is_empty()).collect();
            write_iterations(&mut out, &listed, paint)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::Done)
}

/// Indented JSON and a line end.
pub fn print_json(out: &mut impl Write, value: &impl serde::Serialize) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}
