//! Reading the chain of a session's snapshots.

use anyhow::Result;

use ralph_core::record::{LogEntry, ObjectId};

use super::local::spool::Slot;
use super::objects::Quarantine;
use super::reading::blobs::read_commit;
use super::refs::database::RefUpdate;
use super::{SessionLog, SessionRefs, Snapshot, Store, caused, message, objects};

/// Maximum number of snapshots that a chain is followed down.
const MAX_CHAIN_SNAPSHOTS: usize = 1_000_000;

impl Store {
    /// Returns true if an object is here. Of a commit this means its tree and files too, but for a broken repository.
    pub fn has(&self, id: &ObjectId) -> Result<bool> {
        has(&self.open_git()?, id)
    }

    /// Adds a snapshot in `slot` to those of a session, without a record. `old` is the newest one so far.
    pub fn keep_snapshot(
        &self,
        slot: &Slot,
        refs: &SessionRefs,
        old: Option<&ObjectId>,
        new: &ObjectId,
    ) -> Result<()> {
        let quarantine = Quarantine::open(&slot.objects(), self.repository().hash)?;
        self.publish(&quarantine)?;
        let one = RefUpdate { name: refs.snapshot(), old: old.cloned(), new: Some(new.clone()) };
        self.move_refs(&[one], quarantine.dir(), true)
    }

    /// Writes a snapshot of the same files as the one before it, with the commit `published` of a lane as its second parent: it goes
    /// where snapshots go. `None` if that one has it already.
    pub fn write_published(&self, slot: &Slot, snapshot: &Snapshot<'_>) -> Result<Option<ObjectId>> {
        let (Some(previous), Some(published)) = (snapshot.previous, snapshot.head) else { return Ok(None) };
        let before = read_commit(&self.open_git()?, &objects::to_gix(previous)?)?;
        if before.parents.contains(&objects::to_gix(published)?) {
            return Ok(None);
        }
        let tree = objects::from_gix(&before.tree)?;
        self.write_snapshot(slot, &Snapshot { tree: &tree, ..*snapshot }).map(Some)
    }

    /// Returns the snapshot before the snapshot `id`, or `None` if that was the first, or is not here.
    pub fn snapshot_before(&self, id: &ObjectId) -> Result<Option<ObjectId>> {
        snapshot_before(&self.open_git()?, id)
    }

    /// Returns the first snapshot of a session, or `None` if it has none, or none are here.
    pub fn first_snapshot(&self, log: &SessionLog) -> Result<Option<ObjectId>> {
        let oldest = match log.iterations().find_map(LogEntry::snapshot) {
            Some(oldest) => Some(oldest),
            None => self.refs().tip(&log.refs.snapshot())?,
        };
        oldest.map(|oldest| self.first_of_chain(oldest)).transpose()
    }

    /// Returns the snapshot that the chain of this one begins with.
    pub(super) fn first_of_chain(&self, mut first: ObjectId) -> Result<ObjectId> {
        let git = self.open_git()?;
        for _ in 0..MAX_CHAIN_SNAPSHOTS {
            match snapshot_before(&git, &first)? {
                Some(before) => first = before,
                None => break,
            }
        }
        Ok(first)
    }
}

pub(super) fn snapshot_before(git: &gix::Repository, id: &ObjectId) -> Result<Option<ObjectId>> {
    let Ok(commit) = read_commit(git, &objects::to_gix(id)?) else { return Ok(None) };
    // The first snapshot has only HEAD below it, which is not a snapshot.
    commit
        .parents
        .first()
        .filter(|parent| read_commit(git, parent).is_ok_and(|below| message::is_of_snapshot(&below.message)))
        .map(|parent| objects::from_gix(parent))
        .transpose()
}

/// Returns true if a snapshot is here, with what its agent left, where that is a commit of its own.
pub(super) fn is_whole(git: &gix::Repository, id: &ObjectId) -> Result<bool> {
    let Ok(commit) = read_commit(git, &objects::to_gix(id)?) else { return Ok(false) };
    let sealed = commit.parents.get(2).map(|parent| objects::from_gix(parent)).transpose()?;
    sealed.map_or(Ok(true), |sealed| has(git, &sealed))
}

/// Returns true if an object is here.
pub(super) fn has(git: &gix::Repository, id: &ObjectId) -> Result<bool> {
    let found = git.try_find_header(objects::to_gix(id)?);
    found.map(|found| found.is_some()).map_err(|error| caused(&format!("look for {id}"), &error))
}
