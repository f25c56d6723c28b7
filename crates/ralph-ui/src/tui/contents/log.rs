//! The attempts of a session one by one: command, exit, duration, files and tool calls.

use std::cell::LazyCell;
use std::collections::HashSet;

use crate::local_time::clock;
use crate::style::{counted, task_title};
use crate::tui::model::Attempt;
use crate::tui::page::{Fold, Page, Section, reading};
use crate::tui::row::{Look, Row};
use ralph_core::record::{FailureClass, Iteration, Outcome};

use super::Scene;
use super::attempt::tool_calls;
use super::task::excerpt;
use super::words::{brief, look_of_exit, number_of, outcome_of, time_of, usd};

/// Attempts whose records are read before they are looked at. Those of others are read when they are unfolded.
const READ_AHEAD: usize = 60;

/// A section for each attempt that passes the filter, newest first: its calls are folded away but where they are open on
/// the `old` page.
pub fn sections(scene: &Scene<'_>, old: Option<&Page>) -> Vec<Section> {
    let open = old.into_iter().flat_map(|old| &old.sections).filter(|section| section.fold == Fold::Open);
    let open: HashSet<u32> = open.filter_map(attempt_of).collect();
    let all = scene.night.attempts.iter().rev();
    let passed: Vec<&Attempt> =
        all.filter(|one| one.outcome != Outcome::Skipped && is_match(one, scene.filter)).collect();
    let mut sections = Vec::new();
    if let Some(running) = scene.in_flight().filter(|_| scene.filter.is_empty()) {
        let row = Row::of(Look::Accent, format!("{:>4} ● {} ", running.number, brief(&running.task.name)));
        let row = row.and(Look::Plain, brief(&running.task.text));
        let row = row.with_right(Row::of(Look::Accent, "runs now"));
        sections.push(Section::folded(key(running.number), row, Vec::new()));
    }
    for (place, attempt) in passed.iter().enumerate() {
        let is_read = place < READ_AHEAD || open.contains(&attempt.number);
        let record = if is_read { scene.record(attempt) } else { None };
        let mut rows = excerpt(scene, record);
        let calls = record.into_iter().flat_map(|record| tool_calls(scene, record).rows);
        rows.extend(calls.map(|row| Row::of(Look::Plain, "  ").then(row)));
        if rows.is_empty() {
            rows.push(record.map_or_else(reading, |_| Row::of(Look::Dim, "    no tool calls")));
        }
        let title = line(scene, attempt, record);
        sections.push(Section::folded(key(attempt.number), title, rows));
    }
    if sections.is_empty() {
        let words = if scene.filter.is_empty() {
            "no attempt yet".to_owned()
        } else {
            format!(
                "no attempt matches `{}`; there are done, failed, asked, cut short, exit:1, exit:validation=1, T001, and words",
                brief(scene.filter)
            )
        };
        sections.push(Section::plain(vec![Row::of(Look::Dim, words).indented(2)]));
    }
    sections
}

fn line(scene: &Scene<'_>, attempt: &Attempt, record: Option<&Iteration>) -> Row {
    let (look, mark, words) = outcome_of(attempt);
    let exit = attempt.exit.validation.or(attempt.exit.agent);
    let exit_words = exit.map_or(String::new(), |code| code.to_string());
    let exit_look = exit.map_or(Look::Dim, look_of_exit);
    let time = time_of(attempt);
    let is_check = attempt.outcome == Outcome::Checked;
    let task = brief(attempt.task.as_deref().unwrap_or(if is_check { "check" } else { "-" }));
    // What became of it, if that is no success; else what it was about.
    let title = attempt.entry().and_then(|entry| entry.title.as_deref());
    let words = match attempt.outcome {
        Outcome::Success => title.map_or(words, |title| brief(task_title(title))),
        _ => words,
    };
    let left = Row::of(Look::Dim, format!("{:>5}", number_of(attempt)))
        .and(look, format!("{mark} "))
        .and(Look::Plain, format!("{task:<5} "))
        .and(if attempt.is_failed() { look } else { Look::Plain }, words);
    let cost = usd(attempt.cost_usd);
    let right = if scene.is_compact() {
        Row::of(exit_look, format!("{exit_words:>3}")).and(Look::Plain, format!(" {time:>5} {cost:>6}"))
    } else {
        let counts = record.map(|record| (record.files_changed.len() as u64, record.tool_calls.len() as u64));
        let (files, calls) = counts
            .map_or_else(Default::default, |(files, calls)| (counted(files, "file"), counted(calls, "call")));
        Row::of(exit_look, format!("{exit_words:>3}"))
            .and(Look::Plain, format!("  {time:>5}  "))
            .and(Look::Dim, format!("{files:>8} {calls:>8}"))
            .and(Look::Plain, format!("  {cost:>6}  "))
            .and(Look::Dim, clock(attempt.ended_at))
    };
    left.with_right(right)
}

fn key(number: u32) -> String {
    format!("#{number}")
}

/// Returns the attempt that a section of the log is of.
pub fn attempt_of(section: &Section) -> Option<u32> {
    section.key.strip_prefix('#')?.parse().ok()
}

/// Returns true if an attempt has every word of a filter: in its task, title, cause, outcome, class, number, agent or
/// exit codes. `exit:N` means either exit code, `exit:validation=N` and `exit:agent=N` one of them.
pub fn is_match(attempt: &Attempt, filter: &str) -> bool {
    let Some(entry) = attempt.entry() else { return filter.is_empty() };
    let outcome = match attempt.outcome {
        Outcome::Success => "success done",
        Outcome::Failure if attempt.is_question() => "failure failed asked asks",
        Outcome::Failure if attempt.is_solved => "failure failed solved",
        Outcome::Failure => "failure failed",
        Outcome::Interrupted => "interrupted cut short",
        Outcome::Skipped => "skipped given up",
        Outcome::Checked => "checked sent back",
        Outcome::Reopened => "opened again",
        Outcome::Later(_) => "",
    };
    let class = entry.failure_class.as_ref().map_or("", FailureClass::as_str);
    let number = format!("#{}", attempt.number);
    let texts = [&entry.task, &entry.title, &entry.cause, &entry.phase, &entry.agent, &entry.model];
    let texts = texts.into_iter().flatten().map(String::as_str).chain([outcome, class, &number]);
    // Without a word to look for, a list of thousands has no text to put together.
    let text = LazyCell::new(|| texts.collect::<Vec<_>>().join("\n").to_lowercase());
    filter.to_lowercase().split_whitespace().all(|word| match word.strip_prefix("exit:") {
        Some(exit) => {
            let (which, code) = exit.split_once('=').unwrap_or(("", exit));
            let code = code.parse().ok();
            let is_agents = which != "validation" && entry.exit.agent == code;
            code.is_some() && (is_agents || which != "agent" && entry.exit.validation == code)
        }
        None => text.contains(word),
    })
}
