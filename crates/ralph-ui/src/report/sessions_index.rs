//! The index: all sessions on one page, and what came back in them.

use std::collections::HashMap;

use anyhow::Result;
use minijinja::{Value, context};
use serde::Serialize;

use crate::local_time::{day_minute, local};

use crate::needs::{changed_and_committed, files_and_lines, subject};
use crate::session_table::verdict;
use crate::style::{counted, dollars, grouped, joined};
use ralph_core::history::stats::{OfTask, Stats};
use ralph_core::record::{
    Changes, Cost, NeedKind, RALPH_ELSEWHERE, Status, Summary, Timestamp, hint_command_of,
};

use ralph_core::view::{FeatureView, SessionView};

use super::environment::{Medium, environment, render};
use super::html_escape::one_line;
use super::session_summary::{RecordedSession, SessionSummary};
use super::shared_causes::{SharedCause, causes};
use super::{MADE_BY, first_screen};

/// The shape of the JSON.
const INDEX_SCHEMA: u32 = 1;
/// Tasks that have a line below the rows.
const MAX_LINES: usize = 4;
/// Those of the newest sessions are shown at once, with what they changed; the rest is folded.
pub const NEWEST_ROWS: usize = 20;
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
    /// The features, each over all of its sessions.
    #[serde(skip)]
    pub features: Vec<Summary>,
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
    pub fn new(
        recorded: &[RecordedSession],
        mut features: Vec<Summary>,
        unreadable: Vec<String>,
        made_at: Timestamp,
    ) -> Self {
        // What needs the user comes first.
        features.sort_by_key(|feature| feature.needs_you.is_empty());
        let views: Vec<SessionView> = recorded.iter().map(|session| session.view.clone()).collect();
        let view = FeatureView::of(&views);
        let titles: HashMap<_, _> = view
            .iterations
            .iter()
            .map(|(_, entry)| ((entry.feature(), entry.task()), entry.title()))
            .collect();
        let mut tasks: Vec<CostlyTask> = Stats::of(&view)
            .tasks
            .into_iter()
            .filter(|task| task.counts.runs > 0)
            .map(|figures| CostlyTask {
                title: titles
                    .get(&(&*figures.feature, Some(&*figures.task)))
                    .and_then(|title| Some((*title)?.to_owned())),
                figures,
            })
            .collect();
        tasks.sort_by(|one, other| {
            let [(usd, time), (other_usd, other_time)] = [one, other]
                .map(|task| (task.figures.cost.usd.unwrap_or(-1.0), task.figures.duration_ms.total()));
            other_usd.total_cmp(&usd).then_with(|| other_time.cmp(&time))
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
            features,
        }
    }
}

/// The sessions of a feature as the template wants them, newest first.
fn feature_view(index: &SessionsIndex, summary: &Summary) -> Value {
    let sessions: Vec<&SessionSummary> =
        index.sessions.iter().rev().filter(|session| session.feature == summary.feature).collect();
    let states = summary.tasks;
    let count = counted(summary.starts as u64, "night");
    let cost = match summary.totals.cost.usd {
        Some(cost) => format!("{} over {count}", dollars(cost)),
        None => count,
    };
    let need = summary.needs_you.first().map(|need| {
        let since = need.task.as_ref().and_then(|task| summary.tried_since.get(task));
        let since = since.map_or(String::new(), |(at, _)| format!(" since {}", day_minute(*at)));
        subject(need) + &since
    });
    let done = format!("{} of {} done", grouped(states.done as u64), grouped(states.total() as u64));
    let rows = sessions.iter().map(|session| {
        context! {
            id => session.id.as_str(),
            at => day_minute(session.last_at),
            done => format!("+{}", grouped(session.tasks_completed as u64)),
            of => format!("{} of {}", grouped(session.tasks_done as u64), grouped((session.tasks_done + session.tasks_remaining) as u64)),
            cost => Cost { is_partial: false, ..session.cost }.shown(),
            failed => format!("{} of {}", grouped((session.attempts - session.succeeded) as u64), grouped(session.attempts as u64)),
            changed => changed(session),
            ended => session.ended.as_str(),
            is_whole => session.is_whole,
        }
    });
    let session_is_idle = sessions.first().is_none_or(|session| session.status != Status::Running);
    let lines = summary.needs_you.iter().filter_map(|need| Some((need, need.task.as_ref()?))).take(MAX_LINES);
    let lines = lines.map(|(need, task)| {
        let spent = summary.totals.task_costs.get(task).zip(summary.totals.cost.usd);
        let spent = spent.map_or_else(
            || task.clone(),
            |(part, all)| format!("{} of {} went into {task}", dollars(*part), dollars(all)),
        );
        let causes = summary.causes.list.iter().filter(|cause| cause.tasks.contains(task));
        let times: usize = causes.map(|cause| cause.times).sum();
        let verb = if need.why == NeedKind::Asks { "asked" } else { "failed" };
        let times = if times > 1 { format!(" {verb} {times} times") } else { String::new() };
        let cause = need.cause.as_ref().map_or(String::new(), |cause| format!(": “{cause}”"));
        let hint = session_is_idle.then(|| hint_command_of(RALPH_ELSEWHERE, Some(&need.session), task));
        (one_line(&format!("{spent}{cause}{times}")), hint)
    });
    let answered =
        summary.answered.iter().map(|task| (one_line(&format!("{} {}", task.task, task.words())), None));
    let lines = lines.chain(answered);
    let earlier = sessions.len().saturating_sub(NEWEST_ROWS);
    context! {
        name => summary.feature.rsplit('/').next(),
        facts => joined([Some(done), Some(cost), need], " · "),
        sessions => rows.collect::<Vec<_>>(),
        lines => lines.collect::<Vec<_>>(),
        earlier => (earlier > 0).then(|| counted(earlier as u64, "earlier night")),
    }
}

/// What a session changed, and of the newest whether that is in a commit.
fn changed(session: &SessionSummary) -> Option<String> {
    let stat = session.changes?;
    let known = session.uncommitted_files.filter(|_| session.status != Status::Running);
    Some(known.map_or_else(
        || files_and_lines(stat),
        |uncommitted_files| changed_and_committed(Changes { stat, uncommitted_files }),
    ))
}

/// Returns the page.
pub fn index_page(index: &SessionsIndex, medium: Medium<'_>) -> Result<String> {
    let SessionsIndex { sessions, features, unreadable, made_at, .. } = index;
    let (title, subject) = match features.as_slice() {
        [] => ("Nothing is recorded yet".to_owned(), "all features"),
        [one] => {
            let is_running = sessions.iter().any(|session| session.status == Status::Running);
            let subject = one.feature.rsplit('/').next().unwrap_or_default();
            (first_screen::title(one.tasks, one.needs_you.len(), is_running), subject)
        }
        several => {
            let words = verdict(&several.iter().collect::<Vec<_>>());
            (words.join(" · "), "all features")
        }
    };
    let values = context! {
        title, subject,
        when => "",
        made_at => local(*made_at),
        newest => NEWEST_ROWS,
        features => features.iter().map(|summary| feature_view(index, summary)).collect::<Vec<_>>(),
        unreadable,
    };
    render(&environment(medium)?, "index", values)
}

#[cfg(test)]
mod tests {
    use super::super::samples::recorded;
    use super::*;
    use ralph_core::record::{Field, Need, SessionTotals, TaskStates};

    fn index(sessions: &[RecordedSession]) -> SessionsIndex {
        let mut totals = SessionTotals::default();
        for session in sessions {
            totals.add(&session.session.totals);
        }
        let need = |session: &RecordedSession| Need {
            why: NeedKind::Asks,
            task: Some("T1".to_owned()),
            cause: Some("Which one?".to_owned()),
            session: session.session.id.clone(),
            iteration: Some(1),
        };
        let summary = Summary {
            feature: sessions.first().map(|session| session.session.feature.clone()).unwrap_or_default(),
            sessions: sessions.len(),
            starts: sessions.len(),
            totals,
            tasks: TaskStates { done: 3, asks: 1, ..TaskStates::default() },
            needs_you: sessions.first().map(need).into_iter().collect(),
            tried_since: [("T1".to_owned(), (Timestamp::from_seconds(1_767_225_600), 1))].into(),
            ..Summary::default()
        };
        let features = if sessions.is_empty() { Vec::new() } else { vec![summary] };
        SessionsIndex::new(sessions, features, Vec::new(), Timestamp::from_seconds(1_767_275_000))
    }

    #[test]
    fn each_session_has_a_row_and_the_feature_says_what_needs_somebody() {
        for (words, usd, failed, cost, each) in [
            ("T1+ T2+", Some(1.0), "0 of 2", "$2.00", Some(1.0)),
            ("T1-a T1+", Some(1.5), "1 of 2", "$3.00", Some(3.0)),
            ("T1-a", Some(1.0), "1 of 1", "$1.00", None),
            ("T1+ T1+", Some(1.0), "0 of 2", "$2.00", Some(2.0)),
            ("T1+", None, "0 of 1", "", None),
            ("", None, "0 of 0", "", None),
        ] {
            let sessions = [recorded(1, words, usd)];
            let index = index(&sessions);
            assert_eq!(index.sessions[0].cost_per_task, each, "{words}");
            let page = index_page(&index, Medium::File).unwrap();
            assert!(
                page.contains(&format!(
                    "<td>{cost}</td><td>{failed}</td><td>3 files +40 −2, 1 file not committed</td>"
                )),
                "{words}: {page}"
            );
        }
        let page = index_page(
            &index(&[recorded(1, "T1-a", Some(1.0)), recorded(2, "T1+", Some(2.0))]),
            Medium::File,
        )
        .unwrap();
        assert_eq!(page.matches("<tr><th scope=\"row\">").count(), 2);
        for part in [
            "<h1>3 of 4 tasks done. One needs you.</h1>",
            "3 of 4 done · $3.00 over 2 nights · T1 asks since 1 Jan 00:00",
            "$3.00 of $3.00 went into T1: “Which one?”",
        ] {
            assert!(page.contains(part), "no `{part}` in {page}");
        }
        assert!(index_page(&index(&[]), Medium::File).unwrap().contains("<h1>Nothing is recorded yet</h1>"));
    }

    #[test]
    fn of_the_newest_session_it_is_said_whether_its_work_is_committed() {
        let session = |number, uncommitted_files| RecordedSession {
            uncommitted_files,
            ..recorded(number, "T1-a", Some(1.0))
        };
        let page = index_page(&index(&[session(1, None), session(2, Some(0))]), Medium::File).unwrap();
        let of_newest = page.find("<td>3 files +40 −2, committed</td>").unwrap();
        assert!(of_newest < page.find("<td>3 files +40 −2</td>").unwrap(), "{page}");
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
            one.session.feature = format!("specs/{BAD}");
            let mut entries = one.view.entries.to_vec();
            for entry in &mut entries {
                entry.set(Field::Feature, format!("specs/{BAD}"));
                for field in [Field::Task, Field::Title, Field::Cause, Field::Agent] {
                    entry.set(field, BAD);
                }
            }
            one.view = SessionView::of(&one.session.id, entries);
        }
        let mut index = index(&sessions);
        index.features[0].needs_you[0].cause = Some(BAD.to_owned());
        index.features[0].needs_you[0].task = Some(BAD.to_owned());
        index.unreadable.push(BAD.to_owned());
        let page = index_page(&index, Medium::File).unwrap();
        assert!(!page.contains("<script") && !page.contains("<a "), "{page}");
        assert!(!page.contains(['\u{1b}', '\u{202e}']));
        assert!(page.contains("default-src 'none'; style-src 'sha256-") && !page.contains("script-src"));
    }

    #[test]
    fn of_very_many_sessions_the_newest_are_seen_at_once() {
        let sessions: Vec<_> = (0..1003).map(|number| recorded(number, "T1+", Some(0.5))).collect();
        let page = index_page(&index(&sessions), Medium::File).unwrap();
        assert_eq!(page.matches("<tr><th scope=\"row\">").count(), 1003);
        let (shown, folded) = page.split_once("<summary>983 earlier nights</summary>").unwrap();
        assert_eq!(shown.matches("<tr><th scope=\"row\">").count(), NEWEST_ROWS);
        assert!(folded.split_once("</details>").unwrap().0.contains("<thead>"));
        let few = index_page(&index(&sessions[..NEWEST_ROWS]), Medium::File).unwrap();
        assert!(!few.contains("<details"));
        assert!(page.len() < 1_000_000, "{}", page.len());
    }
}
