//! Commits that are not in what is checked out: on other branches, in other work trees, in the stash.

use anyhow::Result;

use ralph_core::record::{ObjectId, Timestamp};

use super::WorkTree;

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
        // Without a stash it is an error.
        Ok(self.git().args(["reflog", "show", "--format=%H", "refs/stash", "--"]).run()?.stdout)
    }

    /// Returns the commits that are neither in HEAD nor in the history of any of `known`, which are listed a line each, nor at a
    /// remote.
    pub fn commits_elsewhere(&self, known: &[u8]) -> Result<Vec<CommitsElsewhere>> {
        let remotes = self.git().args(["for-each-ref", "--format=%(objectname)", "refs/remotes"]).read()?;
        let known = [known, b"\n", &remotes].concat();
        let known_text = String::from_utf8_lossy(&known);
        let known_text: Vec<&str> = known_text.lines().filter(|line| !line.is_empty()).collect();
        let is_known = |id: &ObjectId| known_text.contains(&id.as_str());
        let since = Timestamp::from_seconds(0);
        let head = self.head()?;
        let listing = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/stash"];
        let refs = String::from_utf8_lossy(&self.git().args(listing).read()?).into_owned();
        let work_trees = self.work_trees()?;
        let mut places: Vec<(CommitPlace, ObjectId, Option<String>)> = Vec::new();
        for (id, name) in refs.lines().filter_map(|line| line.split_once(' ')) {
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
            if is_known(&tip) || Some(&tip) == head.as_ref() {
                continue;
            }
            let mut commits =
                self.commits_between(head.as_ref(), Some(&tip), known_text.join("\n").as_bytes(), since)?;
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

    fn work_trees(&self) -> Result<Vec<Listed>> {
        let listed = self.git().args(["worktree", "list", "--porcelain"]).read()?;
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
