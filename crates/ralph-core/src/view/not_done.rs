//! The tasks that a session leaves to somebody.

use tasklist::TaskList;

use crate::record::{Cost, FailureClass, LogEntry, NotDone, Outcome};

/// Returns the open tasks that were tried, in the order of their first attempts.
pub fn not_done<'a>(records: impl IntoIterator<Item = &'a LogEntry>, tasks: &TaskList) -> Vec<NotDone> {
    let mut found: Vec<NotDone> = Vec::new();
    for record in records {
        let (Some(outcome), Some(task)) = (record.outcome(), record.task()) else { continue };
        let is_attempt = record.is_attempt();
        let Some(item) = tasks.find(task).filter(|item| !item.is_settled()) else { continue };
        let place = found.iter().position(|known| known.task == task).unwrap_or_else(|| {
            found.push(NotDone {
                task: task.to_owned(),
                title: item.text.clone(),
                is_skipped: false,
                asks: false,
                attempts: 0,
                cause: None,
                iteration: record.number(),
                cost_usd: None,
                blocks: tasks
                    .tasks()
                    .filter(|other| {
                        other.is_task()
                            && !other.done
                            && item.id.iter().any(|id| other.depends_on.contains(id))
                    })
                    .map(|other| other.name.clone())
                    .collect(),
            });
            found.len() - 1
        });
        let known = &mut found[place];
        known.attempts += u32::from(is_attempt);
        if is_attempt || outcome.is_without_run() {
            known.is_skipped = outcome == Outcome::Skipped;
            known.asks = record.failure_class().is_some_and(FailureClass::sets_aside);
        }
        known.cost_usd = Cost { usd: known.cost_usd, is_partial: false }.plus(record.cost()).usd;
        if matches!(outcome, Outcome::Failure | Outcome::Checked) {
            known.iteration = record.number();
            known.cause = record.cause().map(str::to_owned);
        }
    }
    found
}
