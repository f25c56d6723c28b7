//! One failure for task after task: more likely the validation or its surroundings than the tasks.

use ralph_core::config::Until;
use ralph_core::record::{Iteration, RALPH, TaskName};

use super::running::{Ending, Running};

/// Tasks in a row that must fail in the same way to count as a common failure.
const MIN_TASKS: usize = 3;

impl Running<'_> {
    /// Reports a failure that several tasks in a row have in common, and ends the session for it if the user wants that.
    pub(super) fn common_failure(&mut self, iteration: &Iteration) -> Option<Ending> {
        let tasks: Vec<TaskName> = self.past.history.tasks_of_common_failure().into_iter().cloned().collect();
        // Nothing is left to be spared, or it was reported already.
        if self.plan.job.until != Until::Tasks
            || tasks.len() < MIN_TASKS
            || tasks.starts_with(&self.state.common_failure) && !self.state.common_failure.is_empty()
        {
            return None;
        }
        let count = tasks.len();
        let question = if self.past.history.last_failed_validation() {
            ": is the validation itself broken?"
        } else {
            ""
        };
        let why = format!(
            "the same failure for {count} tasks{question} ({}: {})",
            tasks.join(", "),
            iteration.cause()
        );
        let hint = format!("`{RALPH} show {}` has its output", iteration.iteration);
        if !self.plan.config.settings.stop_on_common_failure {
            self.warn(format!("{why}\nhint: {hint}"));
            self.state.common_failure = tasks;
            return None;
        }
        let hint = format!("{hint}; with `stop-on-common-failure = false` the loop continues");
        Some(Ending::stuck(why, hint))
    }
}
