//! What the next commit on the user's branch is made of.

use std::collections::BTreeSet;

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::config::{Commits, Unit};
use ralph_core::record::{Iteration, LeftOut, ObjectId, Outcome, TaskName, Timestamp};
use ralph_git::worktree::{RawPath, StagedEntries, WorkTree};

use super::left_out::LeftOutFiles;
use crate::loop_inputs::LoopInputs;
use crate::settings::redactor;
use crate::snapshot_taken::SnapshotTaken;

/// What the next commit is made of.
#[derive(Debug, Default)]
pub(crate) struct PendingCommit {
    /// What iterations changed since our last commit.
    pub pending: BTreeSet<RawPath>,
    /// What the user had staged when the session began: theirs, and never in one of our commits.
    pub staged: StagedEntries,
    /// What was not committed when the session began and was in no commit of ours so far.
    pub dirty: BTreeSet<RawPath>,
    /// What was held back, and reported as such.
    pub reported: BTreeSet<RawPath>,
    /// Files that commits leave out by rule.
    pub left_out: LeftOutFiles,
    /// Tasks that are done, and whose work is in no commit.
    pub uncommitted: Vec<TaskName>,
    /// Tasks that are done, and wait for the rest of their story or phase.
    pub waiting: Vec<TaskName>,
    /// What commits of this start waited for until they were stopped.
    pub waited: Vec<String>,
    /// True once the words of a `commit-msg` hook that refuses were said.
    pub has_said_hook: bool,
    /// The branch that commits go to: the one that was checked out when the session began or was resumed.
    pub branch: Option<String>,
}

impl PendingCommit {
    /// Returns the state at the start of a session, or `None` if nothing is to be committed. `recorded` are its earlier iterations,
    /// `tree` the work tree as it was found, with its objects in `objects` if they are not in the repository, and without
    /// `left_out`. A session that is resumed began at `resumed_from`.
    pub fn begin(
        inputs: &LoopInputs<'_>,
        recorded: &[Iteration],
        tree: Option<&ObjectId>,
        objects: Option<&Utf8Path>,
        left_out: &[LeftOut],
        resumed_from: Option<Timestamp>,
    ) -> Result<Option<Self>> {
        if inputs.config.settings.commit == Commits::Off {
            return Ok(None);
        }
        let work_tree = inputs.work_tree;
        let head = inputs.work_tree.head()?;
        let mut pending = Self {
            staged: work_tree.staged(head.as_ref())?,
            left_out: LeftOutFiles::begin(work_tree.top(), &with_files(work_tree, left_out), resumed_from),
            branch: inputs.work_tree.branch()?,
            ..Self::default()
        };
        if let Some(tree) = tree {
            pending.dirty = work_tree.differing(head.as_ref(), tree, objects)?;
        }
        let unit = inputs.config.settings.unit;
        for iteration in recorded {
            pending.pending.extend(iteration.files_changed.iter().map(|path| path.as_bytes().to_vec()));
            let is_committed = !iteration.commits.is_empty();
            if iteration.outcome == Outcome::Success && is_committed {
                pending.pending.clear();
                pending.waiting.clear();
            } else if unit != Unit::Task && (unit != Unit::Auto || !iteration.unit_tasks.is_empty()) {
                pending.waiting.extend_from_slice(&iteration.closed);
            }
        }
        pending.find_redacted(inputs, recorded)?;
        pending.dirty.retain(|path| !pending.pending.contains(path));
        Ok(Some(pending))
    }

    /// Takes up files whose names the record has redacted: those that differ now and have the same name there.
    fn find_redacted(&mut self, inputs: &LoopInputs<'_>, recorded: &[Iteration]) -> Result<()> {
        let paths = recorded.iter().flat_map(|iteration| &iteration.files_changed);
        let redacted: BTreeSet<&String> = paths.filter(|path| path.contains("[redacted:")).collect();
        if redacted.is_empty() {
            return Ok(());
        }
        let redactor = redactor(&inputs.config.settings)?;
        let is_recorded =
            |path: &&RawPath| redacted.contains(&redactor.redact_text(&String::from_utf8_lossy(path)).0);
        self.pending.extend(self.dirty.iter().filter(is_recorded).cloned());
        Ok(())
    }

    /// Returns why nothing can be committed in this work tree now, and what helps; `None` if it can.
    pub fn obstacle(&self, inputs: &LoopInputs<'_>) -> Result<Option<(String, String)>> {
        if let Some(operation) = inputs.work_tree.operation() {
            let obstacle = format!("{} is in progress in this work tree", operation.name);
            return Ok(Some((obstacle, "finish or abort it".to_owned())));
        }
        let (began_on, branch) = (self.branch.as_deref().unwrap_or_default(), inputs.work_tree.branch()?);
        if branch.as_deref() == Some(began_on) {
            return Ok(None);
        }
        let is_there = inputs.store.refs().tip(&format!("refs/heads/{began_on}"))?.is_some();
        let hint = match &branch {
            // It was renamed, or never had a commit.
            Some(now) if !is_there => format!("rename it back (`git branch -m {now} {began_on}`)"),
            _ => format!("check it out again (`git switch {began_on}`)"),
        };
        let branch = branch.map_or_else(|| "no branch".to_owned(), |branch| format!("`{branch}`"));
        let obstacle = format!("the session commits on `{began_on}`, but {branch} is checked out");
        Ok(Some((obstacle, hint)))
    }

    /// Returns the paths of the next commit.
    pub fn to_commit(&self, taken: &SnapshotTaken, held: &StagedEntries) -> BTreeSet<RawPath> {
        // A submodule whose own files are dirty is there with its commit.
        let left_out = taken
            .left_out
            .iter()
            .filter(|left| !left.is_refused() && left.reason != LeftOut::SUBMODULE_CHANGES)
            .map(|left| left.path.as_str());
        let left_out: BTreeSet<&str> = left_out.collect();
        // What git could not read for the snapshot is tried once more, and refuses the commit if that fails again.
        let changed = self.left_out.changed(&taken.left_out).into_iter();
        let refused: BTreeSet<&str> =
            changed.filter(|left| left.is_refused()).map(|left| left.path.as_str()).collect();
        let refused = taken.refused.iter().filter(|path| refused.contains(&*String::from_utf8_lossy(path)));
        self.pending
            .iter()
            .chain(refused)
            .filter(|path| !held.has(path) && !left_out.contains(&*String::from_utf8_lossy(path)))
            .cloned()
            .collect()
    }

    /// Returns the files of the work that the next commit lacks by rule. The `nested` repositories, which are no submodules,
    /// are noted in `taken`.
    pub fn left_out_of(
        &self,
        taken: &mut SnapshotTaken,
        nested: &BTreeSet<RawPath>,
        work_tree: &WorkTree,
    ) -> Vec<LeftOut> {
        let by_rule: Vec<LeftOut> = with_files(work_tree, &taken.left_out);
        let changed = self.left_out.changed(&by_rule).into_iter().filter(|left| !left.is_refused());
        let mut left_out: Vec<LeftOut> = changed.cloned().collect();
        for path in nested {
            let path = String::from_utf8_lossy(path).into_owned();
            let nested = LeftOut { path, reason: LeftOut::NESTED_REPOSITORY.to_owned() };
            taken.left_out.push(nested.clone());
            left_out.push(nested);
        }
        left_out
    }
}

/// Returns the same, with the files that are uncommitted in a submodule in place of the submodule.
fn with_files(work_tree: &WorkTree, left_out: &[LeftOut]) -> Vec<LeftOut> {
    let mut expanded = Vec::new();
    for left in left_out {
        let is_submodule = left.reason == LeftOut::SUBMODULE_CHANGES;
        // What cannot be listed is named as a whole.
        let files =
            if is_submodule { work_tree.dirty_files_of(&left.path).unwrap_or_default() } else { Vec::new() };
        if files.is_empty() {
            expanded.push(left.clone());
        }
        expanded.extend(
            files.into_iter().map(|file| LeftOut { path: format!("{}/{file}", left.path), ..left.clone() }),
        );
    }
    expanded
}
