//! What a session knows of the work of tasks.

use std::collections::BTreeSet;

use crate::record::{ObjectId, TaskName};
use crate::worktree::RawPath;

use super::done_work::DoneWork;
use super::recorded_work::{RecordedWork, Untold};

/// What a session knows of the work of tasks, to notice what attempts take back.
#[derive(Debug, Default)]
pub(super) struct UndoneWork {
    pub work: DoneWork,
    /// Tasks whose boxes were opened in this session because they were undone: once is enough.
    pub reopened: BTreeSet<TaskName>,
    /// What failed attempts undid since the last success: the next one is flagged for it.
    pub untold: Vec<Untold>,
    /// The last attempt of the session; 0 before the first.
    pub last: u32,
}

impl UndoneWork {
    pub fn begin(recorded: RecordedWork, committed: Vec<(RawPath, Option<ObjectId>)>) -> Self {
        let RecordedWork { mut work, reopened, untold, last } = recorded;
        for (path, committed) in committed {
            work.committed(path, committed);
        }
        Self { work, reopened, untold, last }
    }
}
