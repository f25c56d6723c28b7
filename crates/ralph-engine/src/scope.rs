//! The part of the task list that a session works on.

use tasklist::{Item, Selection, TaskList, Unselectable};

use ralph_core::config::{FailedChanges, Unit, Until};
use ralph_core::record::{Task, TaskName, join_truncated};
use ralph_project::tasks::{copy_named, select};

use super::control::hints::hints_for_tasks;
use super::decide::question;
use super::running::Running;
use super::units::{self, UnitTasks};

/// Maximum number of tasks that are named in a warning.
const MAX_NAMED: usize = 5;

impl Running<'_> {
    /// Returns the tasks of the scope as the list is now; `None` for all of them.
    pub(super) fn part(&self, tasks: &TaskList) -> Result<Option<Selection>, Unselectable> {
        select(tasks, &self.plan.scope)
    }

    /// Returns true if a task of this list is one that the session is about. What cannot be found any more may be.
    pub(super) fn is_in_scope(&self, tasks: &TaskList, task: &Item) -> bool {
        self.part(tasks).ok().flatten().is_none_or(|part| part.has(&task.name))
    }

    /// Proposes to ask for tests and their code at once, where the list asks for tests that must fail first and the user
    /// wants one task at a time.
    pub(super) fn warn_of_tests_that_fail_first(&mut self, tasks: &TaskList) {
        let settings = &self.plan.config.settings;
        if self.plan.job.until != Until::Tasks || settings.unit != Unit::Task || !settings.has_validation() {
            return;
        }
        self.task_watch.has_failing_tests = tasks.has_tests_that_fail_first();
        if self.task_watch.has_failing_tests {
            self.warn(
                "the list asks for tests that fail first, so the validation fails between a test and its code: \
                 `--unit auto` asks for both at once"
                    .to_owned(),
            );
        }
    }

    /// Names the lines that only say again what another one says, if there are more than `known`.
    pub(super) fn warn_of_copies(&mut self, tasks: &TaskList, known: usize) {
        let copies: Vec<String> = tasks.duplicates().map(copy_named).collect();
        if self.plan.job.until == Until::Tasks && copies.len() > known {
            let names = join_truncated(&copies, MAX_NAMED);
            self.warn(format!("the task list says tasks twice; a copy does not count: {names}"));
        }
    }

    /// What happens to the changes of a skipped task. A test that fails until its code is there is work, not damage.
    pub(super) fn on_skip(&self) -> FailedChanges {
        // A lane is taken to the tip of its branch before each attempt.
        if self.plan.work_tree.lane().is_some() {
            return FailedChanges::Keep;
        }
        if self.task_watch.has_failing_tests && !self.plan.config.is_set("on-skip") {
            return FailedChanges::Keep;
        }
        self.plan.config.settings.on_skip
    }

    /// Returns what an iteration on `task` is asked to do, where that is more than this task.
    pub(super) fn unit_tasks(&self, tasks: &TaskList, task: &str) -> Option<UnitTasks> {
        let unit = self.plan.config.settings.unit_now();
        self.with_wanted(tasks, |part, is_left_out| units::unit_tasks(tasks, task, unit, part, is_left_out))
    }

    /// Returns what is left of the unit of `task` as the list is now; `None` if each task is for itself. `asked_for` are
    /// the tasks that the iteration was asked for: what was done together is committed together.
    pub(super) fn rest_of_unit(&mut self, task: &Task, asked_for: &[TaskName]) -> Option<UnitTasks> {
        let tasks = self.read_tasks().ok()?;
        let unit = self.plan.config.settings.unit_now();
        self.with_wanted(&tasks, |part, is_left_out| {
            let rest = units::open_tasks(&tasks, &task.name, unit, part, is_left_out);
            let is_apart = rest.is_none() && unit == Unit::Auto && !asked_for.is_empty();
            if !is_apart {
                return rest;
            }
            let whole = units::of_story_or_phase(&tasks, &task.name, part, is_left_out)?;
            Some(UnitTasks { tasks: Vec::new(), ..whole })
        })
    }

    /// Calls `find` with the tasks that may be asked for: those of the scope, and which of them were given up or ask.
    fn with_wanted<T>(
        &self,
        tasks: &TaskList,
        find: impl FnOnce(Option<&Selection>, &dyn Fn(&str) -> bool) -> Option<T>,
    ) -> Option<T> {
        let part = self.part(tasks).ok().flatten();
        let (history, hints) = (&self.past.history, hints_for_tasks(&self.plan));
        if self.plan.job.until != Until::Tasks {
            return None;
        }
        find(part.as_ref(), &|name| {
            history.is_skipped(name)
                || self.state.given_up.iter().any(|task| task == name)
                || question(history, &hints, name).is_some()
        })
    }

    /// Names what tasks of the scope wait for that the session will not do.
    pub(super) fn warn_of_waits_outside(&mut self, tasks: &TaskList) {
        let Ok(Some(part)) = self.part(tasks) else { return };
        let waits: Vec<String> = tasks.waits_outside(&part).iter().map(ToString::to_string).collect();
        if !waits.is_empty() {
            self.warn(format!("outside of {}: {}", self.plan.scope, join_truncated(&waits, MAX_NAMED)));
        }
    }
}
