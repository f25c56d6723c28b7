//! Writes refs by one `git update-ref --stdin`, each only if it still has the expected value.
//!
//! The refs of a running session have one writer, the holder of the loop's lock: [`Refs::move_all`] waits for the lock of
//! a ref, and removes that of a dead process. All other refs have many writers: [`Refs::change`] leaves their locks alone.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

use crate::local::disk;
use crate::{Syncing, objects};
use ralph_core::record::{ObjectId, RALPH};
use ralph_git::repository::RefFormat;
use ralph_os::process::Tool;

use super::database::RefUpdate;
use super::files;
use super::queries::Refs;

/// Time between two attempts to move refs that another process has locked.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// How long a lock on one of our own refs may be before we take it for a dead writer's: we hold the session's flock, so no
/// living one of ours can own it, and `git pack-refs` holds it for milliseconds.
const STALE_LOCK_AGE: Duration = Duration::from_secs(1);

/// How long to wait for the lock of a git on a ref of others, as on the branch of a lane.
const FOREIGN_LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How often objects that were pruned meanwhile are written again: `git prune` may run in a loop beside us.
const MAX_RESTORATIONS: usize = 20;

/// What git prints if another process holds the lock of the reftables.
const TABLES_LOCKED: &str = "cannot lock references";

/// How long to wait for the lock of the reftables. It is one for all refs of the repository, and git holds it for
/// milliseconds, unless it compacts many tables.
const TABLES_LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A ref of the session was moved by another process: nothing was overwritten.
#[derive(Debug)]
pub struct Conflict {
    pub name: String,
    pub expected: Option<ObjectId>,
    pub found: Option<ObjectId>,
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short =
            |id: &Option<ObjectId>| id.as_ref().map_or("nothing".to_owned(), |id| id.short().to_owned());
        if self.found.is_none() {
            return write!(
                f,
                "{} was deleted by another program, and what it pointed at is gone\nhint: the iteration stays in the spool; the next start keeps its files and goes on in a new session",
                self.name
            );
        }
        write!(
            f,
            "{} was moved by another program: expected {}, found {}\nhint: the iteration stays in the spool; restore the ref with `git update-ref {} {}` and run `{RALPH} resume`",
            self.name,
            short(&self.expected),
            short(&self.found),
            self.name,
            self.expected.as_ref().map_or("''", ObjectId::as_str),
        )
    }
}

impl std::error::Error for Conflict {}

impl Refs<'_> {
    /// Moves refs of a session in one transaction, durably.
    pub(crate) fn move_all(&self, updates: &[RefUpdate]) -> Result<()> {
        self.move_to(updates, || Ok(0))
    }

    /// Moves refs to objects that a `git prune` beside us may take before the refs lead to them: git moves no ref to what
    /// is not there. `restore_objects` writes them again, and returns how many these were.
    pub(crate) fn move_to(
        &self,
        updates: &[RefUpdate],
        restore_objects: impl Fn() -> Result<usize>,
    ) -> Result<()> {
        self.move_within(updates, restore_objects, FOREIGN_LOCK_TIMEOUT)
    }

    /// Does so, and waits that long for locks that are not ours to remove, before they are named.
    pub(crate) fn move_within(
        &self,
        updates: &[RefUpdate],
        restore_objects: impl Fn() -> Result<usize>,
        timeout: Duration,
    ) -> Result<()> {
        let asked = Instant::now();
        let is_in_files = self.format() == RefFormat::Files;
        let deadline = Instant::now() + if is_in_files { STALE_LOCK_AGE } else { Duration::ZERO };
        let mut is_lock_removed = false;
        let mut restorations = 0;
        loop {
            let left = self.unmoved(updates)?;
            if left.is_empty() {
                break;
            }
            let Err(error) = self.commit(&left) else { break };
            if restorations < MAX_RESTORATIONS && restore_objects()? > 0 {
                restorations += 1;
            } else if Instant::now() < deadline {
                // Another git holds a lock for a moment: pack-refs, a fetch.
                std::thread::sleep(LOCK_RETRY_INTERVAL);
            } else if !is_lock_removed && is_in_files && files::remove_locks(self.store, &left)? {
                is_lock_removed = true;
            } else if let Some(lock) = files::lock_of(self.store, &left).filter(|_| is_in_files) {
                if asked.elapsed() >= timeout {
                    bail!(
                        "{lock} keeps the ref from being moved: another git holds it, or was killed\nhint: if no git runs in this repository, remove that file; then `{RALPH} resume`"
                    );
                }
                std::thread::sleep(LOCK_RETRY_INTERVAL);
            } else {
                return Err(error);
            }
        }
        self.fsync(updates)?;
        for RefUpdate { name, new, .. } in updates {
            let found = self.tip(name)?;
            if found != *new {
                return Err(Conflict { name: name.clone(), expected: new.clone(), found }.into());
            }
        }
        Ok(())
    }

    /// Returns the updates that are still to be made.
    fn unmoved(&self, updates: &[RefUpdate]) -> Result<Vec<RefUpdate>> {
        let mut left = Vec::new();
        for update in updates {
            let found = self.tip(&update.name)?;
            if found == update.old {
                left.push(update.clone());
            } else if found != update.new {
                let RefUpdate { name, old, .. } = update.clone();
                return Err(Conflict { name, expected: old, found }.into());
            }
        }
        Ok(left)
    }

    /// Creates a branch at a commit, or moves it there from `old`.
    pub fn move_branch(&self, name: &str, old: Option<&ObjectId>, new: &ObjectId) -> Result<()> {
        self.change(&[RefUpdate { name: name.to_owned(), old: old.cloned(), new: Some(new.clone()) }])
    }

    /// Deletes a branch if it is still at `old`.
    pub fn delete_branch(&self, name: &str, old: &ObjectId) -> Result<()> {
        self.delete(&[(name.to_owned(), old.clone())])
    }

    /// Makes all updates or none.
    pub(crate) fn change(&self, updates: &[RefUpdate]) -> Result<()> {
        self.commit(updates)?;
        self.fsync(updates)
    }

    /// Deletes all refs or none, each only if it still has the given value.
    pub(crate) fn delete(&self, refs: &[(String, ObjectId)]) -> Result<()> {
        let updates: Vec<_> = refs.iter().cloned().map(RefUpdate::deletion).collect();
        self.change(&updates)
    }

    /// Makes each update that can be made, and returns those, and the others with the reasons.
    pub(crate) fn change_each(
        &self,
        updates: Vec<RefUpdate>,
    ) -> (Vec<RefUpdate>, Vec<(RefUpdate, anyhow::Error)>) {
        if updates.is_empty() || self.change(&updates).is_ok() {
            return (updates, Vec::new());
        }
        let (mut made, mut failed) = (Vec::new(), Vec::new());
        for update in updates {
            match self.change(std::slice::from_ref(&update)) {
                Ok(()) => made.push(update),
                Err(error) => failed.push((update, error)),
            }
        }
        (made, failed)
    }

    /// Lets git make all updates in one transaction.
    pub(super) fn commit(&self, updates: &[RefUpdate]) -> Result<()> {
        let mut commands = String::from("start\n");
        for RefUpdate { name, old, new } in updates {
            commands.push_str(&match (new, old) {
                (Some(new), Some(old)) => format!("update {name} {new} {old}\n"),
                (Some(new), None) => format!("create {name} {new}\n"),
                (None, Some(old)) => format!("delete {name} {old}\n"),
                (None, None) => format!("delete {name}\n"),
            });
        }
        commands.push_str("prepare\ncommit\n");
        let fsync = match self.store.syncing {
            // The value of a ref is on the disk before its name.
            Syncing::Always => "core.fsync=reference",
            Syncing::Never => "core.fsync=none",
        };
        // It stays, and must not look like a git that works in the repository and may hold a lock there.
        let git = Tool::git(Utf8Path::new("/"))
            .env("GIT_DIR", self.store.repository().common_dir.as_str())
            .args(["-c", fsync, "update-ref", "--no-deref", "-m", "ralph", "--stdin"])
            .env("GIT_COMMITTER_NAME", objects::COMMITTER)
            .env("GIT_COMMITTER_EMAIL", objects::COMMITTER_EMAIL);
        let asked = Instant::now();
        loop {
            let Err(error) = self.store.ref_writer.ask(&commands, &git) else { return Ok(()) };
            let is_locked = error.to_string().contains(TABLES_LOCKED);
            if is_locked && asked.elapsed() < TABLES_LOCK_TIMEOUT {
                std::thread::sleep(LOCK_RETRY_INTERVAL);
                continue;
            }
            let lock = self.store.repository().common_dir.join("reftable/tables.list.lock");
            if is_locked && lock.exists() {
                bail!(
                    "the refs are locked by {lock}: another git process holds the lock, or was killed\nhint: if no git runs in this repository, remove that file and retry"
                );
            }
            return Err(error.context("`git update-ref`"));
        }
    }

    /// Syncs the folders of the refs, which git does not do.
    fn fsync(&self, updates: &[RefUpdate]) -> Result<()> {
        if self.store.syncing == Syncing::Never {
            return Ok(());
        }
        let common = &self.store.repository().common_dir;
        if self.format() == RefFormat::Tables {
            return disk::sync_if_there(&common.join("reftable"));
        }
        let mut folders: Vec<Utf8PathBuf> = Vec::new();
        for RefUpdate { name, .. } in updates.iter().filter(|update| update.new.is_some()) {
            let path = common.join(name);
            folders.extend(
                path.ancestors().skip(1).take_while(|folder| folder != common).map(Utf8Path::to_owned),
            );
        }
        folders.sort();
        folders.dedup();
        disk::sync_each(&folders, &[common])
    }
}
