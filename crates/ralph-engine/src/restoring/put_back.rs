//! Putting single files back: protected ones for good, and the validation's own ones for one run of it.
//!
//! A restoration like any other: the work tree as it was found is on a ref first, and a note in the spool lets a recovery
//! finish what a crash cut off. Each file is replaced by itself, after one more look at it: one that a person edits
//! meanwhile stays as it is.

use anyhow::Result;

use ralph_core::record::Timestamp;
use ralph_git::worktree::{PathChange, RawPath};
use ralph_store::{PutBack, PutBackKind, RestorePoint, Slot};

use super::rollback::Rollback;
use super::scratch_work_tree::ScratchWorkTree;

/// Which side of a restoration its files are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Found,
    Made,
}

impl Rollback<'_> {
    /// Puts files back, and notes it in `slot` until [`Rollback::put_back_is_over`]. `what` is what they are put back
    /// to, for people. Returns the paths that stay, because somebody changed them meanwhile.
    pub fn put_back(
        self,
        here: &ScratchWorkTree<'_>,
        changes: &[PathChange],
        slot: &Slot,
        kind: PutBackKind,
        what: &str,
        at: Timestamp,
    ) -> Result<(RestorePoint, Vec<RawPath>)> {
        let made = here.work_tree.with_changes(here.private_index(), changes)?;
        let point = here.save(&made, &self.place.session, &self.place.feature, what, at)?;
        PutBack { kind, point: point.clone() }.note_in(slot)?;
        let stay = here.work_tree.replace(here.private_index(), changes)?;
        Ok((point, stay))
    }

    /// Makes the files of a restoration what one of its sides has, as far as they are still what its other side has.
    /// Returns the paths of the others.
    pub fn settle(self, point: &RestorePoint, side: Side) -> Result<Vec<RawPath>> {
        let here = self.read()?;
        let (from, to) = match side {
            Side::Found => (&point.made, &point.found),
            Side::Made => (&point.found, &point.made),
        };
        let changes = here.differences(from, to)?;
        here.work_tree.replace(here.private_index(), &changes)
    }

    /// Finishes what was noted in `slot` when the loop died. Returns the paths that stay; `None` if nothing was noted.
    pub fn finish_put_back(self, slot: &Slot) -> Result<Option<(RestorePoint, Vec<RawPath>)>> {
        let Some(PutBack { kind, point }) = PutBack::noted_in(slot)? else { return Ok(None) };
        let side = match kind {
            PutBackKind::ForGood => Side::Made,
            PutBackKind::ForOneRun => Side::Found,
        };
        let stay = self.settle(&point, side)?;
        PutBack::forget(slot)?;
        Ok(Some((point, stay)))
    }
}

/// Returns paths as people read them.
pub(crate) fn names<'a>(paths: impl IntoIterator<Item = &'a RawPath>) -> Vec<String> {
    paths.into_iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}
