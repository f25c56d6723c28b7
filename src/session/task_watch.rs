//! What a session remembers about its task list from one iteration to the next.

use tasklist::{Item, TaskList};

use crate::record::TaskName;
use crate::tasks::TaskCache;

#[derive(Default)]
pub(super) struct TaskWatch {
    pub lists: TaskCache,
    pub lost: Vec<LostTask>,
    /// True if the list asks for tests that fail until a later task is done.
    pub has_failing_tests: bool,
}

/// A task that was open and left the list without being done.
pub(super) struct LostTask {
    pub task: Item,
    /// How many items like it the list had.
    pub copies: usize,
}

impl TaskWatch {
    /// Forgets lost tasks that are in `tasks` again, and returns the names of the others.
    pub fn still_lost(&mut self, tasks: &TaskList) -> Vec<TaskName> {
        self.lost.retain(|lost| tasks.copies(&lost.task) < lost.copies);
        self.lost.iter().map(|lost| lost.task.name.clone()).collect()
    }
}
