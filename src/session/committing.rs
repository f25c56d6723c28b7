//! Commits of what was done, on the user's branch, where the setting `commit` asks for them.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Context, Result, bail};
use camino::Utf8Path;
use tasklist::TaskList;

use crate::process::{Child, Pulse};
use crate::record::{LeftOut, ObjectId, Outcome, RALPH, Refusal, StopReason, Task, TaskName, join_truncated};
use crate::store::Store;
use crate::worktree::{RawPath, StagedEntries, WorkTree};

use super::left_out;
use super::pending_commit::PendingCommit;
use super::running::{Ending, Running};
use super::settings::validation_limits;
use super::snapshot_taken::SnapshotTaken;
use super::units::{self, UnitTasks};

/// Maximum number of paths that are named in a warning.
const MAX_NAMED_PATHS: usize = 5;

/// The trailer that names the iteration.
const MADE_IN: &str = "Ralph-Made-In";

/// In the scratch folder while a commit is made: what was staged when it began, by path.
const STAGED: &str = "commit-staged";

/// Beside it: what of that is the user's.
const HELD: &str = "commit-held";

/// What came of an attempt to commit.
#[derive(Debug, Default)]
pub(super) struct CommitResult {
    pub commit: Option<ObjectId>,
    /// Why the work of a success is in no commit.
    pub refused: Option<String>,
}

/// What a commit is about.
pub(super) struct FinishedTask<'a> {
    pub task: &'a Task,
    /// What is left of its story or phase, where the commit is one of all of that.
    pub unit: Option<&'a UnitTasks>,
    pub closed: &'a [TaskName],
    pub tasks: &'a TaskList,
    pub iteration: u32,
    pub environment: &'a [(String, String)],
}

/// Refuses a session that is to commit if no commit can be made.
pub fn check_commits(store: &Store) -> Result<()> {
    let work_tree = WorkTree::new(store.repository())?;
    let refuse = |message: String, hint: &str| Err(Refusal::new(message).hinted(hint).into());
    if let Some(what) = store.under_way()? {
        return refuse(
            format!("`commit = \"task\"` is set, and {what} is in progress in this work tree"),
            "finish or abort it first, or set commit = \"off\"",
        );
    }
    if store.branch()?.is_none() {
        return refuse(
            "`commit = \"task\"` is set, and no branch is checked out to commit on".to_owned(),
            "check one out (`git switch -c NAME`), or set commit = \"off\"",
        );
    }
    if let Err(error) = work_tree.check_identity() {
        return refuse(
            format!("`commit = \"task\"` is set, and git does not know who commits: {error:#}"),
            "git config user.name 'YOUR NAME' && git config user.email YOU@EXAMPLE.COM, or set commit = \"off\"",
        );
    }
    Ok(())
}

impl Running<'_> {
    /// Returns why the session cannot go on where `commit = "task"` is set: the branch was switched, or a merge is in
    /// progress.
    pub(super) fn cannot_commit_here(&self) -> Result<Option<Ending>> {
        let Some(work) = &self.work else { return Ok(None) };
        let Some((obstacle, remedy)) = work.obstacle(&self.plan)? else { return Ok(None) };
        if self.plan.interrupt.signal().is_some() {
            return Ok(None);
        }
        Ok(Some(Ending {
            why: Some(format!(
                "`commit = \"task\"` stops here: {obstacle}; the work so far is in the work tree and in the record"
            )),
            hint: Some(format!("{remedy}, then `{RALPH} resume {}`", self.session.id)),
            ..Ending::of(StopReason::Stuck)
        }))
    }

    /// Returns the tasks that are done and in no commit, and the files that commits leave out, for the closing lines.
    pub(super) fn not_in_commits(&self) -> (Vec<TaskName>, Vec<String>) {
        let Some(work) = &self.work else { return Default::default() };
        let uncommitted = work.uncommitted.iter().chain(&work.waiting).cloned().collect();
        (uncommitted, work.left_out.named())
    }

    /// Notes what an iteration changed, and commits it if it is a success. What cannot be committed now is in the
    /// next commit.
    pub(super) fn commit_work(
        &mut self,
        outcome: Outcome,
        taken: &mut SnapshotTaken,
        done: &FinishedTask<'_>,
    ) -> CommitResult {
        let Some(mut work) = self.work.take() else { return CommitResult::default() };
        work.pending.extend(taken.changed.iter().cloned());
        let rest = done.unit.filter(|unit| outcome == Outcome::Success && !unit.tasks.is_empty());
        if let Some(UnitTasks { name, tasks }) = rest {
            let open = join_truncated(tasks, MAX_NAMED_PATHS);
            work.waiting.extend_from_slice(done.closed);
            self.work = Some(work);
            let refused = Some(format!("it waits for the rest of {name}, which is open: {open}"));
            return CommitResult { commit: None, refused };
        }
        let tried = match outcome {
            Outcome::Success => self.try_commit(&mut work, taken, done),
            Outcome::Failure | Outcome::Skipped | Outcome::Interrupted | Outcome::Later(_) => Ok(None),
        };
        let committed = match tried {
            Ok(commit) => CommitResult { commit, refused: None },
            Err(error) => {
                work.uncommitted.push(done.task.name.clone());
                let reason = format!("{error:#}");
                self.warn(format!("{} is done, and not committed: {reason}", done.task.name));
                // A hint is for the moment, not for the record.
                let refused = reason.split_once("\nhint: ").map_or(reason.as_str(), |(reason, _)| reason);
                CommitResult { commit: None, refused: Some(refused.to_owned()) }
            }
        };
        self.work = Some(work);
        committed
    }

    fn try_commit(
        &mut self,
        work: &mut PendingCommit,
        taken: &mut SnapshotTaken,
        done: &FinishedTask<'_>,
    ) -> Result<Option<ObjectId>> {
        let store = self.plan.store;
        if let Some((obstacle, _)) = work.obstacle(&self.plan)? {
            bail!("{obstacle}");
        }
        if let Some(failure) = &taken.failure {
            bail!("the changes are unknown: {failure}");
        }
        let work_tree = self.recorder.work_tree().clone();
        let base = store.head()?;
        let now = work_tree.staged(base.as_ref())?;
        // What is in the index as the user left it is theirs; the rest was staged by the agent.
        let held = now.that_are_in(&work.staged);
        let paths = work.to_commit(taken, &held);
        self.warn_about_held(work, &held);
        let scratch = self.local.spool.scratch();
        std::fs::create_dir_all(&scratch).with_context(|| format!("create {scratch}"))?;
        let index = scratch.join("commit-index");
        let mut made = None;
        let prepared = work_tree.prepare(&index, base.as_ref(), &paths)?;
        let left_out = work.left_out_of(taken, &prepared, &work_tree);
        if prepared.has_changes {
            let message = scratch.join("commit-message");
            let trailers = left_out::trailers(&left_out.iter().collect::<Vec<_>>());
            let (trailers, _) = self.recorder.redactor().redact_text(&trailers);
            let text = self.message(done, &work.waiting) + &trailers;
            std::fs::write(&message, text).with_context(|| format!("write {message}"))?;
            StagedEntries::write(&held, &scratch.join(HELD))?;
            StagedEntries::write(&now, &scratch.join(STAGED))?;
            self.run_git_commit(&work_tree, (&index, &message), done)?;
            let commit = store.head()?.filter(|commit| Some(commit) != prepared.head.as_ref());
            let Some(commit) = commit else { bail!("git reported success, but HEAD did not move") };
            if !work_tree.keep_only_on(&prepared, &commit)? {
                bail!("another process committed at the same time; the next commit includes this iteration");
            }
            if let Err(error) = work_tree.follow(base.as_ref(), &commit, &held) {
                self.warn(format!(
                    "committed, but the index could not be updated: {error:#}\nhint: run `git reset`"
                ));
            }
            StagedEntries::forget(&scratch.join(STAGED))?;
            self.warn_about_committed(work, &paths);
            made = Some(commit);
        }
        self.warn_of_left_out(work, &left_out, done);
        work.pending.retain(|path| held.has(path));
        work.uncommitted.clear();
        work.waiting.clear();
        Ok(made)
    }

    fn warn_of_left_out(&mut self, work: &mut PendingCommit, left_out: &[LeftOut], done: &FinishedTask<'_>) {
        if left_out.is_empty() {
            return;
        }
        let names: Vec<String> =
            left_out.iter().map(|left| format!("{} ({})", left.path, left.reason)).collect();
        let names = join_truncated(&names, MAX_NAMED_PATHS).replace(char::is_control, "\u{fffd}");
        self.warn(format!(
            "the commit of {} leaves out {names}\nhint: `git add` and commit them yourself, or have git ignore them",
            done.task.name
        ));
        work.left_out.note(left_out);
    }

    fn run_git_commit(
        &mut self,
        work_tree: &WorkTree,
        (index, message): (&Utf8Path, &Utf8Path),
        done: &FinishedTask<'_>,
    ) -> Result<()> {
        let (argv, variables) = work_tree.commit_command(index, message);
        let scratch = self.local.spool.scratch();
        let child = Child {
            argv,
            directory: work_tree.top().to_owned(),
            environment: done.environment.iter().cloned().chain(variables).collect(),
            defaults: Vec::new(),
            removed: Vec::new(),
            stdin: None,
            stdout: scratch.join("commit-stdout"),
            stderr: scratch.join("commit-stderr"),
            marker: self.marker()?,
            limits: validation_limits(&self.plan.config.settings),
        };
        let ended = child.run(self.plan.interrupt, &mut || Pulse::Alive).context("run `git commit`")?;
        if ended.exit.code == 0 {
            return Ok(());
        }
        // Hooks say on either what they do not like.
        let said =
            [&child.stderr, &child.stdout].map(|path| std::fs::read(path).unwrap_or_default()).concat();
        let (said, _) = self.recorder.redactor().redact_text(&String::from_utf8_lossy(&said));
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let reason = ended.exit.reason.map_or(String::new(), |reason| format!(" ({reason})"));
        bail!("`git commit` exited {}{reason}: {}", ended.exit.code, last.trim());
    }

    /// Returns the task in one line, or the unit with all its tasks, and where to find all of it. `waiting` are tasks
    /// that were done before, and come with this commit.
    fn message(&self, done: &FinishedTask<'_>, waiting: &[TaskName]) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let titled = |name: &TaskName, text: &str| match name.as_str() {
            // A number after this sign is an issue to the hosts.
            name if name.starts_with('#') => one_line(text),
            name => one_line(&format!("{name} {text}")),
        };
        let text_of = |name: &TaskName| {
            let item = done.tasks.find(name);
            titled(name, item.map_or("", |item| item.text.as_str()))
        };
        let all: Vec<&TaskName> = waiting.iter().chain(done.closed).collect();
        let whole = done.unit.filter(|_| all.len() > 1);
        let mut others = all.iter().copied().filter(|name| whole.is_some() || **name != done.task.name);
        let is_closed = done.closed.is_empty() || done.closed.contains(&done.task.name);
        let subject = match (whole, others.clone().next()) {
            (Some(unit), _) => one_line(&units::title(done.tasks, &done.task.name, &unit.name)),
            // The agent closed another one than it was asked for.
            (None, Some(first)) if !is_closed => {
                others.next();
                text_of(first)
            }
            _ => titled(&done.task.name, &done.task.text),
        };
        let mut message = format!("{subject}\n\n");
        for (place, other) in others.enumerate() {
            let lead = match (place, whole) {
                (0, Some(_)) => "Done:\n",
                (0, None) => "Done too:\n",
                _ => "",
            };
            let _written = writeln!(message, "{lead}- {}", text_of(other));
        }
        if !message.ends_with("\n\n") {
            message.push('\n');
        }
        let session = &self.session;
        let (message, _) = self.recorder.redactor().redact_text(&message);
        message
            + &format!(
                "{MADE_IN}: {}:{} {}\nRalph-Feature: {}\n",
                session.id, done.iteration, done.task.name, session.feature
            )
    }

    fn warn_about_held(&mut self, work: &mut PendingCommit, held: &StagedEntries) {
        let new: Vec<RawPath> = work
            .pending
            .iter()
            .filter(|path| held.has(path) && !work.reported.contains(*path))
            .cloned()
            .collect();
        if new.is_empty() {
            return;
        }
        self.warn(format!(
            "not committed, because they were staged before the session began: {}\nhint: commit or unstage them yourself",
            named(&new)
        ));
        work.reported.extend(new);
    }

    fn warn_about_committed(&mut self, work: &mut PendingCommit, paths: &BTreeSet<RawPath>) {
        let new: Vec<RawPath> = work.dirty.intersection(paths).cloned().collect();
        if new.is_empty() {
            return;
        }
        self.warn(format!(
            "committed with changes that were there before the session began: {}",
            named(&new)
        ));
        work.dirty.retain(|path| !paths.contains(path));
    }
}

/// Brings the index along to the commit of an iteration whose loop died before it could.
pub(super) fn follow_cut_off(
    work_tree: &WorkTree,
    last: Option<&ObjectId>,
    scratch: &Utf8Path,
    iteration: &str,
) -> Result<()> {
    let (Some(last), Some(then)) = (last, StagedEntries::read(&scratch.join(STAGED))?) else { return Ok(()) };
    let (base, made_in) = work_tree.base_and_trailer(last, MADE_IN)?;
    if made_in.split_whitespace().next() == Some(iteration) {
        let mut held = StagedEntries::read(&scratch.join(HELD))?.unwrap_or_default();
        // What is not as it was then was staged by the user since, or has followed already.
        held.extend_by_changes(&then, &work_tree.staged(base.as_ref())?);
        work_tree.follow(base.as_ref(), last, &held)?;
    }
    StagedEntries::forget(&scratch.join(STAGED))
}

/// Paths for a message.
fn named(paths: &[RawPath]) -> String {
    let names: Vec<_> = paths.iter().map(|path| String::from_utf8_lossy(path)).collect();
    join_truncated(&names, MAX_NAMED_PATHS).replace(char::is_control, "\u{fffd}")
}
