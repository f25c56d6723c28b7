//! What lies between two commits: their merge, and the commits of one that the other has not.

use anyhow::{Context as _, Result, bail};
use camino::Utf8Path;

use ralph_core::record::{ObjectId, Refusal};
use ralph_os::process::{LONG, create_private_dir};

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
        create_private_dir(objects)?;
        let git = self.git_with_objects(objects).in_own_session().limit(LONG);
        let merge = git.args(["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z"]);
        let merged = merge.args([one.as_str(), other.as_str()]).run()?;
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
