//! What a reader wants to know first: how it ended, whether it gets anywhere, and what to look at.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::ending::{self, capital};
use crate::local_time::is_overnight;
use crate::style::counted;
use ralph_core::record::{Outcome, Status, StopReason, TaskName};

use super::{Report, ReportIteration};

/// Most things to look at.
const MAX_FINDINGS: usize = 8;

/// The first sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// How it ended.
    pub verdict: String,
    pub level: Level,
    /// Whether it gets anywhere.
    pub course: String,
    /// From the start to the end, or to now, in milliseconds.
    pub span_ms: u64,
    /// The same without the breaks before the session was resumed.
    pub worked_ms: u64,
}

/// How grave something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Good,
    #[default]
    Note,
    Warning,
    Bad,
}

impl Level {
    pub(super) fn of(status: Status, reason: Option<StopReason>) -> Self {
        match (status, reason) {
            (Status::Completed, _) => Self::Good,
            (Status::Running | Status::Later(_), _) => Self::Note,
            (_, Some(StopReason::LimitReached | StopReason::Interrupted)) | (Status::Interrupted, _) => {
                Self::Warning
            }
            (Status::Failed, _) => Self::Bad,
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

pub fn of(report: &Report) -> Headline {
    let (session, elsewhere) = (&report.session, report.running.elsewhere.as_ref());
    let done = ending::done(session.tasks_done, session.tasks_done + session.tasks_remaining);
    let ended_at = report.ended_at();
    let stop = match (session.status, elsewhere, &report.in_flight) {
        (Status::Running, Some(elsewhere), _) => Some(elsewhere.to_string()),
        (Status::Running, None, _) if report.is_group() => Some("running".to_owned()),
        (Status::Running, None, Some(at)) => Some(format!("running at iteration {}", at.iteration)),
        _ => ending::stop(session, ending::stuck(report.left_open()).as_deref()),
    };
    let flagged = report.summary.flagged.len();
    let flagged = if flagged == 0 { String::new() } else { format!(", {flagged} flagged") };
    let overnight = if is_overnight(session.started_at, ended_at) { " overnight" } else { "" };
    let stop = stop.map_or(String::new(), |stop| format!(" · {stop}"));
    Headline {
        verdict: capital(&format!("{done}{flagged}{overnight}{stop}")),
        level: Level::of(session.status, session.stop_reason),
        course: course(&report.iterations),
        span_ms: session.started_at.ms_until(ended_at),
        worked_ms: session.worked_ms(ended_at),
    }
}

/// How many tasks were closed in how many runs, and what happened since.
fn course(iterations: &[ReportIteration]) -> String {
    let runs: Vec<&ReportIteration> =
        iterations.iter().filter(|iteration| iteration.record.is_attempt()).collect();
    let closed: BTreeSet<&TaskName> =
        iterations.iter().flat_map(|iteration| &iteration.record.closed).collect();
    let since =
        runs.iter().rev().take_while(|iteration| iteration.record.outcome != Outcome::Success).count();
    let runs = runs.len();
    let first =
        format!("{} closed in {}.", counted(closed.len() as u64, "task"), counted(runs as u64, "attempt"));
    match since {
        0 => first,
        since if since == runs => first,
        1 => format!("{first} The last one failed."),
        _ => format!("{first} The last {since} closed none."),
    }
}

/// What agent and validation of an iteration took, in milliseconds.
pub fn time(iteration: &ReportIteration) -> u64 {
    iteration.record.duration_ms.total().unwrap_or_default()
}

/// What to look at, gravest first.
pub fn attention(report: &Report) -> Vec<Attention> {
    let mut found = Vec::new();
    if report.session.began_red(report.session_totals().succeeded) {
        let cause = report.session.baseline.as_ref().and_then(|baseline| baseline.cause.as_ref());
        found.push(finding(Level::Bad, None, format!("{}.", capital(ending::BEGAN_RED)), cause, Vec::new()));
    }
    for need in report.summary.needs_you.iter().filter(|need| need.task.is_none()) {
        let what = format!("{}.", capital(&need.subject()));
        let own = need.iteration.and_then(|number| report.number_of(&need.session, number));
        found.push(finding(Level::Bad, None, what, need.cause.as_ref(), own.into_iter().collect()));
    }
    for task in report.left_open().take(MAX_FINDINGS - 4) {
        let level = if task.needs_you() { Level::Bad } else { Level::Note };
        let what = format!("is not done after {}.", counted(task.attempts as u64, "attempt"));
        let row = report.tasks.iter().find(|row| row.name == task.task);
        let mut iterations = row.map(|row| row.iterations.clone()).unwrap_or_default();
        // Giving up is a record, and no attempt.
        let runs: Vec<u32> = report
            .iterations
            .iter()
            .map(|one| &one.record)
            .filter(|one| one.is_attempt())
            .map(|one| one.iteration)
            .collect();
        iterations.retain(|number| runs.contains(number));
        found.push(finding(level, Some(&task.task), what, task.cause.as_ref(), iterations));
    }
    for task in &report.summary.queued {
        let what = "is queued: the loop merges its result with what is on the branch by now.".to_owned();
        let own = report.number_of(&task.session, task.iteration);
        found.push(finding(Level::Note, Some(&task.task), what, None, own.into_iter().collect()));
    }
    for task in &report.summary.answered {
        let what = "is answered: its next prompt has it.".to_owned();
        found.push(finding(Level::Note, Some(&task.task), what, Some(&task.answer), Vec::new()));
    }
    for task in &report.summary.flagged {
        let more = task.flags.len().saturating_sub(1);
        let more = if more > 0 { format!(" (+{more})") } else { String::new() };
        let what = format!("is done, but flagged{more}.");
        let own = task.iteration.and_then(|number| report.number_of(&task.session, number));
        let iterations = own.into_iter().collect();
        found.push(finding(Level::Warning, Some(&task.task), what, task.text.as_ref(), iterations));
    }
    let totals = report.session_totals();
    let cuts = totals.cut_short.iter();
    let cut_short = cuts.filter_map(|cut| report.number_of(&cut.session, cut.iteration)).collect();
    for (level, numbers, what) in [
        (Level::Warning, report.false_claims(), "said done, and was not: caught and reopened."),
        (Level::Warning, cut_short, "cut short."),
        (Level::Note, report.redacted(), "with secrets, which were taken out of the record."),
    ] {
        if !numbers.is_empty() {
            let what = format!("{} {what}", counted(numbers.len() as u64, "attempt"));
            found.push(finding(level, None, what, None, numbers));
        }
    }
    let hints = &report.session.hints;
    if !hints.is_empty() {
        let what = format!("No prompt took {} of yours.", counted(hints.len() as u64, "hint"));
        found.push(finding(Level::Note, None, what, hints.first(), Vec::new()));
    }
    found.truncate(MAX_FINDINGS);
    found
}

fn finding(
    level: Level,
    task: Option<&TaskName>,
    what: String,
    quote: Option<&String>,
    iterations: Vec<u32>,
) -> Attention {
    Attention { level, task: task.cloned(), what, quote: quote.cloned(), iterations }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{iterations, report};
    use super::*;
    use ralph_core::record::samples::session;
    use ralph_core::record::{FlagCode, FlaggedTask, Need, NeedKind, Session, Summary};

    #[test]
    fn the_verdict_says_how_it_ended_and_how_far_it_got() {
        for (status, reason, counts, verdict, level) in [
            ("completed", Some("completed"), (3, 0), "All 3 tasks done", Level::Good),
            ("completed", Some("completed"), (0, 0), "No tasks · completed", Level::Good),
            (
                "failed",
                Some("stuck"),
                (1, 2),
                "1 of 3 tasks done · stopped: T1 could not be done",
                Level::Bad,
            ),
            (
                "failed",
                Some("limit_reached"),
                (1, 2),
                "1 of 3 tasks done · stopped at the limit of time",
                Level::Warning,
            ),
            (
                "failed",
                Some("agent_unusable"),
                (0, 3),
                "0 of 3 tasks done · the agent could not be used",
                Level::Bad,
            ),
            ("interrupted", None, (0, 3), "0 of 3 tasks done · killed", Level::Warning),
            ("running", None, (2, 1), "2 of 3 tasks done · running", Level::Note),
        ] {
            let not_done = report(iterations("T1- T1! T2-"), "").not_done;
            let session = session(status, reason, counts);
            let headline = of(&Report { session, not_done, ..report(Vec::new(), "") });
            assert_eq!((headline.verdict.as_str(), headline.level), (verdict, level));
        }
    }

    #[test]
    fn flagged_tasks_are_counted_in_the_verdict_and_are_worth_a_look() {
        let session = session("completed", Some("completed"), (2, 0));
        let flagged = vec![FlaggedTask {
            task: "T1".to_owned(),
            session: session.id.clone(),
            iteration: Some(1),
            flags: vec![FlagCode::NoTests, FlagCode::Idle],
            text: Some("no test ran".to_owned()),
        }];
        let left = |why, cause: &str, session: &Session, iteration| Need {
            why,
            task: None,
            cause: Some(cause.to_owned()),
            session: session.id.clone(),
            iteration: Some(iteration),
        };
        let needs_you = vec![left(NeedKind::Git, "a merge is in progress", &session, 2)];
        let summary = Summary { needs_you, flagged, ..Summary::default() };
        let report = Report { session, summary, ..report(iterations("T1+ T2+"), "") };
        assert_eq!(of(&report).verdict, "All 2 tasks done, 1 flagged");
        let found = attention(&report);
        let merge = Attention {
            level: Level::Bad,
            task: None,
            what: "Git.".to_owned(),
            quote: Some("a merge is in progress".to_owned()),
            iterations: vec![2],
        };
        let expected = Attention {
            level: Level::Warning,
            task: Some("T1".to_owned()),
            what: "is done, but flagged (+1).".to_owned(),
            quote: Some("no test ran".to_owned()),
            iterations: vec![1],
        };
        assert_eq!(found, [merge, expected]);
    }

    #[test]
    fn only_plain_names_stand_in_the_headline() {
        for (names, expected) in [
            (&[][..], None),
            (&["T1"], Some("T1")),
            (&["T1", "T2"], Some("T1 and T2")),
            (&["T1", "T2", "T3"], Some("3 tasks")),
            (&["#7"], Some("1 task")),
            (&["T1", "<b>"], Some("2 tasks")),
        ] {
            assert_eq!(ending::named(names).as_deref(), expected);
        }
    }

    #[test]
    fn the_course_says_whether_it_gets_anywhere() {
        for (words, expected) in [
            ("T1!", "0 tasks closed in 0 attempts."),
            ("T1- T1- T1!", "0 tasks closed in 2 attempts."),
            ("T1- T1+", "1 task closed in 2 attempts."),
            ("T1+ T2+ T3-", "2 tasks closed in 3 attempts. The last one failed."),
            ("T1+ T2- T2- T2!", "1 task closed in 3 attempts. The last 2 closed none."),
        ] {
            assert_eq!(course(&iterations(words)), expected, "{words}");
        }
    }

    #[test]
    fn what_to_look_at_comes_gravest_first() {
        for (words, expected) in [
            ("T1+ T2+", ""),
            ("T1-a T1+", ""),
            ("T1-a T1-b T1-c T1! T2-a", "T1 is not done after 1 attempt.|T2 is not done after 1 attempt."),
            (
                "T1! T2? T2?",
                "T1 is not done after 1 attempt.|T2 is not done after 1 attempt.|2 attempts cut short.",
            ),
        ] {
            let shown: Vec<String> = report(iterations(words), "")
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
            assert_eq!(shown.join("|"), expected, "{words}");
        }
    }
}
