//! Unneeded files in our folder: texts that were kept, and what belongs to sessions that are over or to work trees that are
//! gone. Nothing of a process that lives is in it.

use std::fs;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use ralph_core::record::{SessionId, Timestamp};
use ralph_git::repository::Repository;

use super::LoopLock;
use super::local::disk;
use super::local::kept_settings::FOLDER;
use super::local::lock::is_free;
use super::local::spool::Spool;

/// Days after which a file is a leftover, whatever the rule for sessions: it may be about to be used.
const MIN_AGE_DAYS: u32 = 1;

/// A file or folder that is not needed any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leftover {
    pub path: Utf8PathBuf,
    pub what: &'static str,
    /// Of all that is in it.
    pub bytes: u64,
}

/// Returns leftovers older than a number of days, but at least a day.
pub(super) fn find(
    repository: &Repository,
    recorded: &[SessionId],
    days: u32,
    now: Timestamp,
) -> Result<Vec<Leftover>> {
    const GONE: &str = "of a work tree that is gone";
    let mut alive: Vec<SessionId> =
        LoopLock::holders(repository)?.into_iter().map(|holder| holder.session).collect();
    let mut found = Vec::new();
    for spool in Spool::all(repository)? {
        let Some(session) = spool.session() else { continue };
        let place = spool.place()?;
        if place.is_some_and(|place| is_gone(&place.work_tree, repository)) && !alive.contains(&session) {
            let path = repository.ralph_dir().join("spool").join(session.as_str());
            found.push((path, "cut off in a work tree that is gone"));
        } else {
            // It runs, or the next start of its loop has to finish it.
            alive.push(session);
        }
    }
    for (folder, what) in [
        ("kept", "kept when something was written in its place"),
        ("last", GONE),
        ("loops", GONE),
        ("control", "requests to a session that is over"),
        (FOLDER, "settings of a session that is not recorded"),
    ] {
        for path in disk::children(&repository.ralph_dir().join(folder))? {
            let name = path.file_name().unwrap_or_default();
            let name = name.strip_suffix(".json").or_else(|| name.strip_suffix(".holder")).unwrap_or(name);
            let is_left = match folder {
                "kept" => true,
                "last" => is_gone(name, repository),
                // A loop that still runs there holds the lock.
                "loops" => is_gone(name, repository) && is_free(&path)?,
                "control" => !is_one_of(&alive, name),
                _ => !is_one_of(&alive, name) && !is_one_of(recorded, name),
            };
            if is_left {
                found.push((path, what));
            }
        }
    }
    for name in ["packing", "packing.log"] {
        found.push((repository.ralph_dir().join(name), "left by the packing of an earlier version"));
    }
    found.retain(|(path, _)| {
        let changed = path.symlink_metadata().and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| is_older(moment(changed), days.max(MIN_AGE_DAYS), now))
    });
    Ok(found.into_iter().map(|(path, what)| Leftover { bytes: size(&path), path, what }).collect())
}

/// Returns true if `name` is that of a linked work tree that is no longer there.
fn is_gone(name: &str, repository: &Repository) -> bool {
    let linked = name.strip_prefix("linked-");
    linked.is_some_and(|name| !repository.common_dir.join("worktrees").join(name).exists())
}

fn is_one_of(sessions: &[SessionId], name: &str) -> bool {
    name.parse().is_ok_and(|session| sessions.contains(&session))
}

/// Removes what was found.
pub(super) fn remove(path: &Utf8Path) -> Result<()> {
    if path.is_dir() { disk::remove_dir_if_there(path) } else { disk::remove_file_if_there(path).map(drop) }
}

/// Bytes of all files in a folder, or of a file.
fn size(path: &Utf8Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    disk::children(path).unwrap_or_default().iter().map(|path| size(path)).sum()
}

pub(super) fn moment(time: SystemTime) -> Timestamp {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_seconds(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

pub(super) fn is_older(at: Timestamp, days: u32, now: Timestamp) -> bool {
    at.plus(Duration::from_secs(u64::from(days) * 24 * 60 * 60)) < now
}
