//! The index: all sessions on one page, and what came back in them.

use ralph_templates::INDEX;
use std::collections::{BTreeSet, HashMap};

use anyhow::{Context, Result};
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

use crate::local_time::local_minute;
use crate::style::{Count, duration, grouped};
use ralph_core::history::stats::{OfTask, Stats, rate};
use ralph_core::record::{Cost, RALPH_ELSEWHERE, Timestamp};

use super::environment::{Medium, environment};
use super::plain_page::{Frame, framed};
use super::session_summary::{RecordedSession, SessionSummary, percent};
use super::shared_causes::{SharedCause, causes};
use super::{Level, MADE_BY};

/// The shape of the JSON.
const INDEX_SCHEMA: u32 = 1;
/// Maximum number of sessions with a row on the page; the newest have one.
const MAX_ROWS: usize = 1000;
/// Those of the newest sessions are shown at once; the rest is folded.
const NEWEST_ROWS: usize = 20;
/// Maximum numbers of causes and of tasks that are listed.
const MAX_CAUSES: usize = 20;
const MAX_TASKS: usize = 15;

/// All sessions, or all of one feature.
#[derive(Debug, Serialize)]
pub struct SessionsIndex {
    pub schema: u32,
    /// Tells the file from those of others.
    pub made_by: &'static str,
    pub made_at: Timestamp,
    pub tool_version: &'static str,
    /// Oldest first.
    pub sessions: Vec<SessionSummary>,
    /// Causes that came in more than one session.
    pub recurring_causes: Vec<SharedCause>,
    /// The tasks that cost the most, or took the longest where no cost is known.
    pub costliest_tasks: Vec<CostlyTask>,
    /// What could not be read, and why.
    pub unreadable: Vec<String>,
}

/// A task over all sessions.
#[derive(Debug, Serialize)]
pub struct CostlyTask {
    pub title: Option<String>,
    #[serde(flatten)]
    pub figures: OfTask,
}

impl SessionsIndex {
    /// Takes the sessions from the oldest to the newest.
    pub fn new(recorded: &[RecordedSession], unreadable: Vec<String>, made_at: Timestamp) -> Self {
        let entries = || recorded.iter().flat_map(|session| &session.iterations);
        let titles: HashMap<_, _> =
            entries().map(|entry| ((&entry.feature, entry.task.as_ref()), entry.title.clone())).collect();
        let mut tasks: Vec<CostlyTask> = Stats::of(entries())
            .tasks
            .into_iter()
            .filter(|task| task.counts.runs > 0)
            .map(|figures| CostlyTask {
                title: titles.get(&(&figures.feature, Some(&figures.task))).cloned().flatten(),
                figures,
            })
            .collect();
        tasks.sort_by(|one, other| {
            let usd = |task: &CostlyTask| task.figures.cost.usd.unwrap_or(-1.0);
            let time = |task: &CostlyTask| task.figures.duration_ms.total();
            usd(other).total_cmp(&usd(one)).then_with(|| time(other).cmp(&time(one)))
        });
        tasks.truncate(MAX_TASKS);
        let mut recurring = causes(recorded);
        recurring.retain(|cause| cause.sessions.len() > 1);
        recurring.truncate(MAX_CAUSES);
        Self {
            schema: INDEX_SCHEMA,
            made_by: MADE_BY,
            made_at,
            tool_version: env!("CARGO_PKG_VERSION"),
            sessions: recorded.iter().map(SessionSummary::new).collect(),
            recurring_causes: recurring,
            costliest_tasks: tasks,
            unreadable,
        }
    }
}

#[derive(Serialize)]
struct SessionRow {
    id: String,
    feature: String,
    date: String,
    state: String,
    level: &'static str,
    is_whole: bool,
    tasks: String,
    attempts: String,
    rate: String,
    cost: String,
    span: String,
}

impl SessionRow {
    fn new(session: &SessionSummary) -> Self {
        Self {
            id: session.id.to_string(),
            feature: session.feature.clone(),
            date: local_minute(session.started_at),
            state: session.state.clone(),
            level: Level::of(session.status, session.stop_reason).into(),
            is_whole: session.is_whole,
            tasks: session.tasks(),
            attempts: grouped(session.attempts as u64),
            rate: session.rate_in_words(),
            cost: session.cost_in_words(),
            span: session.span_in_words(),
        }
    }
}

#[derive(Serialize)]
struct CauseRow<'a> {
    times: String,
    words: &'a str,
    /// In which sessions and for which tasks.
    places: String,
}

fn cause_row(cause: &SharedCause) -> CauseRow<'_> {
    let tasks = match cause.tasks.as_slice() {
        [] => String::new(),
        tasks => format!(", for {}", tasks.join(", ")),
    };
    let newest = cause.sessions.last().map_or(String::new(), |(id, _)| format!("; the newest is {id}"));
    CauseRow {
        times: format!("{}×", grouped(cause.times as u64)),
        words: cause.cause.as_deref().or(cause.fingerprint.as_deref()).unwrap_or("no words are recorded"),
        places: format!("In {}{tasks}{newest}", Count(cause.sessions.len() as u64, "session")),
    }
}

#[derive(Serialize)]
struct TaskLine<'a> {
    name: &'a str,
    title: Option<&'a str>,
    feature: &'a str,
    is_done: bool,
    attempts: String,
    cost: String,
    time: String,
}

fn task_line(task: &CostlyTask) -> TaskLine<'_> {
    let OfTask { feature, task: name, counts, is_done, cost, duration_ms, .. } = &task.figures;
    TaskLine {
        name,
        title: task.title.as_deref(),
        feature,
        is_done: *is_done,
        attempts: grouped(counts.runs as u64),
        cost: cost.shown().unwrap_or_else(|| "unknown".to_owned()),
        time: duration(duration_ms.total().unwrap_or_default()),
    }
}

fn figures(sessions: &[SessionSummary]) -> Vec<String> {
    let sum = |count: fn(&SessionSummary) -> usize| sessions.iter().map(count).sum::<usize>();
    let (attempts, succeeded) = (sum(|session| session.attempts), sum(|session| session.succeeded));
    let cost = sessions.iter().map(|session| session.cost).fold(Cost::default(), Cost::plus);
    // A session without a single known cost makes the sum a part.
    let is_partial =
        cost.is_partial || sessions.iter().any(|session| session.attempts > 0 && session.cost.usd.is_none());
    let cost = Cost { is_partial, ..cost };
    let completed = Count(sum(|session| session.tasks_completed) as u64, "task");
    let mut figures =
        vec![format!("{completed} brought to done"), Count(attempts as u64, "attempt").to_string()];
    figures.extend(rate(succeeded, attempts).map(|rate| format!("{} succeeded", percent(Some(rate)))));
    figures.push(cost.shown().unwrap_or_else(|| "cost unknown".to_owned()));
    figures
}

/// Returns the page.
pub fn index_page(index: &SessionsIndex, medium: Medium<'_>) -> Result<String> {
    let environment = environment(medium);
    let SessionsIndex { sessions, recurring_causes, costliest_tasks, unreadable, made_at, .. } = index;
    let features: BTreeSet<&str> = sessions.iter().map(|session| session.feature.as_str()).collect();
    let of_features = match features.len() {
        0 | 1 => String::new(),
        several => format!(" of {}", Count(several as u64, "feature")),
    };
    let title = match sessions.len() {
        0 => "Nothing is recorded yet".to_owned(),
        count => format!("{}{of_features}", Count(count as u64, "session")),
    };
    let rows: Vec<SessionRow> = sessions.iter().rev().take(MAX_ROWS).map(SessionRow::new).collect();
    let left_out = sessions.len().saturating_sub(MAX_ROWS);
    let values = context! {
        figures => if sessions.is_empty() { Vec::new() } else { figures(sessions) },
        ralph => RALPH_ELSEWHERE.as_str(),
        newest => NEWEST_ROWS,
        earlier => Count(rows.len().saturating_sub(NEWEST_ROWS) as u64, "earlier session").to_string(),
        rows => Value::from(Serde(&rows)),
        has_features => features.len() > 1,
        left_out => (left_out > 0).then(|| Count(left_out as u64, "older session").to_string()),
        causes => Value::from(Serde(recurring_causes.iter().map(cause_row).collect::<Vec<_>>())),
        tasks => Value::from(Serde(costliest_tasks.iter().map(task_line).collect::<Vec<_>>())),
        unreadable,
    };
    let body = environment.render_str(INDEX, values).context("write the index")?;
    let subject = match features.first() {
        Some(only) if features.len() == 1 => *only,
        _ => "all features",
    };
    framed(&environment, &Frame { title: &title, level: "note", subject, made_at: *made_at }, body)
}

#[cfg(test)]
mod tests {
    use super::super::samples::recorded;
    use super::super::session_summary::NO_VALUE;
    use super::*;

    fn index(sessions: &[RecordedSession]) -> SessionsIndex {
        SessionsIndex::new(sessions, Vec::new(), Timestamp::from_seconds(1_767_275_000))
    }

    #[test]
    fn each_session_has_a_row_and_missing_figures_are_named() {
        for (words, usd, rate, cost, each) in [
            ("T1+ T2+", Some(1.0), "100 %", "$2.00", Some(1.0)),
            ("T1-a T1+", Some(1.5), "50 %", "$3.00", Some(3.0)),
            ("T1-a", Some(1.0), "0 %", "$1.00", None),
            ("T1+ T1+", Some(1.0), "100 %", "$2.00", Some(2.0)),
            ("T1+", None, "100 %", "unknown", None),
            ("", None, NO_VALUE, "unknown", None),
        ] {
            let summary = SessionSummary::new(&recorded(1, words, usd));
            assert_eq!(
                (summary.rate_in_words().as_str(), summary.cost_in_words().as_str()),
                (rate, cost),
                "{words}"
            );
            assert_eq!(summary.cost_per_task, each, "{words}");
        }
        let page = index_page(&index(&[recorded(1, "T1+", Some(1.0)), recorded(2, "", None)]), Medium::File)
            .unwrap();
        assert_eq!(page.matches("<tr class=\"session ").count(), 2);
        assert!(page.contains("<h1>2 sessions</h1>"), "{page}");
    }

    #[test]
    fn a_sum_with_an_unknown_cost_is_a_lower_bound() {
        let sessions =
            [recorded(1, "T1+", Some(1.0)), recorded(2, "T1+", None)].map(|one| SessionSummary::new(&one));
        assert!(figures(&sessions).contains(&"≥ $1.00".to_owned()), "{:?}", figures(&sessions));
    }

    #[test]
    fn causes_that_came_in_several_sessions_are_listed_most_sessions_first() {
        let sessions = [
            recorded(1, "T1-a T1-b T2-c T2-c", None),
            recorded(2, "T1-a T2-b T2-b", None),
            recorded(3, "T3-a", None),
        ];
        let found: Vec<_> = index(&sessions)
            .recurring_causes
            .iter()
            .map(|cause| (cause.cause.clone().unwrap(), cause.times, cause.sessions.len()))
            .collect();
        assert_eq!(found, [("FAILED a".to_owned(), 3, 3), ("FAILED b".to_owned(), 3, 2)]);
    }

    #[test]
    fn the_costliest_tasks_come_first_and_without_costs_the_longest() {
        for (usd, words, expected) in
            [(Some(1.0), "T1+ T2-a T2+ T3!", ["T2", "T1"]), (None, "T1+ T2-a T2+ T3!", ["T2", "T1"])]
        {
            let index = index(&[recorded(1, words, usd)]);
            let names: Vec<_> = index.costliest_tasks.iter().map(|task| task.figures.task.as_str()).collect();
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn hostile_names_are_text_and_the_page_has_no_script() {
        const BAD: &str = "\"'><script>x()</script><a href=\"javascript:x()\" onclick=x()>\u{202e}\u{1b}[2J";
        let mut sessions = [recorded(1, "T1-a T2+", Some(1.0)), recorded(2, "T1-a", None)];
        for one in &mut sessions {
            BAD.clone_into(&mut one.session.feature);
            for entry in &mut one.iterations {
                BAD.clone_into(&mut entry.feature);
                for text in [&mut entry.task, &mut entry.title, &mut entry.cause, &mut entry.agent] {
                    *text = Some(BAD.to_owned());
                }
            }
        }
        let mut index = index(&sessions);
        index.unreadable.push(BAD.to_owned());
        let page = index_page(&index, Medium::File).unwrap();
        assert!(!page.contains("<script") && !page.contains("<a "), "{page}");
        assert!(!page.contains(['\u{1b}', '\u{202e}']));
        assert!(page.contains("default-src 'none'; style-src 'sha256-") && !page.contains("script-src"));
    }

    #[test]
    fn of_very_many_sessions_the_newest_have_rows() {
        let sessions: Vec<_> = (0..1003).map(|number| recorded(number, "T1+", Some(0.5))).collect();
        let page = index_page(&index(&sessions), Medium::File).unwrap();
        assert_eq!(page.matches("<tr class=\"session ").count(), MAX_ROWS);
        assert!(page.contains("3 older sessions"), "{}", page.len());
        let (shown, folded) = page.split_once("<summary>980 earlier sessions</summary>").unwrap();
        assert_eq!(shown.matches("<tr class=\"session ").count(), NEWEST_ROWS);
        assert!(folded.split_once("</details>").unwrap().0.contains("<thead>"));
        let few = index_page(&index(&sessions[..NEWEST_ROWS]), Medium::File).unwrap();
        assert!(!few.contains("<details"));
        assert!(page.len() < 1_000_000, "{}", page.len());
    }
}
