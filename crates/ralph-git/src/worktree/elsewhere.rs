//! Commits that are not in what is checked out: on other branches, in other work trees, in the stash.

use std::collections::HashSet;

use anyhow::Result;

use ralph_core::record::{ObjectId, Timestamp};
use ralph_os::process::Tool;

use super::WorkTree;
use crate::repository::RefFormat;

/// Where commits are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitPlace {
    Branch(String),
    Stash,
    /// On no branch.
    Detached,
}

/// Commits somewhere else in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitsElsewhere {
    pub place: CommitPlace,
    /// The work tree in which they are checked out, from the top of this one if it is below.
    pub work_tree: Option<String>,
    /// Oldest first; of the stash, its newest entry.
    pub commits: Vec<ObjectId>,
}

/// A work tree of the repository: its path, its HEAD, and its branch.
type Listed = (String, Option<ObjectId>, Option<String>);

impl WorkTree {
    /// Returns the stash, its entries a line each.
    pub fn stashes(&self) -> Result<Vec<u8>> {
        let log = self.repository.common_dir.join("logs/refs/stash");
        if self.repository.refs == RefFormat::Files && !log.exists() {
            return Ok(Vec::new());
        }
        // Without a stash it is an error.
        Ok(self.git().args(["reflog", "show", "--format=%H", "refs/stash", "--"]).run()?.stdout)
    }

    /// Returns the commits that are neither in HEAD nor in the history of any of `known`, which are listed a line each, nor at a
    /// remote.
    pub fn commits_elsewhere(&self, known: &[u8]) -> Result<Vec<CommitsElsewhere>> {
        let listing = ["for-each-ref", "--format=%(objectname) %(refname)"];
        let listing = self.git().args(listing).args(["refs/heads", "refs/stash", "refs/remotes"]).read()?;
        let refs = String::from_utf8_lossy(&listing).into_owned();
        let (remote, own): (Vec<_>, Vec<_>) = refs
            .lines()
            .filter_map(|line| line.split_once(' '))
            .partition(|(_, name)| name.starts_with("refs/remotes/"));
        let known = String::from_utf8_lossy(known);
        let known = known.lines().filter(|line| !line.is_empty()).chain(remote.into_iter().map(|(id, _)| id));
        let known: HashSet<&str> = known.collect();
        let listed = known.iter().copied().collect::<Vec<_>>().join("\n").into_bytes();
        let (since, head) = (Timestamp::from_seconds(0), self.head()?);
        let work_trees = self.work_trees()?;
        let mut places: Vec<(CommitPlace, ObjectId, Option<String>)> = Vec::new();
        for (id, name) in own {
            let at = work_trees.iter().find(|(_, _, branch)| branch.as_deref() == Some(name));
            let place = match name.strip_prefix("refs/heads/") {
                Some(branch) => CommitPlace::Branch(branch.to_owned()),
                None => CommitPlace::Stash,
            };
            places.push((place, id.parse()?, at.map(|(path, ..)| self.shown(path))));
        }
        for (path, tip, _) in
            work_trees.iter().filter(|(path, _, branch)| branch.is_none() && *path != self.top)
        {
            places.extend(tip.clone().map(|tip| (CommitPlace::Detached, tip, Some(self.shown(path)))));
        }
        let mut found = Vec::new();
        for (place, tip, work_tree) in places {
            if known.contains(tip.as_str()) || Some(&tip) == head.as_ref() {
                continue;
            }
            let mut commits = self.commits_between(head.as_ref(), Some(&tip), &listed, since)?;
            if commits.is_empty() {
                continue;
            }
            // It is a merge of commits of its own.
            if place == CommitPlace::Stash {
                commits = vec![tip];
            }
            found.push(CommitsElsewhere { place, work_tree, commits });
        }
        Ok(found)
    }

    /// Returns the work tree in which a branch is checked out; `None` if it is in none of the user's.
    pub fn checked_out_at(&self, reference: &str) -> Result<Option<String>> {
        let mut listed = self.work_trees()?.into_iter();
        Ok(listed.find(|(.., branch)| branch.as_deref() == Some(reference)).map(|(path, ..)| path))
    }

    /// Lists the work trees of the user's.
    fn work_trees(&self) -> Result<Vec<Listed>> {
        let common = &self.repository.common_dir;
        let git = Tool::git(common).env("GIT_DIR", common.as_str());
        let listed = git.args(["worktree", "list", "--porcelain"]).read()?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let field = |entry: &str, name: &str| {
            entry.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned))
        };
        let entries = listed.split("\n\n").filter_map(|entry| {
            let tip = field(entry, "HEAD ").and_then(|id| id.parse().ok());
            Some((field(entry, "worktree ")?, tip, field(entry, "branch ")))
        });
        Ok(entries.collect())
    }

    fn shown(&self, path: &str) -> String {
        self.relative(path.into())
    }
}
