//! Snapshots of the work tree, of records and between two of them, and what they leave out.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;
use camino::Utf8PathBuf;

use ralph_core::judge::IgnoredFiles;
use ralph_core::record::{Before, ObjectId, Timestamp};
use ralph_git::worktree::{PathChange, PrivateIndex, RawPath, TreeEntry};
use ralph_os::process::{create_private_dir, was_cut_short};
use ralph_store::{SessionRefs, Slot, Snapshot, SpoolMeta};

use super::Recorder;
use crate::snapshot_taken::SnapshotTaken;
use crate::watched_work_tree::Look;

/// What to do where git had to be ended while it read the work tree.
const FILTER_HINT: &str = "\nhint: if a clean filter hangs, `git config --get-regexp '^filter[.]'` names it; `snapshots = false` records without the work tree";

impl Recorder<'_> {
    /// Takes a snapshot and compares it with the one before. A snapshot that fails costs itself, not the record.
    pub fn take(&mut self, slot: &Slot, moment: &str, taken_at: Timestamp) -> SnapshotTaken {
        if let Err(error) = self.put_refs_back() {
            self.warnings.push(format!("{error:#}"));
        }
        let taken = self.try_take(slot, moment, taken_at);
        (self.is_snapshot_good, self.is_in_doubt) = (taken.is_ok(), false);
        taken.unwrap_or_else(|error| {
            let failure = format!("no snapshot after {moment}: {error:#}");
            let hint = if was_cut_short(&error) { FILTER_HINT } else { "" };
            self.warnings.push(format!("{failure}{hint}"));
            SnapshotTaken {
                snapshot: self.tips.snapshot.clone(),
                failure: Some(failure),
                ..SnapshotTaken::default()
            }
        })
    }

    /// Returns what an attempt begins from now: the last snapshot, with what it left out; `None` if that is not known.
    pub fn before(&mut self, slot: &Slot) -> Option<Before> {
        let is_same = self.is_snapshot_good
            && self.place.snapshots
            && (!self.is_in_doubt || self.peek(slot).is_ok_and(|(_, changed)| changed.is_empty()));
        let snapshot = self.tips.snapshot.clone().filter(|_| is_same)?;
        Some(Before { snapshot, left_out: self.work_tree.last_left_out.clone() })
    }

    /// Writes the last snapshot of a session in a lane once more, upon the last result: that goes with the snapshots to others.
    pub(super) fn end_snapshot(&self, slot: &Slot, taken_at: Timestamp) -> Result<Option<ObjectId>> {
        let Some(previous) = self.tips.snapshot.as_ref().filter(|_| self.work_tree().lane().is_some()) else {
            return Ok(None);
        };
        let refs = SessionRefs::new(&self.place.feature, self.place.session.clone());
        let Some(log) = self.store.session(&refs)? else { return Ok(None) };
        let successes = log.iterations().rev().filter(|entry| entry.is_result());
        let published =
            successes.into_iter().find_map(|entry| self.store.readable_iteration(entry)?.published);
        let Some(published) = published.as_ref() else { return Ok(None) };
        let snapshot = Snapshot {
            tree: previous,
            previous: Some(previous),
            head: Some(published),
            sealed: None,
            session: &self.place.session,
            feature: &self.place.feature,
            moment: "the end",
            taken_at,
        };
        self.store.write_published(slot, &snapshot)
    }

    /// Says that a command of the user's ran, which may have changed files since the last snapshot.
    pub fn doubt(&mut self) {
        self.is_in_doubt = true;
    }

    /// Takes a snapshot that belongs to no record, if files changed since the last one. Returns their paths.
    pub fn take_between(&mut self, slot: &Slot, moment: &str, taken_at: Timestamp) -> Vec<RawPath> {
        self.last_look = None;
        let taken = self.take(slot, moment, taken_at);
        let Some(new) = taken.snapshot.filter(|_| taken.failure.is_none() && !taken.changed.is_empty())
        else {
            return Vec::new();
        };
        let refs = SessionRefs::new(&self.place.feature, self.place.session.clone());
        match self.store.keep_snapshot(slot, &refs, self.tips.snapshot.as_ref(), &new) {
            Ok(()) => self.tips.snapshot = Some(new),
            Err(error) => self.warnings.push(format!("no snapshot after {moment}: {error:#}")),
        }
        self.edits.extend(taken.blobs);
        taken.changed
    }

    /// Returns the files in which two trees or snapshots differ, without progress.txt and the task list. `slot` has the
    /// objects that are in no record yet.
    pub fn differences(
        &self,
        slot: Option<&Slot>,
        from: &ObjectId,
        to: &ObjectId,
    ) -> Result<Vec<PathChange>> {
        let mut changes = match self.work_tree.compared(self.trees.get(from).unwrap_or(from), to) {
            Some(known) => known.to_vec(),
            None => self.all_differences(slot, from, to)?,
        };
        let [tasks, progress] =
            [&self.place.tasks_path, &self.place.progress_path].map(|path| self.work_tree().relative(path));
        changes.retain(|change| {
            let name = change.name();
            name != tasks && name != progress && !change.is_of_repository()
        });
        Ok(changes)
    }

    /// Returns the same with progress.txt and the task list.
    pub fn all_differences(
        &self,
        slot: Option<&Slot>,
        from: &ObjectId,
        to: &ObjectId,
    ) -> Result<Vec<PathChange>> {
        let (index, objects) = self.index_and_objects(slot);
        create_private_dir(&objects)?;
        let private_index =
            PrivateIndex { index: &index, objects: &objects, max_file: self.place.snapshot_max_file };
        self.work_tree().differences(private_index, from, to, None)
    }

    /// Returns the files of one tree or snapshot that another has elsewhere, moved or copied, alike in large part.
    pub fn moved_files(&self, slot: &Slot, from: &ObjectId, to: &ObjectId) -> Result<BTreeSet<RawPath>> {
        let (index, objects) = self.index_and_objects(Some(slot));
        let private_index =
            PrivateIndex { index: &index, objects: &objects, max_file: self.place.snapshot_max_file };
        self.work_tree().moved(private_index, from, to)
    }

    /// Returns the contents of files in trees, but for those of more than `max_bytes`.
    pub fn contents_of<'e>(
        &self,
        slot: &Slot,
        entries: impl IntoIterator<Item = &'e TreeEntry>,
        max_bytes: u64,
    ) -> Result<HashMap<ObjectId, Vec<u8>>> {
        let (index, objects) = self.index_and_objects(Some(slot));
        let private_index =
            PrivateIndex { index: &index, objects: &objects, max_file: self.place.snapshot_max_file };
        self.work_tree().contents_of(private_index, entries, max_bytes)
    }

    /// Reads the work tree as an agent left it: what the attempt is judged by, and a snapshot of its own if anything changes it
    /// before the one of the record.
    pub fn seal(&mut self, slot: &Slot) -> Result<ObjectId> {
        let tree = self.read_again(slot)?;
        self.sealed = Some(tree.clone());
        Ok(tree)
    }

    /// Reads the work tree as it is now. The next snapshot has this, unless files are said to be changed meanwhile.
    pub fn read_again(&mut self, slot: &Slot) -> Result<ObjectId> {
        let look = self.read(slot)?;
        let tree = look.0.clone();
        self.last_look = Some(look);
        Ok(tree)
    }

    /// Writes files again that were deleted since they were looked at for `slot`. Returns the paths where something else is now.
    pub fn bring_back(&mut self, slot: &Slot, changes: &[PathChange]) -> Result<Vec<RawPath>> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        self.last_look = None;
        let (index, objects) = self.index_and_objects(Some(slot));
        let private_index =
            PrivateIndex { index: &index, objects: &objects, max_file: self.place.snapshot_max_file };
        self.work_tree().replace(private_index, changes)
    }

    /// Returns the files that the last snapshot does not show; `None` if there are too many to look at, or no snapshot was taken.
    pub fn ignored_files(&self) -> Option<IgnoredFiles> {
        let (index, _) = self.index_and_objects(None);
        self.work_tree().ignored_files(&index).ok().flatten()
    }

    /// Has the next snapshot read the work tree.
    pub fn note_change(&mut self) {
        self.last_look = None;
    }

    /// Returns the work tree as it was last read, or as it is now.
    pub fn last_read(&mut self, slot: &Slot) -> Result<ObjectId> {
        let known = self.last_look.as_ref().map(|look| look.0.clone());
        known.map_or_else(|| self.read_again(slot), Ok)
    }

    /// Returns the work tree as it is now, and the files that changed since the last look. The next snapshot is compared
    /// with what it would have been without this.
    pub fn peek(&mut self, slot: &Slot) -> Result<(ObjectId, Vec<RawPath>)> {
        let before = self.work_tree.last_contents.clone();
        self.last_look = None;
        let looked = self.look(slot);
        self.work_tree.last_contents = before;
        looked.map(|(tree, taken)| (tree, taken.changed))
    }

    /// Takes the snapshot of a record again, as files were changed after the first one; compared with `before`, what the
    /// work tree held before both.
    pub fn take_again(
        &mut self,
        slot: &Slot,
        moment: &str,
        taken_at: Timestamp,
        before: Option<ObjectId>,
    ) -> SnapshotTaken {
        self.work_tree.last_contents = before;
        self.last_look = None;
        self.take(slot, moment, taken_at)
    }

    fn try_take(&mut self, slot: &Slot, moment: &str, taken_at: Timestamp) -> Result<SnapshotTaken> {
        let (tree, taken) = self.look(slot)?;
        let previous = self.tips.snapshot.clone();
        let sealed = match self.sealed.clone().filter(|sealed| *sealed != tree) {
            Some(sealed) => {
                let moment = format!("the agent of {moment}");
                self.commit_contents(slot, &sealed, [previous.as_ref(), None], &moment, taken_at)?
            }
            None => None,
        };
        let parents = [previous.as_ref(), sealed.as_ref()];
        let snapshot = self.commit_contents(slot, &tree, parents, moment, taken_at)?;
        let sealed = self.sealed.as_ref().and(sealed.or_else(|| snapshot.clone()));
        Ok(SnapshotTaken { snapshot, sealed, ..taken })
    }

    fn read(&mut self, slot: &Slot) -> Result<Look> {
        let (index, objects) = self.private_index(slot)?;
        let private_index =
            PrivateIndex { index: &index, objects: &objects, max_file: self.place.snapshot_max_file };
        self.work_tree.read(private_index, &mut self.warnings)
    }

    /// Reads the work tree as it is now, and compares it with what it was at the last look.
    pub(super) fn look(&mut self, slot: &Slot) -> Result<(ObjectId, SnapshotTaken)> {
        let look = match self.last_look.take() {
            Some(look) => look,
            None => self.read(slot)?,
        };
        let (index, objects) = self.private_index(slot)?;
        let private_index =
            PrivateIndex { index: &index, objects: &objects, max_file: self.place.snapshot_max_file };
        let SpoolMeta { progress_path, tasks_path, .. } = &self.place;
        self.work_tree.compare(private_index, progress_path, tasks_path, look)
    }

    /// Adds the lines of the first short changes to those that `taken` has most of.
    pub fn add_short_diffs(&self, slot: &Slot, taken: &mut SnapshotTaken) -> Result<()> {
        let Some((from, to)) = &taken.trees else { return Ok(()) };
        let (index, objects) = self.private_index(slot)?;
        let private_index =
            PrivateIndex { index: &index, objects: &objects, max_file: self.place.snapshot_max_file };
        let work_tree = self.work_tree.work_tree();
        work_tree.add_short_diffs(private_index, from, to, &mut taken.most_changed)
    }

    /// Returns where the index of snapshots is, and their objects.
    fn private_index(&self, slot: &Slot) -> Result<(Utf8PathBuf, Utf8PathBuf)> {
        let (index, objects) = self.index_and_objects(Some(slot));
        create_private_dir(&objects)?;
        Ok((index, objects))
    }

    fn index_and_objects(&self, slot: Option<&Slot>) -> (Utf8PathBuf, Utf8PathBuf) {
        let scratch = self.spool.scratch();
        // Trees that are not kept live beside the index, only to be compared with.
        let objects = match slot {
            Some(slot) if self.place.snapshots => slot.objects(),
            _ => scratch.join("objects"),
        };
        (scratch.join("index"), objects)
    }

    /// Writes the commit of a snapshot that is taken after `moment`: it follows the one before, and the sealed one if that is
    /// another. `None` if snapshots are not kept.
    pub(super) fn commit_contents(
        &mut self,
        slot: &Slot,
        tree: &ObjectId,
        [previous, sealed]: [Option<&ObjectId>; 2],
        moment: &str,
        taken_at: Timestamp,
    ) -> Result<Option<ObjectId>> {
        if !self.place.snapshots {
            return Ok(None);
        }
        let head = self.work_tree().head()?;
        let snapshot = Snapshot {
            tree,
            previous,
            head: head.as_ref(),
            sealed,
            session: &self.place.session,
            feature: &self.place.feature,
            moment,
            taken_at,
        };
        let commit = self.store.write_snapshot(slot, &snapshot)?;
        self.trees.insert(commit.clone(), tree.clone());
        Ok(Some(commit))
    }
}
