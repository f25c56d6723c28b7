//! The summary at the end of a session beside its totals, read from its own record.

use std::collections::BTreeMap;

use anyhow::Result;
use tasklist::TaskList;

use ralph_core::history::failure_key::FailureKey;
use ralph_core::judge::decides_ci;
use ralph_core::progress::progress_txt;
use ralph_core::record::{Changes, Closing, Need, NeedKind, ObjectId, Outcome, Session, Status, Unfinished};
use ralph_core::view::{FeatureView, SessionView};
use ralph_git::worktree::{ChangedFile, PrivateIndex};
use ralph_store::{Hints, Listing, SessionLog, SessionRefs};

use super::commits::pending::PendingCommit;
use super::running::Running;

impl Running<'_> {
    /// Leaves out with a warning what cannot be found out: the session has ended, whatever else fails.
    /// `is_of_group`: of what all sessions of the group did.
    pub(super) fn closing(&mut self, tasks: Option<&TaskList>, is_of_group: bool) -> Closing {
        let unrecognised = tasks.iter().flat_map(|tasks| &tasks.unrecognised);
        let unrecognised =
            unrecognised.map(|item| format!("line {}: [{}] {}", item.line, item.mark, item.text)).collect();
        let (uncommitted, left_out) =
            self.work.as_ref().map(PendingCommit::not_committed).unwrap_or_default();
        let logins = self.state.logins.iter().cloned().collect();
        match self.recorded_with_changes(tasks, is_of_group) {
            Ok(recorded) => {
                let merge = self.merge_command(&recorded).unwrap_or_default();
                Closing { unrecognised, uncommitted, left_out, logins, merge, ..recorded }
            }
            Err(error) => {
                self.warn(format!("cannot determine what the session changed: {error:#}"));
                Closing { unrecognised, uncommitted, left_out, logins, ..Closing::default() }
            }
        }
    }

    /// Returns the command that brings the work to the main branch, where all of it is done and committed. Of a lane the last line
    /// of the run says it.
    fn merge_command(&self, recorded: &Closing) -> Result<Option<String>> {
        let is_all = self.session.status == Status::Completed && self.session.tasks_remaining == 0;
        let is_committed = recorded.changes.is_some_and(|changes| changes.uncommitted_files == 0);
        if !is_all || !is_committed || self.inputs.work_tree.lane().is_some() {
            return Ok(None);
        }
        self.inputs.work_tree.merge_command()
    }

    /// Returns the entry of progress.txt that closes the session; empty if no agent ran in it.
    pub(super) fn closing_entry(&mut self, tasks: Option<&TaskList>) -> String {
        if self.past.history.runs() == 0 {
            return String::new();
        }
        // The files that changed are not named in it, and need not be compared for it.
        let recorded = self.log().and_then(|log| match log {
            Some(log) => self.recorded(&self.listing()?, &log.view(), tasks),
            None => Ok(Closing::default()),
        });
        match recorded {
            Ok(Closing { not_done, mut summary, .. }) => {
                summary.needs_you.extend(fault(&self.session));
                progress_txt::session_entry(&self.session, &not_done, &summary.needs_you)
            }
            Err(error) => {
                self.warn(format!("progress.txt lacks how the session ended: {error:#}"));
                String::new()
            }
        }
    }

    fn recorded_with_changes(&self, tasks: Option<&TaskList>, is_of_group: bool) -> Result<Closing> {
        let Some(mut log) = self.log()? else { return Ok(Closing::default()) };
        let (listing, mut shown) = (self.listing()?, log.view());
        if is_of_group {
            let sessions = listing.views_of(&self.session.feature);
            let group: Vec<_> = sessions.iter().filter(|other| other.is_beside(&shown)).collect();
            shown = SessionView::joined(&group);
            log = log.of_run(&shown);
        }
        let recorded = self.recorded(&listing, &shown, tasks)?;
        let needing = recorded.not_done.iter().filter(|task| task.needs_you());
        let logs = listing.logs_of(&self.session.feature);
        let unfinished = needing.map(|task| self.unfinished(&log, &logs, &task.task));
        let unfinished = unfinished.collect::<Result<_>>()?;
        let (changes, ci_files) = self.changes(&log)?.unzip();
        Ok(Closing { changes, ci_files: ci_files.unwrap_or_default(), unfinished, ..recorded })
    }

    pub(super) fn log(&self) -> Result<Option<SessionLog>> {
        self.inputs.store.session(&SessionRefs::new(&self.session.feature, self.session.id.clone()))
    }

    fn listing(&self) -> Result<Listing> {
        self.inputs.store.listing(|_| true, &mut Vec::new())
    }

    fn recorded(&self, listing: &Listing, shown: &SessionView, tasks: Option<&TaskList>) -> Result<Closing> {
        let nothing = TaskList::default();
        let tasks = tasks.unwrap_or(&nothing);
        let not_done = shown.not_done(tasks);
        let feature = &self.session.feature;
        let sessions = listing.views_of(feature);
        let hints = Hints::of(self.inputs.store.repository(), feature).list()?;
        let last = self.state.next.checked_sub(1).filter(|last| *last > 0);
        let remains = last.map(|last| self.past.left_behind.remains(self.inputs, &self.session, last));
        let view = FeatureView::of(&sessions);
        let mut summary = view.summary(feature, tasks, &hints, remains.as_ref(), Some(shown));
        let own = self.own_files();
        let own = own.each_ref().map(String::as_str);
        let now = listing.validation_now(self.inputs.store, feature, Some(shown), |_, snapshot, left_out| {
            self.recorder.work_tree().is_as_in(snapshot, &own, left_out).ok()?
        });
        summary.validation = now.map(Box::new);
        let false_claims = summary.session.as_ref().map(|part| part.totals.false_claims.clone());
        let false_claims = false_claims.unwrap_or_default();
        Ok(Closing { not_done, false_claims, summary, ..Closing::default() })
    }

    /// Returns what the failed attempts at a task came to, and what of it is still in the work tree. `logs` are all sessions.
    fn unfinished(&self, log: &SessionLog, logs: &[SessionLog], task: &str) -> Result<Unfinished> {
        let store = self.inputs.store;
        let of_task = log.iterations().filter(|entry| entry.is_of(task));
        let records = store.read_iterations(&of_task.cloned().collect::<Vec<_>>())?;
        let mut found = Unfinished { task: task.to_owned(), ..Unfinished::default() };
        found.is_taken_back = records.last().is_some_and(|last| last.restored_to.is_some());
        let failed: Vec<_> = records.iter().filter(|record| record.outcome == Outcome::Failure).collect();
        let keys: Vec<_> = failed.iter().map(|record| FailureKey::of(record)).collect();
        found.is_same = keys.len() > 1 && keys.iter().all(|key| key.is_some() && *key == keys[0]);
        for item in failed.iter().flat_map(|record| &record.approaches) {
            if !found.tried.contains(item) {
                found.tried.push(item.clone());
            }
        }
        if self.inputs.work_tree.lane().is_some() {
            // What it left is not in the user's work tree, and goes before the next attempt.
            found.is_taken_back = failed.iter().any(|record| !record.files_changed.is_empty());
            return Ok(found);
        }
        let (Some(now), None) = self.recorder.last_contents() else { return Ok(found) };
        let Some(last) = failed.last().and_then(|record| record.snapshot.as_ref()) else {
            return Ok(found);
        };
        let since = self.changed_between(last, now)?;
        // Attempts of earlier sessions left lines, too. What is there by now counts once, however often it was written anew.
        let all = logs.iter().flat_map(SessionLog::iterations).filter(|one| one.is_of(task));
        let all: Vec<_> = all.collect();
        let done = all.iter().rposition(|one| one.outcome() == Some(Outcome::Success)).map_or(0, |at| at + 1);
        let left = all[done..].iter().filter(|one| one.outcome() == Some(Outcome::Failure));
        let mut added: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for after in left.filter_map(|one| one.snapshot()) {
            let Some(before) = store.snapshot_before(&after)? else { continue };
            let own = self.changed_between(&before, &after)?;
            if own.iter().all(|file| added.contains_key(&file.path)) {
                continue;
            }
            // Since the first attempt that changed the file.
            for file in self.changed_between(&before, now)? {
                if own.iter().any(|one| one.path == file.path) {
                    added.entry(file.path).or_insert(file.added.unwrap_or_default());
                }
            }
        }
        added.retain(|path, _| since.iter().all(|later| later.path != *path));
        found.lines = added.values().sum();
        found.files = added.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        Ok(found)
    }

    /// Returns what the loop itself writes, from the top of the work tree.
    fn own_files(&self) -> [String; 2] {
        let feature = self.inputs.feature;
        [&feature.progress_path, &feature.tasks_path].map(|path| self.inputs.work_tree.relative(path))
    }

    /// Returns the files in which two trees differ, without what the loop itself writes.
    fn changed_between(&self, before: &ObjectId, after: &ObjectId) -> Result<Vec<ChangedFile>> {
        let work_tree = self.recorder.work_tree();
        let scratch = self.spool.scratch();
        let private_index = PrivateIndex { index: &scratch.join("index"), objects: &scratch, max_file: 0 };
        let own = self.own_files();
        let mut files = work_tree.changed(private_index, before, after)?;
        files.retain(|file| own.iter().all(|own| file.path != own.as_bytes()));
        Ok(files)
    }

    /// From the snapshot at the start to the last one, without what the loop itself writes. Beside it, what of that CI runs.
    fn changes(&self, log: &SessionLog) -> Result<Option<(Changes, Vec<String>)>> {
        let (last, beside) = self.recorder.last_contents();
        let (Some(last), None) = (last, beside) else { return Ok(None) };
        let Some(first) = self.inputs.store.first_snapshot(log)? else { return Ok(None) };
        let is_in_lane = self.inputs.work_tree.lane().is_some();
        let in_lane = is_in_lane.then(|| log.last_snapshot(true).unwrap_or(first.clone()));
        let last = in_lane.as_ref().unwrap_or(last);
        let files = self.changed_between(&first, last)?;
        let uncommitted_files = match self.inputs.work_tree.head()? {
            Some(head) => {
                let differing = self.changed_between(&head, last)?;
                files.iter().filter(|file| differing.iter().any(|other| other.path == file.path)).count()
            }
            None => files.len(),
        };
        let stat = ChangedFile::stat(&files);
        let names = files.iter().map(|file| String::from_utf8_lossy(&file.path).into_owned());
        let ci_files = names.filter(|path| decides_ci(path)).collect();
        Ok(Some((Changes { stat, uncommitted_files }, ci_files)))
    }
}

/// Returns what keeps every agent from working, if that ends the session: its end is not recorded yet.
fn fault(session: &Session) -> Option<Need> {
    let why = NeedKind::of_ending(session.stop_reason?)?;
    Some(Need { why, task: None, cause: None, session: session.id.clone(), iteration: None })
}
