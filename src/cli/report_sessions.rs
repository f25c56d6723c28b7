//! `specify ralph report --all`: pages over several sessions.

use anyhow::{Result, bail};

use crate::store::{Store, slug};
use crate::view::report::{RecordedSession, SessionsIndex, index_page};

use super::caller::Caller;
use super::context;
use super::exit_code::ExitCode;
use super::output::print_json;
use super::report_args::ReportArgs;
use super::report_output::{deliver, destination};
use super::sessions::{self, SessionChoice};

pub fn write_index(args: &ReportArgs, caller: &Caller, store: &Store) -> Result<ExitCode> {
    let choice = SessionChoice { session: None, feature: args.feature.clone() };
    let mut unreadable = Vec::new();
    let logs = sessions::readable(store, &choice, &mut unreadable)?;
    if logs.is_empty() {
        bail!("{}", sessions::nothing_recorded(store));
    }
    let name = match &args.feature {
        Some(_) => format!("{}-all", slug(logs[0].feature())),
        None => "all".to_owned(),
    };
    let destination = destination(args, caller, store, &name)?;
    let mut unreadable: Vec<String> = unreadable.iter().map(|error| format!("{error:#}")).collect();
    let running = sessions::running(store)?;
    let mut recorded = Vec::new();
    for log in &logs {
        match sessions::describe(store, log, &running) {
            Ok(session) => recorded.push(RecordedSession {
                session,
                iterations: log.iterations().cloned().collect(),
                is_whole: log.is_whole(),
            }),
            Err(error) => unreadable.push(format!("{error:#}")),
        }
    }
    let index = SessionsIndex::new(&recorded, unreadable, context::clock(caller)?.now());
    let mut bytes = Vec::new();
    if args.json.json {
        print_json(&mut bytes, &index)?;
    } else {
        bytes = index_page(&index)?.into_bytes();
    }
    deliver(&bytes, destination.as_deref(), args, caller)
}
