//! What lies between two commits: their merge, and the commits of one that the other has not.

use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;

use ralph_core::record::{ObjectId, Refusal};
use ralph_os::process::{Captured, LONG, create_private_dir};

use super::WorkTree;
use super::raw_path::{lossy, split};

/// The fields of a commit as they are listed, each ended by a NUL.
const FORMAT: &str = "--format=%H%x00%T%x00%P%x00%(trailers:key=Ralph-Check,valueonly,separator=%x2C)%x00\
                      %(trailers:key=Ralph-Tests,valueonly,separator=%x2C)%x00%(trailers:key=Ralph-Task,valueonly,separator=%x2C)%x00\
                      %(trailers:key=Ralph-Made-In,valueonly,separator=%x2C)%x00%s%x00";

/// What a merge of two commits comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Tree(ObjectId),
    /// Files in conflict.
    Conflict(Vec<String>),
}

/// A commit of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeCommit {
    pub id: ObjectId,
    pub tree: ObjectId,
    /// More than one of a merge.
    pub parents: Vec<ObjectId>,
    /// True if its message says that the validation passed on it.
    pub says_passed: bool,
    /// How many tests passed, as its message says.
    pub says_tests: Option<u64>,
    /// The task that its message names; empty if it names none.
    pub task: String,
    pub subject: String,
}

impl WorkTree {
    /// Merges two commits without any work tree. New objects are written to `objects`, a folder of ours.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] if git is too old for it, or the two have no common history.
    pub fn merge_commits(&self, one: &ObjectId, other: &ObjectId, objects: &Utf8Path) -> Result<Merged> {
        let merged = self.merge_tree(one, other, objects)?;
        let mut parts = split(&merged.stdout).map(lossy);
        match (merged.code, parts.next()) {
            (0, Some(tree)) => Ok(Merged::Tree(tree.parse()?)),
            (1, Some(_)) => Ok(Merged::Conflict(parts.filter(|path| !path.is_empty()).collect())),
            (129, _) => Err(Refusal::new("the merge of a range needs git 2.38 or later").into()),
            _ if merged.complaint().contains("unrelated histories") => {
                let message = format!("{} and {} have no common history here", one.short(), other.short());
                Err(Refusal::new(message).with_hint("in a shallow clone, `git fetch --unshallow`").into())
            }
            _ => bail!("merge {} and {}: {}", one.short(), other.short(), merged.complaint()),
        }
    }

    fn merge_tree(&self, one: &ObjectId, other: &ObjectId, objects: &Utf8Path) -> Result<Captured> {
        create_private_dir(objects)?;
        let git = self.git_with_objects(objects).in_own_session().limit(LONG);
        let merge = git.args(["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z"]);
        merge.args([one.as_str(), other.as_str()]).run()
    }

    /// Returns true if git is new enough for [`WorkTree::merge_on`]: 2.38.
    pub fn can_merge_trees(&self, tip: &ObjectId, objects: &Utf8Path) -> Result<bool> {
        Ok(self.merge_tree(tip, tip, objects)?.code == 0)
    }

    /// Merges two trees that were made of `base`: of these three and no others, as git would look for an older base on a branch that
    /// was rewritten. Returns the tree, and the files in conflict, which have both sides in it.
    pub fn merge_on(
        &self,
        base: &ObjectId,
        [ours, theirs]: [&ObjectId; 2],
        objects: &Utf8Path,
    ) -> Result<(ObjectId, Vec<String>)> {
        create_private_dir(objects)?;
        let commit = |tree: &ObjectId, parent: Option<&ObjectId>| -> Result<ObjectId> {
            let git = self.git_with_objects(objects).in_own_session().limit(LONG);
            let git = ["AUTHOR", "COMMITTER"].iter().fold(git, |git, role| {
                let git = git.env(&format!("GIT_{role}_NAME"), "ralph");
                let git = git.env(&format!("GIT_{role}_EMAIL"), "ralph@localhost");
                git.env(&format!("GIT_{role}_DATE"), "@0 +0000")
            });
            let git = git.args(["commit-tree", "--no-gpg-sign", "-m", "merged", tree.as_str()]);
            let git = parent.iter().fold(git, |git, parent| git.args(["-p", parent.as_str()]));
            git.line()?.parse()
        };
        let base = commit(base, None)?;
        let [ours, theirs] = [commit(ours, Some(&base))?, commit(theirs, Some(&base))?];
        let merged = self.merge_tree(&ours, &theirs, objects)?;
        let mut parts = split(&merged.stdout).map(lossy);
        let (0 | 1, Some(tree)) = (merged.code, parts.next()) else {
            bail!("merge {} and {}: {}", ours.short(), theirs.short(), merged.complaint());
        };
        Ok((tree.parse()?, parts.filter(|path| !path.is_empty()).collect()))
    }

    /// Returns the commits that `head` has and `target` has not, oldest first, those of merged branches too.
    pub fn range_commits(&self, target: &ObjectId, head: &ObjectId) -> Result<Vec<RangeCommit>> {
        let range = format!("{target}..{head}");
        let log = ["log", "--reverse", "--topo-order", "--no-show-signature", FORMAT, &range, "--"];
        let listed = self.git().in_own_session().limit(LONG).args(log).read()?;
        let fields: Vec<String> = listed.split(|byte| *byte == 0).map(lossy).collect();
        let commits = fields.chunks_exact(8).map(|fields| {
            let [id, tree, parents, check, tests, task, made_in, subject] = fields else {
                bail!("read what git log prints")
            };
            // `SESSION:N TASK`: what is committed outside of a lane.
            let made_in = made_in.split_once(' ').map_or("", |(_, task)| task);
            let task = if task.is_empty() { made_in } else { task };
            let passed = tests.split(' ').find_map(|word| word.strip_prefix("passed="));
            Ok(RangeCommit {
                id: id.trim().parse().context("read what git log prints")?,
                tree: tree.parse()?,
                parents: parents.split_whitespace().map(str::parse).collect::<Result<_>>()?,
                says_passed: check == "passed",
                says_tests: passed.and_then(|count| count.parse().ok()),
                task: task.split(',').next().unwrap_or_default().to_owned(),
                subject: subject.clone(),
            })
        });
        commits.collect()
    }
}
