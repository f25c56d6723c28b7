//! The work tree as it is, read into a scratch folder: what a restoration or a rollback is worked out on.

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::record::{ObjectId, SessionId, Timestamp};
use ralph_git::worktree::{PathChange, PrivateIndex, WorkTree};
use ralph_os::process::create_private_dir;
use ralph_store::{Restoration, RestorePoint, Scratch, Store};

/// The present work tree, in a private index and as a tree.
#[derive(Debug)]
pub(crate) struct ScratchWorkTree<'a> {
    store: &'a Store,
    pub work_tree: WorkTree,
    /// Removed with this value.
    _scratch: Scratch,
    index: Utf8PathBuf,
    /// Objects that are not in the repository yet.
    objects: Utf8PathBuf,
    max_file: u64,
    pub now: ObjectId,
}

impl<'a> ScratchWorkTree<'a> {
    /// Reads `work_tree`; untracked files of more than `max_file` bytes are left out.
    pub fn read(store: &'a Store, mut work_tree: WorkTree, max_file: u64) -> Result<Self> {
        let scratch = Scratch::create(store.repository())?;
        let (index, objects) = (scratch.path("index"), scratch.path("objects"));
        create_private_dir(&objects)?;
        let (now, ..) = work_tree.contents(PrivateIndex { index: &index, objects: &objects, max_file })?;
        Ok(Self { store, work_tree, _scratch: scratch, index, objects, max_file, now })
    }

    pub fn private_index(&self) -> PrivateIndex<'_> {
        PrivateIndex { index: &self.index, objects: &self.objects, max_file: self.max_file }
    }

    /// Returns the differences between two trees in all paths.
    pub fn differences(&self, from: &ObjectId, to: &ObjectId) -> Result<Vec<PathChange>> {
        self.work_tree.differences(self.private_index(), from, to, None)
    }

    /// Returns the changes from the present work tree to a tree, in some paths, but for those of a mode that a file has already.
    pub fn changes_to(
        &self,
        to: &ObjectId,
        paths: Option<(&Utf8Path, &[String])>,
    ) -> Result<Vec<PathChange>> {
        let mut changes = self.work_tree.differences(self.private_index(), &self.now, to, paths)?;
        changes.retain(|change| !self.work_tree.has_mode_already(change));
        Ok(changes)
    }

    /// Saves the work tree as it is and as it will be, before any file changes. `target` is what it goes back to, for people.
    pub fn save(
        &self,
        made: &ObjectId,
        session: &SessionId,
        feature: &str,
        target: &str,
        at: Timestamp,
    ) -> Result<RestorePoint> {
        let (found, objects) = (&self.now, self.objects.as_path());
        self.store.keep_restoration(
            &self.work_tree,
            Restoration { found, made, objects, session, feature, target, at },
        )
    }

    /// Returns the tree that `changes` lead to, if they can be made.
    pub fn with_changes(&self, changes: &[PathChange]) -> Result<ObjectId> {
        let wanted = self.work_tree.with_changes(self.private_index(), changes)?;
        self.work_tree.check(self.private_index(), &self.now, &wanted)?;
        Ok(wanted)
    }

    /// Makes the work tree what `wanted` is.
    pub fn apply(&self, wanted: &ObjectId) -> Result<()> {
        self.work_tree.apply(self.private_index(), &self.now, wanted)
    }
}
