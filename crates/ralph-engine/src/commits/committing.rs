//! Commits of finished tasks on the user's branch, if the setting `commit` asks for them.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use camino::Utf8Path;

use ralph_core::record::{
    Event, LeftOut, ObjectId, Outcome, RALPH, Refusal, SessionId, StopReason, TaskName, join_files,
    join_truncated,
};
use ralph_git::worktree::{RawPath, StagedEntries, WorkTree};
use ralph_os::process::create_private_dir;

use super::git_commit::CommitPlan;
use super::left_out;
use super::message::{CommitSubject, ITERATION_TRAILER, MAX_NAMED, commit_message, display_paths};
use super::pending::PendingCommit;
use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;
use crate::shown::warn;
use crate::snapshot_taken::SnapshotTaken;
use crate::stop::Ending;
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

impl PendingCommit {
    /// Returns the end of a session that can no longer commit: the branch was switched, or a merge is in progress.
    pub(crate) fn ending(&self, inputs: &LoopInputs<'_>, session: &SessionId) -> Result<Option<Ending>> {
        let Some((obstacle, hint)) = self.obstacle(inputs)? else { return Ok(None) };
        // An interrupt ends the session anyway.
        if inputs.interrupt.signal().is_some() {
            return Ok(None);
        }
        Ok(Some(Ending {
            why: Some(format!(
                "cannot commit: {obstacle}; the work so far is in the work tree and in the record"
            )),
            hint: Some(format!("{hint}, then `{RALPH} resume {session}`")),
            ..Ending::of(StopReason::Stuck)
        }))
    }

    /// Returns the finished tasks that are not committed and the files that commits left out, for the closing lines.
    pub(crate) fn not_committed(&self) -> (Vec<TaskName>, Vec<String>) {
        let uncommitted = self.uncommitted.iter().chain(&self.waiting).cloned().collect();
        (uncommitted, self.left_out.named())
    }

    /// Adds the changes of an iteration, and commits them if it succeeded. If that fails they stay pending, and the error says
    /// why.
    pub(crate) fn commit(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &mut Recorder<'_>,
        say: &mut dyn FnMut(&Event),
        outcome: Outcome,
        taken: &mut SnapshotTaken,
        done: &CommitSubject<'_>,
    ) -> Result<Option<ObjectId>, String> {
        self.pending.extend(taken.changed.iter().cloned());
        if outcome != Outcome::Success {
            return Ok(None);
        }
        if let Some(UnitTasks { name, tasks }) = done.unit.filter(|unit| !unit.tasks.is_empty()) {
            let open = join_truncated(tasks, MAX_NAMED);
            self.waiting.extend_from_slice(done.closed);
            return Err(format!("the commit waits for all of {name}; still open: {open}"));
        }
        if self.is_off() {
            self.uncommitted.push(done.task.name.clone());
            return Err(self.why_off());
        }
        self.try_commit(inputs, recorder, say, taken, done).map_err(|error| {
            self.uncommitted.push(done.task.name.clone());
            let reason = format!("{error:#}");
            warn(say, format!("{} is done, but not committed: {reason}", done.task.name));
            // Records keep the reason without the hint and without what a hook printed.
            reason.lines().next().unwrap_or_default().to_owned()
        })
    }

    fn try_commit(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &mut Recorder<'_>,
        say: &mut dyn FnMut(&Event),
        taken: &mut SnapshotTaken,
        done: &CommitSubject<'_>,
    ) -> Result<Option<ObjectId>> {
        if let Some((obstacle, _)) = self.obstacle(inputs)? {
            bail!("{obstacle}");
        }
        if let Some(failure) = &taken.failure {
            bail!("the changes are unknown: {failure}");
        }
        let work_tree = recorder.work_tree().clone();
        let base = work_tree.head()?;
        let now = work_tree.staged(base.as_ref())?;
        // Entries as they were at the start are the user's; the agent staged the others.
        let user_staged = now.intersection(&self.staged);
        let paths = self.to_commit(taken, &user_staged);
        self.warn_about_user_staged(say, &user_staged);
        let scratch = recorder.spool().scratch();
        create_private_dir(&scratch)?;
        let index = scratch.join("commit-index");
        let mut made = None;
        let (has_changes, nested) = work_tree.prepare(&index, base.as_ref(), &paths)?;
        let left_out = self.left_out_of(taken, &nested, &work_tree);
        let message = scratch.join("commit-message");
        let mut commit = CommitPlan { work_tree, index, message, base, paths };
        if has_changes {
            let trailers = left_out::trailers(&left_out.iter().collect::<Vec<_>>());
            let (trailers, _) = recorder.redactor().redact_text(&trailers);
            let text = commit_message(inputs, recorder, done, &self.waiting)? + &trailers;
            std::fs::write(&commit.message, text).with_context(|| format!("write {}", commit.message))?;
            StagedEntries::write(&user_staged, &scratch.join(USER_STAGED_FILE))?;
            StagedEntries::write(&now, &scratch.join(STAGED_FILE))?;
            let made_commit = self.make_commit(inputs, recorder, say, &mut commit, &user_staged, done)?;
            let CommitPlan { work_tree, base, paths, .. } = &commit;
            if !work_tree.undo_unless_child(base.as_ref(), &made_commit)? {
                bail!("another process committed at the same time; the next commit includes this iteration");
            }
            if let Err(error) = work_tree.update_user_index(base.as_ref(), &made_commit, &user_staged) {
                warn(
                    say,
                    format!(
                        "committed, but the index could not be updated: {error:#}\nhint: `git reset` updates it, and also unstages what you had staged"
                    ),
                );
            }
            StagedEntries::remove_file(&scratch.join(STAGED_FILE))?;
            self.warn_about_preexisting_changes(say, paths);
            made = Some(made_commit);
        }
        self.warn_about_left_out(say, &left_out, done);
        self.pending.retain(|path| user_staged.has(path));
        self.uncommitted.clear();
        self.waiting.clear();
        Ok(made)
    }

    fn warn_about_left_out(
        &mut self,
        say: &mut dyn FnMut(&Event),
        left_out: &[LeftOut],
        done: &CommitSubject<'_>,
    ) {
        if left_out.is_empty() {
            return;
        }
        let names: Vec<String> =
            left_out.iter().map(|left| format!("{} ({})", left.path, left.reason)).collect();
        let names = join_files(&names, MAX_NAMED).replace(char::is_control, "\u{fffd}");
        warn(
            say,
            format!(
                "the commit of {} leaves out {names}\nhint: `git add` and commit them yourself, or have git ignore them",
                done.task.name
            ),
        );
        self.left_out.note(left_out);
    }

    fn warn_about_user_staged(&mut self, say: &mut dyn FnMut(&Event), user_staged: &StagedEntries) {
        let new: Vec<RawPath> = self
            .pending
            .iter()
            .filter(|path| user_staged.has(path) && !self.reported.contains(*path))
            .cloned()
            .collect();
        if new.is_empty() {
            return;
        }
        warn(
            say,
            format!(
                "not committed, because they were staged before the session began: {}\nhint: commit or unstage them yourself",
                display_paths(&new)
            ),
        );
        self.reported.extend(new);
    }

    fn warn_about_preexisting_changes(&mut self, say: &mut dyn FnMut(&Event), paths: &BTreeSet<RawPath>) {
        let new: Vec<RawPath> = self.dirty.intersection(paths).cloned().collect();
        if new.is_empty() {
            return;
        }
        warn(say, format!("the commit includes changes from before the session: {}", display_paths(&new)));
        self.dirty.retain(|path| !paths.contains(path));
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
