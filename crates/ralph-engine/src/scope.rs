//! The part of the task list that a session works on.

use tasklist::{Item, Selection, TaskList, Unselectable};

use ralph_core::config::{FailedChanges, Unit, Until};
use ralph_core::history::History;
use ralph_core::record::{Task, TaskName, join_truncated};
use ralph_project::tasks::{copy_named, select};

use super::control::hints::hints_for_tasks;
use super::decide::question;
use super::loop_inputs::LoopInputs;
use super::units::{self, UnitTasks};

/// Maximum number of tasks that are named in a warning.
const MAX_NAMED: usize = 5;

impl LoopInputs<'_> {
    /// Returns the tasks of the scope as the list is now; `None` for all of them.
    pub(super) fn part(&self, tasks: &TaskList) -> Result<Option<Selection>, Unselectable> {
        select(tasks, &self.scope)
    }

    /// Returns true if a task of this list is one that the session is about. What cannot be found any more may be.
    pub(super) fn is_in_scope(&self, tasks: &TaskList, task: &Item) -> bool {
        self.part(tasks).ok().flatten().is_none_or(|part| part.has(&task.name))
    }

    /// Returns true if the list asks for tests that must fail first and the user wants one task at a time.
    pub(super) fn has_failing_tests(&self, tasks: &TaskList) -> bool {
        let settings = &self.config.settings;
        self.job.until == Until::Tasks
            && settings.unit == Unit::Task
            && settings.has_validation()
            && tasks.has_tests_that_fail_first()
    }

    /// Names the lines that only say again what another one says, if there are more than `known`.
    pub(super) fn copies(&self, tasks: &TaskList, known: usize) -> Option<String> {
        let copies: Vec<String> = tasks.duplicates().map(copy_named).collect();
        (self.job.until == Until::Tasks && copies.len() > known).then(|| {
            let names = join_truncated(&copies, MAX_NAMED);
            format!("the task list says tasks twice; a copy does not count: {names}")
        })
    }

    /// Names what tasks of the scope wait for that the session will not do.
    pub(super) fn waits_outside(&self, tasks: &TaskList) -> Option<String> {
        let part = self.part(tasks).ok().flatten()?;
        let waits: Vec<String> = tasks.waits_outside(&part).iter().map(ToString::to_string).collect();
        (!waits.is_empty())
            .then(|| format!("outside of {}: {}", self.scope, join_truncated(&waits, MAX_NAMED)))
    }

    /// What happens to the changes of a skipped task. A test that fails until its code is there is work, not damage.
    pub(super) fn on_skip(&self, has_failing_tests: bool) -> FailedChanges {
        // A lane is taken to the tip of its branch before each attempt.
        if self.work_tree.lane().is_some() || has_failing_tests && !self.config.is_set("on-skip") {
            return FailedChanges::Keep;
        }
        self.config.settings.on_skip
    }

    /// Returns what an iteration on `task` is asked to do, where that is more than this task.
    pub(super) fn unit_tasks(
        &self,
        tasks: &TaskList,
        task: &str,
        history: &History,
        given_up: &[TaskName],
    ) -> Option<UnitTasks> {
        let unit = self.config.settings.unit_now();
        self.with_wanted(tasks, history, given_up, |part, is_left_out| {
            units::unit_tasks(tasks, task, unit, part, is_left_out)
        })
    }

    /// Returns what is left of the unit of `task` as the list is now; `None` if each task is for itself. `asked_for` are
    /// the tasks that the iteration was asked for: what was done together is committed together.
    pub(super) fn rest_of_unit(
        &self,
        tasks: &TaskList,
        task: &Task,
        asked_for: &[TaskName],
        history: &History,
        given_up: &[TaskName],
    ) -> Option<UnitTasks> {
        let unit = self.config.settings.unit_now();
        self.with_wanted(tasks, history, given_up, |part, is_left_out| {
            let rest = units::open_tasks(tasks, &task.name, unit, part, is_left_out);
            let is_apart = rest.is_none() && unit == Unit::Auto && !asked_for.is_empty();
            if !is_apart {
                return rest;
            }
            let whole = units::of_story_or_phase(tasks, &task.name, part, is_left_out)?;
            Some(UnitTasks { tasks: Vec::new(), ..whole })
        })
    }

    /// Calls `find` with the tasks that may be asked for: those of the scope, and which of them were given up or ask.
    fn with_wanted<T>(
        &self,
        tasks: &TaskList,
        history: &History,
        given_up: &[TaskName],
        find: impl FnOnce(Option<&Selection>, &dyn Fn(&str) -> bool) -> Option<T>,
    ) -> Option<T> {
        if self.job.until != Until::Tasks {
            return None;
        }
        let (part, hints) = (self.part(tasks).ok().flatten(), hints_for_tasks(self));
        find(part.as_ref(), &|name| {
            history.is_skipped(name)
                || given_up.iter().any(|task| task == name)
                || question(history, &hints, name).is_some()
        })
    }
}
