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
    let work_trees = repository.common_dir.join("worktrees");
    let is_gone =
        |name: &str| name.strip_prefix("linked-").is_some_and(|name| !work_trees.join(name).exists());
    let mut alive: Vec<SessionId> =
        LoopLock::holders(repository)?.into_iter().map(|holder| holder.session).collect();
    let mut found = Vec::new();
    let mut add = |path: Utf8PathBuf, what| {
        let changed = path.symlink_metadata().and_then(|metadata| metadata.modified());
        if changed.is_ok_and(|changed| is_older(moment(changed), days.max(MIN_AGE_DAYS), now)) {
            let bytes = size(&path);
            found.push(Leftover { path, what, bytes });
        }
    };
    for spool in Spool::all(repository)? {
        let Some(session) = spool.session() else { continue };
        let place = spool.place()?;
        if place.is_some_and(|place| is_gone(&place.work_tree)) && !alive.contains(&session) {
            add(
                repository.ralph_dir().join("spool").join(session.as_str()),
                "cut off in a work tree that is gone",
            );
        } else {
            // It runs, or the next start of its loop has to finish it.
            alive.push(session);
        }
    }
    let is_alive = |name: &str| name.parse().is_ok_and(|session| alive.contains(&session));
    let is_recorded = |name: &str| name.parse().is_ok_and(|session| recorded.contains(&session));
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
                "last" => is_gone(name),
                // A loop that still runs there holds the lock.
                "loops" => is_gone(name) && is_free(&path)?,
                "control" => !is_alive(name),
                _ => !is_alive(name) && !is_recorded(name),
            };
            if is_left {
                add(path, what);
            }
        }
    }
    for name in ["packing", "packing.log"] {
        add(repository.ralph_dir().join(name), "left by the packing of an earlier version");
    }
    Ok(found)
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
