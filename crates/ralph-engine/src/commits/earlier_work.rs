//! What earlier sessions did and nobody committed, where each task is to have a commit of its own: it gets one first, from the
//! snapshots, or else the start is refused. No box is committed without its work.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Error, Result};
use tasklist::TaskList;

use ralph_core::config::{Commits, Until};
use ralph_core::record::{
    Event, Iteration, ObjectId, Outcome, RALPH, Refusal, Task, TaskName, join_files, quoted_for_shell,
};
use ralph_git::worktree::{ChangedFile, RawPath, TreeEntry, WorkTree, changed_between};
use ralph_os::process::{Tool, create_private_dir};
use ralph_project::feature::Feature;
use ralph_store::{Slot, Store};

use super::git_commit::{CommitPlan, GitCommit, run_git_commit};
use super::message::{CommitSubject, MAX_NAMED, commit_message};
use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;
use crate::shown::warn;

/// Maximum number of iterations of the feature that are looked through.
const MAX_ITERATIONS: usize = 200;

/// A task that an earlier session did, with the files of its commit as it left them.
struct DoneWork {
    record: Iteration,
    files: BTreeMap<RawPath, Option<TreeEntry>>,
}

impl DoneWork {
    fn names(&self) -> Vec<String> {
        self.files.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }

    /// Returns `2 uncommitted files of T001: a, b`, without the task list, and a pronoun for them.
    fn words(&self, tasks: &str) -> (String, &'static str) {
        let mut names = self.names();
        names.retain(|name| name != tasks);
        let task = self.record.task.as_deref().unwrap_or_default();
        let (files, them) = if names.len() == 1 { ("file", "it") } else { ("files", "them") };
        (format!("{} uncommitted {files} of {task}: {}", names.len(), join_files(&names, MAX_NAMED)), them)
    }
}

/// Returns the files that successes of the feature changed outside of lanes, each with the task that did it last.
pub fn work_of_tasks(store: &Store, feature: &str) -> Result<BTreeMap<String, TaskName>> {
    let mut entries = store.iterations_of(feature, MAX_ITERATIONS)?;
    entries.retain(|entry| entry.outcome() == Some(Outcome::Success));
    let records = store.read_iterations(&entries)?.into_iter().filter(|record| record.lane.is_none());
    let files = records.flat_map(|record| {
        let task = record.task.unwrap_or_default();
        record.files_changed.into_iter().map(move |file| (file, task.clone()))
    });
    Ok(files.collect())
}

/// Returns the tasks of the list that are done, and not in the list that was committed last.
fn newly_ticked<'l>(
    work_tree: &WorkTree,
    head: &ObjectId,
    path: &str,
    list: &'l TaskList,
) -> Result<BTreeSet<&'l TaskName>> {
    let committed = work_tree.committed_file(head, path)?;
    let committed = committed.and_then(|file| TaskList::parse(&file.bytes).ok()).unwrap_or_default();
    let ticked = list.items.iter().filter(|item| item.done);
    let ticked = ticked.filter(|item| committed.find(&item.name).is_none_or(|before| !before.done));
    Ok(ticked.map(|item| &item.name).collect())
}

/// Returns the attempts of the feature outside of lanes, oldest first, from the one on that did the first of these tasks.
fn attempts_since(store: &Store, feature: &str, ticked: &BTreeSet<&TaskName>) -> Result<Vec<Iteration>> {
    let entries = store.iterations_of(feature, MAX_ITERATIONS)?;
    let records = store.read_iterations(&entries)?.into_iter().filter(|record| record.lane.is_none());
    Ok(records.skip_while(|record| !did_any(record, ticked)).collect())
}

fn did_any(record: &Iteration, ticked: &BTreeSet<&TaskName>) -> bool {
    record.outcome == Outcome::Success && record.closed.iter().any(|name| ticked.contains(name))
}

/// Returns what earlier sessions did and is in no commit, without a look at the work tree: for each task its files as they were
/// left, and how a start refuses it where the work tree has them otherwise.
pub fn earlier_work(
    store: &Store,
    work_tree: &WorkTree,
    feature: &Feature,
    list: &TaskList,
) -> Result<Vec<(Vec<ChangedFile>, Refusal)>> {
    let Some(head) = work_tree.head()? else { return Ok(Vec::new()) };
    let [tasks, progress] =
        [&feature.tasks_path, &feature.progress_path].map(|path| work_tree.relative(path));
    let ticked = newly_ticked(work_tree, &head, &tasks, list)?;
    let records = attempts_since(store, &feature.path, &ticked)?;
    let mut snapshots = records.iter().filter_map(|record| record.snapshot.as_ref());
    let (first, last) = (snapshots.next(), snapshots.next_back());
    let first = first.map(|first| Ok::<_, Error>((store.snapshot_before(first)?, last.unwrap_or(first))));
    let Some((Some(first), last)) = first.transpose()? else { return Ok(Vec::new()) };
    let between = |to: &ObjectId| changed_between(Tool::git(work_tree.top()), &first, to);
    let committed: BTreeSet<RawPath> = between(&head)?.into_iter().map(|file| file.path).collect();
    let mut left: BTreeMap<RawPath, ChangedFile> =
        between(last)?.into_iter().map(|file| (file.path.clone(), file)).collect();
    let list = left.remove(tasks.as_bytes());
    left.retain(|path, _| !committed.contains(path) && progress.as_bytes() != path.as_slice());
    let (mut found, mut pending) = (Vec::new(), Vec::new());
    for record in records {
        pending.extend(record.files_changed.iter().map(|path| path.clone().into_bytes()));
        if record.outcome != Outcome::Success {
            continue;
        }
        let mut files: Vec<ChangedFile> =
            std::mem::take(&mut pending).iter().filter_map(|path| left.remove(path)).collect();
        if !files.is_empty() && record.commits.is_empty() && did_any(&record, &ticked) {
            files.extend(list.clone());
            let paths = files.iter().map(|file| (file.path.clone(), None));
            let work = DoneWork { record, files: paths.collect() };
            found.push((files, refusal(&work, &tasks)));
        }
    }
    Ok(found)
}

/// Refuses to commit work that is not as it was left.
fn refusal(work: &DoneWork, tasks: &str) -> Refusal {
    let (words, them) = work.words(tasks);
    let message = format!("{words}, and not as an earlier session left {them}");
    Refusal::new(message).with_hint(command(work))
}

/// Commits what earlier sessions did and is in no commit, a task at a time; in a rehearsal it is only checked whether that could be
/// done. `slot` has the work tree as it is now.
///
/// # Errors
///
/// A [`Refusal`] if it changed since, or git refuses such a commit.
pub(crate) fn commit_earlier_work(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    say: &mut dyn FnMut(&Event),
    slot: &Slot,
    is_rehearsal: bool,
) -> Result<()> {
    let settings = &inputs.config.settings;
    let is_wanted = settings.commit == Commits::OfTasks && inputs.job.until == Until::Tasks;
    if !is_wanted || inputs.work_tree.lane().is_some() {
        return Ok(());
    }
    let (Some(head), Some(now)) = (inputs.work_tree.head()?, recorder.last_contents().0.cloned()) else {
        return Ok(());
    };
    let work_tree = recorder.work_tree().clone();
    let tasks = work_tree.relative(&inputs.feature.tasks_path);
    let list = inputs.job.read_tasks(inputs.feature)?;
    let ticked = newly_ticked(&work_tree, &head, &tasks, &list)?;
    if ticked.is_empty() {
        return Ok(());
    }
    let (done, changed) = uncommitted_work(inputs, recorder, slot, &head, &now, &ticked)?;
    for work in &done {
        if work.files.keys().any(|path| changed.contains(path)) {
            return Err(refusal(work, &tasks).into());
        }
    }
    for work in done.into_iter().filter(|_| !is_rehearsal) {
        let (words, _) = work.words(&tasks);
        match commit_of_earlier(inputs, recorder, &work, slot, &list)? {
            Ok(commit) => {
                warn(say, format!("{words}; committed first, as {}", commit.short()));
            }
            Err(why) => {
                return Err(Refusal::new(format!("{words}: {why}")).with_hint(command(&work)).into());
            }
        }
    }
    Ok(())
}

/// Returns the tasks of `ticked` whose work is in no commit, and the files that changed since the last attempt. What HEAD
/// took in since is committed, whatever became of it.
fn uncommitted_work(
    inputs: &LoopInputs<'_>,
    recorder: &Recorder<'_>,
    slot: &Slot,
    head: &ObjectId,
    now: &ObjectId,
    ticked: &BTreeSet<&TaskName>,
) -> Result<(Vec<DoneWork>, BTreeSet<RawPath>)> {
    let store = inputs.store;
    let mut records = attempts_since(store, &recorder.place().feature, ticked)?;
    records.retain(|record| record.snapshot.is_some());
    let first = records.first().and_then(|record| record.snapshot.as_ref());
    let first = first.map(|snapshot| store.snapshot_before(snapshot)).transpose()?.flatten();
    let (Some(first), Some(last)) = (first, records.last().and_then(|record| record.snapshot.clone())) else {
        return Ok(Default::default());
    };
    let by_path = |from: &ObjectId, to: &ObjectId| -> Result<BTreeMap<RawPath, _>> {
        let changes = recorder.all_differences(Some(slot), from, to)?;
        let changes = changes.into_iter().filter(|change| !change.is_of_repository());
        Ok(changes.map(|change| (change.path, (change.before, change.after))).collect())
    };
    let (made, since, uncommitted) = (by_path(&first, &last)?, by_path(&last, now)?, by_path(head, now)?);
    let [tasks, progress] = [&inputs.feature.tasks_path, &inputs.feature.progress_path]
        .map(|path| recorder.work_tree().relative(path).into_bytes());
    let is_committed = |path: &RawPath| {
        let Some((before, after)) = made.get(path) else { return true };
        let now = since.get(path).map_or(after, |(_, now)| now);
        let at_head = uncommitted.get(path).map_or(now, |(at_head, _)| at_head);
        *path == progress || *path != tasks && at_head != before
    };
    let mut done = Vec::new();
    let mut pending: BTreeSet<RawPath> = BTreeSet::new();
    for record in records {
        let Some(snapshot) = &record.snapshot else { continue };
        if let Some(before) = store.snapshot_before(snapshot)? {
            pending.extend(by_path(&before, snapshot)?.into_keys());
        }
        if record.outcome != Outcome::Success {
            continue;
        }
        let paths = std::mem::take(&mut pending);
        let mut left = by_path(&first, snapshot)?;
        let files = paths.into_iter().filter(|path| !is_committed(path));
        let files = files.filter_map(|path| left.remove_entry(&path));
        let files: BTreeMap<_, _> = files.map(|(path, (_, after))| (path, after)).collect();
        // Where only its box is left, its work is in a commit.
        let has_work = files.keys().any(|path| *path != tasks);
        if has_work && record.commits.is_empty() && did_any(&record, ticked) {
            done.push(DoneWork { record, files });
        }
    }
    Ok((done, since.into_keys().collect()))
}

/// Makes the commit of a task of an earlier session. Returns why git refuses it.
fn commit_of_earlier(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    DoneWork { record, files }: &DoneWork,
    slot: &Slot,
    list: &TaskList,
) -> Result<Result<ObjectId, String>> {
    let name = record.task.clone().unwrap_or_default();
    let text = record.task_text.clone().unwrap_or_default();
    let unlisted = Task { name: name.clone(), id: None, text, phase: None, story: None };
    let task = list.find(&name).map_or(unlisted, Task::from);
    let environment = inputs.environment(&record.session, &name, record.iteration, 1);
    let done = CommitSubject {
        session: &record.session,
        task: &task,
        unit: None,
        closed: &record.closed,
        tasks: list,
        iteration: record.iteration,
        slot,
        environment: &environment,
        agent: None,
    };
    let message = commit_message(inputs, recorder, &done, &[])?;
    commit_files(inputs, recorder, files, &message, &done)
}

/// Commits `files` as they are there, and nothing else of the work tree or of the index. Returns why git refuses it.
pub(crate) fn commit_files(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    files: &BTreeMap<RawPath, Option<TreeEntry>>,
    text: &str,
    done: &CommitSubject<'_>,
) -> Result<Result<ObjectId, String>> {
    let work_tree = recorder.work_tree().clone();
    let base = work_tree.head()?;
    let user_staged = work_tree.staged(base.as_ref())?;
    let scratch = recorder.spool().scratch();
    create_private_dir(&scratch)?;
    let (index, message) = (scratch.join("commit-index"), scratch.join("commit-message"));
    work_tree.prepare_entries(&index, base.as_ref(), files)?;
    std::fs::write(&message, text)?;
    let paths = files.keys().cloned().collect();
    let commit = CommitPlan { work_tree: work_tree.clone(), index, message, base: base.clone(), paths };
    match run_git_commit(inputs, recorder, &commit, done)? {
        GitCommit::Made => {}
        GitCommit::Failed { reason, .. } => return Ok(Err(reason)),
        GitCommit::Waited(program) => return Ok(Err(format!("`git commit` waited for {program}"))),
    }
    let Some(commit) = work_tree.head()?.filter(|commit| Some(commit) != base.as_ref()) else {
        return Ok(Err("git reported success, but HEAD did not move".to_owned()));
    };
    work_tree.update_user_index(base.as_ref(), &commit, &user_staged)?;
    Ok(Ok(commit))
}

/// Returns the command by which a person commits the work of a task.
fn command(work: &DoneWork) -> String {
    let names: Vec<String> = work.names().iter().map(|name| quoted_for_shell(name).into_owned()).collect();
    let title = [&work.record.task, &work.record.task_text].map(|text| text.as_deref().unwrap_or_default());
    let title = title.join(" ");
    format!(
        "`git add --all -- {} && git commit -m {}`, then `{RALPH}` again; or --commit off",
        names.join(" "),
        quoted_for_shell(title.trim())
    )
}
