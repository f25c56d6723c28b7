//! The hints that wait for prompts of a feature: `<common git dir>/ralph/hints/<feature>.json`.
//!
//! All work trees share them. Every change is made under a lock, and readers see the file before it or after it.

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use ralph_core::record::{Hint, TaskName, Timestamp};
use ralph_git::repository::Repository;

use super::{disk, folders, lock};
use crate::slug;

/// The lock of the files of all features. No `.lock` at the end: git's own clean-up must not take it for one of its locks.
const LOCK: &str = "held";

/// The hints of one feature.
#[derive(Debug)]
pub struct Hints<'a> {
    repository: &'a Repository,
    path: Utf8PathBuf,
}

/// What is in the file.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct HintFile {
    /// The number of the newest hint. None is used twice, so that `--clear N` never means another one.
    last: u32,
    hints: Vec<Hint>,
}

impl<'a> Hints<'a> {
    /// Returns the hints of a feature, by its path from the root.
    pub fn of(repository: &'a Repository, feature: &str) -> Self {
        Self { repository, path: Self::path(repository, feature) }
    }

    /// Returns the file of a feature's hints.
    pub fn path(repository: &Repository, feature: &str) -> Utf8PathBuf {
        repository.ralph_dir().join("hints").join(format!("{}.json", slug(feature)))
    }

    /// Returns the hints in a file, in the order in which they came. Writes nothing.
    pub fn read(path: &Utf8Path) -> Result<Vec<Hint>> {
        Ok(disk::read_json::<HintFile>(path)?.unwrap_or_default().hints)
    }

    /// Returns the hints that wait, in the order in which they came. Writes nothing.
    pub fn list(&self) -> Result<Vec<Hint>> {
        Self::read(&self.path)
    }

    /// The same; none if they cannot be read.
    pub fn readable(&self) -> Vec<Hint> {
        self.list().unwrap_or_default()
    }

    /// Returns true if this clone ever had a hint for the feature.
    pub fn are_known(&self) -> bool {
        self.path.exists()
    }

    /// Adds a hint for these tasks, or for the next prompt if there are none.
    pub fn add(&self, text: &str, tasks: &[TaskName], added_at: Timestamp) -> Result<Hint> {
        let mut added = None;
        self.change(|file| {
            file.last += 1;
            let text = text.trim().to_owned();
            let hint = Hint { number: file.last, text, tasks: tasks.to_vec(), added_at, session: None };
            file.hints.push(hint.clone());
            added = Some(hint);
        })?;
        added.context("add the hint")
    }

    /// Changes each hint, and keeps those for which `keep` returns true. Returns the others.
    pub fn retain(&self, mut keep: impl FnMut(&mut Hint) -> bool) -> Result<Vec<Hint>> {
        let mut removed = Vec::new();
        if self.list()?.is_empty() {
            return Ok(removed);
        }
        self.change(|file| {
            for mut hint in std::mem::take(&mut file.hints) {
                if keep(&mut hint) {
                    file.hints.push(hint);
                } else {
                    removed.push(hint);
                }
            }
        })?;
        Ok(removed)
    }

    /// Changes the file under the lock; writes nothing if nothing changes.
    fn change(&self, change: impl FnOnce(&mut HintFile)) -> Result<()> {
        let folder = folders::create(self.repository, "hints")?;
        let lock_path = folder.join(LOCK);
        let lock = disk::open_to_change(&lock_path, 0o666).with_context(|| format!("open {lock_path}"))?;
        disk::share(&lock_path, self.repository.sharing)?;
        lock::wait_for(&lock, &lock_path)?;
        let before: HintFile = disk::read_json(&self.path)?.unwrap_or_default();
        let mut after = HintFile { last: before.last, hints: before.hints.clone() };
        change(&mut after);
        if after == before {
            return Ok(());
        }
        let bytes = serde_json::to_vec_pretty(&after).context("serialize the hints")?;
        disk::write_private(&self.path, &bytes)?;
        disk::share(&self.path, self.repository.sharing)
    }
}
