//! The part of the task list that a session works on.

use tasklist::{Item, Selection, TaskList, Unselectable};

use crate::config::{FailedChanges, Settings, Unit, Until};
use crate::project_files::MAX_TASK_LIST_BYTES;
use crate::record::{Task, join_truncated};
use crate::tasks::select;

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

    /// Proposes to ask for tests and their code at once, where the list asks for tests that must fail first.
    pub(super) fn warn_of_tests_that_fail_first(&mut self, tasks: &TaskList) {
        let Settings { unit, validation_command, .. } = &self.plan.config.settings;
        let feature = self.plan.feature;
        if self.plan.job.until != Until::Tasks || *unit != Unit::Task || validation_command.is_none() {
            return;
        }
        let Ok(source) = feature.files.read(&feature.tasks_path, MAX_TASK_LIST_BYTES) else { return };
        self.task_watch.has_failing_tests =
            tasks.has_tests_that_fail_first(&String::from_utf8_lossy(&source));
        if self.task_watch.has_failing_tests {
            let unit = if tasks.stories().is_empty() { "phase" } else { "story" };
            self.warn(format!(
                "the list asks for tests that fail first, so the validation fails between a test and its code: \
                 `--unit {unit}` asks for both at once"
            ));
        }
    }

    /// What happens to the changes of a skipped task. A test that fails until its code is there is work, not damage.
    pub(super) fn on_skip(&self) -> FailedChanges {
        if self.task_watch.has_failing_tests && !self.plan.config.is_set("on-skip") {
            return FailedChanges::Keep;
        }
        self.plan.config.settings.on_skip
    }

    /// Returns what an iteration on `task` is asked to do, where that is more than this task.
    pub(super) fn unit_tasks(&self, tasks: &TaskList, task: &str) -> Option<UnitTasks> {
        self.open_of_unit(tasks, task).filter(|open| open.tasks.len() > 1)
    }

    /// Returns what is left of the unit of `task` as the list is now; `None` if each task is for itself.
    pub(super) fn rest_of_unit(&mut self, task: &Task) -> Option<UnitTasks> {
        let tasks = self.read_tasks().ok()?;
        self.open_of_unit(&tasks, &task.name)
    }

    fn open_of_unit(&self, tasks: &TaskList, task: &str) -> Option<UnitTasks> {
        let part = self.part(tasks).ok().flatten();
        let is_wanted = |name: &str| {
            part.as_ref().is_none_or(|part| part.has(name)) && !self.past.history.is_skipped(name)
        };
        let is_of_tasks = self.plan.job.until == Until::Tasks;
        let unit = self.plan.config.settings.unit;
        is_of_tasks.then(|| units::open_tasks(tasks, task, unit, &is_wanted)).flatten()
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
