//! What is checked out in a work tree, and what git is in the middle of there.

use anyhow::{Result, bail};
use camino::Utf8PathBuf;

use crate::repository::{RefFormat, caused};
use ralph_core::record::{ObjectId, quoted_for_shell};
use ralph_os::platform::may_run;
use ralph_os::process::{Captured, Tool};

use super::WorkTree;

/// An operation of git's that is not finished: commits that are made meanwhile become a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// With its article: `a merge`.
    pub name: &'static str,
    /// The command that finishes it.
    pub finish: &'static str,
    /// The command that goes back to before it.
    pub abort: &'static str,
    /// What lies in the git directory meanwhile.
    file: &'static str,
}

/// Hooks that git runs when it takes a branch forward.
const HOOKS_OF_MERGE: &[&str] = &["post-merge", "post-index-change", "reference-transaction"];

/// What lies in the git directory during a bisection: other operations may begin within one.
const BISECTION: &str = "BISECT_LOG";

/// In the order of `git status`: within a rebase a single pick may have stopped.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "a merge",
        finish: "git merge --continue",
        abort: "git merge --abort",
        file: "MERGE_HEAD",
    },
    Operation {
        name: "a rebase",
        finish: "git rebase --continue",
        abort: "git rebase --abort",
        file: "rebase-merge",
    },
    Operation {
        name: "a series of patches",
        finish: "git am --continue",
        abort: "git am --abort",
        file: "rebase-apply/applying",
    },
    Operation {
        name: "a rebase",
        finish: "git rebase --continue",
        abort: "git rebase --abort",
        file: "rebase-apply",
    },
    Operation {
        name: "a cherry-pick",
        finish: "git cherry-pick --continue",
        abort: "git cherry-pick --abort",
        file: "CHERRY_PICK_HEAD",
    },
    Operation {
        name: "a revert",
        finish: "git revert --continue",
        abort: "git revert --abort",
        file: "REVERT_HEAD",
    },
    // Either is undecided while a conflict of several commits is resolved.
    Operation {
        name: "a cherry-pick or revert",
        finish: "git cherry-pick --continue",
        abort: "git cherry-pick --abort",
        file: "sequencer/todo",
    },
    Operation { name: "a bisection", finish: "git bisect reset", abort: "git bisect reset", file: BISECTION },
];

impl WorkTree {
    /// Returns the commit that is checked out; none on an unborn branch.
    pub fn head(&self) -> Result<Option<ObjectId>> {
        if self.repository.refs == RefFormat::Tables {
            let asked = self.git().args(["rev-parse", "--verify", "--quiet", "HEAD"]).run()?;
            return line_of(&asked)?.map(|id| id.parse()).transpose();
        }
        let git = self.repository.open(&self.git_dir)?;
        git.head_id().ok().map(|id| id.to_string().parse()).transpose()
    }

    /// Returns the command that brings the branch that is checked out to the main one; `None` if that is the main one, has all
    /// of its commits or is not known.
    pub fn merge_command(&self) -> Result<Option<String>> {
        let (Some(branch), Some(head)) = (self.branch()?, self.head()?) else { return Ok(None) };
        let remote =
            self.git().args(["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]).run()?;
        let remote = line_of(&remote)?.and_then(|name| Some(name.strip_prefix("origin/")?.to_owned()));
        let names = remote.into_iter().chain(["main", "master", "trunk"].map(str::to_owned));
        for main in names {
            let reference = format!("refs/heads/{main}");
            let asked = self.git().args(["rev-parse", "--verify", "--quiet", &reference]).run()?;
            let Some(tip) = line_of(&asked)? else { continue };
            if main == branch || self.is_ancestor(&head, &tip.parse()?)? {
                return Ok(None);
            }
            let merge = format!("merge {}", quoted_for_shell(&branch));
            return Ok(Some(match self.checked_out_at(&reference)? {
                Some(place) => format!("git -C {} {merge}", quoted_for_shell(&place)),
                None => format!("git switch {} && git {merge}", quoted_for_shell(&main)),
            }));
        }
        Ok(None)
    }

    /// Takes the branch that is checked out forward, as `git merge --ff-only` does, without hooks. Returns git's answer, and the
    /// names of the user's hooks that git would have run.
    pub fn go_forward(&self, reference: &str) -> Result<(Captured, Vec<&'static str>)> {
        let place = ["rev-parse", "--path-format=absolute", "--git-path", "hooks"];
        let hooks = Utf8PathBuf::from(Tool::git_as_called(&self.top).args(place).line()?);
        let there =
            HOOKS_OF_MERGE.iter().copied().filter(|name| may_run(hooks.join(name).as_std_path())).collect();
        Ok((self.git().args(["merge", "--ff-only", "--quiet", reference]).run()?, there))
    }

    /// Returns the branch that is checked out, as people call it; none for a detached HEAD. That of a lane is the one that it
    /// publishes on.
    pub fn branch(&self) -> Result<Option<String>> {
        if let Some(lane) = &self.lane {
            return Ok(Some(lane.branch.clone()));
        }
        if self.repository.refs == RefFormat::Tables {
            let asked = self.git().args(["symbolic-ref", "--quiet", "HEAD"]).run()?;
            let name = line_of(&asked)?;
            return Ok(name.map(|name| name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned()));
        }
        let git = self.repository.open(&self.git_dir)?;
        let name = git.head_name().map_err(|error| caused("read HEAD", &error))?;
        Ok(name.map(|name| name.shorten().to_string()))
    }

    /// Returns what git is in the middle of, so that a commit would become part of it, if anything.
    pub fn operation(&self) -> Option<Operation> {
        // Where refs are in tables, these marks are refs, and no files.
        let is_in_tables = self.repository.refs == RefFormat::Tables;
        let listed = is_in_tables.then(|| {
            let list = ["for-each-ref", "--include-root-refs", "--format=%(refname)"];
            self.git().args(list).args(["CHERRY_PICK_HEAD", "REVERT_HEAD"]).read()
        });
        let listed = listed.and_then(Result::ok).unwrap_or_default();
        let refs: Vec<&[u8]> = listed.split(|&byte| byte == b'\n').collect();
        let mut operations = OPERATIONS.iter().filter(|operation| operation.file != BISECTION);
        operations
            .find(|operation| self.has_mark(operation) || refs.contains(&operation.file.as_bytes()))
            .copied()
    }

    /// Returns the same, and a bisection beside it.
    pub fn operations(&self) -> Vec<Operation> {
        let bisection = OPERATIONS.iter().filter(|operation| operation.file == BISECTION);
        let bisection = bisection.filter(|operation| self.has_mark(operation)).copied();
        self.operation().into_iter().chain(bisection).collect()
    }

    fn has_mark(&self, operation: &Operation) -> bool {
        self.git_dir.join(operation.file).exists()
    }
}

/// Returns the line that git prints, or `None` if exit code 1 says that there is nothing.
fn line_of(ended: &Captured) -> Result<Option<String>> {
    match ended.code {
        0 => Ok(Some(String::from_utf8_lossy(&ended.stdout).trim_end().to_owned())),
        1 => Ok(None),
        _ => bail!("read HEAD: {}", ended.complaint()),
    }
}
