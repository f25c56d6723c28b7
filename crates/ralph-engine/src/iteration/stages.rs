//! What one stage of an iteration hands to the next.

use std::rc::Rc;

use failure_excerpt::Tally;
use tasklist::{Languages, TaskList};

use ralph_core::record::{
    AgentRun, Evidence, FailureClass, PromptMemory, Task, TaskName, Timestamp, UndoneTask, Validation,
};
use ralph_store::{Begin, Slot};

use super::super::judge::Verdict;
use super::super::snapshot_taken::SnapshotTaken;

/// An iteration whose prompt is in the spool.
pub(super) struct StartedIteration<'a> {
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

/// What the children of an iteration did.
pub(super) struct Ran {
    pub agent: AgentRun,
    /// How the agent did nothing at all, in words.
    pub nothing_done: Option<String>,
    /// `None` if no validation ran.
    pub validation: Option<Validation>,
    /// What the validation printed of its tests.
    pub tests: Option<Tally>,
    /// Protected files that the agent changed, and that are again what they were.
    pub put_back: Vec<String>,
    /// Files that were moved out of the lane, as no commit takes them.
    pub left_out: Vec<String>,
    /// Why such files could not be put back: then nothing that the validation says counts.
    pub protect_failure: Option<String>,
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
