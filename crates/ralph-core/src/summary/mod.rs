//! One count of everything: attempts, tasks, cost, causes, and what needs the user, for every screen and every JSON.

mod causes;
mod flags;
mod gone;
mod not_done;
mod states;
#[cfg(test)]
mod tests;
mod totals;

use tasklist::TaskList;

use crate::record::{
    GoneHow, GoneWork, Hint, LogEntry, Need, NeedKind, RALPH, Remains, SessionFacts, SessionId, SessionPart,
    SessionTotals, Summary, lost_files, restore_command,
};

use states::TaskRecords;

pub use flags::moot;
pub use gone::{recorded as recorded_gone, work_gone};
pub use not_done::not_done;

/// Counts the records of all `sessions` of a feature against the present task list,
/// the `hints` that wait for a prompt, and what the newest attempt left behind. `shown` is the session that is looked at.
pub fn summarize(
    feature: &str,
    sessions: &[SessionFacts<'_>],
    list: &TaskList,
    hints: &[Hint],
    remains: Option<&Remains>,
    shown: Option<&SessionId>,
) -> Summary {
    let mut summary = Summary { feature: feature.to_owned(), sessions: sessions.len(), ..Summary::default() };
    for SessionFacts { id, iterations, .. } in sessions {
        let mut totals = SessionTotals::fold(id, iterations.iter().copied());
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
    summary.needs_you.extend(sessions.last().and_then(fault));
    summary.needs_you.extend(remains.into_iter().flat_map(left_behind));
    let work_gone = work_gone(sessions, list);
    // A loop that runs may open its box, or take back what took it.
    let is_need = |work: &GoneWork| {
        work.how == GoneHow::Attempt && sessions.last().is_some_and(|newest| newest.stop_reason.is_some())
    };
    summary.needs_you.extend(work_gone.iter().filter(|work| is_need(work)).map(gone::need));
    summary.needs_you.sort_by_key(|need| need.why.rank());
    summary.answered = records.answered(list);
    summary.tried_since = records.tried_since();
    // Nothing graver is flagged.
    summary.flagged = work_gone.iter().filter(|work| !is_need(work)).map(gone::flag).collect();
    summary
        .flagged
        .extend(flags::flagged(sessions, list).into_iter().filter(|task| !flags::is_said(task, &work_gone)));
    summary.work_gone = work_gone;
    (summary.causes, summary.solved_attempts) = causes::of(sessions);
    summary
}

/// Returns the records of all sessions in their order, each with its session.
fn records<'a>(sessions: &'a [SessionFacts<'a>]) -> impl Iterator<Item = (&'a SessionId, &'a LogEntry)> {
    sessions.iter().flat_map(|one| one.iterations.iter().map(|facts| (&one.id, *facts)))
}

/// Returns the failed attempts of a feature whose tasks were done later, in order.
pub fn solved_attempts(sessions: &[SessionFacts<'_>]) -> Vec<(SessionId, u32)> {
    causes::of(sessions).1
}

/// Returns what the newest attempt left behind and only a person can settle.
fn left_behind(remains: &Remains) -> Vec<Need> {
    let Remains { session, iteration, git_state, user_files } = remains;
    let states = git_state.iter().filter(|state| state.needs_you()).map(|state| {
        let hint = state.hint().map_or(String::new(), |hint| format!(": {hint}"));
        (NeedKind::Git, format!("{}{hint}", state.text), state.since)
    });
    let lost = lost_files(user_files).map(|lost| {
        let command = restore_command(RALPH, user_files, Some(session));
        let command = command.map_or(String::new(), |command| format!("; {command}"));
        (NeedKind::Files, format!("{lost}{command}"), *iteration)
    });
    let needs = states.chain(lost).map(|(why, cause, iteration)| Need {
        why,
        task: None,
        cause: Some(cause),
        session: session.clone(),
        iteration: Some(iteration),
    });
    needs.collect()
}

/// Returns what keeps every agent from working, if that ended the newest session.
fn fault(newest: &SessionFacts<'_>) -> Option<Need> {
    let why = NeedKind::of_ending(newest.stop_reason?)?;
    let last = newest.iterations.last();
    Some(Need {
        why,
        task: None,
        cause: last.and_then(|last| last.cause().map(str::to_owned)),
        session: newest.id.clone(),
        iteration: last.map(|last| last.number()),
    })
}
