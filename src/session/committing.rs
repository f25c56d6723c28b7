//! Commits of what was done, on the user's branch, where the setting `commit` asks for them.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Context, Result, bail};
use camino::Utf8Path;

use crate::process::{Child, Pulse};
use crate::record::{Iteration, ObjectId, Outcome, Refusal, Task, TaskName, some_of};
use crate::store::Store;
use crate::tasks::TaskList;
use crate::worktree::{RawPath, Staged, WorkTree};

use super::recorder::Taken;
use super::{Commits, Plan, Running};

/// So many paths are named in a warning.
const NAMED: usize = 5;

/// The trailer that names the iteration.
const MADE_IN: &str = "Ralph-Made-In";

/// In the scratch folder while a commit is made: what was staged when it began, by path.
const STAGED: &str = "commit-staged";

/// Beside it: what of that is the user's.
const HELD: &str = "commit-held";

/// What the next commit is made of.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// What iterations changed since the last commit of ours.
    pending: BTreeSet<RawPath>,
    /// What the user had staged when the session began: theirs, and never in a commit of ours.
    staged: Staged,
    /// What was not committed when the session began, and nobody was told yet that a commit took it along.
    dirty: BTreeSet<RawPath>,
    /// What was held back, and told.
    told: BTreeSet<RawPath>,
}

/// What a commit is about.
pub(super) struct Done<'a> {
    pub task: &'a Task,
    pub closed: &'a [TaskName],
    pub tasks: &'a TaskList,
    pub iteration: u32,
    pub environment: &'a [(String, String)],
}

/// Refuses a session that is to commit where no commit can be made.
pub fn check_commits(store: &Store) -> Result<()> {
    let work_tree = WorkTree::new(store.repository())?;
    let refuse = |message: String, hint: &str| Err(Refusal::new(message).hinted(hint).into());
    if let Some(what) = store.under_way()? {
        return refuse(
            format!("`commit = \"task\"` is set, and {what} is under way in this work tree"),
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

impl Work {
    /// How a session begins; none where nothing is to be committed. `recorded` are its earlier iterations.
    pub fn begin(
        plan: &Plan<'_>,
        recorded: &[Iteration],
        tree: Option<&ObjectId>,
        objects: Option<&Utf8Path>,
    ) -> Result<Option<Self>> {
        if plan.commits == Commits::Off {
            return Ok(None);
        }
        let work_tree = WorkTree::new(plan.store.repository())?;
        let head = plan.store.head()?;
        let mut work = Self { staged: work_tree.staged(head.as_ref())?, ..Self::default() };
        if let Some(tree) = tree {
            work.dirty = work_tree.differing(head.as_ref(), tree, objects)?;
        }
        for iteration in recorded {
            work.pending.extend(iteration.files_changed.iter().map(|path| path.as_bytes().to_vec()));
            if iteration.outcome == Outcome::Success && !iteration.commits.is_empty() {
                work.pending.clear();
            }
        }
        work.dirty.retain(|path| !work.pending.contains(path));
        Ok(Some(work))
    }
}

impl Running<'_> {
    /// Notes what an iteration changed, and commits it if it is a success. What cannot be committed now is in the
    /// next commit. Gives the commit.
    pub(super) fn commit_work(
        &mut self,
        outcome: Outcome,
        taken: &Taken,
        done: &Done<'_>,
    ) -> Option<ObjectId> {
        let mut work = self.work.take()?;
        work.pending.extend(taken.changed.iter().cloned());
        let left_out = taken.left_out.iter().map(|left| left.path.as_bytes());
        let left_out: BTreeSet<&[u8]> = left_out.collect();
        let tried = match outcome {
            Outcome::Success => self.try_commit(&mut work, &left_out, done),
            Outcome::Failure | Outcome::Skipped | Outcome::Interrupted | Outcome::Later(_) => Ok(None),
        };
        self.work = Some(work);
        tried.unwrap_or_else(|error| {
            self.warn(format!("{} is done, and not committed: {error:#}", done.task.name));
            None
        })
    }

    fn try_commit(
        &mut self,
        work: &mut Work,
        left_out: &BTreeSet<&[u8]>,
        done: &Done<'_>,
    ) -> Result<Option<ObjectId>> {
        let store = self.plan.store;
        if let Some(what) = store.under_way()? {
            bail!("{what} is under way");
        }
        if store.branch()?.is_none() {
            bail!("no branch is checked out");
        }
        let work_tree = self.recorder.work_tree().clone();
        let base = store.head()?;
        let now = work_tree.staged(base.as_ref())?;
        // What stands in the index as the user left it is theirs; the rest was staged by the agent.
        let held = now.that_are_in(&work.staged);
        let kept = |path: &&RawPath| !held.has(path) && !left_out.contains(path.as_slice());
        let paths: BTreeSet<RawPath> = work.pending.iter().filter(kept).cloned().collect();
        self.tell_held(work, &held);
        let scratch = self.spool.scratch();
        std::fs::create_dir_all(&scratch).with_context(|| format!("create {scratch}"))?;
        let index = scratch.join("commit-index");
        let mut made = None;
        let prepared = work_tree.prepare(&index, base.as_ref(), &paths)?;
        if prepared.has_changes {
            let message = scratch.join("commit-message");
            let text = self.message(done);
            std::fs::write(&message, text).with_context(|| format!("write {message}"))?;
            Staged::write(&held, &scratch.join(HELD))?;
            Staged::write(&now, &scratch.join(STAGED))?;
            self.run_git_commit(&work_tree, (&index, &message), done)?;
            let commit = store.head()?.filter(|commit| Some(commit) != prepared.head.as_ref());
            let Some(commit) = commit else { bail!("git said that it committed, and HEAD did not move") };
            if !work_tree.keep_only_on(&prepared, &commit)? {
                bail!("somebody else committed in the same moment; the next commit takes it along");
            }
            if let Err(error) = work_tree.follow(base.as_ref(), &commit, &held) {
                self.warn(format!(
                    "it is committed, but the index could not be brought along: {error:#}\nhint: `git reset` does that"
                ));
            }
            Staged::forget(&scratch.join(STAGED))?;
            self.tell_taken_along(work, &paths);
            made = Some(commit);
        }
        work.pending.retain(|path| held.has(path));
        Ok(made)
    }

    fn run_git_commit(
        &mut self,
        work_tree: &WorkTree,
        (index, message): (&Utf8Path, &Utf8Path),
        done: &Done<'_>,
    ) -> Result<()> {
        let (argv, variables) = work_tree.commit_command(index, message);
        let scratch = self.spool.scratch();
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
            limits: self.plan.validation_limits,
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

    /// The task in one line, and where to find all of it.
    fn message(&self, done: &Done<'_>) -> String {
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let titled = |name: &TaskName, text: &str| match name.as_str() {
            // A number behind this sign is an issue to the hosts.
            name if name.starts_with('#') => one_line(text),
            name => one_line(&format!("{name} {text}")),
        };
        let text_of = |name: &TaskName| {
            let item = done.tasks.find(name);
            titled(name, item.map_or("", |item| item.text.as_str()))
        };
        let mut others = done.closed.iter().filter(|name| **name != done.task.name);
        let is_closed = done.closed.is_empty() || done.closed.contains(&done.task.name);
        let subject = match others.clone().next() {
            // The agent closed another one than it was asked for.
            Some(first) if !is_closed => {
                others.next();
                text_of(first)
            }
            _ => titled(&done.task.name, &done.task.text),
        };
        let mut message = format!("{subject}\n\n");
        for (place, other) in others.enumerate() {
            let lead = if place == 0 { "Done too:\n" } else { "" };
            let _written = writeln!(message, "{lead}- {}", text_of(other));
        }
        if !message.ends_with("\n\n") {
            message.push('\n');
        }
        let session = &self.session;
        message
            + &format!(
                "{MADE_IN}: {}:{} {}\nRalph-Feature: {}\n",
                session.id, done.iteration, done.task.name, session.feature
            )
    }

    fn tell_held(&mut self, work: &mut Work, held: &Staged) {
        let new: Vec<RawPath> = work
            .pending
            .iter()
            .filter(|path| held.has(path) && !work.told.contains(*path))
            .cloned()
            .collect();
        if new.is_empty() {
            return;
        }
        self.warn(format!(
            "not committed, for they were staged before the session began: {}\nhint: commit or unstage them yourself",
            named(&new)
        ));
        work.told.extend(new);
    }

    fn tell_taken_along(&mut self, work: &mut Work, paths: &BTreeSet<RawPath>) {
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
    let (Some(last), Some(then)) = (last, Staged::read(&scratch.join(STAGED))?) else { return Ok(()) };
    let (base, made_in) = work_tree.base_and_trailer(last, MADE_IN)?;
    if made_in.split_whitespace().next() == Some(iteration) {
        let mut held = Staged::read(&scratch.join(HELD))?.unwrap_or_default();
        // What is not as it was then was staged by the user since, or has followed already.
        held.extend_by_changes(&then, &work_tree.staged(base.as_ref())?);
        work_tree.follow(base.as_ref(), last, &held)?;
    }
    Staged::forget(&scratch.join(STAGED))
}

/// Paths for a message.
fn named(paths: &[RawPath]) -> String {
    let names: Vec<_> = paths.iter().map(|path| String::from_utf8_lossy(path)).collect();
    some_of(&names, NAMED).replace(char::is_control, "\u{fffd}")
}
