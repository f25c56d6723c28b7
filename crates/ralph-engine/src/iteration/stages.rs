//! What one stage of an iteration hands to the next.

use std::rc::Rc;

use failure_excerpt::Tally;
use tasklist::{Languages, TaskList};

use ralph_core::record::{
    AgentRun, Ended, Evidence, FailureClass, Flag, IgnoredState, ObjectId, PromptMemory, Rewritten, Task,
    TaskName, Timestamp, UndoneTask, Validation,
};
use ralph_git::worktree::{PathChange, TreeEntry};
use ralph_store::{Begin, Slot};

use super::protect::Restored;
use crate::judge::Verdict;
use crate::snapshot_taken::{BlobChange, SnapshotTaken};

/// An iteration whose prompt is in the spool.
pub(crate) struct StartedIteration<'a> {
    pub task: &'a Task,
    pub slot: Slot,
    pub begin: Begin,
    pub prompt: String,
    /// What the prompt says of earlier iterations.
    pub memory: PromptMemory,
    /// The task list before the agent's run.
    pub task_list: Vec<u8>,
    /// Its languages.
    pub languages: Languages,
    /// Variables for the agent and the validation.
    pub environment: Vec<(String, String)>,
}

/// What an agent left, looked at before anything else runs: what it wrote may run in the validation, and change it.
#[derive(Default)]
pub(crate) struct Sealed {
    /// `None` if the work tree could not be read.
    pub tree: Option<ObjectId>,
    /// The task list.
    pub list: Rc<TaskList>,
    /// What is wrong with it: then nothing that it says counts.
    pub list_fault: Option<String>,
    /// Tasks of whose words it changed some, and the flag for what would permit more.
    pub rewrote: Vec<Rewritten>,
    pub rewrote_flag: Option<Flag>,
    /// What was changed since, by the validation or as files were put back.
    pub rewritten: Vec<PathChange>,
}

impl Sealed {
    /// Returns what the agent changed of what a snapshot after it shows: without what was rewritten since it ended.
    pub fn without_rewritten(&self, taken: &SnapshotTaken) -> SnapshotTaken {
        let mut agents = SnapshotTaken {
            changed: taken.changed.clone(),
            blobs: taken.blobs.clone(),
            failure: taken.failure.clone(),
            trees: taken.trees.clone(),
            ..SnapshotTaken::default()
        };
        if let (Some((_, after)), Some(tree)) = (&mut agents.trees, &self.tree) {
            after.clone_from(tree);
        }
        for (path, [left, now]) in self.blobs() {
            let known = agents.blobs.iter().position(|(known, _)| *known == path);
            // What is not among the changes is again what it was before the attempt.
            let before = known.map_or(now, |at| agents.blobs.swap_remove(at).1[0].clone());
            agents.changed.retain(|changed| *changed != path);
            if before != left {
                agents.changed.push(path.clone());
                agents.blobs.push((path, [before, left]));
            }
        }
        agents
    }

    /// Returns what was changed since, by what the files held.
    pub fn blobs(&self) -> Vec<BlobChange> {
        let id = |entry: &Option<TreeEntry>| {
            entry.as_ref().filter(|entry| !entry.is_repository()).map(|entry| entry.id().clone())
        };
        let blobs = |change: &PathChange| (change.path.clone(), [id(&change.before), id(&change.after)]);
        self.rewritten.iter().map(blobs).collect()
    }
}

/// What the children of an iteration did.
pub(super) struct Ran {
    pub agent: AgentRun,
    pub sealed: Sealed,
    /// What ended agent and validation beside themselves.
    pub ended: Option<Ended>,
    /// How the agent did nothing at all, in words.
    pub nothing_done: Option<String>,
    /// `None` if no validation ran.
    pub validation: Option<Validation>,
    /// What the validation printed of its tests.
    pub tests: Option<Tally>,
    pub protected: Restored,
    /// Files that the validation deleted, and that are there again.
    pub brought_back: Vec<String>,
    /// Files that were moved out of the lane, as no commit takes them.
    pub left_out: Vec<String>,
    /// Files that no snapshot shows since a rule for what git ignores was changed.
    pub hidden: Vec<String>,
    /// What is recorded of the files that no snapshot shows.
    pub ignored: Option<IgnoredState>,
}

/// What an iteration came to, by the task lists before and after it.
pub(super) struct Judged {
    pub verdict: Verdict,
    pub before: Rc<TaskList>,
    pub evidence: Evidence,
    /// Why it did not succeed, if that is not seen from agent and validation alone.
    pub cause: Option<String>,
    /// Set if that is no failure of the task's.
    pub class: Option<FailureClass>,
    /// Tasks whose boxes were opened again though it succeeded.
    pub reopened: Vec<TaskName>,
    pub ended_at: Timestamp,
    pub taken: SnapshotTaken,
    /// Tasks that were done and of whose work it took something back.
    pub undone: Vec<UndoneTask>,
    /// How long the second run of the validation took.
    pub second_ms: Option<u64>,
}
