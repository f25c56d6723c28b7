//! The work tree of a session, each time compared with the last look at it.

use std::collections::BTreeSet;

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::record::{LeftOut, ObjectId, join_files};
use ralph_git::worktree::{ChangedFile, PathChange, PrivateIndex, RawPath, TreeEntry, WorkTree};

use super::snapshot_taken::{SnapshotTaken, most_changed};

/// Maximum number of files that a warning names.
const MAX_NAMED_FILES: usize = 5;

/// A work tree, and what was seen of it.
pub(super) struct WatchedWorkTree {
    work_tree: WorkTree,
    /// What files are compared with: the last snapshot, or its tree where snapshots are not kept.
    pub last_contents: Option<ObjectId>,
    /// What the last snapshot left out.
    pub last_left_out: Vec<LeftOut>,
    /// Submodules of whose changes the user knows already.
    dirty: BTreeSet<String>,
    /// Files that git failed to take, of which the user knows already.
    refused: BTreeSet<String>,
    /// The same of files that rules leave out. `None` before the first look: what is there then is the user's.
    left_out: Option<BTreeSet<String>>,
    /// Of these, the ones that came since, and that no success was flagged for.
    hidden: BTreeSet<String>,
    /// What said at the first look what git ignores in this clone alone.
    exclusions: Option<Vec<Option<Vec<u8>>>>,
    /// Files that git ignores since, and that earlier snapshots have; `None` if no rule was changed.
    newly_ignored: Option<Vec<String>>,
    /// The files in which two states differ that were compared last.
    compared: Option<([ObjectId; 2], Vec<PathChange>)>,
}

/// What was read of a work tree: its tree, what it leaves out, and of that what git failed to take.
pub(super) type Look = (ObjectId, Vec<LeftOut>, BTreeSet<RawPath>);

impl WatchedWorkTree {
    pub fn new(work_tree: WorkTree, last_contents: Option<ObjectId>) -> Self {
        Self {
            work_tree,
            last_contents,
            last_left_out: Vec::new(),
            dirty: BTreeSet::new(),
            refused: BTreeSet::new(),
            left_out: None,
            hidden: BTreeSet::new(),
            exclusions: None,
            newly_ignored: None,
            compared: None,
        }
    }

    pub fn work_tree(&self) -> &WorkTree {
        &self.work_tree
    }

    /// Reads the work tree as it is now.
    pub fn read(&mut self, private_index: PrivateIndex<'_>, warnings: &mut Vec<String>) -> Result<Look> {
        let (tree, left_out, refused) = self.work_tree.contents(private_index)?;
        let ignored = self.work_tree.take_newly_ignored();
        if self.exclusions.is_none() {
            // What was changed before the first look is the user's.
            self.exclusions = Some(self.work_tree.exclusions());
        } else if let Some(ignored) = ignored {
            self.newly_ignored.get_or_insert_default().extend(ignored);
        }
        self.warn_of_submodules(&left_out, warnings);
        self.warn_of_refused(&left_out, warnings);
        self.warn_of_left_out(&left_out, warnings);
        self.last_left_out.clone_from(&left_out);
        Ok((tree, left_out, refused))
    }

    /// Returns what snapshots leave out by a rule since the first look or the last success, and of the last change the
    /// repositories, of which they have no files.
    pub fn hidden(&self) -> Vec<String> {
        let changes = self.compared.iter().flat_map(|(_, changes)| changes);
        let is_repository = |entry: &Option<TreeEntry>| entry.as_ref().is_some_and(TreeEntry::is_repository);
        let new = changes.filter(|change| is_repository(&change.after) && !is_repository(&change.before));
        self.hidden.iter().cloned().chain(new.map(PathChange::name)).collect()
    }

    /// Returns whether the rules for what git ignores were changed since, and the files of earlier snapshots that these ignore.
    pub fn newly_ignored(&self) -> Option<Vec<String>> {
        let is_changed = self.exclusions.as_ref().is_some_and(|known| *known != self.work_tree.exclusions());
        self.newly_ignored.clone().or(is_changed.then(Vec::new))
    }

    /// Takes what is left out and ignored now for known: a success was flagged for it.
    pub fn accept_hidden(&mut self) {
        (self.hidden, self.newly_ignored) = (BTreeSet::new(), None);
    }

    /// Returns the files in which two states differ, if these were compared last.
    pub fn compared(&self, from: &ObjectId, to: &ObjectId) -> Option<&[PathChange]> {
        let ([before, after], changes) = self.compared.as_ref()?;
        (before == from && after == to).then_some(changes)
    }

    /// Compares the work tree with what it was at the last look, without the file `progress`.
    pub fn compare(
        &mut self,
        private_index: PrivateIndex<'_>,
        progress: &Utf8Path,
        tasks: &Utf8Path,
        (tree, left_out, refused): Look,
    ) -> Result<(ObjectId, SnapshotTaken)> {
        let progress = self.work_tree.relative(progress);
        let mut changed = match &self.last_contents {
            Some(before) => self.work_tree.changed(private_index, before, &tree)?,
            None => Vec::new(),
        };
        self.compared = self.last_contents.clone().map(|before| {
            let change = |file: &ChangedFile| {
                let [before, after] = file.entries.clone();
                PathChange { path: file.path.clone(), before, after }
            };
            ([before, tree.clone()], changed.iter().map(change).collect())
        });
        changed.retain(|file| file.path != progress.as_bytes());
        let most_changed = most_changed(&changed);
        let tasks = self.work_tree.relative(tasks);
        let blobs = changed
            .iter()
            .filter(|file| file.path != tasks.as_bytes() && file.before != file.after)
            .map(|file| (file.path.clone(), [file.before.clone(), file.after.clone()]))
            .collect();
        let changed = changed.into_iter().map(|file| file.path).collect();
        let trees = self.last_contents.replace(tree.clone()).map(|before| (before, tree.clone()));
        let taken = SnapshotTaken {
            changed,
            blobs,
            most_changed,
            trees,
            left_out,
            refused,
            ..SnapshotTaken::default()
        };
        Ok((tree, taken))
    }

    /// Warns once of each submodule with uncommitted changes, which no snapshot holds.
    fn warn_of_submodules(&mut self, left_out: &[LeftOut], warnings: &mut Vec<String>) {
        for left in left_out.iter().filter(|left| left.reason == LeftOut::SUBMODULE_CHANGES) {
            if self.dirty.insert(left.path.clone()) {
                // What cannot be listed is dirty anyway.
                let files = self.work_tree.dirty_files_of(&left.path).unwrap_or_default();
                let files = if files.is_empty() {
                    String::new()
                } else {
                    format!(": {}", join_files(&files, MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}"))
                };
                warnings.push(format!(
                    "{}: the snapshots hold the commit of this submodule, not its uncommitted changes{files}",
                    left.path
                ));
            }
        }
    }

    /// Warns once about each file that came since the first look, and that snapshots lack by a rule. Credentials are
    /// meant to stay out.
    fn warn_of_left_out(&mut self, left_out: &[LeftOut], warnings: &mut Vec<String>) {
        let expected = [LeftOut::CREDENTIALS, LeftOut::SUBMODULE_CHANGES];
        let by_rule =
            left_out.iter().filter(|left| !left.is_refused() && !expected.contains(&left.reason.as_str()));
        let Some(known) = &mut self.left_out else {
            self.left_out = Some(by_rule.map(|left| left.path.clone()).collect());
            return;
        };
        let new: Vec<&LeftOut> = by_rule.filter(|left| known.insert(left.path.clone())).collect();
        self.hidden.extend(new.iter().map(|left| left.path.trim_end_matches('/').to_owned()));
        let names: Vec<String> = new.iter().map(|left| format!("{} ({})", left.path, left.why())).collect();
        if !names.is_empty() {
            let names = join_files(&names, MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}");
            warnings.push(format!(
                "the snapshots lack {names}, which nothing here can bring back\nhint: have git ignore what can be made again; `snapshot-max-file` takes larger files, a first commit takes a repository"
            ));
        }
    }

    /// Warns once about each file that snapshots lack unintentionally, for example because a clean filter fails.
    fn warn_of_refused(&mut self, left_out: &[LeftOut], warnings: &mut Vec<String>) {
        let refused = left_out.iter().filter(|left| left.is_refused());
        let new: Vec<&LeftOut> = refused.filter(|left| !self.refused.contains(&left.path)).collect();
        let Some(first) = new.first() else { return };
        let names: Vec<&str> = new.iter().map(|left| left.path.as_str()).collect();
        let names = join_files(&names, MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}");
        let reason = first.reason.trim_start_matches(LeftOut::REFUSED);
        warnings.push(format!("the snapshots lack {names}, which git could not read: {reason}"));
        self.refused.extend(new.iter().map(|left| left.path.clone()));
    }
}
