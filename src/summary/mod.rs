//! One count of everything: attempts, tasks, cost, causes, and what needs the user, for every screen and every JSON.

mod causes;
mod not_done;
mod states;
#[cfg(test)]
mod tests;
mod totals;

use tasklist::TaskList;

use crate::record::{
    Hint, LogEntry, Need, NeedKind, RecordKind, SessionId, SessionPart, SessionTotals, StopReason, Summary,
};

use states::TaskRecords;

pub use not_done::not_done;

/// Counts the records of all `sessions` of a feature, each with its oldest record first, against the present task list
/// and the `hints` that wait for a prompt. `shown` is the session that is looked at.
pub fn summarize(
    feature: &str,
    sessions: &[Vec<LogEntry>],
    list: &TaskList,
    hints: &[Hint],
    shown: Option<&SessionId>,
) -> Summary {
    let mut summary = Summary { feature: feature.to_owned(), sessions: sessions.len(), ..Summary::default() };
    for entries in sessions {
        let Some(id) = entries.first().map(|first| &first.session) else { continue };
        let mut totals = SessionTotals::fold(id, entries);
        totals.settle(list);
        summary.totals.add(&totals);
        if shown == Some(id) {
            summary.session = Some(SessionPart { id: id.clone(), totals });
        }
    }
    summary.totals.settle(list);
    let records = TaskRecords::of(sessions, list, hints);
    (summary.tasks, summary.waiting) = records.states(list);
    summary.needs_you = records.needs(list);
    summary.needs_you.extend(sessions.last().and_then(|entries| fault(entries)));
    summary.flagged = records.flagged(list);
    summary.causes = causes::of(sessions);
    summary
}

/// Returns what keeps every agent from working, if that ended the newest session.
fn fault(entries: &[LogEntry]) -> Option<Need> {
    let tip = entries.last().filter(|tip| tip.kind == RecordKind::End)?;
    let why = match tip.stop_reason? {
        StopReason::AgentUnusable => NeedKind::Agent,
        StopReason::ValidationUnusable => NeedKind::Validation,
        StopReason::Completed
        | StopReason::Checkpoint
        | StopReason::LimitReached
        | StopReason::Stuck
        | StopReason::Interrupted
        | StopReason::Later(_) => return None,
    };
    let last = entries.iter().rfind(|entry| entry.kind == RecordKind::Iteration);
    Some(Need {
        why,
        task: None,
        cause: last.and_then(|entry| entry.cause.clone()),
        session: tip.session.clone(),
        iteration: last.and_then(|entry| entry.iteration),
    })
}
