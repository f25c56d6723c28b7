//! A session at a glance: how far it is, what it costs, what fails, and what was learned.

use std::collections::BTreeMap;

use tasklist::Item;

use crate::record::{Cost, Outcome};
use crate::tasks::parse;
use crate::view::row::{Columns, IterationLine};
use crate::view::style::{Count, duration};
use crate::view::tui::page::Section;
use crate::view::tui::row::{Look, Row};
use crate::view::tui::source::{IterationRow, SessionRow, Source};

use super::tasks::progress;
use super::words::{brief, status_sign, title, words_of};

/// The newest learnings, each with the iteration that it is of.
pub type Learnings = Vec<(u32, String)>;

/// Most learnings, and iterations that are read for them.
const MAX_LEARNINGS: usize = 8;
const MAX_READ: usize = 20;

/// What the agents of a session learned last. An iteration that cannot be read is passed over.
pub fn learnings(source: &dyn Source, session: &SessionRow) -> Learnings {
    let mut found = Learnings::new();
    let ran = session.iterations.iter().rev().filter(|row| row.outcome != Outcome::Skipped);
    for row in ran.take(MAX_READ) {
        for words in source.iteration(&row.commit).map(|iteration| iteration.learnings).unwrap_or_default() {
            if !found.iter().any(|(_, known)| *known == words) {
                found.push((row.number, words));
            }
        }
    }
    found.truncate(MAX_LEARNINGS);
    found
}

pub fn sections(session: &SessionRow, list: Option<&[u8]>, learnings: &Learnings) -> Vec<Section> {
    let items = list.and_then(|bytes| parse(bytes).ok()).map(|list| list.items).unwrap_or_default();
    let mut sections = vec![Section::plain(head(session, &items))];
    let everything: Vec<&Item> = items.iter().collect();
    let digits = everything.len().to_string().len();
    let phases: Vec<Row> = everything
        .chunk_by(|one, other| one.phase == other.phase)
        .map(|items| {
            let name = brief(items[0].phase.as_deref().unwrap_or("(no heading)"));
            progress(items, digits).and(Look::Plain, name)
        })
        .collect();
    let open = open_failures(session);
    let learned: Vec<Row> = learnings
        .iter()
        .map(|(number, words)| {
            Row::of(Look::Dim, format!("{:>4}  ", format!("#{number}")))
                .and(Look::Plain, brief(words))
                .indented(6)
        })
        .collect();
    let parts = [("Phases", phases), ("Not done", open), ("Learned", learned)];
    for (name, rows) in parts.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        sections.push(Section::titled(title(name), rows));
    }
    sections
}

/// How far it is, what it took, and how long the rest takes at this pace.
fn head(session: &SessionRow, items: &[Item]) -> Vec<Row> {
    let (look, mark) = status_sign(session.status);
    let state = Row::of(look, format!("{mark} {}", words_of(session)));
    let everything: Vec<&Item> = items.iter().collect();
    let (done, open) = (session.tasks_done, session.tasks_open);
    let tasks = if everything.is_empty() {
        Row::of(Look::Plain, format!("{done}/{}", done + open))
    } else {
        progress(&everything, 1)
    };
    let rows = session.iterations.as_slice();
    let failed = rows.iter().filter(|row| row.is_failed()).count();
    let time: u64 = rows.iter().map(IterationRow::time_ms).sum();
    let cost = rows.iter().fold(Cost::default(), |cost, row| cost.plus(row.cost));
    let mut took = vec![Count(rows.len() as u64, "iteration").to_string()];
    took.extend((failed > 0).then(|| format!("{failed} failed")));
    took.push(duration(time));
    let finished = rows.iter().filter(|row| row.outcome == Outcome::Success).count();
    if let Some(sum) = cost.shown() {
        took.push(sum);
        let each = cost
            .usd
            .filter(|_| finished > 0)
            .map(|usd| usd / f64::from(u32::try_from(finished).unwrap_or(1)));
        took.extend(each.map(|usd| format!("${usd:.2} a task")));
    }
    let left = (time / (finished as u64).max(1)).saturating_mul(open as u64);
    let pace = (session.live.is_some() && finished > 0 && open > 0)
        .then(|| Row::of(Look::Accent, format!("about {} left at this pace", duration(left))));
    [state, tasks.and(Look::Dim, format!("{open} open")), Row::of(Look::Plain, took.join(" · "))]
        .into_iter()
        .chain(pace)
        .collect()
}

/// The last attempt at each task that is not done, newest first.
fn open_failures(session: &SessionRow) -> Vec<Row> {
    let mut last: BTreeMap<&str, &IterationRow> = BTreeMap::new();
    for row in session.iterations.iter() {
        let Some(task) = row.task.as_deref() else { continue };
        match row.outcome {
            // A skip says less than the failure before it.
            Outcome::Skipped if last.contains_key(task) => {}
            Outcome::Success => drop(last.remove(task)),
            Outcome::Failure | Outcome::Skipped | Outcome::Interrupted | Outcome::Later(_) => {
                last.insert(task, row);
            }
        }
    }
    let mut open: Vec<&IterationRow> = last.into_values().collect();
    open.sort_by_key(|row| std::cmp::Reverse(row.number));
    let lines: Vec<IterationLine<'_>> = open.iter().map(|row| row.line()).collect();
    let columns = Columns::of(&lines, None, false);
    let rows = lines.iter().flat_map(|line| {
        let bare = IterationLine { note: "".into(), repeats: None, ..line.clone() };
        let cause =
            (!line.note.is_empty()).then(|| Row::of(Look::Bad, format!("      {}", line.note)).indented(6));
        [Row::of_pieces(columns.pieces(&bare, None))].into_iter().chain(cause)
    });
    rows.collect()
}
