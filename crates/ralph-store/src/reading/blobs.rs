//! Reading objects: commits, trees and blobs, none larger than one that a record of ours can hold.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, Result, anyhow, bail};
use gix::objs::{Find, FindExt};

use ralph_core::record::{ObjectId, Timestamp};

use crate::{MAX_BLOB_BYTES, objects};

/// Returns the blobs of a file of a record, or `None` if the record has no such file.
pub(super) fn chunks(
    git: &gix::Repository,
    commit: &ObjectId,
    path: &str,
) -> Result<Option<Vec<gix::ObjectId>>> {
    let mut tree = read_commit(git, &objects::to_gix(commit)?)?.tree;
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let entries = entries(git, &tree)?;
        let Some((_, id, is_tree)) = entries.into_iter().find(|(name, ..)| name == part) else {
            return Ok(None);
        };
        match (parts.peek().is_some(), is_tree) {
            (true, true) => tree = id,
            (true, false) => return Ok(None),
            (false, false) => return Ok(Some(vec![id])),
            (false, true) => {
                let chunks = self::entries(git, &id)?;
                return Ok(Some(chunks.into_iter().map(|(_, chunk, _)| chunk).collect()));
            }
        }
    }
    Ok(None)
}

/// Returns the commits whose parents are not here, though they have some.
pub(crate) fn shallow_ends(git: &gix::Repository) -> Result<BTreeSet<gix::ObjectId>> {
    let found = git.shallow_commits().map_err(|error| anyhow!("read where the clone is shallow: {error}"))?;
    Ok(found.map(|commits| commits.iter().copied().collect()).unwrap_or_default())
}

/// A commit, without who made it.
pub(crate) struct Commit {
    pub message: String,
    pub parents: Vec<gix::ObjectId>,
    pub tree: gix::ObjectId,
    pub authored_at: Timestamp,
    pub committed_at: Timestamp,
}

pub(crate) fn read_commit(git: &gix::Repository, id: &gix::oid) -> Result<Commit> {
    let mut buffer = Vec::new();
    let found = git.objects.find_commit(id, &mut buffer);
    let found = found.map_err(|error| anyhow!("read the commit {}: {error}", id.to_hex()))?;
    Ok(Commit {
        message: String::from_utf8_lossy(found.message).into_owned(),
        parents: found.parents().collect(),
        tree: found.tree(),
        authored_at: seconds_of(found.author),
        committed_at: seconds_of(found.committer),
    })
}

/// Returns the message of a commit.
pub(crate) fn message_of(git: &gix::Repository, commit: &ObjectId) -> Result<String> {
    Ok(read_commit(git, &objects::to_gix(commit)?)?.message)
}

/// Returns the time in a line `name <email> seconds offset` of a commit.
pub(super) fn seconds_of(line: &[u8]) -> Timestamp {
    let text = String::from_utf8_lossy(line);
    let seconds = text.rsplit(' ').nth(1).and_then(|text| text.parse().ok());
    Timestamp::from_seconds(seconds.unwrap_or_default())
}

fn entries(git: &gix::Repository, tree: &gix::ObjectId) -> Result<Vec<(String, gix::ObjectId, bool)>> {
    let mut buffer = Vec::new();
    let found = git
        .objects
        .find_tree(tree, &mut buffer)
        .map_err(|error| anyhow!("read {}: {error}", tree.to_hex()))?;
    Ok(found
        .entries
        .iter()
        .map(|entry| (entry.filename.to_string(), entry.oid.to_owned(), entry.mode.is_tree()))
        .collect())
}

pub(super) fn write_blob(git: &gix::Repository, id: &gix::ObjectId, to: &mut dyn Write) -> Result<()> {
    let mut buffer = Vec::new();
    to.write_all(blob_of(git, &git.objects, id, &mut buffer)?).context("write a file of the record")
}

/// Returns the bytes of a blob, read from `objects` of `git`, which refuses to unpack more than [`MAX_BLOB_BYTES`].
pub(crate) fn blob_of<'a>(
    git: &gix::Repository,
    objects: &impl Find,
    id: &gix::ObjectId,
    buffer: &'a mut Vec<u8>,
) -> Result<&'a [u8]> {
    match objects.find_blob(id, buffer) {
        Ok(blob) => Ok(blob.data),
        Err(error) => {
            // Only an object that cannot be read is worth a second look.
            bounded(git, *id, MAX_BLOB_BYTES)?;
            Err(anyhow!("read {}: {error}", id.to_hex()))
        }
    }
}

/// Refuses an object that is not here, or bigger than one of ours can be.
pub(crate) fn bounded(git: &gix::Repository, id: gix::ObjectId, limit: u64) -> Result<()> {
    let header = git.find_header(id).map_err(|error| anyhow!("read {}: {error}", id.to_hex()))?;
    if header.size() > limit {
        bail!("{} holds {} bytes, more than a record of ours can", id.to_hex(), header.size());
    }
    Ok(())
}
