//! Phases and boxes.

use std::collections::{BTreeMap, BTreeSet};

use super::{brief, title};
use crate::record::Outcome;
use crate::tasks::{Item, TaskList};
use crate::view::style::Count;
use crate::view::tui::page::Section;
use crate::view::tui::row::{Look, Row, shown};
use crate::view::tui::source::SessionRow;

/// Cells of a bar.
const BAR: usize = 20;

/// `██████░░░░`
pub fn bar(done: usize, all: usize, cells: usize) -> [String; 2] {
    let full = (done * cells).checked_div(all).unwrap_or(0).min(cells);
    ["█".repeat(full), "░".repeat(cells - full)]
}

pub fn sections(session: &SessionRow, list: Option<&[u8]>) -> Vec<Section> {
    let Some(bytes) = list else {
        return vec![Section::plain(vec![Row::of(Look::Dim, "this record has no task list")])];
    };
    let list = match TaskList::parse(bytes) {
        Ok(list) => list,
        Err(error) => return vec![Section::plain(vec![Row::of(Look::Bad, brief(&format!("{error:#}")))])],
    };
    let mut failures: BTreeMap<&str, usize> = BTreeMap::new();
    let mut skipped: BTreeSet<&str> = BTreeSet::new();
    for row in session.iterations.iter() {
        let Some(task) = row.task.as_deref() else { continue };
        match row.outcome {
            Outcome::Failure => *failures.entry(task).or_default() += 1,
            Outcome::Skipped => drop(skipped.insert(task)),
            Outcome::Success | Outcome::Interrupted => {}
        }
    }
    let running = session.in_flight().map(|running| running.task.name.as_str());
    let mut phases: Vec<(Option<&str>, Vec<&Item>)> = Vec::new();
    for item in &list.items {
        let phase = item.phase.as_deref();
        match phases.last_mut() {
            Some((current, items)) if *current == phase => items.push(item),
            _ => phases.push((phase, vec![item])),
        }
    }
    let progress = |name: Row, items: &[&Item]| {
        let tasks = || items.iter().filter(|item| item.is_task());
        let (done, all) = (tasks().filter(|item| item.done).count(), tasks().count());
        let [full, rest] = bar(done, all, BAR);
        name.and(Look::Good, format!("  {full}"))
            .and(Look::Dim, rest)
            .and(Look::Plain, format!(" {done}/{all}"))
    };
    let everything: Vec<&Item> = list.items.iter().collect();
    let mut sections = vec![Section::plain(vec![progress(title("All tasks"), &everything)])];
    for (phase, items) in &phases {
        let rows = items.iter().map(|item| {
            let indent = "  ".repeat(item.depth + 1);
            let is_running = running == Some(item.name.as_str());
            let (look, mark) = match () {
                () if is_running => (Look::Accent, "●"),
                () if item.done => (Look::Good, "✔"),
                () if skipped.contains(item.name.as_str()) => (Look::Warn, "»"),
                () if failures.contains_key(item.name.as_str()) => (Look::Bad, "✘"),
                () => (Look::Dim, "·"),
            };
            let name = if item.is_task() { item.name.as_str() } else { "" };
            let mut row = Row::of(look, format!("{indent}{mark} {} ", shown(name)))
                .and(if item.done { Look::Dim } else { Look::Plain }, brief(&item.text));
            if let Some(times) = failures.get(item.name.as_str()).filter(|_| item.is_task()) {
                row = row.and(Look::Bad, format!("  {}", Count(*times as u64, "failure")));
            }
            row
        });
        let name = title(brief(phase.unwrap_or("(no heading)")));
        sections.push(Section::titled(progress(name, items), rows.collect()));
    }
    if list.items.is_empty() {
        sections.push(Section::plain(vec![Row::of(Look::Dim, "no task-list items")]));
    }
    if !list.unrecognised.is_empty() {
        let rows =
            list.unrecognised.iter().map(|odd| Row::of(Look::Warn, format!("  {}", shown(&odd.to_string()))));
        sections.push(Section::titled(title("Boxes that Markdown does not know"), rows.collect()));
    }
    sections
}
