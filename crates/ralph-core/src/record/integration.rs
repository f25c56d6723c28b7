//! What became of results that were queued for the branch of a lane.

use serde::{Deserialize, Serialize};

use super::{AttemptId, IntegrationVerdict, SessionId, TaskName};

/// Longest [`Integration::hunks`], in characters.
pub const MAX_HUNK_CHARS: usize = 4000;

/// One of them. `integration` in `iteration.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integration {
    /// The session and the number of the attempt whose result it is.
    pub session: SessionId,
    pub iteration: u32,
    pub task: TaskName,
    pub verdict: IntegrationVerdict,
    /// Why it is not on the branch; `None` if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The files that git cannot merge, from the top of the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// Both sides of them as git marks them, of at most [`MAX_HUNK_CHARS`] characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hunks: String,
}

impl Integration {
    /// Returns the attempt whose result it is.
    pub fn attempt(&self) -> AttemptId {
        AttemptId { session: self.session.clone(), number: self.iteration }
    }

    /// `sent back (conflict): shared cannot be merged with 1a2b3c (By hand)`; `None` if it is on the branch.
    pub fn return_words(&self) -> Option<String> {
        self.cause.as_ref().map(|cause| format!("{}: {cause}", self.verdict.words()))
    }

    /// Calls `visit` with each text of these that may be of a person or an agent.
    pub(super) fn for_each_text(results: &mut [Self], visit: &mut dyn FnMut(&mut String)) {
        for Self { session: _, iteration: _, task, verdict: _, cause, conflicts, hunks } in results {
            [task, hunks].into_iter().chain(cause).chain(conflicts).for_each(&mut *visit);
        }
    }
}

/// `merged T001, T002; T003 sent back (conflict): shared cannot be merged with 1a2b3c (By hand)`.
pub(super) fn words(results: &[Integration]) -> String {
    let merged: Vec<&str> = results.iter().filter(|one| one.cause.is_none()).map(|one| &*one.task).collect();
    let merged = (!merged.is_empty()).then(|| format!("merged {}", merged.join(", ")));
    let others = results.iter().filter_map(|one| Some(format!("{} {}", one.task, one.return_words()?)));
    merged.into_iter().chain(others).collect::<Vec<_>>().join("; ")
}
