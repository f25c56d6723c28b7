//! The first record of a start or a resumption. Its snapshot is taken first, so that changes before the record can be
//! compared with it.

use anyhow::Result;

use ralph_core::progress::progress_txt;
use ralph_core::record::{ObjectId, RecordKind, Session, Timestamp};
use ralph_os::clock::Clock;
use ralph_store::{Draft, SessionLog, Slot};

use super::Recorder;
use crate::recorded_progress::expected_progress;
use crate::snapshot_taken::SnapshotTaken;

/// The record of a start or a resumption before it is written.
pub struct Opening<'l> {
    pub slot: Slot,
    taken: SnapshotTaken,
    pub at: Timestamp,
    /// The session that is resumed.
    earlier: Option<&'l SessionLog>,
}

impl Opening<'_> {
    /// Returns the snapshot of the initial state; `None` if there is none.
    pub fn snapshot(&self) -> Option<&ObjectId> {
        self.taken.snapshot.as_ref().filter(|_| self.taken.failure.is_none())
    }

    fn moment(&self) -> &'static str {
        if self.earlier.is_some() { "the resumption" } else { "the start" }
    }
}

impl Recorder<'_> {
    /// Takes the snapshot that a start or a resumption begins with.
    pub fn open<'l>(&mut self, earlier: Option<&'l SessionLog>, at: Timestamp) -> Result<Opening<'l>> {
        let name = if earlier.is_some() { "resume" } else { "start" };
        let slot = self.spool.slot(name);
        slot.create()?;
        let mut opening = Opening { slot, taken: SnapshotTaken::default(), at, earlier };
        opening.taken = self.take(&opening.slot, opening.moment(), at);
        Ok(opening)
    }

    /// Takes the snapshot again if files have changed since. Returns their names.
    pub fn open_again(&mut self, opening: &mut Opening<'_>, at: Timestamp) -> Vec<String> {
        if opening.taken.failure.is_some() {
            return Vec::new();
        }
        let moment = format!("the validation before {}", opening.moment());
        match self.take_if_changed(opening, &moment, at) {
            Ok(Some(taken)) => {
                opening.taken = taken;
                opening.taken.files_changed()
            }
            Ok(None) => Vec::new(),
            Err(error) => {
                self.is_snapshot_good = false;
                self.warnings.push(format!("no snapshot after {moment}: {error:#}"));
                Vec::new()
            }
        }
    }

    fn take_if_changed(
        &mut self,
        Opening { slot, taken: before, .. }: &Opening<'_>,
        moment: &str,
        at: Timestamp,
    ) -> Result<Option<SnapshotTaken>> {
        let found = self.work_tree.last_contents.clone();
        let (tree, taken) = self.look(slot)?;
        if Some(&tree) == found.as_ref() {
            return Ok(None);
        }
        // No ref leads to the first snapshot yet: this one does.
        let snapshot = self.commit_contents(slot, &tree, [before.snapshot.as_ref(), None], moment, at)?;
        Ok(Some(SnapshotTaken { snapshot, ..taken }))
    }

    /// Records the start or the resumption of the session.
    pub fn write_opening(
        &mut self,
        opening: Opening<'_>,
        session: &Session,
        feature_name: &str,
        clock: &Clock,
    ) -> Result<ObjectId> {
        let Opening { slot, taken, at, earlier } = opening;
        let (kind, planned, ended_at) = match earlier {
            None => {
                let header = progress_txt::header(feature_name, at);
                let planned = self.plan_progress(&header, &progress_txt::session_marker(&session.id));
                (RecordKind::Start, Some(planned), clock.now())
            }
            Some(log) => {
                self.expect_progress(expected_progress(self.store, log)?);
                let planned = self.plan_progress("", "");
                (RecordKind::Resume, planned.base.is_some().then_some(planned), at)
            }
        };
        let draft = self.draft(kind, taken.snapshot, at, ended_at);
        self.record(&slot, Draft { session_json: Some(session.clone()), ..draft }, planned)
    }
}
