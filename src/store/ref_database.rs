//! Where the refs of a repository are kept, and how one is moved there: in files of their own, or in tables.

use std::time::Duration;

use anyhow::{Error, Result};

use crate::process::Tool;
use crate::record::{ObjectId, Timestamp};

use super::spool::Draft;
use super::{Store, objects};

/// A ref that is to go from one value to another.
#[derive(Debug)]
pub(super) struct Move {
    pub name: String,
    pub old: Option<ObjectId>,
    /// `None` if it stays.
    pub new: Option<ObjectId>,
}

/// What a reflog says of a move, if the user wants one of every ref.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reason {
    pub why: &'static str,
    pub at: Timestamp,
}

impl Reason {
    pub fn of(draft: &Draft) -> Self {
        Self { why: draft.kind.as_str(), at: draft.committed_at }
    }

    /// Returns the line of a reflog.
    pub fn line(self) -> String {
        format!("ralph: {}", self.why)
    }
}

/// The refs of one repository. What is symbolic, or cannot be read, is none.
pub(super) trait RefDatabase {
    /// Returns what a ref points at, if it is there.
    fn tip(&self, name: &str) -> Result<Option<ObjectId>>;

    /// Returns all refs below a prefix, which ends in `/`.
    fn below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>>;

    /// Returns the refs below a prefix, which ends in `/`, or of just this name, that name another ref, and which one.
    fn symbolic(&self, pattern: &str) -> Result<Vec<(String, String)>>;

    /// Returns the names of all refs below a prefix, which ends in `/`: one may be gone by the time it is asked for.
    fn names(&self, prefix: &str) -> Result<Vec<String>> {
        Ok(self.below(prefix)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Returns the commit that is checked out; none on an unborn branch.
    fn head(&self) -> Result<Option<ObjectId>>;

    /// Returns the branch that is checked out, as people call it; none for a detached HEAD.
    fn branch(&self) -> Result<Option<String>>;

    /// Whether git left a mark beside HEAD while it is at something, as `CHERRY_PICK_HEAD`.
    fn is_marked(&self, mark: &str) -> Result<bool>;

    /// Makes all moves or none, each from its expected value.
    fn move_all(&self, moves: &[&Move], reason: Reason) -> Result<()>;

    /// Returns how long moves that fail are tried again before anything else is done about it.
    fn lock_timeout(&self) -> Duration;

    /// Takes away locks that only a dead process of ours can have left. Returns true if there was one.
    fn remove_stale_lock(&self, moves: &[&Move]) -> Result<bool>;

    /// The last try of moves that failed with `error` repeatedly.
    fn retry_with_git(&self, moves: &[&Move], reason: Reason, error: Error) -> Result<()>;

    /// Carries out what `git update-ref --stdin` understands, all of it or nothing.
    fn update(&self, commands: &str, reason: Reason) -> Result<()>;

    /// Lets in whom the repository lets in, and makes what was moved safe from a power cut.
    fn fsync(&self, names: &[&str]) -> Result<()>;
}

/// Returns the input of `git update-ref --stdin`, as one transaction.
pub(super) fn all_or_nothing(commands: &str) -> String {
    format!("start\n{commands}prepare\ncommit\n")
}

/// Returns moves as input for `git update-ref --stdin`.
pub(super) fn commands(moves: &[&Move]) -> String {
    let length = moves.iter().find_map(|one| one.new.as_ref()).map_or(40, |id| id.as_str().len());
    let zero = "0".repeat(length);
    let line = |one: &&Move| {
        let Move { name, old, new } = one;
        let [old, new] = [old, new].map(|id| id.as_ref().map_or(zero.as_str(), ObjectId::as_str));
        format!("update {name} {new} {old}\n")
    };
    all_or_nothing(&moves.iter().map(line).collect::<String>())
}

/// `git update-ref --stdin`, with what it makes on the disk when it is done.
pub(super) fn update_ref(store: &Store, commands: &str, reason: Reason) -> Tool {
    Tool::git(&store.repository().common_dir)
        .args(["-c", "core.fsync=reference", "update-ref", "--no-deref", "-m", &reason.line(), "--stdin"])
        .env("GIT_COMMITTER_NAME", objects::COMMITTER)
        .env("GIT_COMMITTER_EMAIL", objects::COMMITTER_EMAIL)
        .env("GIT_COMMITTER_DATE", format!("@{} +0000", reason.at.seconds()))
        .stdin(commands)
}
