//! Unneeded files in our folder: texts that were kept, unfinished files of dead processes, and what belongs
//! to work trees that are gone. Nothing of a process that lives is in it.

use std::fs;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use crate::record::{SessionId, Timestamp};
use crate::repository::Repository;

use super::LoopLock;
use super::local::disk;
use super::local::kept_settings::FOLDER;
use super::local::lock::is_free;
use super::local::scratch::Scratch;
use super::local::spool::Spool;

/// Days after which an unfinished file is a leftover, whatever the rule for the rest.
const MIN_AGE_DAYS: u32 = 1;

/// A file or folder that is not needed any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Leftover {
    pub path: Utf8PathBuf,
    pub what: &'static str,
    /// Of all that is in it.
    pub bytes: u64,
}

/// Finds leftovers; changes nothing.
struct Finder<'a> {
    repository: &'a Repository,
    days: u32,
    now: Timestamp,
    /// The sessions that run, or that the next start of their loop has to finish.
    alive: Vec<SessionId>,
    found: Vec<Leftover>,
}

/// Returns leftovers older than a number of days.
pub(super) fn find(
    repository: &Repository,
    recorded: &[SessionId],
    days: u32,
    now: Timestamp,
) -> Result<Vec<Leftover>> {
    let alive = LoopLock::holders(repository)?.into_iter().map(|holder| holder.session).collect();
    let mut finder = Finder { repository, days, now, alive, found: Vec::new() };
    finder.kept()?;
    finder.of_gone_work_trees()?;
    finder.spools()?;
    finder.requests()?;
    finder.settings(recorded)?;
    finder.drafts()?;
    for dir in Scratch::dead(repository)? {
        finder.add(dir, "left by a command that was killed");
    }
    for name in ["packing", "packing.log"] {
        finder.add_if_there(finder.dir(name), "left by the packing of an earlier version");
    }
    Ok(finder.found)
}

pub(super) fn remove(path: &Utf8Path) -> Result<()> {
    if path.is_dir() { disk::remove_dir_if_there(path) } else { disk::remove_file_if_there(path).map(drop) }
}

impl Finder<'_> {
    fn dir(&self, name: &str) -> Utf8PathBuf {
        self.repository.ralph_dir().join(name)
    }

    fn add(&mut self, path: Utf8PathBuf, what: &'static str) {
        let bytes = size(&path);
        self.found.push(Leftover { path, what, bytes });
    }

    fn add_if_there(&mut self, path: Utf8PathBuf, what: &'static str) {
        if path.exists() {
            self.add(path, what);
        }
    }

    fn is_older(&self, path: &Utf8Path, days: u32) -> bool {
        let changed = path.symlink_metadata().and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| is_older(moment(changed), days, self.now))
    }

    /// Returns true if a work tree of that name was removed.
    fn is_gone(&self, name: &str) -> bool {
        let trees = self.repository.common_dir.join("worktrees");
        name.strip_prefix("linked-").is_some_and(|name| !trees.join(name).exists())
    }

    /// Texts that were kept when something else was written in their place.
    fn kept(&mut self) -> Result<()> {
        for path in disk::children(&self.dir("kept"))? {
            if self.is_older(&path, self.days) {
                self.add(path, "kept when something was written in its place");
            }
        }
        Ok(())
    }

    fn of_gone_work_trees(&mut self) -> Result<()> {
        const WHAT: &str = "of a work tree that is gone";
        for path in disk::children(&self.dir("last"))? {
            let tree = path.file_name().and_then(|name| name.strip_suffix(".json"));
            if tree.is_some_and(|tree| self.is_gone(tree)) {
                self.add(path, WHAT);
            }
        }
        for path in disk::children(&self.dir("loops"))? {
            // A loop that still runs there holds the lock.
            if path.file_name().is_some_and(|tree| self.is_gone(tree)) && is_free(&path)? {
                self.add(path, WHAT);
            }
        }
        Ok(())
    }

    fn spools(&mut self) -> Result<()> {
        for spool in Spool::all(self.repository)? {
            let Some(session) = spool.session() else { continue };
            let place = spool.place()?;
            if let Some(place) = place.filter(|place| self.is_gone(&place.work_tree))
                && is_older(place.begun.started_at, self.days, self.now)
                && !self.alive.contains(&session)
            {
                self.add(self.dir("spool").join(session.as_str()), "cut off in a work tree that is gone");
            } else {
                self.alive.push(session);
            }
        }
        for path in disk::children(&self.dir("spool"))? {
            let name = path.file_name().unwrap_or_default();
            let tree = name.strip_suffix(".new").or_else(|| name.strip_suffix(".old"));
            if tree.is_some_and(|tree| self.is_gone(tree)) {
                self.add(path, "half made or half removed in a work tree that is gone");
            }
        }
        Ok(())
    }

    /// Requests to sessions that are over.
    fn requests(&mut self) -> Result<()> {
        for path in disk::children(&self.dir("control"))? {
            let session: Option<SessionId> = path.file_name().and_then(|name| name.parse().ok());
            let is_over = session.is_some_and(|session| !self.alive.contains(&session));
            if is_over && self.is_older(&path, self.days.max(MIN_AGE_DAYS)) {
                self.add(path, "requests to a session that is over");
            }
        }
        Ok(())
    }

    /// Settings of sessions whose records are gone, or never came to be.
    fn settings(&mut self, recorded: &[SessionId]) -> Result<()> {
        for path in disk::children(&self.dir(FOLDER))? {
            let session = path.file_name().and_then(|name| name.strip_suffix(".json")?.parse().ok());
            let is_needed = session.is_some_and(|session: SessionId| {
                recorded.contains(&session) || self.alive.contains(&session)
            });
            if !is_needed && self.is_older(&path, MIN_AGE_DAYS) {
                self.add(path, "settings of a session that is not recorded");
            }
        }
        Ok(())
    }

    /// Files that were to be renamed in the next moment.
    fn drafts(&mut self) -> Result<()> {
        for folder in ["last", "sync", "kept", FOLDER] {
            for path in disk::children(&self.dir(folder))? {
                let is_listed = self.found.iter().any(|leftover| leftover.path == path);
                if path.extension() == Some("new") && !is_listed && self.is_older(&path, MIN_AGE_DAYS) {
                    self.add(path, "half written");
                }
            }
        }
        Ok(())
    }
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
