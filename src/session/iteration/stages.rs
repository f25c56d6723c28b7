//! What one stage of an iteration hands to the next.

use std::rc::Rc;

use tasklist::TaskList;

use crate::progress::IterationContext;
use crate::record::{AgentRun, Iteration, PromptMemory, Task, Validation};
use crate::store::{Begin, Slot};

use super::super::judge::Verdict;

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
    /// Variables for the agent and the validation.
    pub environment: Vec<(String, String)>,
}

/// What the children of an iteration did.
pub(super) struct Ran {
    pub agent: AgentRun,
    /// `None` if no validation ran.
    pub validation: Option<Validation>,
}

/// What an iteration came to, by the task lists before and after it.
pub(super) struct Judged {
    pub verdict: Verdict,
    pub before: Rc<TaskList>,
}

/// An iteration as it is to be recorded.
pub(super) struct Drafted {
    pub iteration: Iteration,
    /// The lines of its output that progress.txt shows.
    pub excerpt: String,
    /// What the next prompt gets of it.
    pub context: Option<IterationContext>,
}
