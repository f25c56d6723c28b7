//! A session at a glance: how far it is, what it costs, what fails, and what was learned.

use tasklist::Item;

use crate::ending::{attempts, cost};
use crate::needs::{changed, false_claims, spent};
use crate::style::{duration, sign};
use crate::tui::page::Section;
use crate::tui::row::{Look, Row};
use crate::tui::source::{IterationRow, SessionRow, Source};
use ralph_core::record::{DiffStat, NotDone, Outcome, RALPH, TrailerCounts, hint_command};
use ralph_core::summary::not_done;
use ralph_project::tasks::parse;

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

pub fn sections(
    session: &SessionRow,
    list: Option<&[u8]>,
    learnings: &Learnings,
    changes: Option<DiffStat>,
) -> Vec<Section> {
    let list = list.and_then(|bytes| parse(bytes).ok()).unwrap_or_default();
    let mut needs = not_done(session.iterations.iter().map(IterationRow::facts), &list);
    needs.retain(NotDone::needs_you);
    let open = needs_rows(&needs);
    let mut sections = vec![Section::plain(head(session, &list.items, changes))];
    let everything: Vec<&Item> = list.items.iter().collect();
    let digits = everything.len().to_string().len();
    let phases: Vec<Row> = everything
        .chunk_by(|one, other| one.phase == other.phase)
        .map(|items| {
            let name = brief(items[0].phase.as_deref().unwrap_or("(no heading)"));
            let bar = progress(items, digits);
            let indent = bar.width();
            bar.and(Look::Plain, name).indented(indent)
        })
        .collect();
    let learned: Vec<Row> = learnings
        .iter()
        .map(|(number, words)| {
            Row::of(Look::Dim, format!("{:>4}  ", format!("#{number}")))
                .and(Look::Plain, brief(words))
                .indented(6)
        })
        .collect();
    let parts = [("Needs you", open), ("Phases", phases), ("Learned", learned)];
    for (name, rows) in parts.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        sections.push(Section::titled(title(name), rows));
    }
    sections
}

/// How far it is, what it took, and how long the rest takes at this pace.
fn head(session: &SessionRow, items: &[Item], changes: Option<DiffStat>) -> Vec<Row> {
    let (look, mark) = status_sign(session.status);
    let state = Row::of(look, format!("{mark} {}", words_of(session)));
    let everything: Vec<&Item> = items.iter().collect();
    let TrailerCounts { tasks_done: done, tasks_open: open } = session.tasks;
    let tasks = if everything.is_empty() {
        Row::of(Look::Plain, format!("{done}/{}", done + open))
    } else {
        progress(&everything, 1)
    };
    let rows = session.iterations.as_slice();
    let totals = session.totals();
    let time: u64 = rows.iter().filter_map(|row| row.duration_ms).sum();
    let mut took = vec![attempts(&totals)];
    took.extend((totals.failed > 0).then(|| format!("{} failed", totals.failed)));
    took.push(duration(session.started_at.ms_until(session.last_at)));
    let finished = totals.succeeded;
    if let Some(sum) = cost(&totals.cost) {
        took.push(sum);
        let each = totals
            .cost
            .usd
            .filter(|_| finished > 0)
            .map(|usd| usd / f64::from(u32::try_from(finished).unwrap_or(1)));
        took.extend(each.map(|usd| format!("${usd:.2} a task")));
    }
    let left = (time / (finished as u64).max(1)).saturating_mul(open as u64);
    let pace = (session.live.is_some() && finished > 0 && open > 0)
        .then(|| Row::of(Look::Accent, format!("about {} left at this pace", duration(left))));
    let claims: Vec<u32> = rows.iter().filter(|row| row.has_false_claim).map(|row| row.number).collect();
    let changes = changes.map(|stat| Row::of(Look::Plain, changed(stat)));
    let claims = false_claims(&claims).map(|claims| Row::of(Look::Warn, claims));
    [state, tasks.and(Look::Dim, format!("{open} open")), Row::of(Look::Plain, took.join(" · ")).indented(2)]
        .into_iter()
        .chain(changes)
        .chain(claims)
        .chain(pace)
        .collect()
}

/// The tasks that only a person can bring on, each with its last cause; of a list that cannot be read, none.
fn needs_rows(needs: &[NotDone]) -> Vec<Row> {
    let rows = needs.iter().flat_map(|task| {
        let (look, mark) = sign(if task.is_skipped { Outcome::Skipped } else { Outcome::Failure });
        let head = Row::of(look, format!(" {mark} "))
            .and(Look::Plain, brief(&format!("{}  {}", task.task, task.title)))
            .indented(3);
        let facts = format!("   #{}, {}", task.iteration, spent(task));
        let facts = Row::of(Look::Dim, brief(&facts)).indented(3);
        let cause = task.cause.as_ref();
        let cause = cause.map(|cause| Row::of(Look::Bad, format!("   {}", brief(cause))).indented(3));
        [head, facts].into_iter().chain(cause)
    });
    let command = needs.first().map(|task| format!("   {}", hint_command(RALPH, &task.task)));
    rows.chain(command.map(|command| Row::of(Look::Dim, brief(&command)).indented(3))).collect()
}
