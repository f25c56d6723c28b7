//! Tasks that are done and whose work is gone, or came back: found out by a loop, and written to the record of the attempt.

use std::collections::{BTreeSet, HashMap};

use anyhow::Result;

use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;
use crate::snapshot_taken::SnapshotTaken;
use ralph_core::config::Until;
use ralph_core::judge::orders_reversal;
use ralph_core::record::{GoneHow, GoneTask, Iteration, MAX_RECORDED_FILES, ObjectId, TaskName};
use ralph_git::worktree::{RawPath, TreeEntry};
use ralph_store::Slot;
use tasklist::TaskList;

use super::LeftBehind;
use super::done_work::Suspect;

/// Largest file that is compared without its white space, in bytes.
pub(super) const MAX_COMPARED_BYTES: u64 = 1 << 20;

impl LeftBehind {
    /// Takes in what an attempt changed, closed and undid. Returns the tasks of `list` whose work went or came back, in it or since
    /// the attempt before, which left `base`. On another branch, or without a snapshot, nothing of that is known.
    pub(crate) fn note_work(
        &mut self,
        inputs: &LoopInputs<'_>,
        recorder: &Recorder<'_>,
        (slot, base): (&Slot, Option<ObjectId>),
        iteration: &Iteration,
        agents: &SnapshotTaken,
        (list, texts): (&TaskList, &[&str]),
    ) -> Result<Vec<GoneTask>> {
        let is_known = inputs.job.until == Until::Tasks
            && iteration.snapshot.is_some()
            && agents.failure.is_none()
            && self.way_back(inputs).is_none();
        let unseen = self.undone.work.unseen();
        let (_, before) = self.undone.work.suspects(&unseen, &[]);
        self.note_ended(iteration, &agents.blobs, list);
        let known = &self.undone;
        let touched: BTreeSet<RawPath> =
            agents.blobs.iter().map(|(path, _)| path).chain(&unseen).cloned().collect();
        let (touched, suspects) = known.work.suspects(&touched, &agents.blobs);
        if !is_known || touched.is_empty() {
            return Ok(Vec::new());
        }
        let now = agents.trees.as_ref().map(|(_, after)| after);
        let found = now.map_or_else(|| Ok(Vec::new()), |now| really_gone(recorder, slot, now, suspects))?;
        let gone = &mut self.undone.gone;
        gone.retain(|task| !iteration.closed.contains(task));
        let is_back = |task: &&TaskName| gone.contains(*task) && found.iter().all(|lost| lost.task != **task);
        let back: Vec<TaskName> = touched.iter().filter(is_back).cloned().collect();
        let mut changes = Vec::new();
        for lost in found.into_iter().filter(|lost| gone.insert(lost.task.clone())) {
            let files: Vec<String> =
                lost.files.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
            let (how, kept_in) = if before.iter().any(|known| known.task == lost.task) {
                (GoneHow::Between, Some(lost.snapshot))
            } else if orders_reversal(texts, &files, list.languages()) {
                (GoneHow::Ordered, base.clone())
            } else {
                (GoneHow::Attempt, base.clone())
            };
            let files = files.into_iter().take(MAX_RECORDED_FILES).collect();
            changes.push(GoneTask { task: lost.task, how, files, kept_in });
        }
        for task in back {
            gone.remove(&task);
            changes.push(GoneTask { task, how: GoneHow::Back, files: Vec::new(), kept_in: None });
        }
        Ok(changes)
    }
}

/// Returns those of the tasks of which nothing was moved elsewhere, and whose files are what they were but for white space.
fn really_gone(
    recorder: &Recorder<'_>,
    slot: &Slot,
    now: &ObjectId,
    suspects: Vec<Suspect>,
) -> Result<Vec<Suspect>> {
    let compared = suspects.iter().flat_map(|suspect| &suspect.alike).flat_map(|(now, before)| [now, before]);
    let entries: Vec<TreeEntry> = compared.cloned().map(TreeEntry::plain).collect();
    let mut contents = HashMap::new();
    if !entries.is_empty() {
        for (id, bytes) in recorder.contents_of(slot, &entries, MAX_COMPARED_BYTES)? {
            let bytes: Vec<u8> = bytes.into_iter().filter(|byte| !byte.is_ascii_whitespace()).collect();
            contents.insert(id, bytes);
        }
    }
    let is_same = |(now, before): &(ObjectId, ObjectId)| {
        contents.get(now).is_some_and(|now| contents.get(before) == Some(now))
    };
    let mut found = Vec::new();
    for suspect in suspects {
        if !suspect.alike.iter().all(is_same) {
            continue;
        }
        let is_moved = !suspect.deleted.is_empty() && {
            let moved = recorder.moved_files(slot, &suspect.snapshot, now)?;
            suspect.deleted.iter().any(|path| moved.contains(path))
        };
        found.extend((!is_moved).then_some(suspect));
    }
    Ok(found)
}
