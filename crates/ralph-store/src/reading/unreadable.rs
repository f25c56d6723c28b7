//! Records that this version cannot read: they are left out, and of each session that has such it is said once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Error;

use ralph_core::record::{ObjectId, RALPH, SessionId};

/// Which sessions have records that are left out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unreadable {
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
            "left out unreadable records of session {session}, such as {commit}: {reason}\nhint: {hint}"
        );
        if let Some(warn) = self.warn {
            warn(&message);
        }
        found.insert(session.clone(), message);
    }

    /// Has `warn`, if any, say each message.
    pub fn warn_with(&mut self, warn: Option<fn(&str)>) {
        self.warn = warn;
    }

    /// Returns what was left out so far, in a sentence for each session.
    pub fn messages(&self) -> Vec<String> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
