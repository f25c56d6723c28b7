//! What the next prompt for a task says of earlier iterations, and what its last attempt made of what it had.

use serde::Serialize;

use ralph_core::history::failure_key::FailureKey;
use ralph_core::progress::Names;
use ralph_core::record::{Iteration, Outcome, PromptMemory, SessionId};

use super::memory::RecalledHistory;

/// What the next prompt for a task says of earlier iterations.
#[derive(Debug)]
pub struct Recalled {
    pub last_attempt: String,
    pub question: String,
    pub learnings: Vec<String>,
    pub hints: Vec<String>,
    pub progress: String,
    /// `None` if history is off.
    pub history: Option<RecalledHistory>,
    /// In tokens, of the history.
    pub budget: usize,
    /// What the last attempt at the task had; `None` before the first.
    pub last: Option<LastMemory>,
}

/// What the prompt of an attempt had of earlier iterations, and how it ended.
#[derive(Debug, Serialize)]
pub struct LastMemory {
    pub session: SessionId,
    pub iteration: u32,
    /// What the prompt calls it: `A3`.
    pub name: String,
    /// `None` in records of before it was recorded.
    pub memory: Option<PromptMemory>,
    pub outcome: Outcome,
    pub cause: Option<String>,
    /// What the prompt calls the newest attempt before it that failed in the same way.
    pub same_as: Option<String>,
}

impl LastMemory {
    /// Returns that of the last attempt at `task` in `past`, which goes from the oldest to the newest.
    pub fn of(past: &[Iteration], task: &str, names: &Names) -> Option<Self> {
        let is_attempt = |one: &Iteration| one.is_attempt() && one.task.as_deref() == Some(task);
        let place = past.iter().rposition(is_attempt)?;
        let (before, last) = (&past[..place], &past[place]);
        let key = FailureKey::of(last);
        let alike = before.iter().rev().find(|one| key.is_some() && FailureKey::of(one) == key);
        let name = |one: &Iteration| names.number(&one.session, one.iteration);
        Some(Self {
            session: last.session.clone(),
            iteration: last.iteration,
            name: name(last),
            memory: last.memory.clone(),
            outcome: last.outcome,
            cause: last.cause.clone(),
            same_as: alike.map(name),
        })
    }
}
