//! What memory brings: how attempts from the second on ended, with it and without.

use serde::Serialize;

use crate::record::{Iteration, Outcome};

/// Attempts at tasks after the first one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LaterAttempts {
    /// Their prompts spoke of earlier iterations.
    pub with_memory: Attempts,
    pub without: Attempts,
}

/// How many there were, and how many of them succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Attempts {
    pub runs: usize,
    pub success: usize,
}

impl LaterAttempts {
    /// The later attempts among `iterations`. Records that do not say what the prompt held are left out.
    pub fn of<'a>(iterations: impl IntoIterator<Item = &'a Iteration>) -> Self {
        let mut later = Self::default();
        for iteration in iterations {
            let is_later = iteration.is_run() && iteration.attempt.is_some_and(|attempt| attempt > 1);
            let Some(memory) = iteration.memory.as_ref().filter(|_| is_later) else { continue };
            let attempts = if memory.iterations > 0 { &mut later.with_memory } else { &mut later.without };
            attempts.runs += 1;
            attempts.success += usize::from(iteration.outcome == Outcome::Success);
        }
        later
    }
}
