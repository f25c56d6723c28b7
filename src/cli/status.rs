//! `specify ralph status`: where the feature and its latest session stand.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;

use crate::record::Outcome;
use crate::store::{Control, SessionLog};
use crate::tasks::TaskList;
use crate::view::status::{Counts, FeatureStatus, SessionStatus, write};
use crate::view::style::Paint;

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::log::print_json;
use super::output::stdout;
use super::place::{self, refusal};
use super::sessions::{self, Choice};
use super::{Json, ReadArgs};

pub fn run(args: &ReadArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let feature = place::feature(caller, &store, args.feature.as_ref(), None)?;
    let tasks = TaskList::read(&feature.tasks_path).map_err(refusal)?;
    let choice = Choice { session: args.session.clone(), feature: Some(feature.path.clone()) };
    let running = sessions::running(&store)?;
    let log = sessions::newest(&store, &choice)?;
    let skipped: BTreeSet<_> = log
        .iter()
        .flat_map(SessionLog::iterations)
        .filter(|entry| entry.outcome == Some(Outcome::Skipped))
        .filter_map(|entry| entry.task.clone())
        .collect();
    let session = log.map(|log| {
        let holder = running.iter().find(|holder| holder.session == *log.id());
        SessionStatus {
            id: log.id().clone(),
            status: log.status(holder.is_some()),
            stop_reason: log.tip().stop_reason,
            // A skip is a record, not a run: `log` and the summary count the same.
            iterations: log.iterations().filter(|entry| entry.is_run()).count(),
            pid: holder.map(|holder| holder.pid),
            task: store
                .task_in_flight(log.id())
                .or_else(|| log.iterations().next_back().and_then(|entry| entry.task.clone())),
            started_at: log.entries[0].started_at,
            waiting: holder.and_then(|_| Control::of(store.repository(), log.id()).waiting()),
        }
    });
    let counts = tasks.counts();
    let status = FeatureStatus {
        feature: feature.path,
        tasks: Counts { done: counts.done, open: counts.open, skipped: skipped.len() },
        session,
    };
    let mut out = stdout();
    match args.json {
        Json { json: true } => print_json(&mut out, &status)?,
        Json { json: false } => write(&mut out, &status, paint)?,
    }
    out.flush()?;
    Ok(ExitCode::Done)
}
