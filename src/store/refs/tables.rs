//! Refs in tables (reftable), which the git program alone can read and write. The library would take such a
//! repository for one without refs, and write files that are never read.

use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};
use camino::Utf8PathBuf;

use crate::process::Tool;
use crate::record::ObjectId;
use crate::store::local::disk;
use crate::store::{Store, Syncing};

use super::database::{NoTip, Reason, RefDatabase, RefUpdate, update_ref};

/// How long the lock of the tables may be held by others. It is one for all refs of the repository, and git takes it
/// for milliseconds, but for a collection of many tables.
const BUSY: Duration = Duration::from_secs(5);

/// Time between two attempts to get the lock.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// What git prints if another process has the lock.
const LOCKED: &str = "cannot lock references";

pub(super) struct RefTables<'a> {
    store: &'a Store,
}

impl<'a> RefTables<'a> {
    pub fn new(store: &'a Store) -> Self {
        Self { store }
    }

    fn git(&self) -> Tool {
        let git_dir = &self.store.repository().common_dir;
        Tool::git(git_dir).env("GIT_DIR", git_dir.as_str())
    }

    fn folder(&self) -> Utf8PathBuf {
        self.store.repository().common_dir.join("reftable")
    }

    /// Refs by a name, or by a prefix that ends in `/`.
    fn list(&self, pattern: &str) -> Result<Vec<(String, ObjectId)>> {
        let format = "--format=%(symref) %(objectname) %(refname)";
        let listed = self.git().args(["for-each-ref", format, pattern]).read()?;
        let mut refs = Vec::new();
        for line in String::from_utf8_lossy(&listed).lines() {
            if let ["", id, name] = line.splitn(3, ' ').collect::<Vec<_>>()[..] {
                refs.push((name.to_owned(), id.parse()?));
            }
        }
        Ok(refs)
    }
}

impl RefDatabase for RefTables<'_> {
    fn tip(&self, name: &str) -> Result<Option<ObjectId>> {
        let found = self.list(name)?.into_iter().find(|(found, _)| found == name);
        Ok(found.map(|(_, tip)| tip))
    }

    fn below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        self.list(prefix)
    }

    fn without_tip(&self, pattern: &str) -> Result<Vec<(String, NoTip)>> {
        let listed = self.git().args(["for-each-ref", "--format=%(symref) %(refname)", pattern]).read()?;
        let text = String::from_utf8_lossy(&listed).into_owned();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        let symbolic = pairs.filter(|(target, _)| !target.is_empty());
        Ok(symbolic.map(|(target, name)| (name.to_owned(), NoTip::Symbolic(target.to_owned()))).collect())
    }

    fn move_all(&self, updates: &[RefUpdate], reason: Reason) -> Result<()> {
        self.update(updates, reason)
    }

    fn lock_timeout(&self) -> Duration {
        // The lock was already waited for.
        Duration::ZERO
    }

    fn remove_stale_lock(&self, _updates: &[RefUpdate]) -> Result<bool> {
        // The owner of the lock is unknown: all writers of refs share it, the user's own git first of all.
        Ok(false)
    }

    fn retry_with_git(&self, _updates: &[RefUpdate], _reason: Reason, error: Error) -> Result<()> {
        Err(error)
    }

    fn update(&self, updates: &[RefUpdate], reason: Reason) -> Result<()> {
        let asked = Instant::now();
        loop {
            let ended = update_ref(self.store, updates, reason).run()?;
            if ended.is_success() {
                return Ok(());
            }
            let complaint = ended.complaint();
            let is_locked = complaint.contains(LOCKED);
            if is_locked && asked.elapsed() < BUSY {
                std::thread::sleep(LOCK_RETRY_INTERVAL);
                continue;
            }
            let lock = self.folder().join("tables.list.lock");
            if is_locked && lock.exists() {
                bail!(
                    "the refs are locked by {lock}: another git process holds the lock, or was killed\nhint: if no git runs in this repository, remove that file and retry"
                );
            }
            bail!("`git update-ref`: {complaint}");
        }
    }

    fn fsync(&self, _updates: &[RefUpdate]) -> Result<()> {
        // git shares and syncs the tables, but not the names of the files that they are.
        if self.store.syncing == Syncing::Always { disk::sync_if_there(&self.folder()) } else { Ok(()) }
    }
}
