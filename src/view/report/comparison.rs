//! Two sessions side by side: two agents, two models, or before and after.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use crate::history::stats::{OfTask, Stats};
use crate::record::{Cost, Status, TaskName, Timestamp};
use crate::view::local_time::local_minute;
use crate::view::style::{Count, duration, grouped};

use super::MADE_BY;
use super::environment::{Medium, environment};
use super::plain_page::{Frame, framed};
use super::session_summary::{NO_VALUE, RecordedSession, SessionSummary};
use super::shared_causes::{SharedCause, causes};

const COMPARISON: &str = include_str!("../../../templates/report-comparison.html");

/// The shape of the JSON.
const COMPARISON_SCHEMA: u32 = 1;
/// What the two sessions are called on the page.
const NAMES: [&str; 2] = ["A", "B"];

/// Two sessions in figures.
#[derive(Debug, Serialize)]
pub struct SessionComparison {
    pub schema: u32,
    /// Tells the file from those of others.
    pub made_by: &'static str,
    pub made_at: Timestamp,
    pub tool_version: &'static str,
    /// Which did more at what cost, or why that cannot be said.
    pub headline: String,
    /// A and B.
    pub sessions: [SessionSummary; 2],
    pub tasks: Vec<ComparedTask>,
    /// All causes of failures, those of both sessions first.
    pub causes: Vec<SharedCause>,
}

/// A task that at least one of the sessions tried.
#[derive(Debug, Serialize)]
pub struct ComparedTask {
    pub feature: String,
    pub task: TaskName,
    pub title: Option<String>,
    /// In A and in B; null where it was not tried.
    pub figures: [Option<OfTask>; 2],
}

impl SessionComparison {
    pub fn new(recorded: &[RecordedSession; 2], made_at: Timestamp) -> Self {
        let sessions = recorded.each_ref().map(SessionSummary::new);
        Self {
            schema: COMPARISON_SCHEMA,
            made_by: MADE_BY,
            made_at,
            tool_version: env!("CARGO_PKG_VERSION"),
            headline: headline(&sessions),
            sessions,
            tasks: tasks(recorded),
            causes: causes(recorded),
        }
    }
}

fn tasks(recorded: &[RecordedSession; 2]) -> Vec<ComparedTask> {
    let mut tasks: BTreeMap<(String, TaskName), ComparedTask> = BTreeMap::new();
    for (side, session) in recorded.iter().enumerate() {
        for figures in Stats::of(&session.iterations).tasks {
            let (feature, task) = (figures.feature.clone(), figures.task.clone());
            let compared = tasks.entry((feature.clone(), task.clone())).or_insert_with(|| {
                let entries = recorded.iter().flat_map(|session| &session.iterations);
                let mut of_task = entries.filter(|entry| entry.task.as_ref() == Some(&task));
                let title = of_task.find_map(|entry| entry.title.clone());
                ComparedTask { feature, task, title, figures: [None, None] }
            });
            compared.figures[side] = Some(figures);
        }
    }
    tasks.into_values().collect()
}

/// Returns why the sessions had not the same work, or `None` if nothing speaks against it.
fn difference([a, b]: &[SessionSummary; 2]) -> Option<String> {
    if a.feature != b.feature {
        return Some("Sessions of two features".to_owned());
    }
    for (name, session) in NAMES.iter().zip([a, b]) {
        if session.status == Status::Running {
            return Some(format!("{name} is still running"));
        }
        if !session.is_whole {
            return Some(format!("Only the end of {name} is here"));
        }
        if session.was_reopened {
            return Some(format!("Tasks of {name} were opened again"));
        }
    }
    let open = |session: &SessionSummary| session.tasks_remaining + session.tasks_completed;
    (open(a) != open(b)
        || a.tasks_done - a.tasks_completed.min(a.tasks_done)
            != b.tasks_done - b.tasks_completed.min(b.tasks_done))
    .then(|| {
        let tasks = Count(open(a) as u64, "open task");
        format!("A began with {tasks}, B with {}", grouped(open(b) as u64))
    })
}

/// Returns which session did more at what cost, as far as that is true.
fn headline(sessions: &[SessionSummary; 2]) -> String {
    if let Some(difference) = difference(sessions) {
        return difference;
    }
    let [a, b] = sessions;
    let known = |session: &SessionSummary| session.cost.usd.filter(|_| !session.cost.is_partial);
    let (done, other) = (a.tasks_completed, b.tasks_completed);
    let work = match done.cmp(&other) {
        std::cmp::Ordering::Greater => {
            format!("A did {}, B {}", Count(done as u64, "task"), grouped(other as u64))
        }
        std::cmp::Ordering::Less => {
            format!("B did {}, A {}", Count(other as u64, "task"), grouped(done as u64))
        }
        std::cmp::Ordering::Equal => format!("Both did {}", Count(done as u64, "task")),
    };
    let (Some(cost), Some(other)) = (known(a), known(b)) else {
        return format!("{work} · costs are not known in full");
    };
    format!("{work} · A cost {}, B {}", Cost::of(cost), Cost::of(other))
}

/// Rows of the table of figures: a label and the values of A and B.
fn figures(sessions: &[SessionSummary; 2]) -> Vec<(&'static str, [String; 2])> {
    let names = |names: &[String]| if names.is_empty() { NO_VALUE.to_owned() } else { names.join(", ") };
    let or_none = |value: Option<String>| value.unwrap_or_else(|| NO_VALUE.to_owned());
    let row = |value: &dyn Fn(&SessionSummary) -> String| sessions.each_ref().map(value);
    vec![
        ("Feature", row(&|session| session.feature.clone())),
        ("Agent", row(&|session| names(&session.agents))),
        ("Model", row(&|session| names(&session.models))),
        ("Begun", row(&|session| local_minute(session.started_at))),
        ("Status", row(&|session| session.state.clone())),
        ("Tasks brought to done", row(&|session| grouped(session.tasks_completed as u64))),
        ("Tasks done of the list", row(&SessionSummary::tasks)),
        ("Attempts", row(&|session| grouped(session.attempts as u64))),
        ("Attempts that succeeded", row(&SessionSummary::rate_in_words)),
        ("Cost", row(&SessionSummary::cost_in_words)),
        (
            "Cost of a task",
            row(&|session| or_none(session.cost_per_task.map(|usd| Cost::of(usd).to_string()))),
        ),
        ("Tokens", row(&|session| or_none(session.tokens.total().map(grouped)))),
        ("Duration", row(&SessionSummary::span_in_words)),
    ]
}

#[derive(Serialize)]
struct TaskLine<'a> {
    name: &'a str,
    title: Option<&'a str>,
    sides: [String; 2],
}

/// `done, 2 attempts, $1.20, 3m12s`
fn side(figures: Option<&OfTask>) -> String {
    let Some(OfTask { counts, is_done, cost, duration_ms, .. }) = figures else {
        return "not tried".to_owned();
    };
    let state = match (is_done, counts.skipped) {
        (true, _) => "done",
        (false, 0) => "not done",
        (false, _) => "skipped",
    };
    let mut words = vec![state.to_owned(), Count(counts.runs as u64, "attempt").to_string()];
    words.extend(cost.shown());
    words.push(duration(duration_ms.total().unwrap_or_default()));
    words.join(", ")
}

#[derive(Serialize)]
struct CauseLine<'a> {
    words: &'a str,
    tasks: String,
    times: [String; 2],
}

fn cause_line<'a>(cause: &'a SharedCause, sessions: &[SessionSummary; 2]) -> CauseLine<'a> {
    let times = sessions.each_ref().map(|session| {
        let found = cause.sessions.iter().find(|(id, _)| *id == session.id);
        found.map_or_else(|| NO_VALUE.to_owned(), |(_, times)| format!("{}×", grouped(*times as u64)))
    });
    let words = cause.cause.as_deref().or(cause.fingerprint.as_deref());
    CauseLine { words: words.unwrap_or("no words are recorded"), tasks: cause.tasks.join(", "), times }
}

/// Returns the page.
pub fn comparison_page(comparison: &SessionComparison, medium: Medium<'_>) -> Result<String> {
    let environment = environment(medium);
    let SessionComparison { headline, sessions, tasks, causes, made_at, .. } = comparison;
    let lines: Vec<TaskLine> = tasks
        .iter()
        .map(|task| TaskLine {
            name: &task.task,
            title: task.title.as_deref(),
            sides: task.figures.each_ref().map(|figures| side(figures.as_ref())),
        })
        .collect();
    let causes: Vec<_> = causes.iter().map(|cause| cause_line(cause, sessions)).collect();
    let values = context! {
        names => NAMES,
        ids => sessions.each_ref().map(|session| session.id.to_string()),
        figures => Value::from(Serde(figures(sessions))),
        tasks => Value::from(Serde(&lines)),
        causes => Value::from(Serde(&causes)),
    };
    let body = environment.render_str(COMPARISON, values).context("write the comparison")?;
    let subject = "two sessions";
    framed(&environment, &Frame { title: headline, level: "note", subject, made_at: *made_at }, body)
}

#[cfg(test)]
mod tests {
    use super::super::samples::recorded;
    use super::*;

    fn compare(sessions: &[RecordedSession; 2]) -> SessionComparison {
        SessionComparison::new(sessions, Timestamp::from_seconds(1_767_275_000))
    }

    #[test]
    fn the_headline_says_which_did_more_only_where_both_had_the_same_work() {
        for ((a, a_usd), (b, b_usd), expected) in [
            (("T1+ T2+", Some(1.0)), ("T1+ T2-a", Some(2.0)), "A did 2 tasks, B 1 · A cost $2.00, B $4.00"),
            (("T1-a", Some(1.0)), ("T1+", Some(2.0)), "B did 1 task, A 0 · A cost $1.00, B $2.00"),
            (("T1+", Some(1.0)), ("T1+", None), "Both did 1 task · costs are not known in full"),
        ] {
            let mut sessions = [recorded(1, a, a_usd), recorded(2, b, b_usd)];
            for one in &mut sessions {
                one.session.tasks_done = one.session.tasks_completed;
                one.session.tasks_remaining = 3 - one.session.tasks_completed;
            }
            assert_eq!(compare(&sessions).headline, expected);
            sessions[1].session.tasks_remaining += 1;
            assert_eq!(compare(&sessions).headline, "A began with 3 open tasks, B with 4");
            sessions[0].session.tasks_completed += 1;
            assert_eq!(compare(&sessions).headline, "Tasks of A were opened again");
            sessions[0].session.tasks_completed -= 1;
            sessions[1].is_whole = false;
            assert_eq!(compare(&sessions).headline, "Only the end of B is here");
            "specs/other".clone_into(&mut sessions[1].session.feature);
            assert_eq!(compare(&sessions).headline, "Sessions of two features");
        }
    }

    #[test]
    fn tasks_and_causes_stand_side_by_side() {
        let comparison =
            compare(&[recorded(1, "T1-a T1-a T1+ T2!", Some(1.0)), recorded(2, "T1-a T3-b", None)]);
        let sides: Vec<_> = comparison
            .tasks
            .iter()
            .map(|task| task.figures.each_ref().map(|figures| side(figures.as_ref())))
            .map(|[a, b]| format!("{} | {}", a.split(", ").next().unwrap(), b.split(", ").next().unwrap()))
            .collect();
        assert_eq!(sides, ["done | not done", "skipped | not tried", "not tried | not done"]);
        let causes: Vec<_> =
            comparison.causes.iter().map(|cause| cause_line(cause, &comparison.sessions).times).collect();
        assert_eq!(causes, [["2×", "1×"], [NO_VALUE, "1×"]]);
    }

    #[test]
    fn hostile_names_are_text_and_the_page_has_no_script() {
        const BAD: &str = "\"'><script>x()</script><a href=\"javascript:x()\" onclick=x()>\u{202e}\u{1b}[2J";
        let mut sessions = [recorded(1, "T1-a T2+", Some(1.0)), recorded(2, "T1-a", None)];
        for one in &mut sessions {
            BAD.clone_into(&mut one.session.feature);
            for entry in &mut one.iterations {
                BAD.clone_into(&mut entry.feature);
                for text in
                    [&mut entry.task, &mut entry.title, &mut entry.cause, &mut entry.agent, &mut entry.model]
                {
                    *text = Some(BAD.to_owned());
                }
            }
        }
        let page = comparison_page(&compare(&sessions), Medium::File).unwrap();
        assert!(
            page.contains("&lt;script&gt;") && !page.contains("<script") && !page.contains("<a "),
            "{page}"
        );
        assert!(!page.contains(['\u{1b}', '\u{202e}']));
    }
}
