//! The tasks that a session leaves to somebody.

use std::borrow::Cow;

use tasklist::TaskList;

use crate::record::{Cost, LogEntry, NotDone, Outcome};

/// What a record says of an attempt at a task.
#[derive(Debug, Clone)]
pub struct Attempt<'a> {
    pub task: Cow<'a, str>,
    pub iteration: u32,
    pub outcome: Option<Outcome>,
    /// True if it counts; see [`LogEntry::is_run`].
    pub is_run: bool,
    pub cost: Cost,
    pub cause: Option<Cow<'a, str>>,
}

impl<'a> Attempt<'a> {
    /// Returns `None` for records that are not about a task.
    pub fn of_entry(entry: &'a LogEntry) -> Option<Self> {
        Some(Self {
            task: entry.task.as_deref()?.into(),
            iteration: entry.iteration?,
            outcome: entry.outcome,
            is_run: entry.is_run(),
            cost: entry.cost(),
            cause: entry.cause.as_deref().map(Cow::from),
        })
    }
}

/// Returns the open tasks that were tried, in the order of their first attempts.
pub fn not_done<'a>(attempts: impl Iterator<Item = Attempt<'a>>, tasks: &TaskList) -> Vec<NotDone> {
    let mut found: Vec<NotDone> = Vec::new();
    for attempt in attempts {
        let Some(item) = tasks.find(&attempt.task).filter(|item| !item.done) else { continue };
        let place = found.iter().position(|known| known.task == attempt.task).unwrap_or_else(|| {
            let waits = |other: &&tasklist::Item| {
                other.is_task() && !other.done && item.id.iter().any(|id| other.depends_on.contains(id))
            };
            found.push(NotDone {
                task: attempt.task.to_string(),
                title: item.text.clone(),
                is_skipped: false,
                attempts: 0,
                cause: None,
                iteration: attempt.iteration,
                cost_usd: None,
                blocks: tasks.tasks().filter(waits).map(|other| other.name.clone()).collect(),
            });
            found.len() - 1
        });
        let known = &mut found[place];
        known.attempts += u32::from(attempt.is_run);
        known.is_skipped = attempt.outcome == Some(Outcome::Skipped);
        known.cost_usd = Cost { usd: known.cost_usd, is_partial: false }.plus(attempt.cost).usd;
        if attempt.outcome == Some(Outcome::Failure) {
            known.iteration = attempt.iteration;
            known.cause = attempt.cause.map(Cow::into_owned);
        }
    }
    found
}
