//! Snapshots of the work tree, of records and between two of them, and what they leave out.

use anyhow::{Context, Result};

use crate::process::was_cut_short;
use crate::record::{LeftOut, ObjectId, Timestamp, join_truncated};
use crate::store::{SessionRefs, Slot, Snapshot};
use crate::worktree::{Contents, PrivateIndex, RawPath};

use super::super::snapshot_taken::{SnapshotTaken, most_changed};
use super::Recorder;

/// Maximum number of files that a warning names.
const MAX_NAMED_FILES: usize = 5;

/// What to do where git had to be ended while it read the work tree.
const FILTER_HINT: &str = "\nhint: if a clean filter hangs, `git config --get-regexp '^filter[.]'` names it; `snapshots = false` records without the work tree";

impl Recorder<'_> {
    /// Takes a snapshot and compares it with the one before. A snapshot that fails costs itself, not the record.
    pub fn take(&mut self, slot: &Slot, moment: &str, taken_at: Timestamp) -> SnapshotTaken {
        if let Err(error) = self.put_refs_back(taken_at) {
            self.warnings.push(format!("{error:#}"));
        }
        self.try_take(slot, moment, taken_at).unwrap_or_else(|error| {
            let failure = format!("no snapshot after {moment}: {error:#}");
            let hint = if was_cut_short(&error) { FILTER_HINT } else { "" };
            self.warnings.push(format!("{failure}{hint}"));
            SnapshotTaken {
                snapshot: self.snapshot.clone(),
                failure: Some(failure),
                ..SnapshotTaken::default()
            }
        })
    }

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

    fn try_take(&mut self, slot: &Slot, moment: &str, taken_at: Timestamp) -> Result<SnapshotTaken> {
        let (tree, taken) = self.look(slot)?;
        let snapshot = self.commit_contents(slot, &tree, self.snapshot.as_ref(), (moment, taken_at))?;
        Ok(SnapshotTaken { snapshot, ..taken })
    }

    /// Reads the work tree as it is now, and compares it with what it was at the last look.
    pub(super) fn look(&mut self, slot: &Slot) -> Result<(ObjectId, SnapshotTaken)> {
        let scratch = self.spool.scratch();
        let index = scratch.join("index");
        // Trees that are not kept live beside the index, only to be compared with.
        let objects = if self.place.snapshots { slot.objects() } else { scratch.join("objects") };
        std::fs::create_dir_all(&objects).with_context(|| format!("create {objects}"))?;
        let private_index =
            PrivateIndex { index: &index, objects: &objects, max_file: self.place.snapshot_max_file };
        let Contents { tree, left_out, refused } = self.work_tree.contents(private_index)?;
        self.warn_of_submodules(&left_out);
        self.warn_of_refused(&left_out);
        self.last_left_out.clone_from(&left_out);
        let progress = self.work_tree.relative(&self.place.progress_path);
        let mut changed = match &self.last_contents {
            Some(before) => self.work_tree.changed(private_index, before, &tree)?,
            None => Vec::new(),
        };
        changed.retain(|file| file.path != progress.as_bytes());
        let most_changed = most_changed(&changed);
        let changed = changed.into_iter().map(|file| file.path).collect();
        self.last_contents = Some(tree.clone());
        Ok((tree, SnapshotTaken { snapshot: None, changed, most_changed, left_out, refused, failure: None }))
    }

    /// Writes the commit of a snapshot. `None` if snapshots are not kept.
    pub(super) fn commit_contents(
        &self,
        slot: &Slot,
        tree: &ObjectId,
        previous: Option<&ObjectId>,
        (moment, taken_at): (&str, Timestamp),
    ) -> Result<Option<ObjectId>> {
        if !self.place.snapshots {
            return Ok(None);
        }
        let head = self.store.head()?;
        let snapshot = Snapshot {
            tree,
            previous,
            head: head.as_ref(),
            session: &self.place.session,
            feature: &self.place.feature,
            moment,
            taken_at,
        };
        self.store.write_snapshot(slot, &snapshot).map(Some)
    }

    /// Warns once of each submodule with uncommitted changes, which no snapshot holds.
    fn warn_of_submodules(&mut self, left_out: &[LeftOut]) {
        for left in left_out.iter().filter(|left| left.reason == LeftOut::SUBMODULE_CHANGES) {
            if self.dirty.insert(left.path.clone()) {
                // What cannot be listed is dirty anyway.
                let files = self.work_tree.dirty_files_of(&left.path).unwrap_or_default();
                let files = if files.is_empty() {
                    String::new()
                } else {
                    format!(
                        ": {}",
                        join_truncated(&files, MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}")
                    )
                };
                self.warnings.push(format!(
                    "{}: the snapshots hold the commit of this submodule, not its uncommitted changes{files}",
                    left.path
                ));
            }
        }
    }

    /// Warns once about each file that snapshots lack unintentionally, for example because a clean filter fails.
    fn warn_of_refused(&mut self, left_out: &[LeftOut]) {
        let refused = left_out.iter().filter(|left| left.is_refused());
        let new: Vec<&LeftOut> = refused.filter(|left| !self.refused.contains(&left.path)).collect();
        let Some(first) = new.first() else { return };
        let names: Vec<&str> = new.iter().map(|left| left.path.as_str()).collect();
        let names = join_truncated(&names, MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}");
        let reason = first.reason.trim_start_matches(LeftOut::REFUSED);
        self.warnings.push(format!("the snapshots lack {names}, which git could not read: {reason}"));
        self.refused.extend(new.iter().map(|left| left.path.clone()));
    }
}
