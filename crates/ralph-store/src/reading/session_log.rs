//! A session as its log has it.

use std::sync::Arc;

use ralph_core::record::{LogEntry, ObjectId, RecordKind, SessionId, Status};
use ralph_core::view::SessionView;

use crate::refs::naming::SessionRefs;

/// One session: its ref, and its commits from the oldest to the newest; of a group, those of all of its sessions.
#[derive(Debug, Clone)]
pub struct SessionLog {
    pub refs: SessionRefs,
    pub entries: Arc<[LogEntry]>,
    /// True if older records exist but cannot be read.
    pub is_broken: bool,
}

impl SessionLog {
    /// Returns it as it is counted.
    pub fn view(&self) -> SessionView {
        SessionView::of(self.id(), Arc::clone(&self.entries))
    }

    /// Returns it with the records of `run`, which is its group as one.
    #[must_use]
    pub fn of_run(&self, run: &SessionView) -> Self {
        Self { entries: Arc::clone(&run.entries), ..self.clone() }
    }

    pub fn id(&self) -> &SessionId {
        &self.refs.session
    }

    pub fn feature(&self) -> &str {
        self.entries[0].feature()
    }

    pub fn tip(&self) -> &LogEntry {
        self.entries.last().expect("a session has at least its start")
    }

    pub fn iterations(&self) -> impl DoubleEndedIterator<Item = &LogEntry> {
        self.entries.iter().filter(|entry| entry.is_iteration())
    }

    /// Returns the snapshot of what it left: in a lane, what an attempt did that was no success is taken back.
    pub fn last_snapshot(&self, is_in_lane: bool) -> Option<ObjectId> {
        let kept = self.iterations().rev();
        let mut kept = kept.filter(|entry| !is_in_lane || entry.is_result());
        kept.find_map(LogEntry::snapshot)
    }

    pub fn iteration(&self, number: u32) -> Option<&LogEntry> {
        self.iterations().find(|entry| entry.iteration() == Some(number))
    }

    /// Returns the start or resumption after which a record of it was made.
    pub fn begin_of(&self, entry: &LogEntry) -> Option<&LogEntry> {
        let before = self.entries.iter().take_while(|other| other.commit() != entry.commit());
        before.filter(|other| other.kind().begins()).last()
    }

    /// Returns true if its first record is here: a shallow clone may have only its end.
    pub fn is_whole(&self) -> bool {
        let first = &self.entries[0];
        first.kind() == RecordKind::Start || first.kind() == RecordKind::Unknown && first.parent().is_none()
    }

    /// Returns true if its first record is missing because the clone is shallow.
    pub fn is_shallow(&self) -> bool {
        !self.is_whole() && !self.is_broken
    }
}

/// Returns the status of a session whose newest record is `tip`: without an end it is interrupted, unless it runs.
pub fn status_of(tip: &LogEntry, is_running: bool) -> Status {
    match (tip.kind(), tip.status()) {
        (RecordKind::End, Some(status)) => status,
        _ if is_running => Status::Running,
        _ => Status::Interrupted,
    }
}
