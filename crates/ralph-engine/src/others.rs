//! What one of several loops on a branch knows of the others.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::mpsc::Receiver;

use ralph_core::record::{Cost, SessionId, TaskName, Tokens};
use ralph_store::Claim;

/// The loops that work on a branch at once, as one of them knows them.
pub struct Group {
    /// The session that began first; `None` for that one itself.
    pub first: Option<SessionId>,
    /// Gets something whenever another loop may have recorded something. It is closed when all are to end.
    pub wakes: Receiver<()>,
}

/// What the others of a group have in hand and have done.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// How many iterations of each session were taken in.
    pub seen: HashMap<SessionId, usize>,
    pub claims: Vec<Claim>,
    pub tokens: Tokens,
    pub cost: Cost,
    /// True if nothing wakes this loop any more: what started it is gone.
    pub is_over: bool,
    /// Tasks whose results were sent back so often that the branch is not to move during their next attempt.
    pub lost_races: HashSet<TaskName>,
    /// The turn at the branch, for such an attempt or for what is just published.
    pub turn: Option<File>,
}

impl Others {
    /// Returns how many attempts they have in hand.
    pub fn attempts(&self) -> u32 {
        u32::try_from(self.claims.len()).unwrap_or(u32::MAX)
    }

    /// Returns the tasks that they have in hand.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskName> {
        self.claims.iter().flat_map(|claim| &claim.tasks)
    }
}
