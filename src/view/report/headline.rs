//! What a reader wants to know first: how it ended, whether it gets anywhere, and what to look at.

use serde::Serialize;

use crate::record::{FailureClass, NotDone, Outcome, Session, Status, StopReason, TaskName, Timestamp};
use crate::store::Elsewhere;
use crate::view::ending;
use crate::view::status::InFlight;
use crate::view::style::{Count, duration, grouped};

use super::{TaskRow, Turn};

/// Most things to look at.
const MOST: usize = 8;
/// An iteration that took so large a share of the time is worth a look, in percent.
const LONG: u64 = 25;
/// Where there are fewer iterations one of them always takes a large share.
const FEW: usize = 8;

/// The first sentences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// How it ended.
    pub verdict: String,
    pub level: Level,
    /// Whether it gets anywhere.
    pub course: String,
    /// From the start to the end, or to now, in milliseconds.
    pub span_ms: u64,
}

/// How grave something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Good,
    Note,
    Warning,
    Bad,
}

impl Level {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Bad => "bad",
        }
    }
}

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attention {
    pub level: Level,
    /// What it is about, where it is about a task.
    pub task: Option<TaskName>,
    pub what: String,
    /// In the words of whoever said it; may hold anything.
    pub quote: Option<String>,
    pub iterations: Vec<u32>,
}

pub fn of(
    session: &Session,
    turns: &[Turn],
    (in_flight, elsewhere): (Option<&InFlight>, Option<&Elsewhere>),
    now: Timestamp,
) -> Headline {
    let done = ending::done(session);
    let level = match (session.status, session.stop_reason) {
        (Status::Completed, _) => Level::Good,
        (Status::Running | Status::Later(_), _) => Level::Note,
        (_, Some(StopReason::LimitReached | StopReason::Interrupted)) | (Status::Interrupted, _) => {
            Level::Warning
        }
        (Status::Failed, _) => Level::Bad,
    };
    let verdict = match (session.status, elsewhere, in_flight) {
        (Status::Running, Some(elsewhere), _) => format!("{elsewhere}, {done}"),
        (Status::Running, None, Some(at)) => format!("running at iteration {}, {done}", at.iteration),
        _ => ending::ending(session),
    };
    let verdict = capital(&verdict);
    let end = session.ended_at.or_else(|| {
        let last = turns.last().map(|turn| turn.record.ended_at);
        match elsewhere {
            Some(elsewhere) => Some(elsewhere.as_of),
            None if session.status == Status::Running => Some(now),
            None => last,
        }
    });
    let seconds = end.map_or(0, |end| end.seconds().saturating_sub(session.started_at.seconds()));
    let span_ms = u64::try_from(seconds).unwrap_or(0).saturating_mul(1000);
    Headline { verdict, level, course: course(turns), span_ms }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// What was closed, at which pace, and what happened since.
fn course(turns: &[Turn]) -> String {
    let runs: Vec<&Turn> = turns.iter().filter(|turn| turn.record.is_run()).collect();
    if runs.is_empty() {
        return "No iteration has run to its end.".to_owned();
    }
    let closed: usize = turns.iter().map(|turn| turn.record.closed.len()).sum();
    let total = runs.len();
    let successes = runs.iter().filter(|turn| turn.record.outcome == Outcome::Success).count();
    let since = runs.iter().rev().take_while(|turn| turn.record.outcome != Outcome::Success).count();
    let runs_told = Count(total as u64, "iteration");
    if successes == 0 {
        return match total {
            1 => "Its one iteration closed no task.".to_owned(),
            _ => format!("None of its {runs_told} closed a task."),
        };
    }
    let time: u64 = turns.iter().map(time).sum();
    let pace = time.checked_div(closed as u64).unwrap_or(0);
    let closed_told = Count(closed as u64, "task");
    let first = match closed {
        0 => format!("{} of {runs_told} succeeded.", grouped(successes as u64)),
        1 => format!("It closed 1 task in {runs_told}, with {} of agent and validation.", duration(pace)),
        _ => {
            format!(
                "It closed {closed_told} in {runs_told}, with {} of agent and validation a task.",
                duration(pace)
            )
        }
    };
    match since {
        0 => first,
        1 => format!("{first} The last iteration failed."),
        _ => format!("{first} The last {since} iterations closed none."),
    }
}

/// What agent and validation of an iteration took, in milliseconds.
pub fn time(turn: &Turn) -> u64 {
    let spent = turn.record.duration_ms;
    spent.agent.unwrap_or_default().saturating_add(spent.validation.unwrap_or_default())
}

/// An open task that was tried: how often it failed, and why.
fn unfinished(task: &NotDone, rows: &[TaskRow]) -> Attention {
    let tries =
        rows.iter().filter(|row| row.name == task.task).flat_map(|row| row.tries.iter().zip(&row.iterations));
    let failed: Vec<u32> =
        tries.filter(|(outcome, _)| **outcome == Outcome::Failure).map(|(_, iteration)| *iteration).collect();
    let times = match failed.len() {
        0 => None,
        1 => Some("failed once".to_owned()),
        2 => Some("failed twice".to_owned()),
        times => Some(format!("failed {times} times")),
    };
    let what = match (times, task.is_skipped) {
        (Some(times), true) => format!("{times}, and was skipped."),
        (Some(times), false) => format!("{times}."),
        (None, true) => "was skipped.".to_owned(),
        (None, false) => "is not done.".to_owned(),
    };
    let iterations = if failed.is_empty() { vec![task.iteration] } else { failed };
    Attention {
        level: Level::Bad,
        task: Some(task.task.clone()),
        what,
        quote: task.cause.clone(),
        iterations,
    }
}

/// What several iterations have in common.
fn notable(turns: &[Turn]) -> Vec<Attention> {
    let mut found = Vec::new();
    let numbers = |is_meant: &dyn Fn(&Turn) -> bool| -> Vec<u32> {
        turns.iter().filter(|turn| is_meant(turn)).map(|turn| turn.record.iteration).collect()
    };
    let mut kind = |level, iterations: Vec<u32>, one: &str, several: &str| {
        if !iterations.is_empty() {
            let what = match iterations.len() {
                1 => one.to_owned(),
                count => format!("{} {several}", grouped(count as u64)),
            };
            found.push(Attention { level, task: None, what, quote: None, iterations });
        }
    };
    let false_claims = numbers(&|turn| !turn.record.false_claim.is_empty());
    kind(
        Level::Warning,
        false_claims,
        "One iteration claimed to be done and was not.",
        "iterations claimed to be done and were not.",
    );
    let cut = numbers(&|turn| turn.record.outcome == Outcome::Interrupted);
    kind(Level::Warning, cut, "One iteration was cut short.", "iterations were cut short.");
    let redacted = numbers(&|turn| !turn.record.redactions.is_empty());
    kind(
        Level::Note,
        redacted,
        "Secrets were taken out of the record of one iteration.",
        "iterations had secrets, which were taken out of the record.",
    );
    found
}

/// The iteration that took most of the time.
fn longest(turns: &[Turn]) -> Option<Attention> {
    let all: u64 = turns.iter().map(time).sum();
    let longest = turns.iter().max_by_key(|turn| time(turn)).filter(|_| turns.len() >= FEW);
    let turn = longest
        .filter(|turn| time(turn) > 60_000 && time(turn).saturating_mul(100) > all.saturating_mul(LONG))?;
    let share = time(turn).saturating_mul(100) / all.max(1);
    Some(Attention {
        level: Level::Note,
        task: turn.record.task.clone(),
        what: format!("took {} in one iteration, {share} % of the time.", duration(time(turn))),
        quote: None,
        iterations: vec![turn.record.iteration],
    })
}

/// What to look at, gravest first.
pub fn attention(
    session: &Session,
    turns: &[Turn],
    not_done: &[NotDone],
    tasks: &[TaskRow],
) -> Vec<Attention> {
    let mut found = Vec::new();
    let last = turns.last().filter(|_| session.status != Status::Completed);
    if let (Some(StopReason::AgentUnusable), Some(turn)) = (session.stop_reason, last) {
        let class =
            turn.record.failure_class.as_ref().map_or("unknown", FailureClass::as_str).replace('_', " ");
        found.push(Attention {
            level: Level::Bad,
            task: None,
            what: format!("The agent could not go on ({class})."),
            quote: turn.record.error.clone(),
            iterations: vec![turn.record.iteration],
        });
    }
    found.extend(not_done.iter().take(MOST - 4).map(|task| unfinished(task, tasks)));
    // A loop that is about a file has no open task.
    if let (true, Some(turn)) =
        (found.is_empty(), last.filter(|turn| turn.record.outcome == Outcome::Failure))
    {
        found.push(Attention {
            level: Level::Bad,
            task: turn.record.task.clone(),
            what: "failed in the last iteration.".to_owned(),
            quote: Some(turn.record.cause().into_owned()),
            iterations: vec![turn.record.iteration],
        });
    }
    found.extend(notable(turns));
    found.extend(longest(turns));
    if !session.hints.is_empty() {
        found.push(Attention {
            level: Level::Note,
            task: None,
            what: format!("No prompt took {} of yours.", Count(session.hints.len() as u64, "hint")),
            quote: session.hints.first().cloned(),
            iterations: Vec::new(),
        });
    }
    found.truncate(MOST);
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::{report, turns};
    use super::*;
    use crate::record::samples::session;

    #[test]
    fn the_verdict_says_how_it_ended_and_how_far_it_got() {
        for (status, reason, counts, verdict, level) in [
            ("completed", Some("completed"), (3, 0), "All 3 tasks done", Level::Good),
            ("completed", Some("completed"), (0, 0), "Completed, no tasks", Level::Good),
            ("failed", Some("stuck"), (1, 2), "Stuck, 1 of 3 tasks done", Level::Bad),
            (
                "failed",
                Some("limit_reached"),
                (1, 2),
                "Stopped at the limit of time, 1 of 3 tasks done",
                Level::Warning,
            ),
            (
                "failed",
                Some("agent_unusable"),
                (0, 3),
                "The agent could not be used, 0 of 3 tasks done",
                Level::Bad,
            ),
            ("interrupted", None, (0, 3), "Interrupted, 0 of 3 tasks done", Level::Warning),
            ("running", None, (2, 1), "Running, 2 of 3 tasks done", Level::Note),
        ] {
            let headline =
                of(&session(status, reason, counts), &[], (None, None), Timestamp::from_seconds(0));
            assert_eq!((headline.verdict.as_str(), headline.level), (verdict, level));
        }
    }

    #[test]
    fn the_course_says_whether_it_gets_anywhere() {
        for (words, expected) in [
            ("", "No iteration has run to its end."),
            ("T1!", "No iteration has run to its end."),
            ("T1-", "Its one iteration closed no task."),
            ("T1- T1- T1!", "None of its 2 iterations closed a task."),
            ("T1- T1+", "It closed 1 task in 2 iterations, with 20.0 s of agent and validation."),
            (
                "T1+ T2+ T3-",
                "It closed 2 tasks in 3 iterations, with 15.0 s of agent and validation a task. The last iteration failed.",
            ),
            (
                "T1+ T2- T2- T2!",
                "It closed 1 task in 3 iterations, with 30.0 s of agent and validation. The last 2 iterations closed none.",
            ),
        ] {
            assert_eq!(course(&turns(words)), expected, "{words}");
        }
    }

    #[test]
    fn what_to_look_at_comes_gravest_first() {
        for (words, expected) in [
            ("T1+ T2+", ""),
            ("T1-a T1+", ""),
            ("T1-a T1-b T1-c T1! T2-a", "T1 failed 3 times, and was skipped.|T2 failed once."),
            ("T1- T1- T1!", "T1 failed twice, and was skipped."),
            ("T1! T2? T2?", "T1 was skipped.|T2 is not done.|2 iterations were cut short."),
        ] {
            let told: Vec<String> = report(turns(words), "")
                .attention
                .iter()
                .map(|found| {
                    found
                        .task
                        .iter()
                        .map(String::as_str)
                        .chain([found.what.as_str()])
                        .collect::<Vec<_>>()
                        .join(" ")
                })
                .collect();
            assert_eq!(told.join("|"), expected, "{words}");
        }
    }
}
