//! One failure for task after task: more likely the validation or its surroundings than the tasks.

use std::collections::BTreeSet;

use ralph_core::config::Until;
use ralph_core::record::{Iteration, RALPH, StopReason, TaskName, join_truncated};

use super::running::{Ending, Running};

/// Tasks in a row that must fail in the same way to count as a common failure.
const MIN_TASKS: usize = 3;

/// Maximum number of tasks that an ending names.
const MAX_NAMED_TASKS: usize = 5;

/// Tasks in a row whose failure is said to be none of theirs, if it names nothing that they changed.
const MIN_ALIKE: usize = 2;

impl Running<'_> {
    /// Ends the session for a validation that fails as it did before the first attempt, over two tasks, or twice where there
    /// is only one to do: no task is given up for it.
    pub(super) fn fails_as_before(&self) -> Option<Ending> {
        let tasks = self.past.history.failed_as_before();
        if tasks.len() < 2 {
            return None;
        }
        let attempts = tasks.len();
        let tasks: BTreeSet<&TaskName> = tasks.into_iter().collect();
        let why = format!(
            "{attempts} attempts at {} failed alike, and the validation failed before them, too",
            join_truncated(&Vec::from_iter(tasks), MAX_NAMED_TASKS)
        );
        // The screens name the command that sets another validation.
        let hint = self.judging.why_nothing_can_be_done();
        let hint =
            hint.map(|_| "if these failures are known: --set validation.pass=no-new-failures".to_owned());
        Some(Ending { why: Some(why), hint, ..Ending::of(StopReason::ValidationUnusable) })
    }

    /// Says once of a failure that two tasks in a row have in common, and that names nothing that one of them changed, that it
    /// may lie outside of them: the validation passed before.
    fn warn_of_surroundings(&mut self, tasks: &[TaskName], iteration: &Iteration) {
        let cause = iteration.cause().into_owned();
        if tasks.len() != MIN_ALIKE
            || !self.past.history.last_failed_validation()
            || self.past.last_green.last_passing.is_none()
            || self.past.history.common_failure_names_changed()
        {
            return;
        }
        self.warn(format!(
            "{} failed alike, by nothing that they changed: {cause}\nhint: the validation passed before; is \
             something around it missing: a database, a port, space on the disk, a registry?",
            tasks.join(" and ")
        ));
    }

    /// Reports a failure that several tasks in a row have in common, and ends the session for it if the user wants that.
    pub(super) fn common_failure(&mut self, iteration: &Iteration) -> Option<Ending> {
        let tasks: Vec<TaskName> = self.past.history.tasks_of_common_failure().into_iter().cloned().collect();
        if self.plan.job.until == Until::Tasks {
            self.warn_of_surroundings(&tasks, iteration);
        }
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
