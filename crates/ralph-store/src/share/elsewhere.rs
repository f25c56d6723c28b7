//! Sessions that run on other machines, as far as their records show. Locks are local and do not show them.

use std::fmt;

use anyhow::Result;
use serde::Serialize;

use crate::local::last_written::last_of_all;
use crate::{Identity, LoopLock, SessionRefs, Spool, Store};
use ralph_core::record::{LogEntry, RecordKind, Session, SessionId, Timestamp};
use ralph_os::process;

use super::sync_state;

/// What is known here of an unfinished session that was begun on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemoteRun {
    pub host: String,
    /// The last sync that brought or sent it; the time of its newest record if no sync is known.
    pub as_of: Timestamp,
    pub is_synced: bool,
}

impl fmt::Display for RemoteRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_synced { "last sync" } else { "last record" };
        write!(f, "running on {} as of {} ({what})", self.host, self.as_of)
    }
}

impl Store {
    /// Returns what is known of an unfinished session of another machine; `None` for all others.
    pub fn elsewhere(&self, refs: &SessionRefs, entries: &[LogEntry]) -> Option<RemoteRun> {
        let tip = entries.last().filter(|tip| tip.kind() != RecordKind::End)?;
        let begin = entries.iter().rfind(|entry| entry.kind().begins())?;
        // Other readers report what is wrong with the record.
        let session = self.session_json(begin).ok()?;
        // What cannot be found out here is no reason to call it ours, or to stop.
        if self.is_from_here(&refs.session, &session).unwrap_or(false) {
            return None;
        }
        let synced_at = sync_state::synced_at(self.repository(), &refs.log()).ok().flatten();
        let as_of = synced_at.map_or(tip.ended_at(), |at| at.max(tip.ended_at()));
        Some(RemoteRun { host: session.host, as_of, is_synced: synced_at.is_some() })
    }

    /// Returns true if a session was begun in this clone. Host names change, and two machines may have the same: they only
    /// count in records of older versions, which have nothing else.
    fn is_from_here(&self, session: &SessionId, begun: &Session) -> Result<bool> {
        let is_own = match &begun.machine {
            Some(machine) => Identity::find(self.repository())?.is_some_and(|own| own.machine() == *machine),
            None => begun.host == process::host_name(),
        };
        Ok(is_own
            || Spool::of(self.repository(), session)?.is_some()
            || LoopLock::last_holders(self.repository())?.iter().any(|holder| holder.session == *session)
            || begun.machine.is_none() && last_of_all(self.repository())?.contains(session))
    }
}
