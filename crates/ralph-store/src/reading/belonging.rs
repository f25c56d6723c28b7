//! What commits say of themselves: when they were made, and which session or iteration they belong to.

use std::collections::BTreeMap;

use anyhow::Result;

use ralph_core::record::{ObjectId, Timestamp};

use super::blobs::{message_of, read_commit};
use crate::message::{is_of_snapshot, is_signed, named_in};
use crate::refs::naming::SNAPSHOT_PREFIX;
use crate::{SessionRefs, Store, objects};

impl Store {
    /// Returns the refs of the session that a snapshot was taken in; `None` if the commit is no snapshot of ours.
    pub fn session_of_snapshot(&self, commit: &ObjectId) -> Result<Option<SessionRefs>> {
        let message = self.message(commit)?;
        let named = named_in(&message).filter(|_| is_of_snapshot(&message));
        Ok(named.map(|(session, feature)| SessionRefs::new(&feature, session)))
    }

    /// Returns the logs here, or the snapshots, that are ours by their tips.
    pub(crate) fn refs_of_ours(&self, prefix: &str) -> Result<BTreeMap<String, ObjectId>> {
        let git = self.open_git()?;
        Ok(self
            .refs()
            .below(prefix)?
            .into_iter()
            .filter(|(name, tip)| {
                SessionRefs::is_name_of_ours(name)
                    && message_of(&git, tip).is_ok_and(|message| match prefix {
                        SNAPSHOT_PREFIX => is_of_snapshot(&message),
                        _ => is_signed(&message),
                    })
            })
            .collect())
    }

    /// Returns the message of a commit.
    pub(crate) fn message(&self, commit: &ObjectId) -> Result<String> {
        message_of(&self.open_git()?, commit)
    }

    /// Returns when a commit was made, as it says itself.
    pub(crate) fn committed_at(&self, commit: &ObjectId) -> Result<Timestamp> {
        Ok(read_commit(&self.open_git()?, &objects::to_gix(commit)?)?.committed_at)
    }
}
