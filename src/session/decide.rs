//! What comes next: the next task, or the reason to stop. Pure.

use std::time::Duration;

use tasklist::{Counts, Pick, Selection, TaskList};

use crate::config::Settings;
use crate::history::History;
use crate::record::{Limit, StopReason, Task, TaskName};

use super::units::{self, Boundary};

/// What a decision depends on besides tasks and history.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    pub settings: &'a Settings,
    /// Tokens so far, as far as agents reported them.
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub elapsed: Duration,
    /// True if a validation command is configured.
    pub is_validated: bool,
    /// True if an agent's promise was enough to end the session.
    pub is_promised: bool,
    /// Tasks that were open and left the list without being done.
    pub lost: &'a [TaskName],
}

/// What the session is about.
#[derive(Debug)]
pub enum Goal<'a> {
    /// All tasks of the list.
    All,
    /// These tasks of the list.
    Part(&'a Selection),
    /// This, which is none of the list, until it succeeds.
    This(Task),
}

#[derive(Debug)]
pub enum Decision {
    Go(Task),
    Stop {
        reason: StopReason,
        limit: Option<Limit>,
        /// What the user should know of it, a line each; for a checkpoint, what is done.
        why: Vec<String>,
    },
}

/// Returns true if nothing is left to do: no task is open, in the list or in the part of it that is worked on.
pub fn all_done(tasks: &TaskList, part: Option<&Selection>) -> bool {
    let Counts { done, open } = part.map_or_else(|| tasks.counts(), |part| tasks.counts_of(part));
    open == 0 && done > 0
}

pub fn decide(tasks: &TaskList, history: &History, bounds: &Bounds<'_>, wanted: Goal<'_>) -> Decision {
    // Completion is looked at before the limit: five tasks and `-n 5` end as completed.
    if bounds.is_promised {
        return stop(StopReason::Completed);
    }
    let is_done = match &wanted {
        Goal::All if tasks.tasks().next().is_none() => {
            return stuck(vec!["the task list has no tasks any more".to_owned()]);
        }
        Goal::All => all_done(tasks, None),
        Goal::Part(part) => all_done(tasks, Some(part)),
        Goal::This(_) if history.last_succeeded() => return stop(StopReason::Completed),
        Goal::This(_) => false,
    };
    if is_done && !bounds.lost.is_empty() {
        let lost = bounds.lost.join(", ");
        return stuck(vec![format!("no task is open, but {lost} left the list without being done")]);
    }
    if is_done {
        return if passes(history, bounds) {
            stop(StopReason::Completed)
        } else {
            stuck(vec!["no task is open, but the validation does not pass".to_owned()])
        };
    }
    let is_part_done = bounds.settings.stop_at.and_then(|unit| units::boundary(tasks, history, unit));
    match is_part_done {
        Some(Boundary::Reached(name)) if passes(history, bounds) => {
            return Decision::Stop { reason: StopReason::Checkpoint, limit: None, why: vec![name] };
        }
        Some(Boundary::Blocked(why)) => return stuck(why),
        Some(Boundary::Reached(_)) | None => {}
    }
    if let Some(limit) = reached(history, bounds) {
        return Decision::Stop { reason: StopReason::LimitReached, limit: Some(limit), why: Vec::new() };
    }
    if bounds.settings.stuck_after.is_some_and(|most| history.idle_streak() >= most) {
        return stuck(vec![format!("{} iterations in a row changed nothing", history.idle_streak())]);
    }
    let is_skipped = |name: &str| history.is_skipped(name);
    let pick = match wanted {
        Goal::This(task) => return Decision::Go(task),
        Goal::Part(part) => tasks.next_open_in(part, is_skipped),
        Goal::All => tasks.next_open(is_skipped),
    };
    match pick {
        Pick::Task(item) => Decision::Go(item.into()),
        Pick::NoneOpen => stop(StopReason::Completed),
        Pick::Blocked(blocked) => stuck(blocked.iter().map(ToString::to_string).collect()),
    }
}

/// Returns true if the last validation passed, where there is one.
fn passes(history: &History, bounds: &Bounds<'_>) -> bool {
    !bounds.is_validated || history.last_validation().is_none_or(|code| code == 0)
}

fn reached(history: &History, bounds: &Bounds<'_>) -> Option<Limit> {
    let &Settings { max_iterations, max_tokens, max_cost, max_duration, .. } = bounds.settings;
    let passed =
        |value: Option<f64>, limit: Option<f64>| matches!((value, limit), (Some(v), Some(l)) if v >= l);
    if history.runs() >= max_iterations {
        Some(Limit::Iterations)
    } else if matches!((bounds.tokens, max_tokens), (Some(tokens), Some(max)) if tokens >= max) {
        Some(Limit::Tokens)
    } else if passed(bounds.cost_usd, max_cost) {
        Some(Limit::Cost)
    } else if max_duration.is_some_and(|max| bounds.elapsed >= max) {
        Some(Limit::Duration)
    } else {
        None
    }
}

fn stop(reason: StopReason) -> Decision {
    Decision::Stop { reason, limit: None, why: Vec::new() }
}

fn stuck(why: Vec<String>) -> Decision {
    Decision::Stop { reason: StopReason::Stuck, limit: None, why }
}
