//! Folders of ours for what can be made again: caches, pages that were made of records, and what a loop says.

use std::fs::{self, File};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_git::repository::Repository;
use ralph_os::process::create_private_dir;

use super::disk;
use crate::Scratch;
use ralph_git::worktree::WorkTree;

/// Returns a folder of ours, for the user and whom the repository lets in. It is there when this returns.
pub(crate) fn create(repository: &Repository, name: &str) -> Result<Utf8PathBuf> {
    let folder = repository.ralph_dir().join(name);
    create_private_dir(&folder)?;
    for made in [repository.ralph_dir().as_path(), &folder] {
        disk::share(made, repository.sharing)?;
    }
    Ok(folder)
}

/// Writes a cache to a new file and renames it, so that readers see the old or the new one.
pub(crate) fn write_cache(repository: &Repository, file: &Utf8Path, bytes: &[u8]) -> Result<()> {
    let scratch = Scratch::create(repository)?;
    let draft = scratch.path("cache");
    fs::write(&draft, bytes).with_context(|| format!("write {draft}"))?;
    create(repository, "cache")?;
    disk::share(&draft, repository.sharing)?;
    fs::rename(&draft, file).with_context(|| format!("write {file}"))
}

/// Returns the folder for pages.
pub fn reports(repository: &Repository) -> Result<Utf8PathBuf> {
    create(repository, "reports")
}

/// Removes the pages, with what they contain of sessions that are removed.
pub(crate) fn forget_reports(repository: &Repository) -> Result<()> {
    disk::remove_dir_if_there(&repository.ralph_dir().join("reports"))
}

/// Returns the file for what a loop in this work tree says that has no terminal of its own, emptied; what an earlier
/// loop said is gone.
pub fn talk(work_tree: &WorkTree) -> Result<(Utf8PathBuf, File)> {
    let path = create(work_tree.repository(), "talk")?.join(work_tree.name());
    let opened = disk::open_to_change(&path, 0o666).and_then(|file| file.set_len(0).map(|()| file));
    let file = opened.with_context(|| format!("create {path}"))?;
    Ok((path, file))
}

/// Puts away a text of the user's that is about to be overwritten, and says where.
pub fn keep_text(repository: &Repository, name: &str, bytes: &[u8]) -> Result<Utf8PathBuf> {
    let folder = repository.ralph_dir().join("kept");
    create_private_dir(&folder)?;
    let path = disk::free_name(&folder, name);
    disk::write_durably(&path, bytes)?;
    Ok(path)
}
