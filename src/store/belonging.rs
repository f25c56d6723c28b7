//! Which session or iteration a commit belongs to, by what the commit or its note says.

use anyhow::Result;

use crate::record::{ObjectId, SessionId};

use super::blobs::message_of;
use super::message::{is_of_snapshot, named_in};
use super::{SessionRefs, Store};

impl Store {
    /// Returns the iterations that the note on a commit of the project names.
    pub fn noted_iterations(&self, commit: &ObjectId) -> Result<Vec<(SessionId, u32)>> {
        let lines = self.notes_of(std::iter::once(commit))?.into_values().flatten();
        let named = |line: String| {
            let (session, number) = line.split(' ').next()?.split_once(':')?;
            Some((session.parse().ok()?, number.parse().ok()?))
        };
        Ok(lines.filter_map(named).collect())
    }

    /// Returns the refs of the session that a snapshot was taken in; `None` if the commit is no snapshot of ours.
    pub fn session_of_snapshot(&self, commit: &ObjectId) -> Result<Option<SessionRefs>> {
        let message = message_of(&self.open_git()?, commit)?;
        let named = named_in(&message).filter(|_| is_of_snapshot(&message));
        Ok(named.map(|(session, feature)| SessionRefs::new(&feature, session)))
    }
}
