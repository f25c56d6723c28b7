//! What a session knows of the work of tasks.

use std::collections::BTreeSet;

use ralph_core::record::{TaskName, UndoneTask};

use super::done_work::DoneWork;

/// What a session knows of the work of tasks, to notice what attempts take back.
#[derive(Debug, Default)]
pub(crate) struct UndoneWork {
    pub work: DoneWork,
    /// Tasks whose boxes were opened in this session because they were undone: once is enough.
    pub reopened: BTreeSet<TaskName>,
    /// What failed attempts of this session undid since the last success, but for tasks whose boxes are open again: the next
    /// one is flagged for it. Each with the tasks of which nothing was left after it.
    pub(super) untold: Vec<(u32, Vec<UndoneTask>, BTreeSet<TaskName>)>,
    /// Tasks that are done and whose work is gone.
    pub gone: BTreeSet<TaskName>,
    /// The last attempt of this session; 0 before the first.
    pub last: u32,
}

impl UndoneWork {
    /// Takes in what an attempt of this session undid; its changes are in `work` already.
    pub(super) fn note(&mut self, iteration: u32, succeeded: bool, undone: Vec<UndoneTask>) {
        self.last = iteration;
        if succeeded {
            self.untold.clear();
        }
        let (open, tasks): (Vec<UndoneTask>, Vec<UndoneTask>) =
            undone.into_iter().partition(|undone| undone.reopened);
        for undone in open {
            self.work.forget(&undone.task);
            self.reopened.insert(undone.task);
        }
        if !succeeded && !tasks.is_empty() {
            let names = tasks.iter().map(|undone| &undone.task);
            let whole = names.filter(|task| self.work.is_all_missing(task)).cloned().collect();
            self.untold.push((iteration, tasks, whole));
        }
    }
}
