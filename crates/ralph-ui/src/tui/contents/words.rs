//! Words that several views use.

use crate::ending::{attempts_and_failed, interruption};
use crate::evidence::validation;
use crate::local_time::{clock, describe_remote_run};
use crate::log::{became, story};
use crate::needs::waiters;
use crate::session_table::End;
use crate::status::how_it_ended;
use crate::style::{brief_duration, cut, sign_by_now};
use crate::tui::model::FeatureOverview;
use crate::tui::row::{Look, Row, shown};
use ralph_core::record::{Iteration, LogEntry, Outcome, Status};

use super::Scene;

/// A text from outside that is one line of a page, and may be of any length.
pub fn brief(text: &str) -> String {
    shown(&cut(text, 500))
}

/// `T020 and T023 wait for it`; `None` if nothing waits for the task.
pub fn wait_for(feature: &FeatureOverview, task: &str, it: &str) -> Option<String> {
    waiters(&feature.summary, task).map(|names| brief(&format!("{names} for {it}")))
}

/// `$3.85`; empty if it is not known.
pub fn usd(cost: Option<f64>) -> String {
    cost.map_or(String::new(), |usd| format!("${usd:.2}"))
}

/// Returns the state of a session in a word or few, and the look of it.
pub fn state_of(scene: &Scene<'_>) -> Row {
    let session = scene.session;
    if scene.is_running() {
        let row = Row::of(Look::Accent, "● running");
        // One that works is what matters.
        let waits = scene.workers.iter().map(|worker| worker.live.waiting.as_ref().map(|wait| wait.until));
        let until = waits.collect::<Option<Vec<_>>>().and_then(|waits| waits.into_iter().min());
        return match until {
            _ if scene.workers.iter().any(|worker| worker.live.is_stopping) => {
                let these = if scene.workers.len() > 1 { "these attempts" } else { "this attempt" };
                row.and(Look::Warn, format!("  stops after {these}"))
            }
            Some(until) => Row::of(Look::Warn, format!("‖ waits until {}", clock(until))),
            None => row,
        };
    }
    if let Some(elsewhere) = session.sessions().find_map(|id| scene.overview.elsewhere.get(id)) {
        return Row::of(Look::Accent, brief(&describe_remote_run(elsewhere)));
    }
    let End { status, reason, by, .. } = End::of_session(session);
    let look = if status == Status::Completed { Look::Good } else { Look::Warn };
    Row::of(look, how_it_ended(status, reason, by))
}

/// `47 attempts, 15 failed, 9 of them solved later`
pub fn attempts_of(scene: &Scene<'_>) -> String {
    let solved = scene.session.iterations().filter(|one| scene.feature.is_solved(one));
    attempts_and_failed(scene.session.totals(), solved.count())
}

/// Returns what became of an attempt, in a word or few, and the look of it.
pub fn outcome_of(scene: &Scene<'_>, attempt: &LogEntry) -> (Look, &'static str, String) {
    let Some(outcome) = attempt.outcome() else { return (Look::Dim, " ", brief(story(attempt.subject()))) };
    let is_solved = scene.feature.is_solved(attempt);
    let (look, mark) = sign_by_now(outcome, attempt.failure_class(), is_solved);
    let words = match outcome {
        Outcome::Success if attempt.exit().agent.is_none() => "accepted".to_owned(),
        Outcome::Success if attempt.is_queued() => {
            let found = scene.feature.merged.get(&attempt.id());
            format!("done, {}", became(found, &scene.session.names()))
        }
        Outcome::Success => "done".to_owned(),
        Outcome::Integrated => brief(story(attempt.subject())),
        Outcome::Failure => {
            let asks = if attempt.is_question() { "asks: " } else { "" };
            brief(&format!("{asks}{}", attempt.cause().unwrap_or("failed")))
        }
        Outcome::Skipped => "given up".to_owned(),
        Outcome::Checked => {
            let cause = attempt.cause().filter(|_| attempt.task().is_some());
            let words = || brief(story(attempt.subject()));
            cause.map_or_else(words, |cause| format!("sent back: {}", brief(cause)))
        }
        Outcome::Reopened => "opened again".to_owned(),
        Outcome::Interrupted => interruption(attempt.failure_class(), attempt.exit().agent).to_owned(),
        Outcome::Later(word) => word.as_str().to_owned(),
    };
    match outcome {
        // It sends no task back.
        Outcome::Checked if attempt.task().is_none() => (Look::Dim, "·", words),
        _ => (look, mark, words),
    }
}

/// Returns the number of an attempt or of an integration, with a blank; empty for other records, as that of a check.
pub fn number_of(scene: &Scene<'_>, attempt: &LogEntry) -> String {
    let has_number = attempt.is_attempt_or_cut_short() || attempt.outcome() == Some(Outcome::Integrated);
    if has_number { format!("{} ", scene.feature.name_of(&attempt.id())) } else { String::new() }
}

/// Returns the number in a column: of several lanes, with the lane.
pub fn number_cell(scene: &Scene<'_>, attempt: &LogEntry) -> String {
    format!("{:>1$}", number_of(scene, attempt), number_width(scene))
}

pub fn number_width(scene: &Scene<'_>) -> usize {
    if scene.is_group() { 8 } else { 5 }
}

/// Returns what an attempt tried, in the agent's words.
pub fn approach(scene: &Scene<'_>, attempt: &LogEntry) -> Option<String> {
    scene.record(attempt)?.approaches.first().map(|words| brief(words))
}

/// `4m37`; empty if it is not known.
pub fn time_of(attempt: &LogEntry) -> String {
    attempt.duration_ms().total().map_or(String::new(), brief_duration)
}

/// Returns time, cost and the time of day, in columns: `4m37  $1.32  04:06–04:11`.
pub fn took(attempt: &LogEntry) -> Row {
    let (time, cost) = (time_of(attempt), usd(attempt.cost_usd()));
    let when = format!("{}–{}", clock(attempt.started_at()), clock(attempt.ended_at()));
    Row::of(Look::Plain, format!("{time:>5}  {cost:>6}")).and(Look::Dim, format!("  {when}"))
}

/// A fact of the detail: its name is bright, what it says begins in a column.
pub fn fact(name: &str, value: impl Into<Row>) -> Row {
    Row::of(Look::Bold, format!("{name:<13}")).then(value.into()).indented(13)
}

/// `exit 1`; a signal is none.
pub fn exit(code: i32) -> String {
    if code < 0 { "was stopped".to_owned() } else { format!("exit {code}") }
}

/// Returns how an exit code is shown: a signal, which has no code, is neither good nor bad.
pub fn look_of_exit(code: i32) -> Look {
    match code {
        0 => Look::Good,
        ..0 => Look::Warn,
        _ => Look::Bad,
    }
}

/// Returns how the validation of an attempt went; `None` if it had none.
pub fn validated(record: &Iteration) -> Option<Row> {
    let look = record.exit.validation.map_or(Look::Dim, look_of_exit);
    record.validation_command.as_ref().map(|_| Row::of(look, brief(&validation(record))))
}
