//! The summary at the end of a session beside its totals, read from its own record.

use anyhow::Result;
use tasklist::TaskList;

use crate::record::{Changes, Closing, Cost, LogEntry, NotDone, Outcome};
use crate::store::{SessionLog, SessionRefs};
use crate::worktree::{ChangedFile, PrivateIndex};

use super::running::Running;

impl Running<'_> {
    /// Leaves out with a warning what cannot be found out: the session has ended, whatever else fails.
    pub(super) fn closing(&mut self, tasks: Option<&TaskList>) -> Closing {
        let unrecognised = tasks.iter().flat_map(|tasks| &tasks.unrecognised);
        let unrecognised =
            unrecognised.map(|item| format!("line {}: [{}] {}", item.line, item.mark, item.text)).collect();
        let (uncommitted, left_out) = self.not_in_commits();
        let closing = Closing { unrecognised, uncommitted, left_out, ..Closing::default() };
        match self.recorded(tasks) {
            Ok((changes, not_done, false_claims)) => Closing { changes, not_done, false_claims, ..closing },
            Err(error) => {
                self.warn(format!("cannot determine what the session changed: {error:#}"));
                closing
            }
        }
    }

    fn recorded(&self, tasks: Option<&TaskList>) -> Result<(Option<Changes>, Vec<NotDone>, Vec<u32>)> {
        let refs = SessionRefs::new(&self.session.feature, self.session.id.clone());
        let Some(log) = self.plan.store.session(&refs)? else { return Ok(Default::default()) };
        let claimed = log.entries.iter().filter(|entry| !entry.false_claim.is_empty());
        let claimed = claimed.filter_map(|entry| entry.iteration).collect();
        let not_done = tasks.map(|tasks| not_done(&log.entries, tasks));
        Ok((self.changes(&log)?, not_done.unwrap_or_default(), claimed))
    }

    /// From the snapshot at the start to the last one, without what the loop itself writes.
    fn changes(&self, log: &SessionLog) -> Result<Option<Changes>> {
        let (last, beside) = self.recorder.last_contents();
        let (Some(last), None) = (last, beside) else { return Ok(None) };
        let Some(first) = self.plan.store.first_snapshot(log)? else { return Ok(None) };
        let work_tree = self.recorder.work_tree();
        let scratch = self.local.spool.scratch();
        let private_index = PrivateIndex { index: &scratch.join("index"), objects: &scratch, max_file: 0 };
        let feature = self.plan.feature;
        let own = [&feature.progress_path, &feature.tasks_path].map(|path| work_tree.relative(path));
        let changed = |before| -> Result<Vec<ChangedFile>> {
            let mut files = work_tree.changed(private_index, before, last)?;
            files.retain(|file| own.iter().all(|own| file.path != own.as_bytes()));
            Ok(files)
        };
        let files = changed(&first)?;
        let lines = |of: fn(&ChangedFile) -> Option<u64>| files.iter().filter_map(of).sum();
        let uncommitted_files = match self.plan.store.head()? {
            Some(head) => changed(&head)?.len(),
            None => files.len(),
        };
        let (added, removed) = (lines(|file| file.added), lines(|file| file.removed));
        Ok(Some(Changes { files: files.len(), added, removed, uncommitted_files }))
    }
}

/// Returns the open tasks that were tried, in the order of their first attempts.
pub fn not_done(entries: &[LogEntry], tasks: &TaskList) -> Vec<NotDone> {
    let mut found: Vec<NotDone> = Vec::new();
    for entry in entries {
        let (Some(task), Some(iteration)) = (&entry.task, entry.iteration) else { continue };
        let Some(item) = tasks.find(task).filter(|item| !item.done) else { continue };
        let place = found.iter().position(|known| known.task == *task).unwrap_or_else(|| {
            let waits = |other: &&tasklist::Item| {
                other.is_task() && !other.done && item.id.iter().any(|id| other.depends_on.contains(id))
            };
            found.push(NotDone {
                task: task.clone(),
                title: item.text.clone(),
                is_skipped: false,
                attempts: 0,
                cause: None,
                iteration,
                cost_usd: None,
                blocks: tasks.tasks().filter(waits).map(|other| other.name.clone()).collect(),
            });
            found.len() - 1
        });
        let known = &mut found[place];
        known.attempts += u32::from(entry.is_run());
        known.is_skipped = entry.outcome == Some(Outcome::Skipped);
        known.cost_usd = Cost { usd: known.cost_usd, is_partial: false }.plus(entry.cost()).usd;
        if entry.outcome == Some(Outcome::Failure) {
            known.iteration = iteration;
            known.cause.clone_from(&entry.cause);
        }
    }
    found
}
