//! Phases and boxes.

use std::collections::{BTreeMap, BTreeSet};

use tasklist::Item;

use crate::style::{Count, bar};
use crate::tui::page::Section;
use crate::tui::row::{Look, Row, shown};
use crate::tui::source::SessionRow;
use ralph_core::record::Outcome;
use ralph_project::tasks::parse;

use super::words::{brief, title};

/// Cells of a bar.
const BAR: usize = 10;

/// What the iterations made of the tasks, up to the one that the list is of.
#[derive(Default)]
struct TaskHistory<'a> {
    failures: BTreeMap<&'a str, usize>,
    skipped: BTreeSet<&'a str>,
    running: Option<&'a str>,
}

impl<'a> TaskHistory<'a> {
    fn of(session: &'a SessionRow, after: Option<u32>) -> Self {
        let mut history = Self::default();
        let is_past = |number: u32| after.is_none_or(|last| number <= last);
        for row in session.iterations.iter().filter(|row| is_past(row.number)) {
            let Some(task) = row.task.as_deref() else { continue };
            match row.outcome {
                Outcome::Failure => *history.failures.entry(task).or_default() += 1,
                Outcome::Skipped => drop(history.skipped.insert(task)),
                Outcome::Success | Outcome::Interrupted | Outcome::Later(_) => {}
            }
        }
        let running = session.in_flight().filter(|running| is_past(running.number));
        history.running = running.map(|running| running.task.name.as_str());
        history
    }

    fn row(&self, item: &Item) -> Row {
        let indent = "  ".repeat(item.depth + 1);
        let task = item.name.as_str();
        let (look, mark) = match () {
            () if self.running == Some(task) => (Look::Accent, "●"),
            () if item.done => (Look::Good, "✔"),
            () if self.skipped.contains(task) => (Look::Warn, "»"),
            () if self.failures.contains_key(task) => (Look::Bad, "✘"),
            () => (Look::Dim, "·"),
        };
        let name = if item.is_task() { task } else { "" };
        let row = Row::of(look, format!("{indent}{mark} {} ", shown(name)));
        // In front of the text, which may be of any length.
        let row = match self.failures.get(task).filter(|_| item.is_task()) {
            Some(times) => row.and(Look::Bad, format!("{}  ", Count(*times as u64, "failure"))),
            None => row,
        };
        row.and(if item.done { Look::Dim } else { Look::Plain }, brief(&item.text))
    }
}

/// `12/140 ━━━━━━╌╌╌╌ `, in front of what it is of, so that no name takes its room.
pub(super) fn progress(items: &[&Item], digits: usize) -> Row {
    let tasks = || items.iter().filter(|item| item.is_task());
    let (done, all) = (tasks().filter(|item| item.done).count(), tasks().count());
    let [full, rest] = bar(done, all, BAR);
    let width = 2 * digits + 1;
    Row::of(Look::Plain, format!("{:>width$} ", format!("{done}/{all}")))
        .and(Look::Good, full)
        .and(Look::Dim, format!("{rest} "))
}

/// The list as it stood after that iteration; without one, as it stands.
pub fn sections(session: &SessionRow, list: Option<&[u8]>, after: Option<u32>) -> Vec<Section> {
    let Some(bytes) = list else {
        return vec![Section::plain(vec![Row::of(Look::Dim, "this record has no task list")])];
    };
    let list = match parse(bytes) {
        Ok(list) => list,
        Err(error) => return vec![Section::plain(vec![Row::of(Look::Bad, brief(&format!("{error:#}")))])],
    };
    let history = TaskHistory::of(session, after);
    let everything: Vec<&Item> = list.items.iter().collect();
    let digits = everything.iter().filter(|item| item.is_task()).count().to_string().len();
    let when = after.map_or(String::new(), |number| format!(", after iteration {number}"));
    let head = progress(&everything, digits + 1).and(Look::Bold, "All tasks").and(Look::Plain, when);
    let mut sections = vec![Section::plain(vec![head])];
    for items in everything.chunk_by(|one, other| one.phase == other.phase) {
        let name = brief(items[0].phase.as_deref().unwrap_or("(no heading)"));
        let rows = items.iter().map(|item| history.row(item)).collect();
        sections.push(Section::titled(progress(items, digits).and(Look::Bold, name), rows));
    }
    if list.items.is_empty() {
        sections.push(Section::plain(vec![Row::of(Look::Dim, "no task-list items")]));
    }
    if !list.unrecognised.is_empty() {
        let rows =
            list.unrecognised.iter().map(|odd| Row::of(Look::Warn, format!("  {}", shown(&odd.to_string()))));
        sections.push(Section::titled(title("Boxes with unknown marks"), rows.collect()));
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::page::Body;
    use crate::tui::samples::{running, session};

    const LIST: &str = "## Phase 1\n\n- [x] T001 One\n- [ ] T002 Two\n- [ ] T003 Three\n";

    fn rows(session: &SessionRow, after: Option<u32>) -> Vec<String> {
        let sections = sections(session, Some(LIST.as_bytes()), after);
        let text = |section: &Section| match &section.body {
            Body::Rows(rows) => rows.iter().map(Row::text).collect::<Vec<_>>(),
            Body::Window(_) | Body::Unread => Vec::new(),
        };
        sections.iter().flat_map(text).collect()
    }

    #[test]
    fn a_list_of_then_is_told_with_what_had_happened_by_then() {
        let session = running(session(2, "specs/001-login", "T001+ T002- T002- T002! T003-"));
        for (after, head, two, three) in [
            (Some(1), "1/3 ━━━╌╌╌╌╌╌╌ All tasks, after iteration 1", "· T002 Two", "· T003 Three"),
            (Some(2), "1/3 ━━━╌╌╌╌╌╌╌ All tasks, after iteration 2", "✘ T002 1 failure  Two", "· T003 Three"),
            (
                Some(4),
                "1/3 ━━━╌╌╌╌╌╌╌ All tasks, after iteration 4",
                "» T002 2 failures  Two",
                "· T003 Three",
            ),
            (None, "1/3 ━━━╌╌╌╌╌╌╌ All tasks", "» T002 2 failures  Two", "● T003 1 failure  Three"),
        ] {
            let rows = rows(&session, after);
            let history: Vec<&str> = rows.iter().map(|row| row.trim_start()).collect();
            assert_eq!(history, [head, "✔ T001 One", two, three]);
        }
    }
}
