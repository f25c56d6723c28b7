//! Tasks that consist of their sub-tasks: the loop ticks their boxes with the last of these, without an agent.

use std::rc::Rc;

use anyhow::Result;
use tasklist::{Item, Mark, TaskList};

use ralph_core::config::Until;
use ralph_core::record::{Outcome, TaskName, join_truncated};
use ralph_project::feature::Feature;
use ralph_project::tasks::set_marks;

use super::judge::Verdict;
use super::running::Running;

/// Maximum number of tasks that a warning names.
const MAX_NAMED: usize = 5;

/// Ticks the tasks of a list of which all sub-tasks are done. Returns their names.
pub(super) fn close_finished(feature: &Feature, tasks: &TaskList) -> Result<Vec<TaskName>> {
    let finished: Vec<&Item> = tasks.finished_parents();
    Ok(set_marks(&feature.files, &feature.tasks_path, tasks, &finished, Mark::Done)?.changed)
}

impl Running<'_> {
    /// Ticks the tasks of which all sub-tasks are done in the list as it is now. Returns their names.
    pub(super) fn close_finished_parents(&mut self) -> Vec<TaskName> {
        if self.plan.job.until != Until::Tasks {
            return Vec::new();
        }
        let Ok(tasks) = self.read_tasks() else { return Vec::new() };
        close_finished(self.plan.feature, &tasks).unwrap_or_else(|error| {
            self.warn(format!("a task whose sub-tasks are all done could not be ticked: {error:#}"));
            Vec::new()
        })
    }

    /// Does so after a success. Returns true if there were any.
    pub(super) fn close_parents_with(&mut self, verdict: &mut Verdict) -> bool {
        if verdict.outcome != Outcome::Success {
            return false;
        }
        let mut closed = self.close_finished_parents();
        closed.retain(|name| !verdict.closed.contains(name));
        verdict.closed.extend_from_slice(&closed);
        verdict.closed_parents = closed;
        !verdict.closed_parents.is_empty()
    }

    /// Does the same before an attempt: at a start, or after a person ticked the last sub-task. In a lane the next result
    /// has those ticks, as its list has no others. Returns the list as it is then.
    pub(super) fn close_parents_before_attempt(&mut self, tasks: Rc<TaskList>) -> Result<Rc<TaskList>> {
        if self.plan.work_tree.lane().is_some() || tasks.finished_parents().is_empty() {
            return Ok(tasks);
        }
        let closed = self.close_finished_parents();
        if closed.is_empty() {
            return Ok(tasks);
        }
        let are = if closed.len() == 1 {
            "all of its sub-tasks are done"
        } else {
            "all of their sub-tasks are done"
        };
        self.warn(format!("ticked {}: {are}", join_truncated(&closed, MAX_NAMED)));
        self.session.closed_parents.extend(closed);
        // The next attempt did not do this.
        self.state.was_idle = true;
        self.read_tasks()
    }
}
