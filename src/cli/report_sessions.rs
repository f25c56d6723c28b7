//! `specify ralph report --all`: a page over all sessions.

use std::collections::BTreeSet;

use anyhow::{Error, Result, bail};

use ralph_store::{Holder, SessionLog, Store, slug};
use ralph_ui::report::{NEWEST_ROWS, RecordedSession, SessionsIndex, index_page};

use super::report_output::{Destination, ReportArgs};
use super::{Context, ExitCode, SessionChoice, session_changes, sessions, summary};

pub fn write_index(args: &ReportArgs, context: &Context, store: &Store) -> Result<ExitCode> {
    let choice = SessionChoice { session: None, feature: args.choice.feature.clone() };
    let mut unreadable = Vec::new();
    let logs = sessions::readable(store, &choice, &mut unreadable)?;
    if logs.is_empty() {
        bail!("{}", sessions::nothing_recorded(store));
    }
    let name = match &args.choice.feature {
        Some(_) => format!("{}-all", slug(logs[0].feature())),
        None => "all".to_owned(),
    };
    let destination = Destination::find(args, context, &name)?;
    destination.deliver_page(&index(store, context, &logs, &unreadable)?, index_page)
}

/// Reads the index of some sessions.
pub fn index(
    store: &Store,
    context: &Context,
    logs: &[SessionLog],
    unreadable: &[Error],
) -> Result<SessionsIndex> {
    let mut unreadable: Vec<String> = unreadable.iter().map(|error| format!("{error:#}")).collect();
    let running = sessions::running(store)?;
    let mut recorded = Vec::new();
    let oldest = logs.len().saturating_sub(NEWEST_ROWS);
    for (place, log) in logs.iter().enumerate() {
        match read(store, log, &running, place >= oldest) {
            Ok(session) => recorded.push(session),
            Err(error) => unreadable.push(format!("{error:#}")),
        }
    }
    let features: BTreeSet<&str> = recorded.iter().map(|one| one.session.feature.as_str()).collect();
    let features = features.into_iter().map(|feature| summary::of_feature(context, feature, None));
    let features = features.collect::<Result<_>>()?;
    Ok(SessionsIndex::new(&recorded, features, unreadable, context.now()?))
}

/// Reads a session; what it changed takes a comparison of two trees, and is left out where it cannot be counted.
fn read(store: &Store, log: &SessionLog, running: &[Holder], is_new: bool) -> Result<RecordedSession> {
    let changes = if is_new { session_changes::of_log(store, log).unwrap_or_default() } else { None };
    Ok(RecordedSession {
        session: sessions::describe(store, log, running)?,
        iterations: log.iterations().cloned().collect(),
        is_whole: log.is_whole(),
        changes,
    })
}
