//! Loose refs of finished sessions, put into git's `packed-refs`: a session leaves two small files otherwise, and because
//! our objects are packed, git never collects the repository by itself, which would pack refs as well.
//!
//! git does it, as `git gc` would, with its own lock on `packed-refs`, which it holds for about 20 ms for 100,000 refs. We
//! neither wait for that lock nor remove it.

use anyhow::{Result, bail};
use camino::Utf8Path;

use crate::process::Tool;
use crate::repository::Repository;
use crate::store::local::disk;
use crate::store::local::lock::LoopLock;

use super::naming::{LOG_PREFIX, SNAPSHOT_PREFIX};

/// Number of loose refs of ours from which they are packed.
const MIN_LOOSE_REFS_TO_PACK: usize = 100;

/// Exit code of a git before 2.42, which has no `--include`.
const UNKNOWN_OPTION: i32 = 129;

/// Has git pack the refs of sessions that no loop is writing. Returns how many loose refs went; none if they are few,
/// if git is too old, or if another process holds the lock: the next packing tries again.
pub(in crate::store) fn pack_refs(repository: &Repository) -> Result<usize> {
    let before = loose_refs(repository)?;
    if before < MIN_LOOSE_REFS_TO_PACK {
        return Ok(0);
    }
    // What is packed is on the disk with its name before a loose file goes.
    for prune in ["--no-prune", "--prune"] {
        if !let_git_pack_refs(repository, prune)? {
            return Ok(0);
        }
        disk::sync_if_there(&repository.common_dir)?;
    }
    Ok(before.saturating_sub(loose_refs(repository)?))
}

fn let_git_pack_refs(repository: &Repository, prune: &str) -> Result<bool> {
    let running = LoopLock::holders(repository)?;
    let packed = Tool::git(&repository.common_dir)
        .args(["-c", "core.fsync=reference", "-c", "core.packedRefsTimeout=0"])
        .args(["pack-refs", "--no-all", prune])
        .args([LOG_PREFIX, SNAPSHOT_PREFIX].map(|prefix| format!("--include={prefix}*")))
        .args(running.iter().map(|holder| format!("--exclude=refs/*/{}", holder.session)))
        .run()?;
    let complaint = packed.complaint();
    match packed.code {
        0 => Ok(true),
        UNKNOWN_OPTION => Ok(false),
        // The lock is held, or was left by a git that was killed.
        _ if complaint.contains("File exists") => Ok(false),
        _ => bail!("pack our refs: {complaint}"),
    }
}

/// Returns how many refs of sessions and snapshots have a file of their own; none where refs are in tables.
fn loose_refs(repository: &Repository) -> Result<usize> {
    let count = |prefix: &str| files_below(&repository.common_dir.join(prefix));
    Ok(count(LOG_PREFIX)? + count(SNAPSHOT_PREFIX)?)
}

/// Returns how many files are below a folder.
fn files_below(folder: &Utf8Path) -> Result<usize> {
    let mut files = 0;
    let mut unread = vec![folder.to_owned()];
    while let Some(folder) = unread.pop() {
        let (folders, others): (Vec<_>, Vec<_>) =
            disk::children(&folder)?.into_iter().partition(|path| path.is_dir());
        files += others.len();
        unread.extend(folders);
    }
    Ok(files)
}
