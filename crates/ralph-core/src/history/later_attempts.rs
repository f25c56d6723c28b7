//! What the history in a prompt brings: how attempts from the second on ended, with it and without.

use serde::Serialize;

use crate::record::{Iteration, Outcome};

/// Attempts at tasks after the first one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LaterAttempts {
    /// Their prompts had a history, beside the last attempt and the newest iterations that every such prompt has.
    pub with_history: Attempts,
    pub without: Attempts,
    /// Length of all these histories, in estimated tokens; records of earlier versions do not say it.
    pub history_tokens: usize,
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
            let is_later = iteration.is_attempt() && iteration.attempt.is_some_and(|attempt| attempt > 1);
            let Some(memory) = iteration.memory.as_ref().filter(|_| is_later) else { continue };
            let has_history = memory.reason.is_some();
            let attempts = if has_history { &mut later.with_history } else { &mut later.without };
            later.history_tokens += memory.history_tokens;
            attempts.runs += 1;
            attempts.success += usize::from(iteration.outcome == Outcome::Success);
        }
        later
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PromptMemory;
    use crate::record::samples::iteration;

    #[test]
    fn attempts_with_a_history_are_told_from_those_that_only_had_the_last_attempt() {
        let memory = |reason: Option<&str>, history_tokens| {
            Some(PromptMemory {
                reason: reason.map(str::to_owned),
                iterations: 1,
                tokens: history_tokens + 50,
                history_tokens,
                ..PromptMemory::default()
            })
        };
        let records = [
            (Outcome::Failure, 1, memory(None, 0)),
            (Outcome::Failure, 2, memory(None, 0)),
            (Outcome::Success, 3, memory(Some("failures"), 120)),
            (Outcome::Failure, 1, memory(None, 0)),
            (Outcome::Success, 2, None),
        ]
        .map(|(outcome, attempt, memory)| {
            let mut record = iteration(outcome);
            (record.attempt, record.memory) = (Some(attempt), memory);
            record
        });
        let expected = LaterAttempts {
            with_history: Attempts { runs: 1, success: 1 },
            without: Attempts { runs: 1, success: 0 },
            history_tokens: 120,
        };
        assert_eq!(LaterAttempts::of(&records), expected);
    }
}
