//! The settings that a session began with, exactly: `<common git dir>/ralph/settings/<session>.json`, for the user alone.
//!
//! They may hold secrets, which the record has not. No remote and no clone ever gets them.

use std::io::ErrorKind;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;

use ralph_core::record::SessionId;
use ralph_git::repository::Repository;
use ralph_git::worktree::WorkTree;
use ralph_project::project_files::{MAX_DOCUMENT_BYTES, open_plain, read_at_most};

use super::{disk, folders};

/// The folder of the files of all sessions.
pub(crate) const FOLDER: &str = "settings";

/// Returns them; `None` if this clone has none of this session, or those of another user of a shared repository.
pub fn read(repository: &Repository, session: &SessionId) -> Result<Option<Vec<u8>>> {
    let path = path(repository, session);
    (match open_plain(&path) {
        Ok(Some(mut file)) => read_at_most(&mut file, MAX_DOCUMENT_BYTES).map(Some),
        Ok(None) => Ok(None),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    })
    .with_context(|| format!("read {path}"))
}

/// Writes them, if they are not there as they are. Returns true if that was so.
pub fn keep(work_tree: &WorkTree, session: &SessionId, bytes: &[u8]) -> Result<bool> {
    let repository = work_tree.repository();
    let path = path(repository, session);
    // Of the work tree, where one loop runs at a time: a draft that a kill left goes with the next start there, which is
    // of another session.
    let draft = path.with_file_name(format!("{}.new", work_tree.name()));
    if read(repository, session)?.as_deref() == Some(bytes) {
        disk::remove_file_if_there(&draft)?;
        return Ok(false);
    }
    folders::create(repository, FOLDER)?;
    disk::write_private_through(&draft, &path, bytes)?;
    Ok(true)
}

pub fn remove(repository: &Repository, session: &SessionId) -> Result<bool> {
    disk::remove_file_if_there(&path(repository, session))
}

fn path(repository: &Repository, session: &SessionId) -> Utf8PathBuf {
    repository.ralph_dir().join(FOLDER).join(format!("{session}.json"))
}
