//! The attempts of a session one by one: what happened, files, tool calls, time and cost.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use crate::evidence::FLAG;
use crate::local_time::clock;
use crate::style::{columns, task_title};
use crate::tui::model::FeatureOverview;
use crate::tui::page::{Fold, Page, Section, reading};
use crate::tui::row::{Look, Row};
use ralph_core::progress::first_sentence;
use ralph_core::record::{AttemptId, FailureClass, Iteration, LogEntry, Outcome};

use super::Scene;
use super::attempt::tool_calls;
use super::task::excerpt;
use super::words::{brief, number_cell, number_width, outcome_of, time_of, usd};

/// Attempts whose records are read before they are looked at. Those of others are read when they are unfolded.
const READ_AHEAD: usize = 60;

/// Most columns of the name of a task.
const MAX_TASK: usize = 12;

/// From this width on there is room for what the agents said.
const MIN_TO_SAY: usize = 160;

/// A section for each attempt that passes the filter, newest first: its calls are folded away but where they are open on
/// the `old` page.
pub fn sections(scene: &Scene<'_>, old: Option<&Page>) -> Vec<Section> {
    let open = old.into_iter().flat_map(|old| &old.sections).filter(|section| section.fold == Fold::Open);
    let open: HashSet<AttemptId> = open.filter_map(attempt_of).collect();
    let all = scene.session.iterations().rev();
    let passed: Vec<&LogEntry> = all
        .filter(|one| one.outcome() != Some(Outcome::Skipped) && is_match(scene.feature, one, scene.filter))
        .collect();
    let layout = Columns::of(scene);
    // The last attempts at tasks that were given up then.
    let (mut given_up, mut last) = (HashSet::new(), HashMap::new());
    for one in scene.session.iterations() {
        if one.outcome() == Some(Outcome::Skipped) {
            given_up.extend(last.remove(&one.task()));
        } else {
            last.insert(one.task(), one.commit());
        }
    }
    let mut sections = Vec::new();
    for (session, running) in scene.in_flight().filter(|_| scene.filter.is_empty()) {
        let id = AttemptId { session: session.clone(), number: running.number };
        let number = scene.session.name_of(&id);
        let lead = Row::of(Look::Accent, format!("{number:>0$} ● ", number_width(scene) - 1));
        let words = (Look::Plain, brief(task_title(&running.task.text)));
        let row = layout.left(lead, &brief(&running.task.name), words, "");
        let row = row.with_right(Row::of(Look::Accent, "runs now"));
        sections.push(Section::folded(key(&id), row, Vec::new()));
    }
    for (place, attempt) in passed.iter().enumerate() {
        let is_read = place < READ_AHEAD || open.contains(&attempt.id());
        let record = if is_read { scene.record(attempt) } else { None };
        let mut rows = excerpt(scene, record);
        let calls = record.into_iter().flat_map(|record| tool_calls(scene, record).rows);
        rows.extend(calls.map(|row| Row::of(Look::Plain, "  ").then(row)));
        if rows.is_empty() {
            rows.push(record.map_or_else(reading, |_| Row::of(Look::Dim, "    no tool calls")));
        }
        let title = line(scene, attempt, record, &layout, given_up.contains(&attempt.commit()));
        sections.push(Section::folded(key(&attempt.id()), title, rows));
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

/// How the rows of a session are laid out.
struct Columns {
    task: usize,
    /// Of what happened, where what the agent said has a column behind it.
    words: Option<usize>,
}

impl Columns {
    fn of(scene: &Scene<'_>) -> Self {
        let all = scene.session.iterations();
        let task = all.map(|one| columns(&task_of(one))).max().unwrap_or(0).clamp(4, MAX_TASK);
        // The border and the cursor, the number and the mark, and what is at the right.
        let beside = 8 + number_width(scene) + task + columns(&cells(scene, [""; 5]));
        let words = scene.width.saturating_sub(beside) * 3 / 5;
        Self { task, words: (scene.width >= MIN_TO_SAY).then_some(words) }
    }

    fn left(&self, lead: Row, task: &str, (look, words): (Look, String), said: &str) -> Row {
        let row = lead.and(Look::Plain, format!("{task:<0$}  ", self.task));
        let words = Row::of(look, words);
        match self.words {
            Some(width) => row.then(words.cut(width).padded(width + 2)).and(Look::Dim, said),
            None => row.then(words),
        }
    }
}

/// The names of the columns; `None` where no attempt is listed.
pub fn head(scene: &Scene<'_>, page: &Page) -> Option<Row> {
    page.sections.iter().find(|section| attempt_of(section).is_some())?;
    let name = if scene.is_group() { "lane:#" } else { "#" };
    let lead = Row::from(format!("  {name:>0$}   ", number_width(scene) - 1));
    let row =
        Columns::of(scene).left(lead, "task", (Look::Plain, "what happened".to_owned()), "the agent said");
    let row = Row::of(Look::Dim, row.text());
    Some(row.with_right(Row::of(Look::Dim, cells(scene, ["files", "calls", "time", "cost", "end"]))))
}

/// Files, calls, time, cost and the time of day, as far as there is room.
fn cells(scene: &Scene<'_>, [files, calls, time, cost, end]: [&str; 5]) -> String {
    if scene.is_compact() {
        format!("{time:>6} {cost:>6}")
    } else {
        format!("{files:>6} {calls:>6}  {time:>5} {cost:>7}  {end:>5}")
    }
}

/// `T006 3`
fn task_of(attempt: &LogEntry) -> String {
    let none = match attempt.outcome() {
        Some(Outcome::Checked) => "check",
        Some(Outcome::Integrated) => "merge",
        _ => "-",
    };
    let task = brief(attempt.task().unwrap_or(none));
    let number = attempt.attempt().filter(|one| attempt.is_attempt() && *one > 1);
    number.map_or_else(|| task.clone(), |number| format!("{task} {number}"))
}

fn line(
    scene: &Scene<'_>,
    attempt: &LogEntry,
    record: Option<&Iteration>,
    layout: &Columns,
    is_given_up: bool,
) -> Row {
    let (look, mark, words) = outcome_of(scene, attempt);
    // What became of it, if that is no success; else what is flagged, or what it was about.
    let words = match (attempt.outcome(), attempt.first_flag(), attempt.title()) {
        (Some(Outcome::Success), Some(flag), _) => (Look::Warn, brief(&format!("{FLAG} {flag}"))),
        (Some(Outcome::Success), None, Some(title)) if attempt.is_queued() => {
            (Look::Plain, brief(&format!("{words}: {}", task_title(title))))
        }
        (Some(Outcome::Success), None, Some(title)) => (Look::Plain, brief(task_title(title))),
        _ => (if attempt.is_failure() { look } else { Look::Plain }, words),
    };
    let said = record.map(|record| brief(&first_sentence(&record.facts.final_message))).unwrap_or_default();
    let lead = Row::of(Look::Dim, number_cell(scene, attempt)).and(look, format!("{mark} "));
    let counts = record.map(|record| [record.files_changed.len(), record.tool_calls.len()]);
    let [files, calls] = counts.map_or_else(Default::default, |counts| counts.map(|count| count.to_string()));
    let (time, cost, end) = (time_of(attempt), usd(attempt.cost_usd()), clock(attempt.ended_at()));
    let right = Row::of(Look::Bad, if is_given_up { "  given up" } else { "" });
    let right = right.and(Look::Plain, cells(scene, [&files, &calls, &time, &cost, &end]));
    layout.left(lead, &task_of(attempt), words, &said).with_right(right)
}

fn key(id: &AttemptId) -> String {
    format!("#{id}")
}

/// Returns the attempt that a section of the log is of.
pub fn attempt_of(section: &Section) -> Option<AttemptId> {
    let (session, number) = section.key.strip_prefix('#')?.split_once(':')?;
    Some(AttemptId { session: session.parse().ok()?, number: number.parse().ok()? })
}

/// Returns true if an attempt has every word of a filter: in its task, title, cause, outcome, class, number, agent or
/// exit codes. `exit:N` means either exit code, `exit:validation=N` and `exit:agent=N` one of them.
pub fn is_match(feature: &FeatureOverview, entry: &LogEntry, filter: &str) -> bool {
    let outcome = match entry.outcome() {
        Some(Outcome::Success) if entry.is_queued() => "success done queued",
        Some(Outcome::Success) => "success done",
        Some(Outcome::Integrated) => "integrated sent back",
        Some(Outcome::Failure) if entry.is_question() => "failure failed asked asks",
        Some(Outcome::Failure) if feature.is_solved(entry) => "failure failed solved",
        Some(Outcome::Failure) => "failure failed",
        Some(Outcome::Interrupted) => "interrupted cut short",
        Some(Outcome::Skipped) => "skipped given up",
        Some(Outcome::Checked) => "checked sent back",
        Some(Outcome::Reopened) => "opened again",
        Some(Outcome::Later(_)) | None => "",
    };
    let class = entry.failure_class();
    let class = class.as_ref().map_or("", FailureClass::as_str);
    let texts = [entry.task(), entry.title(), entry.cause(), entry.phase(), entry.agent(), entry.model()];
    // Without a word to look for, a list of thousands has no text to put together.
    let text = LazyCell::new(|| {
        let number = format!("#{}", feature.name_of(&entry.id()));
        let texts = texts.into_iter().flatten().chain([outcome, class, &number]);
        texts.collect::<Vec<_>>().join("\n").to_lowercase()
    });
    filter.to_lowercase().split_whitespace().all(|word| match word.strip_prefix("exit:") {
        Some(exit) => {
            let (which, code) = exit.split_once('=').unwrap_or(("", exit));
            let code = code.parse().ok();
            let is_agents = which != "validation" && entry.exit().agent == code;
            code.is_some() && (is_agents || which != "agent" && entry.exit().validation == code)
        }
        None => text.contains(word),
    })
}
