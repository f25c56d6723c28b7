//! Records that this version cannot read: they are left out, and of each session that has such it is said once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Error, Result};

use crate::record::{Iteration, LogEntry, ObjectId, RALPH, RecordKind, Session, SessionId};

use super::{SessionLog, Store};

/// Which sessions have records that are left out.
#[derive(Debug, Clone, Default)]
pub(super) struct Unreadable {
    /// What is said of each. Copies of a store share it.
    found: Arc<Mutex<BTreeMap<SessionId, String>>>,
    warn: Option<fn(&str)>,
}

impl Unreadable {
    /// Warns of the first record of a session that cannot be read.
    pub fn note(&self, session: &SessionId, commit: &ObjectId, error: &Error) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.contains_key(session) {
            return;
        }
        let reason = format!("{error:#}");
        let by_default = format!(
            "a later version may have written it: update specify-ralph; `{RALPH} fsck` verifies all records"
        );
        let (reason, hint) = reason.split_once("\nhint: ").unwrap_or((&reason, &by_default));
        let reason = reason.replace('\n', ": ");
        let commit = commit.short();
        let message = format!(
            "left out what cannot be read of session {session}, such as {commit}: {reason}\nhint: {hint}"
        );
        if let Some(warn) = self.warn {
            warn(&message);
        }
        found.insert(session.clone(), message);
    }
}

impl Store {
    /// Has `warn`, if any, say which sessions have records that cannot be read, each once.
    #[must_use]
    pub fn warning_with(mut self, warn: Option<fn(&str)>) -> Self {
        self.unreadable.warn = warn;
        self
    }

    /// What was left out so far, in a sentence for each session.
    pub fn left_out(&self) -> Vec<String> {
        self.unreadable.found.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Leaves a record out, with a warning if it is the first of its session.
    pub fn leave_out(&self, entry: &LogEntry, error: &Error) {
        self.unreadable.note(&entry.session, &entry.commit, error);
    }

    /// `None` with a warning if this version cannot read it.
    pub fn or_leave_out<T>(&self, entry: &LogEntry, read: Result<T>) -> Option<T> {
        read.inspect_err(|error| self.leave_out(entry, error)).ok()
    }

    /// What the record of an iteration says; `None` with a warning if this version cannot read it.
    pub fn readable_iteration(&self, entry: &LogEntry) -> Option<Iteration> {
        self.or_leave_out(entry, self.iteration(entry))
    }

    /// What the record of a start, resume or end says; `None` with a warning if this version cannot read it.
    pub fn readable_session(&self, entry: &LogEntry) -> Option<Session> {
        self.or_leave_out(entry, self.session_json(entry))
    }

    /// The session as the first of its records tells it that can be read.
    pub fn first_readable_session(&self, log: &SessionLog) -> Option<Session> {
        let others =
            |entry: &&LogEntry| entry.kind != RecordKind::Iteration && entry.kind != RecordKind::Unknown;
        log.entries.iter().filter(others).find_map(|entry| self.readable_session(entry))
    }
}
