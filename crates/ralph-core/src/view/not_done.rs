//! The tasks that a session leaves to somebody.

use tasklist::{Item, TaskList};

use super::SessionView;
use crate::record::{FailureClass, NotDone, Outcome};

impl SessionView {
    /// Returns the open tasks that were tried, in the order of their first attempts.
    pub fn not_done(&self, tasks: &TaskList) -> Vec<NotDone> {
        let (totals, names) = (self.totals(), self.names());
        let mut found: Vec<NotDone> = Vec::new();
        for record in self.iterations() {
            for (task, verdict, _) in
                record.integration().into_iter().filter(|(_, verdict, _)| verdict.is_sent_back())
            {
                if let Some(known) = found.iter_mut().find(|known| known.task == task) {
                    known.iteration = record.number();
                    let by = names.mark(&record.session(), record.number());
                    let cause = record.task().map(|_| record.cause().unwrap_or_default().to_owned());
                    known.cause = Some(cause.unwrap_or_else(|| format!("sent back ({verdict}) in {by}")));
                }
            }
            let (Some(outcome), Some(task)) = (record.outcome(), record.task()) else { continue };
            let Some(item) = tasks.find(task).filter(|item| !item.is_settled()) else { continue };
            let place = found.iter().position(|known| known.task == task).unwrap_or_else(|| {
                let waits = |other: &&Item| {
                    let is_open = other.is_task() && !other.done;
                    is_open && item.id.iter().any(|id| other.depends_on.contains(id))
                };
                found.push(NotDone {
                    task: task.to_owned(),
                    title: item.text.clone(),
                    is_skipped: false,
                    asks: false,
                    attempts: totals.task_attempts.get(task).copied().unwrap_or_default(),
                    cause: None,
                    iteration: record.number(),
                    cost_usd: totals.task_costs.get(task).copied(),
                    blocks: tasks.tasks().filter(waits).map(|other| other.name.clone()).collect(),
                });
                found.len() - 1
            });
            let known = &mut found[place];
            if record.is_attempt() || outcome.is_without_run() {
                known.is_skipped = outcome == Outcome::Skipped;
                known.asks = record.failure_class().is_some_and(FailureClass::sets_aside);
            }
            if matches!(outcome, Outcome::Failure | Outcome::Checked) {
                known.iteration = record.number();
                known.cause = record.cause().map(str::to_owned);
            }
        }
        found
    }
}
