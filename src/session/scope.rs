//! The part of the task list that a session works on.

use tasklist::{Item, Selection, TaskList, Unselectable};

use crate::record::some_of;
use crate::tasks::select;

use super::running::Running;

/// So many tasks are named in a warning.
const MAX_NAMED: usize = 5;

impl Running<'_> {
    /// The tasks of the scope as the list is now; `None` for all of them.
    pub(super) fn part(&self, tasks: &TaskList) -> Result<Option<Selection>, Unselectable> {
        select(tasks, &self.plan.scope)
    }

    /// Whether a task of this list is one that the session is about. What cannot be found any more may be.
    pub(super) fn is_in_scope(&self, tasks: &TaskList, task: &Item) -> bool {
        self.part(tasks).ok().flatten().is_none_or(|part| part.has(&task.name))
    }

    /// Names what tasks of the scope wait for that the session will not do.
    pub(super) fn warn_of_waits_outside(&mut self, tasks: &TaskList) {
        let Ok(Some(part)) = self.part(tasks) else { return };
        let waits: Vec<String> = tasks.waits_outside(&part).iter().map(ToString::to_string).collect();
        if !waits.is_empty() {
            self.warn(format!("outside of {}: {}", self.plan.scope, some_of(&waits, MAX_NAMED)));
        }
    }
}
