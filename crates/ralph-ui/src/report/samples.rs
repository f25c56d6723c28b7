//! Made-up sessions for the tests of this room.

use serde_json::json;
use tasklist::TaskList;

use ralph_core::history::clusters::clusters;
use ralph_core::record::samples::{entry_of, log_entries, session};
use ralph_core::record::{
    AttemptId, DiffStat, Field, Iteration, NotDone, Outcome, SessionPart, ShortNames, Summary, Timestamp,
};
use ralph_core::view::SessionView;

use super::{Diff, LiveSession, RecordedSession, Report, ReportIteration, Text};

/// `T1-a`: T1 failed with the fingerprint `a`, `T1-` without one; `T1+`: it was closed; `T1!`: it was skipped; `T1?`:
/// it was cut short.
pub fn iterations(words: &str) -> Vec<ReportIteration> {
    let iterations = words.split_whitespace().enumerate();
    iterations.map(|(place, word)| iteration(u32::try_from(place + 1).unwrap(), word)).collect()
}

fn iteration(number: u32, word: &str) -> ReportIteration {
    let (task, rest) = word.split_at(2);
    let (outcome, fingerprint) = match rest.split_at(1) {
        ("+", _) => (Outcome::Success, None),
        ("!", _) => (Outcome::Skipped, None),
        ("?", _) => (Outcome::Interrupted, None),
        (_, "") => (Outcome::Failure, None),
        (_, print) => (Outcome::Failure, Some(print)),
    };
    let ran = outcome != Outcome::Skipped;
    let record: Iteration = serde_json::from_value(json!({
        "schema": 1,
        "id": format!("20260101-120000-00000001-iter-{number}"),
        "session": "20260101-120000-00000001",
        "feature": "specs/001-login",
        "iteration": number,
        "loop_type": "implement",
        "task": task,
        "task_text": format!("Make {task}"),
        "outcome": outcome,
        "failure_class": (outcome == Outcome::Interrupted).then_some("rate_limit"),
        "claims": {"promise": false, "ticked": []},
        "false_claim": [],
        "closed": if outcome == Outcome::Success { vec![task] } else { vec![] },
        "started_at": "2026-01-01T12:00:00Z",
        "ended_at": "2026-01-01T12:00:10Z",
        "duration_ms": {"agent": ran.then_some(9000), "validation": ran.then_some(1000)},
        "exit": {"agent": ran.then_some(0), "validation": ran.then_some(i32::from(fingerprint.is_some()))},
        "validation_command": "make check",
        "files_changed": ["x"],
        "agent": "claude",
        "tokens": {"input": 10, "cache_read": null, "cache_write": null, "output": 5},
        "tool_calls": [],
        "learnings": [],
        "decisions": [],
        "approaches": [],
        "facts": {"excerpt": fingerprint.map(|print| format!("line\nFAILED {print}\n---")).unwrap_or_default()},
        "fingerprint": fingerprint,
        "commits": [],
        "left_out": [],
        "redactions": [],
        "hints": [],
        "tasks_done": 1,
        "tasks_open": 2,
    }))
    .unwrap();
    ReportIteration {
        name: format!("20260101-120000-00000001:{number}"),
        id: AttemptId { session: "20260101-120000-00000001".parse().unwrap(), number },
        label: number.to_string(),
        commit: "0".repeat(40).parse().unwrap(),
        attempt: 0,
        repeated: None,
        story: record.story(),
        record,
        prompt: Some(Text::whole("Do it.\n".to_owned())),
        answer: None,
        validation: None,
        diff: Diff::Nothing,
    }
}

/// A report on `iterations`, with this task list at its end.
pub fn report(iterations: Vec<ReportIteration>, tasks: &str) -> Report {
    let mut not_done: Vec<NotDone> = Vec::new();
    for ReportIteration { record, .. } in &iterations {
        let task = record.task.clone().unwrap();
        not_done.retain(|known| known.task != task);
        if record.outcome != Outcome::Success {
            not_done.push(NotDone {
                title: format!("Make {task}"),
                task,
                is_skipped: record.outcome == Outcome::Skipped,
                asks: false,
                attempts: 1,
                cause: record.cause.clone(),
                iteration: record.iteration,
                cost_usd: Some(1.5),
                blocks: vec!["T9".to_owned()],
            });
        }
    }
    let mut session = session("failed", Some("stuck"), (1, 2));
    for ReportIteration { record, .. } in &iterations {
        session.totals.count(&session.id, &entry_of(record));
    }
    let part = SessionPart {
        id: session.id.clone(),
        names: ShortNames::alone(&session.id),
        totals: session.totals.clone(),
    };
    let causes = clusters(iterations.iter().map(|iteration| &iteration.record));
    let solved = causes.iter().flat_map(|cause| cause.solved.keys());
    let mut solved_attempts: Vec<_> =
        solved.map(|number| AttemptId { session: session.id.clone(), number: *number }).collect();
    solved_attempts.sort_unstable();
    let summary = Summary { session: Some(part), solved_attempts, ..Summary::default() };
    let tasks = TaskList::parse(tasks.as_bytes()).unwrap();
    let made_at = Timestamp::from_seconds(1_767_275_000);
    let report = Report::new(session, summary, &tasks, not_done, iterations, LiveSession::default(), made_at);
    Report { open_before: 3, ..report }
}

/// A session whose iterations are `words`, of which each cost `usd`.
pub fn recorded(number: u32, words: &str, usd: Option<f64>) -> RecordedSession {
    let mut session = session("failed", Some("stuck"), (1, 2));
    session.id = format!("20260101-120000-{number:08}").parse().unwrap();
    let mut iterations = log_entries(words);
    for entry in &mut iterations {
        entry.set(Field::Session, &session.id);
        if let Some(usd) = usd {
            entry.set(Field::CostUsd, usd);
        }
        if let Some(print) = entry.fingerprint().map(str::to_owned) {
            entry.set(Field::Cause, format!("FAILED {print}"));
        }
    }
    let view = SessionView::of(&session.id, iterations);
    session.set_totals(view.totals().clone());
    session.cost_is_partial = false;
    let changes = Some(DiffStat { files: 3, added: 40, removed: 2 });
    RecordedSession { session, view, is_whole: true, changes, uncommitted_files: Some(1) }
}
