//! What was done, task by task, for those who receive it: of one session, or of all on a branch.

use std::collections::HashMap;

use anyhow::Result;
use tasklist::TaskList;

use ralph_core::judge::range::{is_of_tests, is_source, new_dependencies};
use ralph_core::judge::{ChangedFile as Contents, is_manifest};
use ralph_core::record::{DiffStat, Iteration, LogEntry, ObjectId, Outcome, TaskName};
use ralph_git::worktree::{ChangedFile, RangeCommit};
use ralph_store::{FeatureFiles, SessionLog, Store};
use ralph_ui::report::{Dependency, DoneTask, Proof, Work};

use crate::cli::Context;
use crate::cli::read::named_tests;

/// What is looked at.
pub struct Range<'a> {
    /// The sessions, oldest first.
    pub logs: &'a [SessionLog],
    /// The list as it was before; empty if all that they closed counts.
    pub before: TaskList,
    /// As it is at the end.
    pub tasks: TaskList,
    /// The commits or snapshots before the first change and after the last.
    pub ends: (Option<ObjectId>, Option<ObjectId>),
    /// Those of the branch, oldest first; empty if only the records say which there are.
    pub commits: &'a [RangeCommit],
}

/// The attempt that brought a task to done, and the record before it.
struct Closing<'a> {
    record: Iteration,
    entry: &'a LogEntry,
    before: Option<&'a LogEntry>,
    attempts: usize,
    /// The commit that has it.
    commit: Option<ObjectId>,
}

pub fn of(range: Range<'_>, context: &Context) -> Result<Work> {
    let store = context.store()?;
    let reader = store.reader()?;
    let mut work = Work::default();
    let mut attempts: HashMap<TaskName, usize> = HashMap::new();
    let mut closings: HashMap<TaskName, Closing<'_>> = HashMap::new();
    let mut last: HashMap<TaskName, Iteration> = HashMap::new();
    for log in range.logs {
        for (place, entry) in log.entries.iter().enumerate().filter(|(_, entry)| entry.is_iteration()) {
            // One that cannot be read must not hide the others.
            let Ok(record) = reader.iteration(entry) else { continue };
            let [before, after] = passed(&record);
            if record.is_attempt() {
                if work.agents.is_empty() {
                    work.tests[0] = before;
                }
                let model = record.model.as_ref().map_or(String::new(), |model| format!(" ({model})"));
                *work.agents.entry(record.agent.clone() + &model).or_default() += 1;
            }
            if entry.is_result() {
                work.tests[1] = after.or(work.tests[1]);
            }
            // What was merged later is the work of its attempt, and what was sent back is none.
            closings.retain(|_, closing| {
                let mut results = record.integration.iter();
                let of = results.find(|one| one.attempt() == closing.record.id());
                of.is_none_or(|of| of.cause.is_none())
            });
            for (one, commit) in record.integrated() {
                let merged = closings.values_mut();
                let merged = merged.filter(|closing| one.attempt() == closing.record.id());
                merged.for_each(|closing| closing.commit = Some(commit.clone()));
            }
            let Some(task) = record.task.clone() else { continue };
            let count = attempts.entry(task.clone()).or_default();
            *count += usize::from(record.is_attempt());
            for closed in record.closed.iter().filter(|_| record.outcome != Outcome::Integrated) {
                let before = named_tests::base_of(store, &log.entries[..place], record.base.as_ref());
                let attempts = if *closed == task { *count } else { 1 };
                let commit = record.published.clone().or_else(|| record.commits.last().cloned());
                let record = record.clone();
                closings.insert(closed.clone(), Closing { record, entry, before, attempts, commit });
            }
            match &record.cause {
                Some(cause) if record.outcome == Outcome::Failure => {
                    work.causes.insert(task.clone(), cause.clone())
                }
                _ => None,
            };
            last.insert(task, record);
        }
    }
    let own = range.logs.last().map(|log| store.files_of(log));
    let own = own.unwrap_or(FeatureFiles { tasks: String::new(), progress: String::new() });
    for task in range.tasks.tasks().filter(|task| !task.done) {
        let record = last.remove(&task.name).filter(|record| record.lane.is_some());
        let size = record.and_then(|record| size(store, &own, record.snapshot.as_ref()));
        work.unfinished.extend(size.map(|size| (task.name.clone(), size.added)));
    }
    let is_done_before = |name: &str| range.before.find(name).is_some_and(|task| task.done);
    for task in range.tasks.tasks().filter(|task| task.done && !is_done_before(&task.name)) {
        let Some(closing) = closings.get(&task.name) else { continue };
        let record = &closing.record;
        let of_branch = range.commits.iter().rev().find(|commit| commit.task == task.name);
        let recorded = closing.commit.clone().filter(|_| range.commits.is_empty());
        work.done.push(DoneTask {
            name: task.name.clone(),
            commit: of_branch.map(|commit| commit.id.clone()).or(recorded),
            size: size(store, &own, record.snapshot.as_ref()),
            proof: proof(store, closing)?,
            attempts: closing.attempts,
            flags: record.evidence.as_deref().map(|evidence| evidence.flags.clone()).unwrap_or_default(),
        });
    }
    let files = store.changed_files(&own, range.ends.clone())?.unwrap_or_default();
    work.changed = files.iter().map(ChangedFile::to_record).collect();
    work.dependencies = dependencies(&files, &range.ends, &closings, context)?;
    // Where the loop makes no commit, people's are how its work comes to the branch.
    let last = range.commits.iter().rposition(|commit| !commit.task.is_empty());
    work.later_commits = last.map_or(0, |last| range.commits.len() - last - 1);
    work.tasks = range.tasks;
    Ok(work)
}

fn name(file: &ChangedFile) -> String {
    String::from_utf8_lossy(&file.path).into_owned()
}

/// Returns how much an attempt changed, without what the loop writes; `None` if its snapshots are not here.
fn size(store: &Store, own: &FeatureFiles, snapshot: Option<&ObjectId>) -> Option<DiffStat> {
    let before = store.snapshot_before(snapshot?).ok()??;
    let files = store.changed_files(own, (Some(before), snapshot.cloned())).ok()??;
    Some(ChangedFile::stat(&files))
}

/// Returns how many tests passed in the state that an attempt was compared with, and after it.
fn passed(record: &Iteration) -> [Option<u64>; 2] {
    let evidence = record.evidence.as_deref();
    [evidence.and_then(|it| it.before.as_ref()), evidence.and_then(|it| it.tests.as_ref())]
        .map(|tests| tests.and_then(|tests| tests.passed))
}

fn proof(store: &Store, closing: &Closing<'_>) -> Result<Proof> {
    let green = match closing.before {
        Some(before) => named_tests::between(store, before, closing.entry)?.green,
        None => Vec::new(),
    };
    if !green.is_empty() {
        return Ok(Proof::Green(green));
    }
    let [before, after] = passed(&closing.record);
    let files = &closing.record.files_changed;
    // A test that was changed may prove it.
    let has_source = files.iter().any(|path| is_source(path)) && !files.iter().any(|path| is_of_tests(path));
    Ok(match (before, after) {
        (Some(before), Some(after)) if after > before => Proof::More(after - before),
        (Some(_), Some(_)) if has_source => Proof::NoTest,
        _ => Proof::Unknown,
    })
}

/// Returns what the manifests ask for at the end and not before.
fn dependencies(
    files: &[ChangedFile],
    (first, last): &(Option<ObjectId>, Option<ObjectId>),
    closings: &HashMap<TaskName, Closing<'_>>,
    context: &Context,
) -> Result<Vec<Dependency>> {
    let (Some(first), Some(last), Ok(work_tree)) = (first, last, context.work_tree()) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for path in files.iter().map(name).filter(|path| is_manifest(path)) {
        let read = |treeish| anyhow::Ok(work_tree.committed_file(treeish, &path)?.map(|file| file.bytes));
        let contents = Contents { before: read(first)?, after: read(last)?, path: path.clone() };
        let mut tasks = closings.iter().filter(|(_, closing)| closing.record.files_changed.contains(&path));
        let task = tasks.next().filter(|_| tasks.next().is_none()).map(|(task, _)| task.clone());
        found.extend(new_dependencies(&contents).into_iter().map(|(name, version)| Dependency {
            name,
            version,
            task: task.clone(),
        }));
    }
    Ok(found)
}
