//! What a reader sees first: the figures of a session in a line, and what only a person can settle.

use serde::Serialize;

use crate::ending::cost;
use crate::local_time::span_of;
use crate::style::{Count, cut, duration, grouped};
use ralph_core::record::{NotDone, RALPH_ELSEWHERE, Status, hint_command};

use super::harmless::one_line;
use super::page_parts::{links, quote};
use super::task_rows::signs;
use super::units::short;
use super::{Attention, Level, Report, ReportIteration};

/// Most tasks that need somebody; the rest are counted.
const MAX_TASKS: usize = 20;
/// Most items that an agent tried, and names that wait for a task.
const MAX_ITEMS: usize = 6;
/// Longest of them, in characters.
const MAX_ITEM_CHARS: usize = 120;

/// Cost, time, iterations, changes and when, as far as they are known: what it is, the figure, and more of it.
pub(super) fn figures(report: &Report) -> Vec<(&'static str, String, String)> {
    let Report { session, headline, totals, .. } = report;
    let tokens = || totals.tokens.total().map(|total| format!("{} tokens", short(total)));
    let changes = report.changes.as_ref().map(|changes| {
        let (added, removed) = changes.lines();
        let lines = format!("+{} −{}", grouped(added), grouped(removed));
        (Count(changes.files.len() as u64, "file").to_string(), lines)
    });
    let (files, lines) = changes.unwrap_or_default();
    let totals_of_session = report.session_totals();
    let attempts = Count(totals_of_session.attempts as u64, "attempt").to_string();
    let figures = [
        ("Cost", cost(&totals_of_session.cost).or_else(tokens).unwrap_or_default(), String::new()),
        ("From start to end", duration(headline.span_ms), String::new()),
        ("Attempts", attempts, String::new()),
        ("Changed", files, lines),
        ("When", span_of(session.started_at, headline.ended_at), String::new()),
    ];
    figures.into_iter().filter(|(_, value, _)| !value.is_empty()).collect()
}

/// What needs somebody.
#[derive(Serialize)]
pub(super) struct Needs<'a> {
    title: &'static str,
    tasks: Vec<TaskNeed<'a>>,
    /// Tasks that have no room.
    more: Option<String>,
    others: Vec<Other<'a>>,
    commands: Vec<String>,
}

#[derive(Serialize)]
struct TaskNeed<'a> {
    name: &'a str,
    title: &'a str,
    signs: String,
    /// How its iterations ended, cost, and what waits for it.
    facts: String,
    cause: Option<String>,
    tried: Vec<String>,
    question: Option<String>,
    links: Vec<u32>,
    older: Option<usize>,
}

#[derive(Serialize)]
struct Other<'a> {
    level: &'static str,
    what: String,
    quote: Option<String>,
    links: &'a [u32],
    older: Option<usize>,
}

pub(super) fn needs(report: &Report) -> Option<Needs<'_>> {
    let left = || report.not_done.iter().filter(|task| task.needs_you());
    let tasks: Vec<TaskNeed<'_>> = left().take(MAX_TASKS).map(|task| task_need(task, report)).collect();
    let is_of_task = |found: &Attention| left().any(|task| found.task.as_ref() == Some(&task.task));
    let others = report.attention.iter().filter(|found| found.level != Level::Bad || !is_of_task(found));
    let others: Vec<Other<'_>> = others
        .map(|found| {
            let (links, older) = links(&found.iterations);
            let quote = found.quote.as_deref().map(quote);
            let task = found.task.as_ref().map_or(String::new(), |task| format!("{task} "));
            Other { level: found.level.into(), what: format!("{task}{}", found.what), quote, links, older }
        })
        .collect();
    let is_urgent = !tasks.is_empty() || report.attention.iter().any(|found| found.level == Level::Bad);
    let left_out = left().count().saturating_sub(MAX_TASKS);
    (is_urgent || !others.is_empty()).then(|| Needs {
        title: if is_urgent { "Needs you" } else { "Worth a look" },
        tasks,
        more: (left_out > 0).then(|| format!("{} are not done", Count(left_out as u64, "more task"))),
        others,
        commands: commands(report),
    })
}

/// How to go on.
fn commands(report: &Report) -> Vec<String> {
    let id = &report.session.id;
    let hint = match report.not_done.iter().max_by_key(|task| task.needs_you()) {
        Some(task) => hint_command(RALPH_ELSEWHERE, &task.task),
        None => format!("{RALPH_ELSEWHERE} hint 'TEXT'"),
    };
    let resume = format!("{RALPH_ELSEWHERE} resume {id}{}", report.session.budget().flags_to_go_on());
    match report.session.status {
        Status::Completed => Vec::new(),
        Status::Running => vec![hint],
        Status::Failed | Status::Interrupted | Status::Later(_) if report.not_done.is_empty() => vec![resume],
        Status::Failed | Status::Interrupted | Status::Later(_) => vec![hint, resume],
    }
}

fn task_need<'a>(task: &'a NotDone, report: &'a Report) -> TaskNeed<'a> {
    let iterations =
        report.iterations.iter().filter(|iteration| iteration.record.task.as_ref() == Some(&task.task));
    let iterations: Vec<&ReportIteration> = iterations.collect();
    let outcomes: Vec<_> = iterations.iter().map(|iteration| iteration.record.outcome).collect();
    let numbers: Vec<u32> = iterations.iter().map(|iteration| iteration.record.iteration).collect();
    let (signs, signs_in_words) = signs(&outcomes);
    let mut facts = vec![signs_in_words];
    facts.retain(|ended| !ended.is_empty());
    facts.extend(task.cost_usd.map(|usd| format!("${usd:.2}")));
    facts.extend(blocks(&task.blocks));
    let mut tried: Vec<String> = Vec::new();
    for item in iterations.iter().flat_map(|iteration| &iteration.record.approaches) {
        let item = cut(&one_line(item), MAX_ITEM_CHARS);
        if !tried.contains(&item) {
            tried.push(item);
        }
    }
    tried.truncate(MAX_ITEMS);
    let (links, older) = links(&numbers);
    let last = iterations.iter().rfind(|iteration| iteration.record.is_run());
    let question = last.and_then(|iteration| question(&iteration.record.facts.final_message));
    TaskNeed {
        name: &task.task,
        title: &task.title,
        signs,
        facts: facts.join(" · "),
        cause: task
            .cause
            .as_deref()
            .map(|cause| quote(without_question(cause, question.as_deref())))
            .filter(|cause| !cause.is_empty()),
        tried,
        question,
        links: links.to_vec(),
        older,
    }
}

/// Returns a cause without the question at its end, which is shown below it.
fn without_question<'a>(cause: &'a str, question: Option<&str>) -> &'a str {
    let rest = question.and_then(|question| cause.strip_suffix(question));
    rest.map_or(cause, |rest| rest.trim_end().trim_end_matches("Question:").trim_end_matches([' ', ':']))
}

/// `blocks T020 and T023`
fn blocks(names: &[String]) -> Option<String> {
    let names: Vec<String> = names.iter().map(|name| one_line(name)).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("blocks {one}")),
        [first @ .., last] if names.len() <= MAX_ITEMS => {
            Some(format!("blocks {} and {last}", first.join(", ")))
        }
        all => Some(format!("blocks {} and {} more", all[..MAX_ITEMS].join(", "), all.len() - MAX_ITEMS)),
    }
}

/// The last sentence of an agent's words that asks something.
fn question(words: &str) -> Option<String> {
    let line = words.lines().rev().find(|line| line.trim_end().ends_with('?'))?;
    let sentence = line.trim().rsplit(". ").next()?.trim_start_matches(['-', '*', '#', '>', ' ']);
    let sentence = sentence.trim_start_matches("Question:").trim_start();
    (sentence.len() > 1).then(|| quote(sentence))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{iterations, report};
    use super::*;

    #[test]
    fn a_task_that_is_not_done_has_its_attempts_what_it_blocks_and_what_was_tried() {
        let mut iterations = iterations("T1-a T1-b T1!");
        for iteration in &mut iterations {
            iteration.record.approaches =
                vec!["a lock".to_owned(), format!("\u{1b}#{}", iteration.record.iteration)];
        }
        iterations[1].record.facts.final_message = "It fails.\nQuestion: Semicolons or commas?\n".to_owned();
        let report = report(iterations, "");
        let needs = needs(&report).unwrap();
        let task = &needs.tasks[0];
        let facts = "2 failed, 1 skipped · $1.50 · blocks T9";
        assert_eq!((task.signs.as_str(), task.facts.as_str()), ("✘✘»", facts));
        assert_eq!(task.tried, ["a lock", "␛#1", "␛#2", "␛#3"]);
        assert_eq!(task.question.as_deref(), Some("Semicolons or commas?"));
        let commands: Vec<_> =
            needs.commands.iter().filter_map(|command| command.split(' ').nth(2)).collect();
        assert_eq!(commands, ["hint", "resume"]);
    }

    #[test]
    fn a_question_stands_once() {
        for (cause, expected) in [
            ("the agent left the box open: Question: a or b?", "the agent left the box open"),
            ("the agent left the box open: a or b?", "the agent left the box open"),
            ("FAILED a or b? no", "FAILED a or b? no"),
        ] {
            assert_eq!(without_question(cause, Some("a or b?")), expected);
            assert_eq!(without_question(cause, None), cause);
        }
    }

    #[test]
    fn nothing_is_asked_of_anybody_where_there_is_nothing() {
        let mut done = report(iterations("T1-a T1+"), "");
        done.session.status = Status::Completed;
        assert!(needs(&done).is_none());
        assert_eq!(question("Done."), None);
        for (count, expected) in [(0, None), (1, Some("blocks T1")), (2, Some("blocks T1 and T2"))] {
            let names: Vec<String> = (1..=count).map(|number| format!("T{number}")).collect();
            assert_eq!(blocks(&names).as_deref(), expected);
        }
    }
}
