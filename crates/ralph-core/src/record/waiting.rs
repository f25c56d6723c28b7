//! Why the loop does nothing for a while.

use serde::{Deserialize, Serialize};

use super::{FailureClass, Timestamp};

/// A pause until an agent can be used again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub agent: String,
    #[serde(rename = "failure_class")]
    pub class: FailureClass,
    pub until: Timestamp,
    /// True if the agent reported no reset time, so that the pause is ours.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_guessed: bool,
    /// The agent's own words for what it ran into.
    pub message: Option<String>,
}

impl Waiting {
    /// Calls `visit` with each text that may be of an agent.
    pub(super) fn for_each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        let Self { agent, class: _, until: _, is_guessed: _, message } = self;
        [agent].into_iter().chain(message).for_each(visit);
    }
}
