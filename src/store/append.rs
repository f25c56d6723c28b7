//! From a sealed draft in the spool to a commit on the session's ref: the one way in.
//!
//! Every step can be repeated. The same draft gives the same commit id, so a step that was done before a crash is
//! found done, and no iteration is ever recorded twice.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use redact_stream::Redactor;

use crate::record::{LogEntry, ObjectId, RALPH};
use crate::repository::Repository;

use super::files::{FileWriter, pretty_json};
use super::message::{self, Snapshot, Subject};
use super::objects::{self, Quarantine, Signature};
use super::ref_database::{Move, Reason};
use super::refs::SessionRefs;
use super::spool::{Draft, Slot, names};
use super::{Store, disk};

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

impl Store {
    /// Records the sealed draft in `slot`: objects, sync, refs, sync. Returns the id of its commit.
    pub fn append(&self, slot: &Slot, draft: &Draft, redactor: &Redactor) -> Result<ObjectId> {
        let refs = SessionRefs::new(&draft.feature, draft.session.clone());
        let tip = self.tip(&refs.log())?;
        let snapshot = Move {
            name: refs.snapshot(),
            old: draft.snapshot_parent.clone(),
            new: draft.snapshot.clone().filter(|id| Some(id) != draft.snapshot_parent.as_ref()),
        };
        if tip == draft.parent {
            let commit = self.write_objects(slot, draft, redactor)?;
            let log = Move { name: refs.log(), old: tip, new: Some(commit.clone()) };
            self.move_refs_to(&[log, snapshot], Reason::of(draft), || self.hold_objects(slot))?;
            self.hold_objects(slot)?;
            return Ok(commit);
        }
        let Some(done) = self.find_done(tip.as_ref(), draft)? else {
            return Err(Conflict { name: refs.log(), expected: draft.parent.clone(), found: tip }.into());
        };
        // Refs move one after the other, and the earlier try may have died between the two.
        if self.tip(&snapshot.name)? == snapshot.old {
            self.move_refs_to(&[snapshot], Reason::of(draft), || self.hold_objects(slot))?;
        }
        self.hold_objects(slot)?;
        Ok(done)
    }

    /// Throws away what a power cut left half written of the objects in `slot`; they are written again.
    pub fn drop_torn_objects(&self, slot: &Slot) -> Result<()> {
        Quarantine::open(&slot.path(names::OBJECTS), self.repository().hash)?.drop_torn()
    }

    /// Writes the commit of a snapshot beside the other objects of `slot`. No ref moves yet.
    ///
    /// Its parents are the previous snapshot and HEAD: so a push sends only what changed, and work that the agent
    /// resets away stays reachable.
    pub fn write_snapshot(&self, slot: &Slot, snapshot: &Snapshot<'_>) -> Result<ObjectId> {
        let quarantine = Quarantine::open(&slot.objects(), self.repository().hash)?;
        let parents: Vec<ObjectId> = snapshot.previous.into_iter().chain(snapshot.head).cloned().collect();
        let signature = Signature {
            author: self.repository().author.clone(),
            authored_at: snapshot.taken_at,
            committed_at: snapshot.taken_at,
        };
        quarantine.write_commit(snapshot.tree, &parents, &signature, &message::of_snapshot(snapshot))
    }

    /// Returns the commit of this very record, if an earlier try got as far as the ref.
    fn find_done(&self, tip: Option<&ObjectId>, draft: &Draft) -> Result<Option<ObjectId>> {
        let number = draft.iteration.as_ref().map(|iteration| iteration.iteration);
        let is_it = |entry: &LogEntry| {
            entry.session == draft.session
                && entry.kind == draft.kind
                && entry.iteration == number
                && entry.parent == draft.parent
        };
        let Some(tip) = tip else { return Ok(None) };
        Ok(self.chain(tip, None)?.iter().find(|entry| is_it(entry)).map(|entry| entry.commit.clone()))
    }

    fn write_objects(&self, slot: &Slot, draft: &Draft, redactor: &Redactor) -> Result<ObjectId> {
        let quarantine = Quarantine::open(&slot.objects(), self.repository().hash)?;
        let mut writer = FileWriter::new(&quarantine, redactor);
        for (path, name) in &draft.files {
            writer.add_file(path, &slot.path(name))?;
        }
        let entry = disk::read_if_there(&slot.path(names::PROGRESS))?.unwrap_or_default();
        let entry = String::from_utf8_lossy(&entry).into_owned();
        let message = match (&draft.iteration, &draft.session_json) {
            (Some(iteration), _) => {
                let mut iteration = iteration.clone();
                iteration.redactions = writer.redactions().to_vec();
                writer.add_exact("iteration.json", &pretty_json(&iteration)?)?;
                message::compose(Subject::Iteration(&iteration), &entry)
            }
            (None, Some(session)) => {
                writer.add_exact("session.json", &pretty_json(session)?)?;
                message::compose(Subject::Session(draft.kind, session), &entry)
            }
            (None, None) => bail!("the draft in the spool is of no record"),
        };
        let tree = objects::from_gix(&writer.finish_tree()?)?;
        let signature = Signature {
            author: self.repository().author.clone(),
            authored_at: draft.authored_at,
            committed_at: draft.committed_at,
        };
        let commit = quarantine.write_commit(&tree, draft.parent.as_slice(), &signature, &message)?;
        let Repository { common_dir, sharing, .. } = self.repository();
        quarantine.publish(&common_dir.join("objects"), *sharing, self.syncing)?;
        Ok(commit)
    }

    /// Moves refs in one transaction, each from its expected value, and makes that durable.
    pub(super) fn move_refs(&self, moves: &[Move], reason: Reason) -> Result<()> {
        self.move_refs_to(moves, reason, || Ok(0))
    }

    /// Returns the same to objects that a `git prune` beside us may take before the refs lead to them: git moves no ref
    /// to what is not there. `recover_ref` puts them back, and gives how many these were.
    fn move_refs_to(
        &self,
        moves: &[Move],
        reason: Reason,
        recover_ref: impl Fn() -> Result<usize>,
    ) -> Result<()> {
        let refs = self.refs();
        let deadline = Instant::now() + refs.lock_timeout();
        let mut is_lock_removed = false;
        let mut races = 0;
        loop {
            let left = self.unmoved(moves)?;
            if left.is_empty() {
                break;
            }
            let Err(error) = refs.move_all(&left, reason) else { break };
            if races < MAX_RACES && recover_ref()? > 0 {
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
        let made = || moves.iter().filter(|one| one.new.is_some());
        refs.fsync(&made().map(|one| one.name.as_str()).collect::<Vec<_>>())?;
        for Move { name, new, .. } in made() {
            let found = self.tip(name)?;
            if found != *new {
                return Err(Conflict { name: name.clone(), expected: new.clone(), found }.into());
            }
        }
        Ok(())
    }

    /// Returns the moves that are still to be made.
    fn unmoved<'a>(&self, moves: &'a [Move]) -> Result<Vec<&'a Move>> {
        let mut left = Vec::new();
        for one in moves.iter().filter(|one| one.new.is_some()) {
            let found = self.tip(&one.name)?;
            if found == one.old {
                left.push(one);
            } else if found != one.new {
                return Err(Conflict { name: one.name.clone(), expected: one.old.clone(), found }.into());
            }
        }
        Ok(left)
    }
}
