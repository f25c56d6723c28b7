//! Taking the changes of failed attempts back, so that the next task begins where the validation passed.
//!
//! A three-way merge: what the attempts changed is taken out of the work tree as it is now, so what a person did
//! meanwhile stays. The work tree as it was found is on a ref, as for `restore`, before the first file changes; a note in
//! the spool lets a recovery finish what a crash cut off.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow};
use camino::Utf8Path;

use ralph_core::record::{RALPH, Timestamp};
use ralph_git::worktree::{PathChange, RawPath, WorkTree};
use ralph_store::{RestorePoint, SpoolMeta, Store};

use super::last_green::Attempt;
use super::scratch_work_tree::ScratchWorkTree;

/// Where changes are taken back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rollback<'a> {
    pub store: &'a Store,
    pub work_tree: &'a WorkTree,
    pub place: &'a SpoolMeta,
}

impl<'a> Rollback<'a> {
    /// Works out how to take back what `attempts` changed, which are given oldest first. Returns the changes that do it,
    /// and the paths that the attempts changed and that stay as they are.
    pub fn plan(
        self,
        here: &ScratchWorkTree<'_>,
        attempts: &[Attempt],
    ) -> Result<(Vec<PathChange>, Vec<String>)> {
        let ScratchWorkTree { work_tree, now, .. } = here;
        let private_index = here.private_index();
        let hidden = work_tree.out_of_sight(private_index)?;
        let mut made: BTreeMap<RawPath, PathChange> = BTreeMap::new();
        let mut skipped: BTreeSet<RawPath> = BTreeSet::new();
        let mut ours = now.clone();
        for Attempt { before, after, .. } in attempts.iter().rev() {
            let (mut changes, conflicts) = work_tree.merge_trees(private_index, after, &ours, before)?;
            for (base, change) in conflicts {
                match work_tree.merge_contents(private_index, base.as_ref(), &change)? {
                    Some(merged) => changes.push(merged),
                    None => drop(skipped.insert(change.path)),
                }
            }
            for change in changes {
                if change.is_of_repository() || hidden.contains(&change.path) {
                    skipped.insert(change.path);
                } else if !skipped.contains(&change.path) {
                    // A later change of the same path begins where this one ended.
                    let first =
                        made.get(&change.path).map_or(change.before, |earlier| earlier.before.clone());
                    made.insert(change.path.clone(), PathChange { before: first, ..change });
                }
            }
            made.retain(|path, change| !skipped.contains(path) && change.before != change.after);
            let so_far: Vec<PathChange> = made.values().cloned().collect();
            ours = work_tree.with_changes(private_index, &so_far)?;
        }
        let mut changes: Vec<PathChange> = made.into_values().collect();
        changes.retain(|change| !work_tree.has_mode_already(change));
        let top = self.work_tree.top();
        let [tasks, progress] =
            [&self.place.tasks_path, &self.place.progress_path].map(|path| work_tree.relative(path));
        changes.retain(|change| {
            let is_list = change.name() == tasks;
            if is_list {
                skipped.insert(change.path.clone());
            }
            !is_list && !is_journal(top, &progress, &change.name())
        });
        skipped.extend(work_tree.withdraw_blocked(private_index, &mut changes)?);
        let mut skipped: BTreeSet<String> =
            skipped.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        skipped.retain(|path| !is_journal(top, &progress, path));
        Ok((changes, skipped.into_iter().collect()))
    }

    /// Saves the work tree as it is, and then takes the changes back. `on_saved` notes where it is before any file
    /// changes. `name` is what the work tree goes back to, for people.
    pub fn carry_out(
        self,
        here: &ScratchWorkTree<'_>,
        changes: &[PathChange],
        name: &str,
        at: Timestamp,
        on_saved: &mut dyn FnMut(&RestorePoint) -> Result<()>,
    ) -> Result<RestorePoint> {
        let wanted = here.with_changes(changes)?;
        let point = here.save(&wanted, &self.place.session, &self.place.feature, name, at)?;
        on_saved(&point)?;
        here.apply(&wanted).map_err(|error| anyhow!("{error:#}\nhint: {}", undo(&point)))?;
        Ok(point)
    }

    /// Finishes a rollback that a crash cut off. Returns the paths that stay, because they were changed since.
    pub fn finish(self, point: &RestorePoint) -> Result<Vec<String>> {
        let here = self.read()?;
        let ScratchWorkTree { work_tree, now, .. } = &here;
        let private_index = here.private_index();
        let (mut changes, conflicts) =
            work_tree.merge_trees(private_index, &point.found, now, &point.made)?;
        let mut skipped = Vec::new();
        for (_, change) in conflicts {
            if work_tree.was_cut_short(private_index, &change)? {
                changes.push(change);
            } else {
                skipped.push(change.name());
            }
        }
        changes.retain(|change| !work_tree.has_mode_already(change));
        let blocked = work_tree.withdraw_blocked(private_index, &mut changes)?;
        skipped.extend(blocked.iter().map(|path| String::from_utf8_lossy(path).into_owned()));
        if !changes.is_empty() {
            here.apply(&here.with_changes(&changes)?)?;
        }
        Ok(skipped)
    }

    /// Reads the work tree as it is now.
    pub fn read(self) -> Result<ScratchWorkTree<'a>> {
        let work_tree = self.work_tree.clone().at_work_for(&self.place.session);
        ScratchWorkTree::read(self.store, work_tree, self.place.snapshot_max_file)
    }
}

/// Returns what brings the changes of a rollback back.
pub(crate) fn undo(point: &RestorePoint) -> String {
    format!("`{RALPH} restore --undo {}` brings them back", point.number)
}

/// Returns true if a path is a journal of ours, which only the loop and `rebuild` write; `progress` is the session's own.
pub(crate) fn is_journal(top: &Utf8Path, progress: &str, path: &str) -> bool {
    let path = Utf8Path::new(path);
    path == progress
        || path.file_name() == Some("progress.txt") && top.join(path).with_file_name("tasks.md").is_file()
}
