//! The tasks of a session: where they stand, and what they took.

use indexmap::IndexMap;
use serde::Serialize;
use tasklist::TaskList;

use crate::style::{counted, duration, joined};
use ralph_core::record::{Cost, Outcome, TaskName};

use super::ReportIteration;

/// The state of a task at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Brought to done in this session.
    Done,
    /// Done, but not by this session.
    DoneBefore,
    Skipped,
    /// Open, and it was tried.
    Failing,
    /// Open, and never tried.
    #[default]
    Open,
}

/// A task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TaskRow {
    pub name: TaskName,
    pub text: String,
    pub phase: Option<String>,
    pub state: State,
    /// The outcomes of its iterations, oldest first.
    pub tries: Vec<Outcome>,
    pub iterations: Vec<u32>,
    #[serde(skip)]
    pub attempts: usize,
    pub duration_ms: u64,
    pub tokens: Option<u64>,
    #[serde(flatten)]
    pub cost: Cost,
}

impl TaskRow {
    /// `3 attempts · $8.79 · 14 min 18 s`
    pub fn spent(&self) -> Option<String> {
        let attempts = counted(self.attempts as u64, "attempt");
        let cost = Cost { is_partial: false, ..self.cost }.shown();
        joined([Some(attempts), cost, Some(duration(self.duration_ms))], " · ")
    }
}

/// The tasks of the list in its order, and behind them what was worked on and is not in it.
pub fn of(list: &TaskList, iterations: &[ReportIteration]) -> Vec<TaskRow> {
    let items = list.items.iter().filter(|item| item.is_task()).map(|item| TaskRow {
        name: item.name.clone(),
        text: item.text.clone(),
        phase: item.phase.clone(),
        state: if item.done { State::DoneBefore } else { State::Open },
        ..TaskRow::default()
    });
    let mut rows: IndexMap<TaskName, TaskRow> = items.map(|row| (row.name.clone(), row)).collect();
    for ReportIteration { record, .. } in iterations {
        let Some(task) = &record.task else { continue };
        let row = rows.entry(task.clone()).or_insert_with(|| TaskRow {
            name: task.clone(),
            text: record.task_text.clone().unwrap_or_default(),
            phase: record.phase.clone(),
            ..TaskRow::default()
        });
        row.tries.push(record.outcome);
        row.iterations.push(record.iteration);
        row.attempts += usize::from(record.is_attempt());
        row.duration_ms = row.duration_ms.saturating_add(record.duration_ms.total().unwrap_or_default());
        row.cost = row.cost.plus(record.cost());
        row.tokens = match (row.tokens, record.tokens.total()) {
            (one, None) => one,
            (one, Some(more)) => Some(one.unwrap_or_default().saturating_add(more)),
        };
        if row.state != State::DoneBefore && row.state != State::Done {
            let is_skipped = record.outcome == Outcome::Skipped || row.state == State::Skipped;
            row.state = if is_skipped { State::Skipped } else { State::Failing };
        }
        for closed in &record.closed {
            if let Some(row) = rows.get_mut(closed) {
                row.state = State::Done;
            }
        }
    }
    rows.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::iterations;
    use super::*;

    #[test]
    fn tasks_stand_where_their_iterations_and_the_list_put_them() {
        let list = "- [x] T0 Zero\n- [x] T1 One\n- [ ] T2 Two\n- [ ] T3 Three\n- [ ] T4 Four\n";
        let list = TaskList::parse(list.as_bytes()).unwrap();
        let rows = of(&list, &iterations("T1-a T1+ T2-a T2! T3? T9-"));
        let shown: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.state, row.tries.len())).collect();
        assert_eq!(
            shown,
            [
                ("T0", State::DoneBefore, 0),
                ("T1", State::Done, 2),
                ("T2", State::Skipped, 2),
                ("T3", State::Failing, 1),
                ("T4", State::Open, 0),
                ("T9", State::Failing, 1),
            ]
        );
        assert_eq!(
            (rows[1].duration_ms, rows[1].tokens, rows[1].iterations.as_slice()),
            (20_000, Some(30), &[1, 2][..])
        );
    }
}
