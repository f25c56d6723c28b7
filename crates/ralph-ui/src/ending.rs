//! How a session ended, in words: the same on every screen.

use indexmap::IndexMap;

use ralph_core::record::{
    Closing, Cost, CostTotals, CutShort, EndedBy, FailureClass, Interruption, Limit, Need, NeedKind, NotDone,
    Session, SessionId, SessionTotals, Status, StopReason, Summary, TaskName, TaskStates,
};

use super::local_time::clock;
use super::needs::count_words;
use super::style::{counted, grouped, joined, one_line, times};

/// What every screen says first of a session that began like that.
pub const BEGAN_RED: &str = "the validation failed before the first attempt";

/// `10 of 45 tasks done`, or `all 45 tasks done`.
pub fn done(done: usize, all: usize) -> String {
    match (done, all) {
        (_, 0) => "no tasks".to_owned(),
        (done, all) if done == all && all > 1 => format!("all {} done", counted(all as u64, "task")),
        (done, all) => format!("{} of {} done", grouped(done as u64), counted(all as u64, "task")),
    }
}

/// `31 of 35 tasks done, 4 left: 1 asks, 1 fails, 2 wait`; `1 open` where nothing else is left.
pub fn tasks(states: TaskStates) -> String {
    let TaskStates { done, asks, fails, waits, open } = states;
    let of_all = format!("{} of {} done", grouped(done as u64), counted(states.total() as u64, "task"));
    let parts = [
        (asks, ["asks", "ask"]),
        (fails, ["fails", "fail"]),
        (waits, ["waits", "wait"]),
        (open, ["open"; 2]),
    ];
    let parts = parts.map(|(count, verb)| {
        (count > 0).then(|| format!("{} {}", grouped(count as u64), verb[usize::from(count > 1)]))
    });
    match joined(parts, ", ") {
        None => of_all,
        Some(parts) if states.left() == open => format!("{of_all}, {parts}"),
        Some(parts) => format!("{of_all}, {} left: {parts}", grouped(states.left() as u64)),
    }
}

/// `47 attempts (usage limit, went on at 00:58; no network)`
pub fn attempts(totals: &SessionTotals) -> String {
    let attempts = counted(totals.attempts as u64, "attempt");
    let words = cut_short(totals);
    if words.is_empty() { attempts } else { format!("{attempts} ({})", words.join("; ")) }
}

/// `47 attempts, 15 failed, 9 of them solved later ($27.76 in failed ones)`
pub fn attempts_and_failures(totals: &SessionTotals, summary: &Summary) -> String {
    // Causes are counted over all sessions.
    let own = |id: &SessionId| summary.session.as_ref().is_some_and(|part| part.names.has(id));
    let solved = match summary.sessions {
        1 => summary.causes.solved_attempts,
        _ => summary.solved_attempts.iter().filter(|attempt| own(&attempt.session)).count(),
    };
    let cost = totals.cost.failed_usd.filter(|usd| *usd > 0.0);
    let cost = cost.map_or(String::new(), |usd| format!(" ({} in failed ones)", Cost::of(usd)));
    let without = cost_without(&totals.cost).map_or(String::new(), |without| format!("; {without}"));
    attempts_and_failed(totals, solved) + &cost + &without
}

/// `47 attempts, 15 failed, 9 of them solved later`
pub fn attempts_and_failed(totals: &SessionTotals, solved: usize) -> String {
    let attempts = counted(totals.attempts as u64, "attempt");
    match totals.failed {
        0 => attempts,
        some => format!("{attempts}, {}", failed(some, solved)),
    }
}

/// `15 failed, 9 of them solved later`
pub fn failed(failed: usize, solved: usize) -> String {
    let failed = format!("{} failed", grouped(failed as u64));
    match solved {
        0 => failed,
        solved => format!("{failed}, {} of them solved later", grouped(solved as u64)),
    }
}

/// What cut agent runs short, how often, and when the loop went on after the last of each kind. A stop is said of the
/// session.
pub fn cut_short(totals: &SessionTotals) -> Vec<String> {
    let mut kinds: IndexMap<&str, Vec<&CutShort>> = IndexMap::new();
    for cut in totals.cut_short.iter().filter(|cut| cut.by != Interruption::Person) {
        let what = why_cut_short(cut.by, cut.failure_class).trim_end_matches(" during this attempt");
        kinds.entry(what).or_default().push(cut);
    }
    kinds
        .iter()
        .map(|(what, cuts)| match cuts.as_slice() {
            [cut] => went_on(what, cut),
            cuts => went_on(&format!("{what} {}", times(cuts.len())), cuts[cuts.len() - 1]),
        })
        .collect()
}

/// `usage limit, went on at 01:07`: a row of what was cut short.
pub fn cut_short_words(cut: &CutShort) -> String {
    went_on(why_cut_short(cut.by, cut.failure_class), cut)
}

/// Returns what cut an agent run short.
pub fn why_cut_short(by: Interruption, failure_class: Option<FailureClass>) -> &'static str {
    match (by, failure_class) {
        // By whom, the end of the session says.
        (Interruption::Person, _) => "stopped",
        (Interruption::Crash, _) => "the loop was killed during this attempt",
        (Interruption::Limit, Some(FailureClass::Network)) => "no network",
        (Interruption::Limit, Some(FailureClass::Overloaded)) => "overloaded",
        (Interruption::Limit, Some(class)) if !class.is_transient() => "the agent failed",
        (Interruption::Limit, _) => "usage limit",
    }
}

/// Returns what cut an agent run short, by what is recorded of its end.
pub fn interruption(failure_class: Option<FailureClass>, agent_exit: Option<i32>) -> &'static str {
    why_cut_short(Interruption::of_end(failure_class, agent_exit), failure_class)
}

/// `asks: may a card belong to two boards?`: what a failure says of itself.
pub fn failure(class: Option<FailureClass>, cause: &str) -> String {
    let asks = if class.is_some_and(FailureClass::is_question) { "asks: " } else { "" };
    format!("{asks}{cause}")
}

fn went_on(what: &str, cut: &CutShort) -> String {
    let at = cut.resumed_at.filter(|_| cut.by == Interruption::Limit);
    at.map_or(what.to_owned(), |at| format!("{what}, went on at {}", clock(at)))
}

/// `$67.19 (2 attempts reported no cost)`; `None` if nothing is known.
pub fn cost(cost: &CostTotals) -> Option<String> {
    let sum = Cost { usd: cost.usd, is_partial: false }.shown()?;
    Some(cost_without(cost).map_or(sum.clone(), |without| format!("{sum} ({without})")))
}

/// `2 attempts and 1 cut short reported no cost`; `None` if all did, or none.
pub fn cost_without(cost: &CostTotals) -> Option<String> {
    cost.usd?;
    let attempts = (cost.unreported > 0).then(|| counted(cost.unreported as u64, "attempt"));
    let cut_short = cost.unreported_cut_short;
    let cut_short = (cut_short > 0).then(|| format!("{} cut short", grouped(cut_short as u64)));
    Some(format!("{} reported no cost", joined([attempts, cut_short], " and ")?))
}

/// Returns the verdict on a session in parts: how far it came, what stopped it, and how much needs the user.
pub fn verdict(session: &Session, closing: &Closing) -> Vec<String> {
    let needs = &closing.summary.needs_you;
    let unusable = needs.iter().find(|need| need.why == NeedKind::Agent);
    let clean = session.clean.as_ref().and_then(|check| check.words());
    let clean = clean.map_or(String::new(), |words| format!(", {words}"));
    let counts = done(session.tasks_done, session.tasks_done + session.tasks_remaining);
    let mut parts = vec![format!("{counts}{clean}")];
    // What needs the user is why it is stuck.
    let is_said = !needs.is_empty() && session.stop_reason == Some(StopReason::Stuck);
    let stop = stop(session, stuck(left_open(&closing.not_done, &closing.summary)).as_deref());
    parts.extend(unusable.map(|need| unusable_words(need, session)).or(stop).filter(|_| !is_said));
    let is_said = unusable.is_some() || session.stop_reason == Some(StopReason::ValidationUnusable);
    parts.extend(count_words(needs).filter(|_| needs.len() > usize::from(is_said)));
    let flagged = closing.summary.flagged.len();
    parts.extend((flagged > 0).then(|| format!("{} flagged", grouped(flagged as u64))));
    parts
}

/// `claude is not logged in`: what keeps the agent of a session from working, in a few words.
fn unusable_words(need: &Need, session: &Session) -> String {
    let words = need.cause.as_deref().and_then(|cause| cause.split(": ").next()?.strip_prefix("agent "));
    let words = words.filter(|words| words.starts_with("is ") || words.starts_with("has "));
    words.map_or_else(
        || "the agent could not be used".to_owned(),
        |words| one_line(&format!("{} {words}", session.agent)),
    )
}

/// Returns the tasks that were tried in vain and have no answer for their next prompt.
pub fn left_open<'a>(
    not_done: &'a [NotDone],
    summary: &'a Summary,
) -> impl Iterator<Item = &'a NotDone> + Clone {
    let is_answered = |task: &NotDone| summary.answered.iter().any(|one| one.task == task.task);
    let is_queued = |task: &NotDone| summary.queued.iter().any(|one| one.task == task.task);
    not_done.iter().filter(move |task| !is_answered(task) && !is_queued(task))
}

/// Returns the name of a feature, without the folder that all of them are in.
pub fn feature_name(path: &str) -> &str {
    path.strip_prefix("specs/").unwrap_or(path)
}

/// Why a session stopped; `None` if all tasks are done. `undone` says how it is stuck.
pub fn stop(session: &Session, undone: Option<&str>) -> Option<String> {
    Some(match (session.status, session.stop_reason) {
        (Status::Completed, _) if session.tasks_remaining == 0 && session.tasks_done > 0 => return None,
        (Status::Completed, Some(StopReason::Checkpoint)) => "stopped at a checkpoint".to_owned(),
        (Status::Completed, _) => match &session.scope {
            Some(scope) => format!("completed ({})", one_line(&scope.to_string())),
            None => "completed".to_owned(),
        },
        (_, Some(StopReason::LimitReached)) => format!("stopped at {}", limit(session)),
        (_, Some(StopReason::Stuck)) => match undone {
            Some(how) => format!("stopped: {how}"),
            None => "stuck".to_owned(),
        },
        (_, Some(StopReason::AgentUnusable)) => "the agent could not be used".to_owned(),
        (_, Some(StopReason::ValidationUnusable)) => "the validation is broken".to_owned(),
        (_, Some(StopReason::TargetRed)) => "the validation fails on a commit of the branch".to_owned(),
        (Status::Interrupted, _) | (_, Some(StopReason::Interrupted)) => {
            interrupted(session.ended_by, session.stop_reason)
        }
        (Status::Failed, _) => "failed".to_owned(),
        (Status::Running, _) => "running".to_owned(),
        (Status::Later(word), _) => word.as_str().to_owned(),
    })
}

/// Returns what interrupted a session: `stopped by Ctrl-C`. Older records do not say; one without an end was killed.
pub fn interrupted(by: Option<EndedBy>, reason: Option<StopReason>) -> String {
    let unknown = if reason.is_none() { "killed" } else { "interrupted" };
    by.map_or_else(|| unknown.to_owned(), |by| by.words())
}

/// `T019`, `T019 and T020`, or `3 tasks`; `None` where there are none. Names that could be read as anything but a name
/// are only counted: they come from outside.
pub fn named(tasks: &[&str]) -> Option<String> {
    let is_plain = tasks.iter().flat_map(|name| name.chars()).all(|c| c.is_ascii_alphanumeric() || c == '-');
    match tasks {
        [] => None,
        [one] if is_plain => Some((*one).to_owned()),
        [one, other] if is_plain => Some(format!("{one} and {other}")),
        all => Some(counted(all.len() as u64, "task")),
    }
}

/// Returns `text` with its first letter in upper case.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Returns how a session is stuck: `2 tasks ask`, `T019 could not be done`; `None` if no task was tried in vain.
pub fn stuck<'a>(not_done: impl Iterator<Item = &'a NotDone> + Clone) -> Option<String> {
    let asking = not_done.clone().filter(|task| task.asks && !task.is_skipped).count() as u64;
    let ask = if asking == 1 { "asks" } else { "ask" };
    let ask = (asking > 0).then(|| format!("{} {ask}", counted(asking, "task")));
    let others = asking == 0 || not_done.clone().any(|task| task.is_skipped);
    let others = named(&given_up(not_done)).filter(|_| others);
    joined([ask, others.map(|others| format!("{others} could not be done"))], ", ")
}

/// Returns the tasks that were skipped, or else all that were tried.
fn given_up<'a>(not_done: impl Iterator<Item = &'a NotDone> + Clone) -> Vec<&'a str> {
    let has_skip = not_done.clone().any(|task| task.is_skipped);
    not_done.filter(|task| task.is_skipped == has_skip).map(|task| task.task.as_str()).collect()
}

/// Returns the state of a session in a few words: `completed`, `stopped (limit reached)`, `stopped: T019 could not be done`.
/// A limit is not a failure. `given_up` are the tasks that it gave up and did not do later.
pub fn state(
    status: Status,
    reason: Option<StopReason>,
    by: Option<EndedBy>,
    given_up: &[TaskName],
) -> String {
    if let Some(by) = by.filter(|_| reason == Some(StopReason::Interrupted)) {
        return by.words();
    }
    if (status, reason) == (Status::Failed, Some(StopReason::Stuck)) {
        let names: Vec<&str> = given_up.iter().map(String::as_str).collect();
        if let Some(tasks) = named(&names) {
            return format!("stopped: {tasks} could not be done");
        }
    }
    let is_stop = matches!(reason, Some(StopReason::LimitReached | StopReason::Stuck));
    let word = if status == Status::Failed && is_stop { "stopped".to_owned() } else { status.to_string() };
    match reason.map(|reason| reason.as_str().replace('_', " ")) {
        Some(reason) if reason != word => format!("{word} ({reason})"),
        _ => word,
    }
}

/// `the limit of 3 attempts`: which one a session came to.
pub fn limit(session: &Session) -> String {
    let of = session.limit.map(|limit| limit_of(limit, u64::from(session.max_iterations)));
    of.map_or_else(|| "a limit".to_owned(), |of| format!("the limit of {of}"))
}

/// `3 attempts`, `time`: what a limit is of.
pub fn limit_of(limit: Limit, attempts: u64) -> String {
    match limit {
        Limit::Iterations => counted(attempts, "attempt"),
        Limit::Duration => "time".to_owned(),
        Limit::Wait => "waiting".to_owned(),
        Limit::Tokens | Limit::Cost | Limit::Later(_) => limit.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::{AttemptId, SessionPart, ShortNames, Timestamp};

    #[test]
    fn what_is_left_is_said_by_state() {
        for (states, expected) in [
            ([3, 0, 0, 0, 0], "3 of 3 tasks done"),
            ([2, 0, 0, 0, 1], "2 of 3 tasks done, 1 open"),
            ([31, 1, 1, 2, 0], "31 of 35 tasks done, 4 left: 1 asks, 1 fails, 2 wait"),
            ([0, 2, 2, 1, 7], "0 of 12 tasks done, 12 left: 2 ask, 2 fail, 1 waits, 7 open"),
            ([0, 0, 0, 0, 0], "0 of 0 tasks done"),
        ] {
            let [done, asks, fails, waits, open] = states;
            assert_eq!(tasks(TaskStates { done, asks, fails, waits, open }), expected);
        }
    }

    #[test]
    fn what_was_solved_is_counted_of_all_loops_of_the_start_that_is_shown() {
        let [older, first, second] =
            [0, 1, 2].map(|number| SessionId::new(Timestamp::from_seconds(number), 1));
        let totals = SessionTotals { attempts: 7, failed: 3, ..SessionTotals::default() };
        let names = ShortNames::of([(first.clone(), Some(1)), (second.clone(), Some(2))].into_iter());
        let part = SessionPart { id: first.clone(), names, totals: totals.clone() };
        let solved = [(older, 1), (first, 1), (second, 2)];
        let summary = Summary {
            sessions: 3,
            session: Some(part),
            solved_attempts: solved.map(|(session, number)| AttemptId { session, number }).into(),
            ..Summary::default()
        };
        assert!(attempts_and_failures(&totals, &summary).contains("3 failed, 2 of them solved"));
    }

    #[test]
    fn what_was_cut_short_is_shown_as_what_it_was() {
        use FailureClass::{Network, Quota};
        use Interruption::{Crash, Limit, Person};
        type Cut = (Interruption, Option<FailureClass>, Option<i64>);
        let cases: [(&[Cut], &str); 6] = [
            (&[], "2 attempts"),
            (&[(Limit, Some(Quota), Some(3480))], "2 attempts (usage limit, went on at 00:58)"),
            (&[(Limit, Some(Network), None)], "2 attempts (no network)"),
            (
                &[(Limit, Some(Quota), Some(60)), (Limit, Some(Quota), Some(120)), (Person, None, Some(180))],
                "2 attempts (usage limit twice, went on at 00:02)",
            ),
            (
                &[(Limit, Some(Quota), Some(60)), (Limit, Some(Network), Some(120))],
                "2 attempts (usage limit, went on at 00:01; no network, went on at 00:02)",
            ),
            (&[(Crash, None, None), (Crash, None, None)], "2 attempts (the loop was killed twice)"),
        ];
        for (cuts, expected) in cases {
            let cut = |(by, failure_class, resumed_at): &Cut| CutShort {
                session: SessionId::new(Timestamp::from_seconds(0), 1),
                iteration: 1,
                task: None,
                by: *by,
                failure_class: *failure_class,
                ended_at: Timestamp::from_seconds(0),
                resumed_at: resumed_at.map(Timestamp::from_seconds),
            };
            let cut_short = cuts.iter().map(cut).collect();
            assert_eq!(
                attempts(&SessionTotals { attempts: 2, cut_short, ..SessionTotals::default() }),
                expected
            );
        }
    }

    #[test]
    fn a_cost_says_what_reported_none() {
        for (usd, unreported, unreported_cut_short, expected) in [
            (None, 3, 0, None),
            (Some(67.19), 0, 0, Some("$67.19")),
            (Some(67.19), 2, 0, Some("$67.19 (2 attempts reported no cost)")),
            (Some(0.0), 1, 1, Some("$0.00 (1 attempt and 1 cut short reported no cost)")),
        ] {
            let totals = CostTotals { usd, unreported, unreported_cut_short, ..CostTotals::default() };
            assert_eq!(cost(&totals).as_deref(), expected);
        }
    }
}
