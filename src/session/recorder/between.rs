//! Snapshots between two records: of changes while no agent ran.

use crate::record::Timestamp;
use crate::store::{SessionRefs, Slot};
use crate::worktree::RawPath;

use super::Recorder;

impl Recorder<'_> {
    /// Takes a snapshot that belongs to no record, if files changed since the last one. Returns their paths.
    pub fn take_between(&mut self, slot: &Slot, moment: &str, taken_at: Timestamp) -> Vec<RawPath> {
        let taken = self.take(slot, moment, taken_at);
        let Some(new) = taken.snapshot.filter(|_| taken.failure.is_none() && !taken.changed.is_empty())
        else {
            return Vec::new();
        };
        let refs = SessionRefs::new(&self.place.feature, self.place.session.clone());
        match self.store.keep_snapshot(slot, &refs, (self.snapshot.as_ref(), &new), taken_at) {
            Ok(()) => self.snapshot = Some(new),
            Err(error) => self.warnings.push(format!("no snapshot after {moment}: {error:#}")),
        }
        taken.changed
    }
}
