//! `specify ralph report --all`: a page over all sessions.

use std::collections::BTreeSet;

use anyhow::{Error, Result, bail};

use ralph_core::view::SessionView;
use ralph_store::{Holder, SessionLog, Store, slug};
use ralph_ui::json::write_pretty;
use ralph_ui::report::{Medium, NEWEST_ROWS, RecordedSession, SessionsIndex, index_page};

use crate::cli::read::report_output::{Destination, ReportArgs};
use crate::cli::read::{session_changes, sessions};
use crate::cli::start::summary;
use crate::cli::{Context, ExitCode, SessionChoice};

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
    let index = index(store, context, &logs, &unreadable)?;
    let mut bytes = Vec::new();
    if args.json.json {
        write_pretty(&mut bytes, &index)?;
    } else {
        bytes = index_page(&index, Medium::File)?.into_bytes();
    }
    destination.deliver(&bytes)
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
    let views: Vec<SessionView> = logs.iter().map(SessionLog::view).collect();
    let runs = SessionView::merge_groups(&views).into_iter();
    let of_run = |run: SessionView| Some(logs.iter().find(|log| *log.id() == run.id)?.of_run(&run));
    let logs: Vec<SessionLog> = runs.filter_map(of_run).collect();
    let mut recorded = Vec::new();
    let oldest = logs.len().saturating_sub(NEWEST_ROWS);
    for (place, log) in logs.iter().enumerate() {
        let is_new = place >= oldest;
        let is_latest = is_new && logs[place + 1..].iter().all(|later| later.feature() != log.feature());
        match read(context, log, &running, is_new, is_latest) {
            Ok(session) => recorded.push(session),
            Err(error) => unreadable.push(format!("{error:#}")),
        }
    }
    let features: BTreeSet<&str> = recorded.iter().map(|one| one.session.feature.as_str()).collect();
    let features = features.into_iter().map(|feature| summary::of_feature(context, feature, None));
    let features = features.collect::<Result<_>>()?;
    Ok(SessionsIndex::new(&recorded, features, unreadable, context.now()?))
}

/// Reads a session. What it changed takes a comparison of trees, and is left out where it cannot be counted; what became of
/// it by now is known of the latest session of a feature.
fn read(
    context: &Context,
    log: &SessionLog,
    running: &[Holder],
    is_new: bool,
    is_latest: bool,
) -> Result<RecordedSession> {
    let store = context.store()?;
    let known =
        if is_latest { session_changes::with_commits(context, log).unwrap_or_default() } else { None };
    let changes = match &known {
        Some((known, _)) => Some(known.stat),
        None if is_new => session_changes::of_log(store, log).unwrap_or_default(),
        None => None,
    };
    Ok(RecordedSession {
        session: sessions::describe(store, log, running)?,
        view: log.view(),
        is_whole: log.is_whole(),
        changes,
        uncommitted_files: known.map(|(known, _)| known.uncommitted_files),
    })
}
