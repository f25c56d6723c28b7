//! Lock files of git's own, which a git that is killed leaves behind.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use ralph_git::worktree::WorkTree;
use ralph_os::if_there::IfThere;

/// Time between two looks at a lock that is young.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// Folders of the git directories that have lock files in them, beside the directories themselves.
const FOLDERS: [&str; 2] = ["objects/info", "info"];

/// Returns the lock files of this work tree and of what all work trees share. Those of our own refs are the store's.
pub fn git_locks(work_tree: &WorkTree) -> Vec<Utf8PathBuf> {
    let (git_dir, common_dir) = (work_tree.git_dir(), work_tree.repository().common_dir.as_path());
    let mut found = Vec::new();
    let mut directories = vec![git_dir];
    if git_dir != common_dir {
        directories.push(common_dir);
    }
    for directory in directories {
        add_locks(directory, &mut found);
        for folder in FOLDERS {
            add_locks(&directory.join(folder), &mut found);
        }
        add_below(&directory.join("refs"), &mut found);
    }
    found
}

/// Adds the locks right in a folder, and returns the folders in it. What cannot be read has none.
fn add_locks(folder: &Utf8Path, found: &mut Vec<Utf8PathBuf>) -> Vec<Utf8PathBuf> {
    let entries = folder.read_dir_utf8().into_iter().flatten().flatten();
    let mut folders = Vec::new();
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folders.push(path.to_owned()),
            Ok(_) if path.extension() == Some("lock") => found.push(path.to_owned()),
            _ => {}
        }
    }
    folders
}

fn add_below(folder: &Utf8Path, found: &mut Vec<Utf8PathBuf>) {
    for folder in add_locks(folder, found) {
        let name = folder.file_name().unwrap_or_default();
        let is_ours = name == "ralph" || name.starts_with("ralph-");
        if !is_ours {
            add_below(&folder, found);
        }
    }
}

/// Returns what people call a lock file: `.git/index.lock`.
pub fn lock_name(work_tree: &WorkTree, lock: &Utf8Path) -> String {
    work_tree.relative(lock)
}

/// Removes a lock that nobody holds: one as old as `age`, while `is_held` is false. Returns true if it was removed, and
/// `None` if it is gone by itself.
pub fn remove_abandoned_lock(
    lock: &Utf8Path,
    age: Duration,
    is_held: &dyn Fn() -> bool,
) -> io::Result<Option<bool>> {
    loop {
        let Some(metadata) = fs::symlink_metadata(lock).if_there()? else { return Ok(None) };
        // One from the future is as old as it will ever get.
        if metadata.modified()?.elapsed().unwrap_or(age) >= age {
            break;
        }
        thread::sleep(RETRY_INTERVAL);
    }
    if is_held() {
        return Ok(Some(false));
    }
    Ok(fs::remove_file(lock).if_there()?.map(|()| true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_git::repository::Repository;
    use ralph_os::process::Tool;

    fn work_tree() -> (tempfile::TempDir, WorkTree) {
        let folder = tempfile::tempdir().unwrap();
        let top = Utf8PathBuf::try_from(folder.path().canonicalize().unwrap()).unwrap();
        Tool::git(&top).args(["init", "--quiet"]).read().unwrap();
        let (_, work_tree) = Repository::discover(&top, &[None, None], None).unwrap();
        (folder, work_tree.unwrap())
    }

    #[test]
    fn locks_of_git_are_found_wherever_they_are_and_ours_are_not_among_them() {
        let (_folder, work_tree) = work_tree();
        let git_dir = work_tree.git_dir().to_owned();
        let expected = ["HEAD.lock", "index.lock", "objects/info/commit-graph.lock", "refs/heads/a/b.lock"];
        for name in expected.iter().chain(&["refs/ralph/001/x.lock", "ralph/lock", "index"]) {
            let path = git_dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let mut found: Vec<String> = git_locks(&work_tree)
            .iter()
            .map(|lock| lock.strip_prefix(&git_dir).unwrap().to_string())
            .collect();
        found.sort();
        assert_eq!(found, expected);
        assert_eq!(lock_name(&work_tree, &git_dir.join("index.lock")), ".git/index.lock");
    }

    #[test]
    fn a_lock_is_removed_if_nobody_holds_it() {
        let (_folder, work_tree) = work_tree();
        let lock = work_tree.git_dir().join("index.lock");
        let remove = |is_held: bool| remove_abandoned_lock(&lock, Duration::ZERO, &|| is_held).unwrap();
        assert_eq!(remove(false), None);
        fs::write(&lock, "").unwrap();
        assert_eq!((remove(true), lock.exists()), (Some(false), true));
        assert_eq!((remove(false), lock.exists()), (Some(true), false));
    }
}
