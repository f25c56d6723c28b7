//! Commits of finished tasks on the user's branch, if the setting `commit` asks for them.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use camino::Utf8Path;

use ralph_core::record::{
    LeftOut, ObjectId, Outcome, RALPH, Refusal, StopReason, TaskName, join_files, join_truncated,
};
use ralph_git::worktree::{RawPath, StagedEntries, WorkTree};
use ralph_os::process::create_private_dir;

use super::git_commit::CommitPlan;
use super::left_out;
use super::message::{CommitSubject, ITERATION_TRAILER, MAX_NAMED, commit_message, display_paths};
use super::pending::PendingCommit;
use crate::running::{Ending, Running};
use crate::snapshot_taken::SnapshotTaken;
use crate::units::UnitTasks;

/// The file in the scratch folder with all entries that were staged when a commit began.
const STAGED_FILE: &str = "commit-staged";

/// The file beside it with those of the entries that the user staged.
const USER_STAGED_FILE: &str = "commit-held";

/// Checks that a session with `commit = "task"` can commit.
///
/// # Errors
///
/// A [`Refusal`] if an operation such as a merge is in progress, HEAD is detached, there is no commit yet, or git has no author
/// identity.
pub fn check_commits(work_tree: &WorkTree) -> Result<()> {
    let (what, hint) = if let Some(operation) = work_tree.operation() {
        (
            format!("{} is in progress in this work tree", operation.name),
            "finish or abort it first, or --commit off",
        )
    } else if work_tree.branch()?.is_none() {
        ("HEAD is detached".to_owned(), "check out a branch (`git switch -c NAME`), or --commit off")
    } else if work_tree.head()?.is_none() {
        // The commit of a task would be the first, and hold nothing but its own files.
        ("there is no commit yet".to_owned(), "git add --all && git commit, or --commit off")
    } else if let Err(error) = work_tree.check_identity() {
        (
            format!("git has no author identity: {error:#}"),
            "git config user.name 'YOUR NAME' && git config user.email YOU@EXAMPLE.COM, or --commit off",
        )
    } else {
        return Ok(());
    };
    Err(Refusal::new(format!("`commit = \"task\"` is set, but {what}")).with_hint(hint).into())
}

impl Running<'_> {
    /// Returns the end of a session that can no longer commit: the branch was switched, or a merge is in progress.
    pub(crate) fn commit_obstacle(&self) -> Result<Option<Ending>> {
        let Some(work) = &self.work else { return Ok(None) };
        let Some((obstacle, hint)) = work.obstacle(&self.plan)? else { return Ok(None) };
        // An interrupt ends the session anyway.
        if self.plan.interrupt.signal().is_some() {
            return Ok(None);
        }
        Ok(Some(Ending {
            why: Some(format!(
                "cannot commit: {obstacle}; the work so far is in the work tree and in the record"
            )),
            hint: Some(format!("{hint}, then `{RALPH} resume {}`", self.session.id)),
            ..Ending::of(StopReason::Stuck)
        }))
    }

    /// Returns the finished tasks that are not committed and the files that commits left out, for the closing lines.
    pub(crate) fn not_in_commits(&self) -> (Vec<TaskName>, Vec<String>) {
        let Some(work) = &self.work else { return Default::default() };
        let uncommitted = work.uncommitted.iter().chain(&work.waiting).cloned().collect();
        (uncommitted, work.left_out.named())
    }

    /// Adds the changes of an iteration to the pending commit, and commits them if it succeeded. If that fails they stay
    /// pending, and the error says why.
    pub(crate) fn commit_work(
        &mut self,
        outcome: Outcome,
        taken: &mut SnapshotTaken,
        done: &CommitSubject<'_>,
    ) -> Result<Option<ObjectId>, String> {
        let Some(mut work) = self.work.take() else { return Ok(None) };
        work.pending.extend(taken.changed.iter().cloned());
        let rest = done.unit.filter(|unit| outcome == Outcome::Success && !unit.tasks.is_empty());
        if let Some(UnitTasks { name, tasks }) = rest {
            let open = join_truncated(tasks, MAX_NAMED);
            work.waiting.extend_from_slice(done.closed);
            self.work = Some(work);
            return Err(format!("the commit waits for all of {name}; still open: {open}"));
        }
        if outcome == Outcome::Success && work.is_off() {
            work.uncommitted.push(done.task.name.clone());
            let reason = work.why_off();
            self.work = Some(work);
            return Err(reason);
        }
        let tried = match outcome {
            Outcome::Success => self.try_commit(&mut work, taken, done),
            Outcome::Failure
            | Outcome::Skipped
            | Outcome::Checked
            | Outcome::Reopened
            | Outcome::Interrupted
            | Outcome::Later(_) => Ok(None),
        };
        let committed = tried.map_err(|error| {
            work.uncommitted.push(done.task.name.clone());
            let reason = format!("{error:#}");
            self.warn(format!("{} is done, but not committed: {reason}", done.task.name));
            // Records keep the reason without the hint and without what a hook printed.
            reason.lines().next().unwrap_or_default().to_owned()
        });
        self.work = Some(work);
        committed
    }

    fn try_commit(
        &mut self,
        work: &mut PendingCommit,
        taken: &mut SnapshotTaken,
        done: &CommitSubject<'_>,
    ) -> Result<Option<ObjectId>> {
        if let Some((obstacle, _)) = work.obstacle(&self.plan)? {
            bail!("{obstacle}");
        }
        if let Some(failure) = &taken.failure {
            bail!("the changes are unknown: {failure}");
        }
        let work_tree = self.recorder.work_tree().clone();
        let base = work_tree.head()?;
        let now = work_tree.staged(base.as_ref())?;
        // Entries as they were at the start are the user's; the agent staged the others.
        let user_staged = now.intersection(&work.staged);
        let paths = work.to_commit(taken, &user_staged);
        self.warn_about_user_staged(work, &user_staged);
        let scratch = self.spool.scratch();
        create_private_dir(&scratch)?;
        let index = scratch.join("commit-index");
        let mut made = None;
        let (has_changes, nested) = work_tree.prepare(&index, base.as_ref(), &paths)?;
        let left_out = work.left_out_of(taken, &nested, &work_tree);
        let message = scratch.join("commit-message");
        let mut plan = CommitPlan { work_tree, index, message, base, paths };
        if has_changes {
            let trailers = left_out::trailers(&left_out.iter().collect::<Vec<_>>());
            let (trailers, _) = self.recorder.redactor().redact_text(&trailers);
            let text = commit_message(&self.plan, &self.recorder, done, &work.waiting) + &trailers;
            std::fs::write(&plan.message, text).with_context(|| format!("write {}", plan.message))?;
            StagedEntries::write(&user_staged, &scratch.join(USER_STAGED_FILE))?;
            StagedEntries::write(&now, &scratch.join(STAGED_FILE))?;
            let commit = self.make_commit(work, &mut plan, &user_staged, done)?;
            let CommitPlan { work_tree, base, paths, .. } = &plan;
            if !work_tree.undo_unless_child(base.as_ref(), &commit)? {
                bail!("another process committed at the same time; the next commit includes this iteration");
            }
            if let Err(error) = work_tree.update_user_index(base.as_ref(), &commit, &user_staged) {
                self.warn(format!(
                    "committed, but the index could not be updated: {error:#}\nhint: `git reset` updates it, and also unstages what you had staged"
                ));
            }
            StagedEntries::remove_file(&scratch.join(STAGED_FILE))?;
            self.warn_about_preexisting_changes(work, paths);
            made = Some(commit);
        }
        self.warn_about_left_out(work, &left_out, done);
        work.pending.retain(|path| user_staged.has(path));
        work.uncommitted.clear();
        work.waiting.clear();
        Ok(made)
    }

    fn warn_about_left_out(
        &mut self,
        work: &mut PendingCommit,
        left_out: &[LeftOut],
        done: &CommitSubject<'_>,
    ) {
        if left_out.is_empty() {
            return;
        }
        let names: Vec<String> =
            left_out.iter().map(|left| format!("{} ({})", left.path, left.reason)).collect();
        let names = join_files(&names, MAX_NAMED).replace(char::is_control, "\u{fffd}");
        self.warn(format!(
            "the commit of {} leaves out {names}\nhint: `git add` and commit them yourself, or have git ignore them",
            done.task.name
        ));
        work.left_out.note(left_out);
    }

    fn warn_about_user_staged(&mut self, work: &mut PendingCommit, user_staged: &StagedEntries) {
        let new: Vec<RawPath> = work
            .pending
            .iter()
            .filter(|path| user_staged.has(path) && !work.reported.contains(*path))
            .cloned()
            .collect();
        if new.is_empty() {
            return;
        }
        self.warn(format!(
            "not committed, because they were staged before the session began: {}\nhint: commit or unstage them yourself",
            display_paths(&new)
        ));
        work.reported.extend(new);
    }

    fn warn_about_preexisting_changes(&mut self, work: &mut PendingCommit, paths: &BTreeSet<RawPath>) {
        let new: Vec<RawPath> = work.dirty.intersection(paths).cloned().collect();
        if new.is_empty() {
            return;
        }
        self.warn(format!("the commit includes changes from before the session: {}", display_paths(&new)));
        work.dirty.retain(|path| !paths.contains(path));
    }
}

/// Updates the index to the commit of an iteration whose loop died between `git commit` and that update.
pub(crate) fn finish_index_update(
    work_tree: &WorkTree,
    last: Option<&ObjectId>,
    scratch: &Utf8Path,
    iteration: &str,
) -> Result<()> {
    let (Some(last), Some(then)) = (last, StagedEntries::read(&scratch.join(STAGED_FILE))?) else {
        return Ok(());
    };
    let (base, made_in) = work_tree.base_and_trailer(last, ITERATION_TRAILER)?;
    if made_in.split_whitespace().next() == Some(iteration) {
        let mut user_staged = StagedEntries::read(&scratch.join(USER_STAGED_FILE))?.unwrap_or_default();
        // Entries that changed since were staged by the user, or are updated already.
        user_staged.extend_by_changes(&then, &work_tree.staged(base.as_ref())?);
        work_tree.update_user_index(base.as_ref(), last, &user_staged)?;
    }
    StagedEntries::remove_file(&scratch.join(STAGED_FILE))
}
