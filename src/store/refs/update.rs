//! How refs are written: each from the value that is expected, or not at all.
//!
//! Those of a running session have one writer, the holder of the loop's lock: [`Refs::move_all`] waits for the lock of
//! a ref, and takes a dead process's away. All others have many writers: [`Refs::change`] leaves their locks alone.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::record::{ObjectId, RALPH, Timestamp};

use super::database::{Reason, RefUpdate};
use super::queries::Refs;

/// Time between two attempts to move refs that another process has locked.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// So often objects that were pruned meanwhile are put back.
const MAX_RACES: usize = 50;

/// A ref of the session was moved by another process: nothing was overwritten.
#[derive(Debug)]
pub struct Conflict {
    pub name: String,
    pub expected: Option<ObjectId>,
    pub found: Option<ObjectId>,
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short =
            |id: &Option<ObjectId>| id.as_ref().map_or("nothing".to_owned(), |id| id.short().to_owned());
        if self.found.is_none() {
            return write!(
                f,
                "{} was deleted by another program, and what it pointed at is gone\nhint: the iteration stays in the spool; the next start keeps its files and goes on in a new session",
                self.name
            );
        }
        write!(
            f,
            "{} was moved by another program: expected {}, found {}\nhint: the iteration stays in the spool; restore the ref with `git update-ref {} {}` and run `{RALPH} resume`",
            self.name,
            short(&self.expected),
            short(&self.found),
            self.name,
            self.expected.as_ref().map_or("''", ObjectId::as_str),
        )
    }
}

impl std::error::Error for Conflict {}

impl Refs<'_> {
    /// Moves refs of a session in one transaction, and makes that durable.
    pub(in crate::store) fn move_all(&self, updates: &[RefUpdate], reason: Reason) -> Result<()> {
        self.move_to(updates, reason, || Ok(0))
    }

    /// Moves refs to objects that a `git prune` beside us may take before the refs lead to them: git moves no ref to what
    /// is not there. `restore_objects` puts them back, and returns how many these were.
    pub(in crate::store) fn move_to(
        &self,
        updates: &[RefUpdate],
        reason: Reason,
        restore_objects: impl Fn() -> Result<usize>,
    ) -> Result<()> {
        let refs = &self.database;
        let deadline = Instant::now() + refs.lock_timeout();
        let mut is_lock_removed = false;
        let mut races = 0;
        loop {
            let left = self.unmoved(updates)?;
            if left.is_empty() {
                break;
            }
            let Err(error) = refs.move_all(&left, reason) else { break };
            if races < MAX_RACES && restore_objects()? > 0 {
                races += 1;
            } else if Instant::now() < deadline {
                // Another git holds a lock for a moment: pack-refs, a fetch.
                std::thread::sleep(LOCK_RETRY_INTERVAL);
            } else if !is_lock_removed && refs.remove_stale_lock(&left)? {
                is_lock_removed = true;
            } else {
                refs.retry_with_git(&left, reason, error)?;
                break;
            }
        }
        refs.fsync(updates)?;
        for RefUpdate { name, new, .. } in updates {
            let found = self.tip(name)?;
            if found != *new {
                return Err(Conflict { name: name.clone(), expected: new.clone(), found }.into());
            }
        }
        Ok(())
    }

    /// Returns the updates that are still to be made.
    fn unmoved(&self, updates: &[RefUpdate]) -> Result<Vec<RefUpdate>> {
        let mut left = Vec::new();
        for update in updates {
            let found = self.tip(&update.name)?;
            if found == update.old {
                left.push(update.clone());
            } else if found != update.new {
                let RefUpdate { name, old, .. } = update.clone();
                return Err(Conflict { name, expected: old, found }.into());
            }
        }
        Ok(left)
    }

    /// Makes all updates or none.
    pub(in crate::store) fn change(
        &self,
        updates: &[RefUpdate],
        why: &'static str,
        at: Timestamp,
    ) -> Result<()> {
        let refs = &self.database;
        refs.update(updates, Reason { why, at })?;
        refs.fsync(updates)
    }

    /// Deletes refs, all of them or none, each from where we saw it.
    pub(in crate::store) fn delete(
        &self,
        refs: &[(String, ObjectId)],
        why: &'static str,
        at: Timestamp,
    ) -> Result<()> {
        let updates: Vec<_> = refs.iter().cloned().map(RefUpdate::deletion).collect();
        self.change(&updates, why, at)
    }

    /// Makes each update that can be made, and returns those, and the others with the reasons.
    pub(in crate::store) fn change_each(
        &self,
        updates: Vec<RefUpdate>,
        why: &'static str,
        at: Timestamp,
    ) -> (Vec<RefUpdate>, Vec<(RefUpdate, anyhow::Error)>) {
        if updates.is_empty() || self.change(&updates, why, at).is_ok() {
            return (updates, Vec::new());
        }
        let (mut made, mut failed) = (Vec::new(), Vec::new());
        for update in updates {
            match self.change(std::slice::from_ref(&update), why, at) {
                Ok(()) => made.push(update),
                Err(error) => failed.push((update, error)),
            }
        }
        (made, failed)
    }
}
