//! Tasks whose work an attempt took back: what is said of them, and which of their boxes are opened again.

use tasklist::{Item, TaskList};

use crate::loop_inputs::LoopInputs;
use crate::snapshot_taken::{BlobChange, SnapshotTaken};
use ralph_core::config::Until;
use ralph_core::judge::orders_reversal;
use ralph_core::record::{Flag, Iteration, MAX_RECORDED_FILES, Outcome, UndoneTask, undid_flag};
use ralph_git::worktree::RawPath;
use ralph_store::Begin;

use super::LeftBehind;
use super::undone_work::UndoneWork;

/// What an attempt undid.
#[derive(Debug, Default)]
pub(crate) struct Undone {
    pub tasks: Vec<UndoneTask>,
    /// Items of the list after whose boxes are to be opened.
    pub to_open: Vec<Item>,
    /// `None` if it undid nothing.
    pub flag: Option<Flag>,
    /// True if its task may ask for that.
    pub is_ordered: bool,
}

impl LeftBehind {
    /// Returns what an attempt undid of tasks that were done; `texts` are what it was asked for. No box is opened for one that the validation failed: if its
    /// task is given up, its changes are taken back, and else the next success opens it.
    pub(crate) fn undone(
        &self,
        inputs: &LoopInputs<'_>,
        begin: &Begin,
        taken: &SnapshotTaken,
        [before, after]: [&TaskList; 2],
        texts: &[&str],
        failed_validation: bool,
    ) -> Undone {
        // On another branch files are not as on this one, and nothing is lost.
        if inputs.job.until != Until::Tasks || taken.failure.is_some() || self.way_back(inputs).is_some() {
            return Undone::default();
        }
        let UndoneWork { work, reopened, last, .. } = &self.undone;
        let done: Vec<(&str, &str)> = before
            .tasks()
            .filter(|item| item.done)
            .map(|item| (item.name.as_str(), item.text.as_str()))
            .collect();
        let lost = work.taken_back(&taken.blobs, &done);
        if lost.is_empty() {
            return Undone::default();
        }
        let paths: Vec<RawPath> = lost.iter().flat_map(|(_, files, _)| files).cloned().collect();
        // People may have worked on the files after the last attempt.
        let is_edited = work.is_any_edited(&paths);
        let snapshot = begin.tips.snapshot.as_ref();
        let kept_in =
            snapshot.map(|snapshot| if is_edited { snapshot.short().to_owned() } else { last.to_string() });
        let mut undone = Undone::default();
        for (task, files, is_all) in lost {
            let files: Vec<String> =
                files.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
            let is_ordered = orders_reversal(texts, &files, before.languages());
            undone.is_ordered |= is_ordered;
            // An agent that takes back the task list opens boxes itself.
            let item = after.find(&task);
            let is_open = item.is_some_and(|item| !item.done);
            let is_wrong = is_all && !is_ordered && !failed_validation && !reopened.contains(&task);
            let to_open = may_open(inputs, item).filter(|_| is_wrong);
            undone.to_open.extend(to_open.cloned());
            undone.tasks.push(UndoneTask {
                task,
                files: files.into_iter().take(MAX_RECORDED_FILES).collect(),
                reopened: is_open || to_open.is_some(),
                kept_in: kept_in.clone(),
            });
        }
        undone.flag = Some(undid_flag("this attempt", &undone.tasks));
        undone
    }

    /// Adds to what a success undid what failed attempts before it undid and is still missing. Returns the flags for that.
    pub(crate) fn add_untold(
        &self,
        inputs: &LoopInputs<'_>,
        undone: &mut Undone,
        after: &TaskList,
        texts: &[&str],
    ) -> Vec<Flag> {
        let UndoneWork { work, reopened, untold, .. } = &self.undone;
        let mut flags = Vec::new();
        for (iteration, tasks, whole) in untold {
            let mut missing: Vec<UndoneTask> = tasks
                .iter()
                .filter(|task| task.files.iter().any(|file| work.is_missing(&task.task, file.as_bytes())))
                .cloned()
                .collect();
            for lost in &mut missing {
                let is_wrong = whole.contains(&lost.task)
                    && !orders_reversal(texts, &lost.files, after.languages())
                    && !reopened.contains(&lost.task)
                    && undone.tasks.iter().all(|told| told.task != lost.task);
                if let Some(item) = may_open(inputs, after.find(&lost.task)).filter(|_| is_wrong) {
                    undone.to_open.push(item.clone());
                    lost.reopened = true;
                    undone.tasks.push(lost.clone());
                }
            }
            if !missing.is_empty() {
                flags.push(undid_flag(&format!("#{iteration}"), &missing));
            }
        }
        flags
    }

    /// Takes in what an attempt changed, closed and undid.
    pub(crate) fn note_ended(&mut self, iteration: &Iteration, changes: &[BlobChange], list: &TaskList) {
        let known = &mut self.undone;
        // What is queued is work that was tried, until it is on the branch.
        let closed = iteration.closed.iter().filter(|_| !iteration.is_queued());
        let closed = closed.filter(|name| !iteration.closed_parents.contains(name));
        let closed: Vec<_> =
            closed.map(|name| (name.clone(), list.find(name).map(|item| item.text.clone()))).collect();
        let task = iteration.task.as_deref().unwrap_or_default();
        known.work.ended(task, &closed, changes, iteration.snapshot.as_ref());
        known.note(iteration.iteration, iteration.outcome == Outcome::Success, iteration.undone.clone());
    }

    /// Takes in what the loop itself took back of failed attempts.
    pub(crate) fn note_taken_back(&mut self, changes: &[BlobChange]) {
        self.undone.work.taken_back_by_loop(changes);
    }

    /// Takes in what the loop itself changed.
    pub(crate) fn note_own_changes(&mut self, changes: &[BlobChange]) {
        self.undone.work.edited(changes);
    }
}

/// Returns an item if it is a task whose box is ticked, and the user lets boxes be opened.
fn may_open<'l>(inputs: &LoopInputs<'_>, item: Option<&'l Item>) -> Option<&'l Item> {
    item.filter(|item| item.done && item.is_task() && inputs.config.settings.untick)
}
