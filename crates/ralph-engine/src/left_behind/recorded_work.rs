//! What tasks changed so far, read from the record once.

use std::collections::HashMap;

use anyhow::Result;

use ralph_core::record::{AttemptId, FlagCode, LogEntry, ObjectId, Outcome, Session, SessionId, TaskName};
use ralph_core::view::{FeatureView, SessionView};
use ralph_store::{RecordReader, SessionLog, Store};

use super::undone_work::UndoneWork;
use crate::snapshot_taken::BlobChange;

/// Maximum number of attempts that are compared, the newest ones.
const MAX_ATTEMPTS: usize = 1000;

/// Maximum number of entries of folders that are read to compare them.
pub(crate) const MAX_ENTRIES: usize = 2_000_000;

/// Reads what the tasks of the feature of `session` changed, up to its first snapshot or that of its resumption, `now`,
/// but for its `own_files`.
pub(crate) fn recorded_work(
    store: &Store,
    session: &Session,
    own_files: &[String],
    now: Option<&ObjectId>,
    is_resumed: bool,
) -> Result<UndoneWork> {
    let sessions = store.logs_of(&session.feature)?;
    let views: Vec<SessionView> = sessions.iter().map(SessionLog::view).collect();
    let view = FeatureView::of(&views);
    let gone = view.recorded_gone().into_keys().collect();
    let mut fold = Fold {
        store,
        reader: store.reader()?,
        session: &session.id,
        own_files,
        recorded: UndoneWork { gone, ..UndoneWork::default() },
        last: None,
        queued: HashMap::new(),
        budget: MAX_ENTRIES,
    };
    for (_, entry) in &view.iterations[view.iterations.len().saturating_sub(MAX_ATTEMPTS)..] {
        fold.add(entry)?;
    }
    if let Some(now) = now {
        fold.edited_until(now)?;
    }
    if !is_resumed {
        // What was changed before it is in its first snapshot.
        fold.recorded.work.forget_edits();
    }
    Ok(fold.recorded)
}

struct Fold<'a> {
    store: &'a Store,
    reader: RecordReader<'a>,
    session: &'a SessionId,
    own_files: &'a [String],
    recorded: UndoneWork,
    /// The snapshot up to which all is known.
    last: Option<ObjectId>,
    /// What results that were queued are to close.
    queued: HashMap<AttemptId, Vec<(TaskName, Option<String>)>>,
    budget: usize,
}

impl Fold<'_> {
    fn add(&mut self, entry: &LogEntry) -> Result<()> {
        let is_of_session = entry.session() == *self.session;
        if is_of_session {
            self.recorded.last = entry.number();
        }
        let changes = self.changes_of(entry)?;
        if entry.outcome() == Some(Outcome::Integrated) {
            return self.add_integrated(entry);
        }
        if entry.exit().agent.is_none() && entry.closed().is_empty() {
            if entry.outcome() == Some(Outcome::Skipped) {
                self.recorded.work.taken_back_by_loop(&changes);
            } else {
                self.recorded.work.edited(&changes);
            }
            if entry.outcome() == Some(Outcome::Reopened) {
                entry.reopened().iter().for_each(|task| self.recorded.work.forget(task));
            }
            if entry.has_flag(FlagCode::Accepted) {
                // What became of its work is right so, by a person's word.
                entry.task().into_iter().for_each(|task| self.recorded.work.forget(task));
            }
            return Ok(());
        }
        let task = entry.task().unwrap_or_default().to_owned();
        let closed = entry.closed().into_iter();
        let mut closed: Vec<_> = closed
            .map(|name| (name.to_owned(), entry.title().filter(|_| name == task).map(str::to_owned)))
            .collect();
        if entry.is_queued() {
            // It is work that was tried, until it is on the branch.
            self.queued.insert(entry.id(), std::mem::take(&mut closed));
        }
        self.recorded.work.ended(&task, &closed, &changes, entry.snapshot().as_ref());
        let is_flagged = entry.has_flag(FlagCode::Undid) || entry.refused() == Some(FlagCode::Undid);
        let iteration = if is_flagged { self.store.readable_iteration(entry) } else { None };
        let undone = iteration.map_or_else(Vec::new, |iteration| iteration.undone);
        if is_of_session {
            self.recorded.note(self.recorded.last, entry.outcome() == Some(Outcome::Success), undone);
        } else {
            for undone in undone.iter().filter(|undone| undone.reopened) {
                self.recorded.work.forget(&undone.task);
            }
        }
        Ok(())
    }

    /// Takes in what each result of an integration changed on the branch.
    fn add_integrated(&mut self, entry: &LogEntry) -> Result<()> {
        let Some(record) = self.store.readable_iteration(entry) else { return Ok(()) };
        let mut before = record.base.clone();
        for (one, commit) in record.integrated() {
            let Some(before) = before.replace(commit.clone()) else { break };
            let changes = self.between(&before, commit)?;
            let mut closed =
                self.queued.remove(&one.attempt()).unwrap_or_else(|| vec![(one.task.clone(), None)]);
            closed.retain(|(name, _)| record.closed.contains(name));
            self.recorded.work.ended(&one.task, &closed, &changes, record.snapshot.as_ref());
        }
        Ok(())
    }

    /// Returns what an attempt changed. What was changed before it since the last one is taken in.
    fn changes_of(&mut self, entry: &LogEntry) -> Result<Vec<BlobChange>> {
        let Some(after) = &entry.snapshot() else { return Ok(Vec::new()) };
        let Some(before) = self.reader.snapshot_before(after)? else { return Ok(Vec::new()) };
        self.edited_until(&before)?;
        self.last = Some(after.clone());
        self.between(&before, after)
    }

    fn edited_until(&mut self, now: &ObjectId) -> Result<()> {
        if let Some(last) = self.last.replace(now.clone()).filter(|last| last != now) {
            let edits = self.between(&last, now)?;
            self.recorded.work.edited(&edits);
        }
        Ok(())
    }

    fn between(&mut self, before: &ObjectId, after: &ObjectId) -> Result<Vec<BlobChange>> {
        // What is not here, or too large to be compared, is as if it had not been changed.
        let files = self.reader.differing_files(before, after, &mut self.budget)?.unwrap_or_default();
        let others =
            files.into_iter().filter(|(path, _)| self.own_files.iter().all(|own| own.as_bytes() != path));
        Ok(others.collect())
    }
}
