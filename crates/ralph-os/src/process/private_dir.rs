//! Folders of ours: made for the user alone, and removed whatever agents did to them.

use std::path::Path;
use std::{fs, io};

use anyhow::{Context, Result};
use camino::Utf8Path;

use crate::if_there::IfThere;
use ralph_core::record::Refusal;

use crate::platform::{private_dirs, remove_dir_all, set_mode};

/// The folder in a git directory that is ours.
const OURS: &str = "ralph";

/// Creates `dir` and the folders above it for the user alone; fine if it is there.
///
/// # Errors
///
/// If the git directory is gone that `dir` was in: were a new one made, what was moved away could not be moved back.
pub fn create_private_dir(dir: &Utf8Path) -> Result<()> {
    let missing = dir.ancestors().take_while(|folder| folder.symlink_metadata().is_err());
    let ours = missing.filter(|folder| folder.file_name() == Some(OURS)).filter_map(Utf8Path::parent);
    let git_dir = ours.filter(|git_dir| git_dir.symlink_metadata().is_err()).last();
    if let Some(git_dir) = git_dir.filter(|git_dir| !git_dir.ancestors().any(is_git_dir)) {
        return Err(Refusal::new(format!("the git directory `{git_dir}` is gone"))
            .with_hint("move it back to where it was, then run the command again")
            .into());
    }
    private_dirs().recursive(true).create(dir).with_context(|| format!("create {dir}"))
}

/// Removes a folder with all that is in it, also in folders that cannot be written, or a file or a link; fine if nothing is there.
pub fn remove_path(path: &Utf8Path) -> io::Result<()> {
    match path.symlink_metadata().if_there()? {
        None => Ok(()),
        Some(found) if found.is_dir() => remove_dir_all(path.as_std_path()).or_else(|_| {
            open_folders(path.as_std_path());
            remove_dir_all(path.as_std_path())
        }),
        Some(_) => fs::remove_file(path),
    }
}

/// Makes all folders below `dir` writable, so that their contents can be removed: agents and build tools make some read-only.
pub fn open_folders(dir: &Path) {
    let _not_ours = set_mode(dir, 0o700).is_err();
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_folders(&entry.path());
        }
    }
}

fn is_git_dir(folder: &Utf8Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_folder_is_made_where_the_git_directory_was() {
        let folder = tempfile::tempdir().unwrap();
        let top = Utf8Path::from_path(folder.path()).unwrap();
        for (path, git_dir) in [
            ("repo/.git/ralph/spool/x", "repo/.git"),
            ("ralph/repo.git/worktrees/w/ralph/loops/ralph", "ralph/repo.git/worktrees/w"),
        ] {
            let error = create_private_dir(&top.join(path)).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("the git directory `{}` is gone\nhint: ", top.join(git_dir))),
                "{error}"
            );
            assert_eq!(top.read_dir().unwrap().count(), 0);
        }
        fs::create_dir_all(top.join("repo/.git/objects")).unwrap();
        fs::write(top.join("repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for path in ["repo/.git/ralph/spool/x", "repo/.git/ralph/loops/ralph/ralph", "elsewhere/a/b"] {
            create_private_dir(&top.join(path)).unwrap();
            assert!(top.join(path).is_dir());
        }
    }

    #[test]
    fn what_is_removed_is_a_file_or_a_folder_with_folders_that_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let top = Utf8Path::from_path(folder.path()).unwrap();
        fs::create_dir_all(top.join("dir/closed/deep")).unwrap();
        fs::write(top.join("dir/closed/deep/file"), "x").unwrap();
        fs::write(top.join("file"), "x").unwrap();
        for closed in ["dir/closed/deep", "dir/closed"] {
            set_mode(top.join(closed).as_std_path(), 0o500).unwrap();
        }
        for path in ["dir", "file", "nothing"] {
            remove_path(&top.join(path)).unwrap();
        }
        assert_eq!(top.read_dir().unwrap().count(), 0);
    }
}
