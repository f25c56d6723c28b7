//! A task list that is gone, and how it comes back.

use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::record::{ObjectId, RALPH, quoted_for_shell};
use ralph_git::worktree::WorkTree;
use ralph_store::{SessionLog, Store};

/// A task list that was deleted, alone or with its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostList {
    /// `the folder specs/001-demo is gone, and the task list with it`
    pub what: String,
    /// The command that brings it back.
    pub restore: String,
}

impl LostList {
    /// Returns what is known of the list at `path`, by the record of a session. `None` if it is there, or if no record has
    /// it.
    pub fn of(store: &Store, work_tree: &WorkTree, log: &SessionLog, path: &Utf8Path) -> Option<Self> {
        let top = work_tree.top();
        if path.symlink_metadata().is_ok() {
            return None;
        }
        let name = Utf8PathBuf::from(work_tree.relative(path));
        let name = name.as_path();
        let folder = path.parent().filter(|folder| !folder.is_dir());
        let what = match folder {
            Some(folder) => {
                let folder = folder.strip_prefix(top).unwrap_or(folder);
                format!("the folder {folder} is gone, and the task list with it")
            }
            None => format!("the task list {name} is gone"),
        };
        let restore = restoration(store, log, name).or_else(|| extraction(log, path, store))?;
        Some(Self { what, restore })
    }
}

/// Returns the command that restores the newest snapshot that has the list.
fn restoration(store: &Store, log: &SessionLog, name: &Utf8Path) -> Option<String> {
    let reader = store.reader().ok()?;
    let has_list = |snapshot: &ObjectId| {
        let is_here = reader.has(snapshot).unwrap_or(false);
        is_here && reader.file(snapshot, name.as_str()).is_ok_and(|file| file.is_some())
    };
    let newest = log.iterations().rev().find(|entry| entry.snapshot.as_ref().is_some_and(has_list));
    let number = if let Some(entry) = newest {
        entry.iteration?
    } else {
        store.first_snapshot(log).ok()?.filter(has_list)?;
        0
    };
    // A number alone means the latest session.
    let is_latest = store.newest_session().ok()?.as_ref() == Some(log.id());
    let session = if is_latest { String::new() } else { format!("{}:", log.id()) };
    Some(format!("{RALPH} restore {session}{number} --tasks"))
}

/// Returns the command that takes the list out of the newest record that has it: snapshots leave out what git ignores.
fn extraction(log: &SessionLog, path: &Utf8Path, store: &Store) -> Option<String> {
    let reader = store.reader().ok()?;
    let has_list = |commit: &ObjectId| {
        reader.file(commit, "tasks.md").is_ok_and(|file| file.is_some_and(|bytes| !bytes.is_empty()))
    };
    let entry = log.iterations().rev().find(|entry| has_list(&entry.commit))?;
    let folder: Utf8PathBuf = path.parent()?.to_owned();
    let (folder, path) = (quoted_for_shell(folder.as_str()), quoted_for_shell(path.as_str()));
    Some(format!("mkdir -p {folder} && git show {}:tasks.md > {path}", entry.commit.short()))
}
