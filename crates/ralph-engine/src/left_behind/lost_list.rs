//! A task list that is gone, and how it comes back.

use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::record::{ObjectId, RALPH, quoted_for_shell};
use ralph_git::worktree::WorkTree;
use ralph_store::{RecordReader, SessionLog, Store};

/// Returns what is gone if the list at `path` is, and the command that brings it back, by the record of a session. `None`
/// if it is there, or if no record has it.
pub fn lost_list(
    store: &Store,
    work_tree: &WorkTree,
    log: &SessionLog,
    path: &Utf8Path,
) -> Option<(String, String)> {
    let top = work_tree.top();
    if path.symlink_metadata().is_ok() {
        return None;
    }
    let name = Utf8PathBuf::from(work_tree.relative(path));
    let name = name.as_path();
    if let Some(on_branch) = on_other_branch(store, work_tree, log, name) {
        return Some(on_branch);
    }
    let folder = path.parent().filter(|folder| !folder.is_dir());
    let what = match folder {
        Some(folder) => {
            let folder = folder.strip_prefix(top).unwrap_or(folder);
            format!("the folder {folder} is gone, and the task list with it")
        }
        None => format!("the task list {name} is gone"),
    };
    let restore = restoration(store, log, name).or_else(|| extraction(log, path, store))?;
    Some((what, restore))
}

/// Returns where the list is if the branch of the session has it and another one is checked out, and the command that goes
/// back.
fn on_other_branch(
    store: &Store,
    work_tree: &WorkTree,
    log: &SessionLog,
    name: &Utf8Path,
) -> Option<(String, String)> {
    let begun = log.entries.iter().rfind(|entry| entry.kind().begins())?;
    let branch = store.readable_session(begun)?.branch?;
    let now = work_tree.branch().ok()?;
    if work_tree.lane().is_some() || now.as_ref() == Some(&branch) {
        return None;
    }
    let tip = store.refs().tip(&format!("refs/heads/{branch}")).ok()??;
    work_tree.committed_file(&tip, name.as_str()).ok()??;
    let now = now.map_or_else(|| "HEAD is detached".to_owned(), |now| format!("`{now}` is checked out"));
    let what = format!("the task list {name} is on the branch `{branch}`, and {now}");
    Some((what, format!("git switch {}", quoted_for_shell(&branch))))
}

/// Returns the command that restores the newest snapshot that has the list.
fn restoration(store: &Store, log: &SessionLog, name: &Utf8Path) -> Option<String> {
    let reader = store.reader().ok()?;
    let newest = log
        .iterations()
        .rev()
        .find(|entry| entry.snapshot().as_ref().is_some_and(|snapshot| has_list(&reader, snapshot, name)));
    let number = if let Some(entry) = newest {
        entry.iteration()?
    } else {
        store.first_snapshot(log).ok()?.filter(|snapshot| has_list(&reader, snapshot, name))?;
        0
    };
    // A number alone means the latest session.
    let is_latest = store.newest_session().ok()?.as_ref() == Some(log.id());
    let session = if is_latest { String::new() } else { format!("{}:", log.id()) };
    Some(format!("{RALPH} restore {session}{number} --tasks"))
}

fn has_list(reader: &RecordReader<'_>, snapshot: &ObjectId, name: &Utf8Path) -> bool {
    let is_here = reader.has(snapshot).unwrap_or(false);
    is_here && reader.file(snapshot, name.as_str()).is_ok_and(|file| file.is_some())
}

/// Returns the command that takes the list out of the newest record that has it: snapshots leave out what git ignores.
fn extraction(log: &SessionLog, path: &Utf8Path, store: &Store) -> Option<String> {
    let reader = store.reader().ok()?;
    let entry = log.iterations().rev().find(|entry| {
        let list = reader.file(&entry.commit(), "tasks.md");
        list.is_ok_and(|list| list.is_some_and(|bytes| !bytes.is_empty()))
    })?;
    let folder: Utf8PathBuf = path.parent()?.to_owned();
    let (folder, path) = (quoted_for_shell(folder.as_str()), quoted_for_shell(path.as_str()));
    Some(format!("mkdir -p {folder} && git show {}:tasks.md > {path}", entry.commit().short()))
}
