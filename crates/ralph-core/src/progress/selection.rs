//! What a prompt has of earlier iterations: chosen once, so that each fact has one place.

use std::collections::HashSet;

use crate::record::{Iteration, SessionId, Task};

use super::learnings::same;
use super::names::Names;

/// Which earlier iterations are in which part of a prompt, and what the parts before the history have of agents' words.
#[derive(Debug, Default)]
pub struct Selection<'a> {
    /// The iterations of the feature, oldest first; all places are in it.
    pub(super) past: &'a [Iteration],
    pub(super) task: Option<&'a Task>,
    pub names: Names,
    pub(super) final_message_chars: usize,
    /// What was learned and decided, one line each.
    pub learnings: Vec<String>,
    /// The same as [`same`] has it.
    pub(super) learned: HashSet<String>,
    /// The places of the attempts at the task since its box was open, newest first.
    pub(super) attempts: Vec<usize>,
    /// The one of them that is described whole.
    pub(super) last: Option<usize>,
    /// The others that the progress has not whole, with a line for each; newest first.
    pub(super) others: Vec<(usize, String)>,
    /// The iterations of the progress.
    pub in_progress: Vec<(SessionId, u32)>,
    /// What was learned, decided and tried, as far as these parts have it.
    pub(super) said: HashSet<String>,
}

impl<'a> Selection<'a> {
    /// Returns a selection that has nothing yet, for texts that are no part of a prompt.
    pub fn empty(past: &'a [Iteration], task: Option<&'a Task>, session: Option<&SessionId>) -> Self {
        Self { past, task, names: Names::new(past, session), ..Self::default() }
    }

    /// Returns the iteration that is described whole: its session and number.
    pub fn last(&self) -> Option<(SessionId, u32)> {
        let last = &self.past[self.last?];
        Some((last.session.clone(), last.iteration))
    }

    /// Returns true if the progress leaves an iteration to the description of the last attempt. That one has all that a block of
    /// progress has, but without its final message.
    pub(super) fn points_to_last(&self, session: &SessionId, iteration: u32) -> bool {
        let last = self.last.filter(|_| self.final_message_chars > 0).map(|last| &self.past[last]);
        last.is_some_and(|last| last.session == *session && last.iteration == iteration)
    }

    /// Returns true if a part before the history describes an iteration.
    pub(super) fn is_described(&self, place: usize) -> bool {
        let Iteration { session, iteration, .. } = &self.past[place];
        self.last == Some(place)
            || self.in_progress.iter().any(|(of, number)| of == session && number == iteration)
    }

    /// Returns true if a part before the history has this of what was learned, decided or tried.
    pub(super) fn has_said(&self, text: &str) -> bool {
        self.said.contains(&same(text))
    }
}
