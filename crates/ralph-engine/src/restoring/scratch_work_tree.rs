//! The work tree as it is, read into a scratch folder: what a restoration or a rollback is worked out on.

use anyhow::Result;
use camino::Utf8PathBuf;

use ralph_core::record::ObjectId;
use ralph_git::worktree::{PathChange, Paths, PrivateIndex, TreePair, WorkTree};
use ralph_os::process::create_private_dir;
use ralph_store::{Scratch, Store};

/// The present work tree, in a private index and as a tree.
#[derive(Debug)]
pub(crate) struct ScratchWorkTree {
    pub work_tree: WorkTree,
    /// Removed with this value.
    _scratch: Scratch,
    index: Utf8PathBuf,
    /// Objects that are not in the repository yet.
    pub objects: Utf8PathBuf,
    max_file: u64,
    pub now: ObjectId,
}

impl ScratchWorkTree {
    /// Reads `work_tree`; untracked files of more than `max_file` bytes are left out.
    pub fn read(store: &Store, mut work_tree: WorkTree, max_file: u64) -> Result<Self> {
        let scratch = Scratch::create(store.repository())?;
        let (index, objects) = (scratch.path("index"), scratch.path("objects"));
        create_private_dir(&objects)?;
        let now = work_tree.contents(PrivateIndex { index: &index, objects: &objects, max_file })?.tree;
        Ok(Self { work_tree, _scratch: scratch, index, objects, max_file, now })
    }

    pub fn private_index(&self) -> PrivateIndex<'_> {
        PrivateIndex { index: &self.index, objects: &self.objects, max_file: self.max_file }
    }

    /// Returns the differences between two trees in some paths.
    pub fn differences(&self, trees: TreePair<'_>, paths: Paths<'_>) -> Result<Vec<PathChange>> {
        self.work_tree.differences(self.private_index(), trees, paths)
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
