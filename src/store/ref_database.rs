//! Where the refs of a repository are kept, and how one is moved there: in files of their own, or in tables.

use std::time::Duration;

use anyhow::{Error, Result};

use crate::process::Tool;
use crate::record::{ObjectId, Timestamp};
use crate::repository::RefFormat;

use super::ref_files::RefFiles;
use super::ref_tables::RefTables;
use super::spool::Draft;
use super::{Store, objects};

/// A ref that is to go from one value to another.
#[derive(Debug)]
pub(super) struct Move {
    pub name: String,
    pub old: Option<ObjectId>,
    /// None where it stays.
    pub new: Option<ObjectId>,
}

/// What a reflog says of a move, where the user wants one of every ref.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reason {
    pub why: &'static str,
    pub at: Timestamp,
}

impl Reason {
    pub fn of(draft: &Draft) -> Self {
        Self { why: draft.kind.as_str(), at: draft.committed_at }
    }

    /// The line of a reflog.
    pub fn line(self) -> String {
        format!("ralph: {}", self.why)
    }
}

/// The refs of one repository. What is symbolic, or cannot be read, is none.
pub(super) trait RefDatabase {
    /// What a ref points at, if it is there.
    fn tip(&self, name: &str) -> Result<Option<ObjectId>>;

    /// All refs below a prefix, which ends in `/`.
    fn below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>>;

    /// The refs below a prefix, which ends in `/`, or of just this name, that name another ref, and which one.
    fn symbolic(&self, pattern: &str) -> Result<Vec<(String, String)>>;

    /// The names of all refs below a prefix, which ends in `/`: one may be gone by the time it is asked for.
    fn names(&self, prefix: &str) -> Result<Vec<String>> {
        Ok(self.below(prefix)?.into_iter().map(|(name, _)| name).collect())
    }

    /// The commit that is checked out; none on an unborn branch.
    fn head(&self) -> Result<Option<ObjectId>>;

    /// The branch that is checked out, as people call it; none for a detached HEAD.
    fn branch(&self) -> Result<Option<String>>;

    /// Whether git left a mark beside HEAD while it is at something, as `CHERRY_PICK_HEAD`.
    fn is_marked(&self, mark: &str) -> Result<bool>;

    /// Makes all moves or none, each from its expected value.
    fn move_all(&self, moves: &[&Move], reason: Reason) -> Result<()>;

    /// How long moves that fail are tried again before anything else is done about it.
    fn patience(&self) -> Duration;

    /// Takes away locks that only a dead process of ours can have left. Gives whether there was one.
    fn reclaim(&self, moves: &[&Move]) -> Result<bool>;

    /// The last try of moves that failed with `error` again and again.
    fn insist(&self, moves: &[&Move], reason: Reason, error: Error) -> Result<()>;

    /// Carries out what `git update-ref --stdin` understands, all of it or nothing.
    fn update(&self, commands: &str, reason: Reason) -> Result<()>;

    /// Lets in whom the repository lets in, and makes what was moved safe from a power cut.
    fn settle(&self, names: &[&str]) -> Result<()>;
}

impl Store {
    pub(super) fn refs(&self) -> Box<dyn RefDatabase + '_> {
        match self.repository().refs {
            RefFormat::Files => Box::new(RefFiles::new(self)),
            RefFormat::Tables => Box::new(RefTables::new(self)),
        }
    }

    /// What a ref points at, if it is there.
    pub fn tip(&self, name: &str) -> Result<Option<ObjectId>> {
        self.refs().tip(name)
    }

    /// All refs below a prefix that point at something.
    pub(super) fn refs_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        self.refs().below(prefix)
    }

    /// The refs below a prefix that name another ref, and which one.
    pub(super) fn symbolic_refs(&self, prefix: &str) -> Result<Vec<(String, String)>> {
        self.refs().symbolic(prefix)
    }

    /// The ref that a symbolic ref names; `None` if there is no ref of this name, or no symbolic one.
    pub(super) fn symbolic_target(&self, name: &str) -> Result<Option<String>> {
        let found = self.refs().symbolic(name)?.into_iter().find(|(found, _)| found == name);
        Ok(found.map(|(_, target)| target))
    }

    /// Deletes a symbolic ref, and not what it names.
    pub(super) fn delete_symbolic(&self, name: &str) -> Result<()> {
        let deletion = Tool::git(&self.repository().common_dir).args(["symbolic-ref", "--delete", name]);
        deletion.read().map(drop)
    }

    /// The commit that is checked out; none on an unborn branch.
    pub fn head(&self) -> Result<Option<ObjectId>> {
        self.refs().head()
    }

    /// The branch that is checked out; none for a detached HEAD.
    pub fn branch(&self) -> Result<Option<String>> {
        self.refs().branch()
    }
}

/// Marks that git leaves beside HEAD while it is at something, and what that is.
const UNDER_WAY: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
];

impl Store {
    /// What git is in the middle of in this work tree, so that a commit would be part of it.
    pub fn under_way(&self) -> Result<Option<&'static str>> {
        let refs = self.refs();
        for (mark, what) in UNDER_WAY {
            if refs.is_marked(mark)? {
                return Ok(Some(what));
            }
        }
        Ok(None)
    }
}

/// What `git update-ref --stdin` is told, all of it or nothing.
pub(super) fn all_or_nothing(commands: &str) -> String {
    format!("start\n{commands}prepare\ncommit\n")
}

/// Moves as `git update-ref --stdin` is told of them.
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
