//! The tasks of a session under their phases, with what each took.

use serde::Serialize;

use crate::style::{duration, grouped};
use ralph_core::record::{Cost, Outcome, RALPH_ELSEWHERE};

use super::page_parts::are;
use super::task_rows::signs;
use super::units::short;
use super::{Report, State, TaskRow};

/// So few tasks are shown whole; of more, phases that are done are folded.
const FEW_TASKS: usize = 20;
/// Most rows, and most phases. Of more tasks, those that are done are only counted.
const MAX_ROWS: usize = 500;
/// Attempts that are shown as signs.
const MAX_SIGNS: usize = 12;

#[derive(Serialize)]
pub(super) struct TaskTable<'a> {
    phases: Vec<PhaseView<'a>>,
    left_out: Option<String>,
    /// What the last column has: the cost, or tokens where no agent says what it cost.
    spent: &'static str,
    /// What was spent on tasks that are not done.
    lost: Option<String>,
}

#[derive(Serialize)]
struct PhaseView<'a> {
    name: &'a str,
    done: usize,
    all: usize,
    spent: String,
    is_open: bool,
    tasks: Vec<TaskView<'a>>,
    /// Tasks that are counted and not shown.
    more: Option<String>,
}

#[derive(Serialize)]
struct TaskView<'a> {
    state: &'static str,
    mark: &'static str,
    state_in_words: &'static str,
    name: &'a str,
    text: &'a str,
    signs: String,
    signs_in_words: String,
    link: Option<u32>,
    time: String,
    spent: String,
}

pub(super) fn task_table(report: &Report) -> Option<TaskTable<'_>> {
    let tasks = report.tasks.as_slice();
    let is_priced = report.totals.cost.usd.is_some();
    let name = |task: &TaskRow| task.phase.as_deref().unwrap_or("Tasks").to_owned();
    let mut room = MAX_ROWS;
    let phases = tasks.chunk_by(|one, other| name(one) == name(other)).map(|group| {
        let open = group.iter().filter(|task| !is_done(task)).count();
        let shown = group.iter().filter(|task| tasks.len() <= MAX_ROWS || !is_done(task)).take(room);
        let shown: Vec<TaskView<'_>> = shown.map(|task| task_view(task, is_priced)).collect();
        room -= shown.len();
        let more = group.len() - shown.len();
        PhaseView {
            name: group[0].phase.as_deref().unwrap_or("Tasks"),
            done: group.len() - open,
            all: group.len(),
            spent: spent(group.iter(), is_priced),
            is_open: tasks.len() <= FEW_TASKS || open > 0,
            tasks: shown,
            more: (more > 0).then(|| format!("{} more", grouped(more as u64))),
        }
    });
    let mut phases: Vec<PhaseView<'_>> = phases.collect();
    let left_out = phases.len().saturating_sub(MAX_ROWS);
    // What is open is seen.
    phases.sort_by_key(|phase| left_out > 0 && phase.done == phase.all);
    phases.truncate(MAX_ROWS);
    let lost = spent(tasks.iter().filter(|task| !is_done(task)), is_priced);
    (!phases.is_empty()).then(|| TaskTable {
        phases,
        left_out: (left_out > 0)
            .then(|| format!("{} left out. {RALPH_ELSEWHERE} tasks lists all.", are(left_out, "more phase"))),
        spent: if is_priced { "Cost" } else { "Tokens" },
        lost: Some(lost).filter(|lost| !lost.is_empty()),
    })
}

fn is_done(task: &TaskRow) -> bool {
    matches!(task.state, State::Done | State::DoneBefore)
}

/// What tasks cost, or their tokens; nothing where nothing is known.
fn spent<'a>(tasks: impl Iterator<Item = &'a TaskRow>, is_priced: bool) -> String {
    let (mut cost, mut tokens) = (Cost::default(), None);
    for task in tasks {
        cost = cost.plus(task.cost);
        tokens = task.tokens.map_or(tokens, |more| Some(tokens.unwrap_or(0_u64).saturating_add(more)));
    }
    if is_priced { cost.shown() } else { tokens.map(short) }.unwrap_or_default()
}

fn task_view(task: &TaskRow, is_priced: bool) -> TaskView<'_> {
    let (state, mark, state_in_words) = match task.state {
        State::Done => ("done", "✔", "done"),
        State::DoneBefore => ("done_before", "✔", "done before"),
        State::Skipped => ("skipped", "»", "skipped"),
        State::Failing => ("failing", "✘", "tried and open"),
        State::Open => ("open", "○", "open"),
    };
    let older = task.tries.len().saturating_sub(MAX_SIGNS);
    let (shown, _) = signs(&task.tries[older..]);
    TaskView {
        state,
        mark,
        state_in_words,
        name: &task.name,
        text: &task.text,
        // One success says no more than the state.
        signs: if task.tries == [Outcome::Success] {
            String::new()
        } else {
            format!("{}{shown}", if older > 0 { "…" } else { "" })
        },
        signs_in_words: signs(&task.tries).1,
        link: task.iterations.last().copied(),
        time: if task.duration_ms > 0 { duration(task.duration_ms) } else { String::new() },
        spent: spent([task].into_iter(), is_priced),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::report;
    use super::*;

    /// `5x`: five tasks of a phase that are done; `3o`: open ones; `2s`: skipped ones.
    fn tasks(phases: &[&str]) -> Report {
        let row = |phase: usize, state: State| TaskRow {
            name: "T1".to_owned(),
            text: String::new(),
            phase: Some(format!("Phase {phase}")),
            state,
            tries: Vec::new(),
            iterations: Vec::new(),
            duration_ms: 0,
            tokens: None,
            cost: Cost { usd: Some(0.5), is_partial: false },
        };
        let words = phases.iter().enumerate().flat_map(|(phase, words)| {
            words.split_whitespace().map(move |word| (phase + 1, word.split_at(word.len() - 1)))
        });
        let rows = words.flat_map(|(phase, (count, state))| {
            let state = match state {
                "x" => State::Done,
                "s" => State::Skipped,
                _ => State::Open,
            };
            vec![row(phase, state); count.parse().unwrap()]
        });
        let mut made = report(Vec::new(), "");
        made.totals.cost = Cost { usd: Some(9.0), is_partial: false };
        made.tasks = rows.collect();
        made
    }

    #[test]
    fn every_task_is_counted_and_what_is_open_is_shown() {
        for (words, expected) in [
            (&["2x", "1x 1o"][..], "2/2 2, 1/2 2"),
            (&["140x", "300x", "100x 12o"], "140/140 0 +140, 300/300 0 +300, 100/112 12 +100"),
            (&["600o 7s", "2x"], "0/607 500 +107, 2/2 0 +2"),
        ] {
            let report = tasks(words);
            let table = task_table(&report).unwrap();
            let shown = table.phases.iter().map(|phase| {
                let more = phase.more.as_deref().and_then(|more| more.split(' ').next());
                let more = more.map_or(String::new(), |more| format!(" +{more}"));
                format!("{}/{} {}{more}", phase.done, phase.all, phase.tasks.len())
            });
            assert_eq!(shown.collect::<Vec<_>>().join(", "), expected);
        }
        assert!(task_table(&tasks(&[])).is_none());
    }

    #[test]
    fn a_phase_has_its_cost_and_what_was_lost_is_said() {
        let report = tasks(&["2x 1o", "2s"]);
        let table = task_table(&report).unwrap();
        let spent: Vec<&str> = table.phases.iter().map(|phase| phase.spent.as_str()).collect();
        assert_eq!((spent, table.lost.as_deref()), (vec!["$1.50", "$1.00"], Some("$1.50")));
    }

    #[test]
    fn of_very_many_phases_those_that_are_done_are_left_out() {
        let words: Vec<&str> = (0..700).map(|place| if place == 690 { "1o" } else { "1x" }).collect();
        let report = tasks(&words);
        let table = task_table(&report).unwrap();
        let open = table.phases.iter().filter(|phase| phase.done == 0).count();
        assert_eq!((table.phases.len(), open), (500, 1));
        let left_out = "200 more phases are left out. specify ralph tasks lists all.";
        assert_eq!(table.left_out.as_deref(), Some(left_out));
    }
}
