//! Refs that many clones and processes write, each a set of lines in a commit: notes, tombstones, and when progress was
//! cleared. Lines are merged by taking those of both sides.

use anyhow::Result;

use crate::Store;
use crate::local::scratch::Scratch;
use crate::objects::{self, Quarantine, Signature};
use crate::refs::database::RefUpdate;
use ralph_core::record::{ObjectId, Timestamp};

/// How often a change is tried again when another process makes one at the same time.
const MAX_ATTEMPTS: usize = 20;

impl Store {
    /// Returns a folder for new objects, which goes with the scratch folder that it is in.
    pub(super) fn new_objects(&self) -> Result<(Scratch, Quarantine)> {
        let scratch = Scratch::create(self.repository())?;
        let quarantine = Quarantine::open(&scratch.path("objects"), self.repository().hash)?;
        Ok((scratch, quarantine))
    }

    /// Writes a commit into the repository, with the objects that it leads to.
    pub(super) fn commit_tree(
        &self,
        quarantine: &Quarantine,
        tree: &gix::ObjectId,
        parents: &[ObjectId],
        signature: &Signature,
        message: &str,
    ) -> Result<ObjectId> {
        let commit = quarantine.write_commit(&objects::from_gix(tree)?, parents, signature, message)?;
        self.publish(quarantine)?;
        Ok(commit)
    }

    /// Makes the next version of what many machines write: nobody is its author.
    pub(super) fn commit_version(
        &self,
        quarantine: &Quarantine,
        tree: &gix::ObjectId,
        parents: &[ObjectId],
        message: &str,
        at: Timestamp,
    ) -> Result<ObjectId> {
        let signature = Signature { author: None, authored_at: at, committed_at: at };
        self.commit_tree(quarantine, tree, parents, &signature, message)
    }

    /// Moves a ref to the commit that `write` makes after its tip, and tries again if another process was faster, or took its objects.
    /// Returns what `write` gives beside the commit, or `None` if nothing is to be changed.
    pub(super) fn change_shared<T>(
        &self,
        name: &str,
        write: impl Fn(Option<&ObjectId>, &Quarantine) -> Result<Option<(ObjectId, T)>>,
    ) -> Result<Option<T>> {
        let mut attempts = 1;
        loop {
            let old = self.refs().tip(name)?;
            let (_scratch, quarantine) = self.new_objects()?;
            let Some((new, made)) = write(old.as_ref(), &quarantine)? else { return Ok(None) };
            match self.refs().change(&[RefUpdate { name: name.to_owned(), old, new: Some(new) }]) {
                Ok(()) => {
                    self.settle(quarantine.dir(), true)?;
                    return Ok(Some(made));
                }
                Err(error) if attempts == MAX_ATTEMPTS => return Err(error),
                Err(_) => attempts += 1,
            }
        }
    }

    /// Returns the version that contains the other one, with its history, or `None` if neither does.
    pub(super) fn fast_forward(
        &self,
        here: Option<&ObjectId>,
        theirs: &ObjectId,
        is_all_ours: bool,
        is_all_theirs: bool,
    ) -> Result<Option<ObjectId>> {
        if is_all_theirs && here.map_or(Ok(true), |here| self.is_ancestor(here, theirs))? {
            return Ok(Some(theirs.clone()));
        }
        match here {
            Some(here) if is_all_ours && self.is_ancestor(theirs, here)? => Ok(Some(here.clone())),
            _ => Ok(None),
        }
    }
}
