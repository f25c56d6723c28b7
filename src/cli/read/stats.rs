//! `specify ralph stats`: iterations, repeated failures, tokens and times in numbers.

use anyhow::Result;
use serde::Serialize;

use ralph_core::history::captures::{Captured, captured};
use ralph_core::history::groups::{GroupedRun, Groups};
use ralph_core::history::later_attempts::LaterAttempts;
use ralph_core::history::state::CumulativeState;
use ralph_core::history::stats::Stats;
use ralph_core::record::{SessionId, Summary};
use ralph_core::view::{FeatureView, SessionView};
use ralph_store::{SessionLog, Store};
use ralph_ui::stats::{write, write_captured};

use crate::cli::args::ReadArgs;
use crate::cli::pager::write_folded;
use crate::cli::read::sessions;
use crate::cli::start::summary;
use crate::cli::{Context, ExitCode, emit, note};

#[derive(Serialize)]
struct StatsReport {
    #[serde(flatten)]
    stats: Stats,
    #[serde(flatten)]
    groups: Groups,
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
    let views: Vec<SessionView> = logs.iter().map(SessionLog::view).collect();
    let mut stats = Stats::of(&FeatureView::of(&views));
    settle_done(&mut stats, context, store);
    let latest = logs.last();
    let entries: Vec<_> = latest.into_iter().flat_map(SessionLog::iterations).cloned().collect();
    let records = store.read_iterations(&entries)?;
    let (state, captured) = (CumulativeState::of(&records), captured(&records));
    let later_attempts = later_attempts(store, &logs)?;
    let session = latest.map(|log| log.id().clone());
    let shown = match latest {
        Some(log) if args.choice.session.is_none() => {
            Some(sessions::joined(&sessions::group_of(store, log)?))
        }
        latest => latest.map(SessionLog::view),
    };
    let summary = summary::of_newest(context, latest.map(SessionLog::feature).zip(shown.as_ref()))?;
    // Whole records are read for them.
    let groups = if args.json.json { groups(store, &logs)? } else { Groups::default() };
    let report = StatsReport { stats, groups, later_attempts, session, state, captured, summary };
    emit(args.json, &report, |out| {
        let mut text = Vec::new();
        write(&mut text, &report.stats)?;
        write_captured(&mut text, &report.captured)?;
        write_folded(out, &text, context)
    })
}

/// A box that a person opened is in no record: what is done is open where the list of its feature says so.
fn settle_done(stats: &mut Stats, context: &Context, store: &Store) {
    for of_feature in stats.tasks.chunk_by_mut(|one, next| one.feature == next.feature) {
        let list = summary::list(context, store, &of_feature[0].feature, &[]);
        for task in of_feature {
            task.is_done &= list.find(&task.task).is_none_or(|item| item.done);
        }
    }
}

/// Returns what runs came to by agent, model and day. How far local time was from UTC is in the record before them that began or
/// resumed their session.
fn groups(store: &Store, logs: &[SessionLog]) -> Result<Groups> {
    let reader = store.reader()?;
    let (known, mut runs) = (store.circumstances(&reader), Vec::new());
    for log in logs {
        let mut offset = None;
        for entry in log.entries.iter() {
            if entry.kind().begins() {
                offset = store.readable_session(entry).and_then(|it| it.environment?.utc_offset);
            } else if entry.has_run()
                && let Some(found) = store.or_leave_out(entry, known.of(entry))
            {
                let asked = found.agent_setup.and_then(|setup| setup.model);
                runs.push(GroupedRun { entry, asked, utc_offset: offset.clone() });
            }
        }
    }
    known.keep();
    Ok(Groups::of(&runs))
}

/// Returns how later attempts ended. Of other iterations nothing is read.
fn later_attempts(store: &Store, logs: &[SessionLog]) -> Result<LaterAttempts> {
    let entries: Vec<_> = logs
        .iter()
        .flat_map(SessionLog::iterations)
        .filter(|entry| entry.is_attempt() && entry.attempt().is_some_and(|attempt| attempt > 1))
        .cloned()
        .collect();
    Ok(LaterAttempts::of(&store.read_iterations(&entries)?))
}
