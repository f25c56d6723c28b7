//! The sessions of one group: loops that one start began on one branch.

use std::cmp::Reverse;

use super::SessionView;
use crate::record::{Interrupter, LogEntry, SessionId, ShortNames, StopReason};

impl SessionView {
    /// Returns true if one start began both: they are of one group, or the same session.
    pub fn is_beside(&self, other: &Self) -> bool {
        let first = |session: &Self| session.group().map(|(first, _)| first);
        self.id == other.id || first(self).is_some_and(|own| first(other) == Some(own))
    }

    /// Returns the sessions of a group as one, a session alone as it is: the records of all by the time they ended, under the
    /// id of the first. `sessions` are in the order of their ids, and some.
    pub fn joined(sessions: &[&Self]) -> Self {
        let first = sessions[0];
        if sessions.len() == 1 {
            return first.clone();
        }
        let merged = by_time(sessions.iter().copied(), |_| true).into_iter();
        Self::of(&first.id, merged.map(|(_, entry)| entry.clone()).collect::<Vec<_>>())
    }

    /// Returns the newest record of the session whose state is that of all: of one that runs, else of the one with the reason that
    /// decides the exit code of the start. One that died decides only where no other is left: another was started for it.
    pub fn deciding_record(&self, is_running: impl Fn(&SessionId) -> bool) -> Option<&LogEntry> {
        let rank = |tip: &LogEntry| match tip.stop_reason() {
            // One that wrote its end only lets go of its lock.
            None if is_running(self.session_of(tip)) => 0,
            None => 6,
            Some(_) if tip.ended_by().is_some_and(|by| by.by == Interrupter::Killed) => 6,
            Some(StopReason::Interrupted | StopReason::Later(_)) => 1,
            Some(StopReason::AgentUnusable | StopReason::ValidationUnusable) => 2,
            Some(StopReason::LimitReached) => 3,
            Some(StopReason::Stuck | StopReason::TargetRed) => 4,
            Some(StopReason::Completed | StopReason::Checkpoint) => 5,
        };
        self.tips().max_by_key(|tip| (Reverse(rank(tip)), tip.ended_at()))
    }

    /// Returns true if all of its sessions have ended.
    pub fn has_ended(&self) -> bool {
        self.tips().all(|tip| tip.stop_reason().is_some())
    }

    /// Returns the newest record of each of its sessions.
    fn tips(&self) -> impl Iterator<Item = &LogEntry> {
        self.sessions().filter_map(|id| self.entries.iter().rfind(|entry| self.session_of(entry) == id))
    }

    /// Returns what its own attempts are called: by number, or by lane and number where it is a group as one.
    pub fn names(&self) -> ShortNames {
        let lanes = self.lanes.iter().map(|(id, lane)| (id.clone(), Some(*lane)));
        if self.lanes.is_empty() { ShortNames::alone(&self.id) } else { ShortNames::of(lanes) }
    }

    /// Returns true if it has a record of this session.
    pub fn has(&self, session: &SessionId) -> bool {
        self.id == *session || self.entries.iter().any(|entry| entry.session() == *session)
    }
}

/// Returns what commands call the attempts of the sessions that they mean where none is named: of the newest, or of its whole
/// group.
pub fn short_names<'a>(sessions: impl IntoIterator<Item = &'a SessionView>) -> ShortNames {
    let sessions = sessions.into_iter();
    ShortNames::of(sessions.map(|session| (session.id.clone(), session.group().map(|(_, lane)| lane))))
}

/// Merges the records of sessions that are wanted by the time they ended. Each session keeps its own order, whatever its
/// clock did.
pub(super) fn by_time<'a>(
    sessions: impl Iterator<Item = &'a SessionView>,
    is_wanted: impl Fn(&LogEntry) -> bool,
) -> Vec<(&'a SessionId, &'a LogEntry)> {
    let mut merged = Vec::new();
    for session in sessions {
        let mut newest = None;
        for entry in session.entries.iter().filter(|entry| is_wanted(entry)) {
            newest = newest.max(Some(entry.ended_at()));
            merged.push((newest, (session.session_of(entry), entry)));
        }
    }
    // Stable: of one moment, the session that began first comes first.
    merged.sort_by_key(|(ended_at, _)| *ended_at);
    merged.into_iter().map(|(_, of)| of).collect()
}
