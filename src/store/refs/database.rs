//! Where the refs of a repository are kept, and how one is moved there: in files of their own, or in tables.

use std::time::Duration;

use anyhow::{Error, Result};

use crate::process::Tool;
use crate::record::{ObjectId, Timestamp};
use crate::store::{Store, objects};

/// A ref that is to go from one value to another.
#[derive(Debug, Clone)]
pub(in crate::store) struct RefUpdate {
    pub name: String,
    /// `None` if it must not exist.
    pub old: Option<ObjectId>,
    /// `None` deletes it.
    pub new: Option<ObjectId>,
}

impl RefUpdate {
    /// Deletes a ref that points at `tip`.
    pub fn deletion((name, tip): (String, ObjectId)) -> Self {
        Self { name, old: Some(tip), new: None }
    }
}

/// What a reflog says of an update, if the user wants one of every ref.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Reason {
    pub why: &'static str,
    pub at: Timestamp,
}

/// Why a ref points at no object itself.
#[derive(Debug)]
pub(in crate::store) enum NoTip {
    /// It names this ref.
    Symbolic(String),
    /// Its file holds something else, as after a power cut.
    Broken(Error),
}

/// The refs of one repository. What is symbolic, or cannot be read, is none.
pub(in crate::store) trait RefDatabase {
    /// Returns what a ref points at, if it is there.
    fn tip(&self, name: &str) -> Result<Option<ObjectId>>;

    /// Returns all refs below a prefix, which ends in `/`.
    fn below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>>;

    /// Returns the refs below a prefix, which ends in `/`, or of just this name, that point at no object themselves.
    fn without_tip(&self, pattern: &str) -> Result<Vec<(String, NoTip)>>;

    /// Returns the names of all refs below a prefix, which ends in `/`: one may be gone by the time it is asked for.
    fn names(&self, prefix: &str) -> Result<Vec<String>> {
        Ok(self.below(prefix)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Makes all updates of refs of a session or none, each from its expected value.
    fn move_all(&self, updates: &[RefUpdate], reason: Reason) -> Result<()>;

    /// Returns how long updates that fail are tried again before anything else is done about it.
    fn lock_timeout(&self) -> Duration;

    /// Removes locks that only a process of ours that died can have left. Returns true if there was one.
    fn remove_stale_lock(&self, updates: &[RefUpdate]) -> Result<bool>;

    /// The last try of updates that failed with `error` repeatedly.
    fn retry_with_git(&self, updates: &[RefUpdate], reason: Reason, error: Error) -> Result<()>;

    /// Has git make all updates or none, each from its expected value.
    fn update(&self, updates: &[RefUpdate], reason: Reason) -> Result<()>;

    /// Lets in whom the repository lets in, and makes what was updated safe from a power cut.
    fn fsync(&self, updates: &[RefUpdate]) -> Result<()>;
}

/// `git update-ref --stdin` with updates as one transaction, which is on the disk when it is done.
pub(super) fn update_ref(store: &Store, updates: &[RefUpdate], reason: Reason) -> Tool {
    let mut commands = String::from("start\n");
    for RefUpdate { name, old, new } in updates {
        commands.push_str(&match (new, old) {
            (Some(new), Some(old)) => format!("update {name} {new} {old}\n"),
            (Some(new), None) => format!("create {name} {new}\n"),
            (None, Some(old)) => format!("delete {name} {old}\n"),
            (None, None) => continue,
        });
    }
    commands.push_str("prepare\ncommit\n");
    let line = format!("ralph: {}", reason.why);
    Tool::git(&store.repository().common_dir)
        .args(["-c", "core.fsync=reference", "update-ref", "--no-deref", "-m", &line, "--stdin"])
        .env("GIT_COMMITTER_NAME", objects::COMMITTER)
        .env("GIT_COMMITTER_EMAIL", objects::COMMITTER_EMAIL)
        .env("GIT_COMMITTER_DATE", format!("@{} +0000", reason.at.seconds()))
        .stdin(commands)
}
