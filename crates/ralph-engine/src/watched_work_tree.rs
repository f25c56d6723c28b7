//! The work tree of a session, each time compared with the last look at it.

use std::collections::BTreeSet;

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::record::{LeftOut, ObjectId, join_files};
use ralph_git::worktree::{PrivateIndex, WorkTree};

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
}

impl WatchedWorkTree {
    pub fn new(work_tree: WorkTree, last_contents: Option<ObjectId>) -> Self {
        Self {
            work_tree,
            last_contents,
            last_left_out: Vec::new(),
            dirty: BTreeSet::new(),
            refused: BTreeSet::new(),
            left_out: None,
        }
    }

    pub fn work_tree(&self) -> &WorkTree {
        &self.work_tree
    }

    /// Reads the work tree as it is now, and compares it with what it was at the last look, without the file `progress`.
    pub fn look(
        &mut self,
        private_index: PrivateIndex<'_>,
        progress: &Utf8Path,
        tasks: &Utf8Path,
        warnings: &mut Vec<String>,
    ) -> Result<(ObjectId, SnapshotTaken)> {
        let (tree, left_out, refused) = self.work_tree.contents(private_index)?;
        self.warn_of_submodules(&left_out, warnings);
        self.warn_of_refused(&left_out, warnings);
        self.warn_of_left_out(&left_out, warnings);
        self.last_left_out.clone_from(&left_out);
        let progress = self.work_tree.relative(progress);
        let mut changed = match &self.last_contents {
            Some(before) => self.work_tree.changed(private_index, before, &tree)?,
            None => Vec::new(),
        };
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
        let new = by_rule.filter(|left| known.insert(left.path.clone()));
        let names: Vec<String> = new.map(|left| format!("{} ({})", left.path, left.why())).collect();
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
