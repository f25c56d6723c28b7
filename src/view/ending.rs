//! How a session ended, in words: the same on every screen.

use crate::record::{Limit, NotDone, Outcome, Session, Status, StopReason, Uncounted};

use super::style::{Count, grouped, one_line};

/// `10 of 45 tasks done`, or `all 45 tasks done`.
pub fn done(session: &Session) -> String {
    let all = session.tasks_done + session.tasks_remaining;
    match (session.tasks_done, all) {
        (_, 0) => "no tasks".to_owned(),
        (done, all) if done == all && all > 1 => format!("all {} done", Count(all as u64, "task")),
        (done, all) => format!("{} of {} done", grouped(done as u64), Count(all as u64, "task")),
    }
}

/// `stopped at the limit of 10 runs, 10 of 45 tasks done`. A limit is not a failure. `undone` as for [`stop`].
pub fn ending(session: &Session, undone: Option<&str>) -> String {
    let done = done(session);
    match stop(session, undone) {
        None => done,
        Some(how) => format!("{how}, {done}"),
    }
}

/// `2 skips, 2 cut short`: why the last number is not the number of iterations. `None` if it is.
pub fn uncounted(uncounted: Uncounted) -> Option<String> {
    let Uncounted { skips, cut_short } = uncounted;
    let skips = (skips > 0).then(|| Count(skips, "skip").to_string());
    let parts: Vec<String> = skips
        .into_iter()
        .chain((cut_short > 0).then(|| format!("{} cut short", grouped(cut_short))))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `47 iterations (not counted: 2 skips, 2 cut short)`
pub fn iterations(runs: u64, uncounted: Uncounted) -> String {
    let beside = self::uncounted(uncounted).map_or(String::new(), |words| format!(" (not counted: {words})"));
    format!("{}{beside}", Count(runs, "iteration"))
}

/// Why a session stopped; `None` if all tasks are done. `undone` names the tasks that it was stuck at.
pub fn stop(session: &Session, undone: Option<&str>) -> Option<String> {
    Some(match (session.status, session.stop_reason) {
        (Status::Completed, _) if session.tasks_remaining == 0 && session.tasks_done > 0 => return None,
        (Status::Completed, Some(StopReason::Checkpoint)) => "stopped at a checkpoint".to_owned(),
        (Status::Completed, _) => match &session.scope {
            Some(scope) => format!("completed ({})", one_line(&scope.to_string())),
            None => "completed".to_owned(),
        },
        (_, Some(StopReason::LimitReached)) => format!("stopped at {}", limit(session)),
        (_, Some(StopReason::Stuck)) => match undone {
            Some(tasks) => format!("stopped: {tasks} could not be done"),
            None => "stuck".to_owned(),
        },
        (_, Some(StopReason::AgentUnusable)) => "the agent could not be used".to_owned(),
        (_, Some(StopReason::ValidationUnusable)) => "the validation could not be run".to_owned(),
        (Status::Interrupted, _) | (_, Some(StopReason::Interrupted)) => "interrupted".to_owned(),
        (Status::Failed, _) => "failed".to_owned(),
        (Status::Running, _) => "running".to_owned(),
        (Status::Later(word), _) => word.as_str().to_owned(),
    })
}

/// `T019`, `T019 and T020`, or `3 tasks`; `None` where there are none. Names that could be read as anything but a name
/// are only counted: they come from outside.
pub fn named(tasks: &[&str]) -> Option<String> {
    let is_plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    match tasks {
        [] => None,
        [one] if is_plain(one) => Some((*one).to_owned()),
        [one, other] if is_plain(one) && is_plain(other) => Some(format!("{one} and {other}")),
        all => Some(Count(all.len() as u64, "task").to_string()),
    }
}

/// Returns the tasks that were skipped, or else all that were tried.
pub fn given_up(not_done: &[NotDone]) -> Vec<&str> {
    let has_skip = not_done.iter().any(|task| task.is_skipped);
    not_done.iter().filter(|task| task.is_skipped == has_skip).map(|task| task.task.as_str()).collect()
}

/// The tasks that a session skipped and did not do later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedTasks(Vec<String>);

impl SkippedTasks {
    /// Takes in the next record, oldest first.
    pub fn count(&mut self, task: &str, outcome: Outcome) {
        match outcome {
            Outcome::Skipped if !self.0.iter().any(|known| known == task) => self.0.push(task.to_owned()),
            Outcome::Success => self.0.retain(|known| known != task),
            Outcome::Skipped | Outcome::Failure | Outcome::Interrupted | Outcome::Later(_) => {}
        }
    }
}

impl FromIterator<String> for SkippedTasks {
    fn from_iter<I: IntoIterator<Item = String>>(tasks: I) -> Self {
        Self(tasks.into_iter().collect())
    }
}

/// Returns the state of a session in a few words: `completed`, `stopped (limit reached)`, `stopped: T019 could not be done`.
/// A limit is not a failure.
pub fn state(status: Status, reason: Option<StopReason>, skipped: &SkippedTasks) -> String {
    if (status, reason) == (Status::Failed, Some(StopReason::Stuck)) {
        let names: Vec<&str> = skipped.0.iter().map(String::as_str).collect();
        if let Some(tasks) = named(&names) {
            return format!("stopped: {tasks} could not be done");
        }
    }
    let is_stop = matches!(reason, Some(StopReason::LimitReached | StopReason::Stuck));
    let word = if status == Status::Failed && is_stop { "stopped".to_owned() } else { status.to_string() };
    match reason.map(|reason| reason.as_str().replace('_', " ")) {
        Some(reason) if reason != word => format!("{word} ({reason})"),
        _ => word,
    }
}

fn limit(session: &Session) -> String {
    match session.limit {
        None => "a limit".to_owned(),
        Some(Limit::Iterations) => {
            format!("the limit of {}", Count(u64::from(session.max_iterations), "run"))
        }
        Some(Limit::Duration) => "the limit of time".to_owned(),
        Some(Limit::Wait) => "the limit of waiting".to_owned(),
        Some(limit) => format!("the limit of {limit}"),
    }
}
