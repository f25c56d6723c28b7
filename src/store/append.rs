//! From a sealed draft in the spool to a commit on the session's ref: the one way in.
//!
//! Every step can be repeated. The same draft gives the same commit id, so a step that was done before a crash is
//! found done, and no iteration is ever recorded twice.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use camino::{Utf8Path, Utf8PathBuf};
use gix::lock::acquire::Fail;
use gix::refs::transaction::{LogChange, PreviousValue, RefEdit};

use crate::process::Tool;
use crate::record::{LogEntry, ObjectId, Timestamp};
use crate::redact::Redactor;
use crate::repository::Repository;

use super::files::{FileWriter, pretty_json};
use super::message::{self, Snapshot, Subject};
use super::objects::{self, Quarantine, Signature};
use super::refs::SessionRefs;
use super::spool::{Draft, Slot, names};
use super::{Store, Syncing, caused, disk};

/// How long a lock on one of our own refs may stand before we take it for a dead writer's: we hold the session's
/// flock, so no living one of ours can own it, and `git pack-refs` holds it for milliseconds.
const STALE_LOCK: Duration = Duration::from_secs(1);

/// How long the library waits for a lock: as long as git does where nothing is set.
const LOOSE_REF_WAIT: Fail = Fail::AfterDurationWithBackoff(Duration::from_millis(100));
const PACKED_REFS_WAIT: Fail = Fail::AfterDurationWithBackoff(Duration::from_secs(1));

/// A ref that is to go from one value to another.
#[derive(Debug)]
pub(super) struct Move {
    pub name: String,
    pub old: Option<ObjectId>,
    /// None where it stays.
    pub new: Option<ObjectId>,
}

/// What a reflog says of a move, where the user wants one of every ref.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reason {
    pub why: &'static str,
    pub at: Timestamp,
}

impl Reason {
    fn of(draft: &Draft) -> Self {
        Self { why: draft.kind.as_str(), at: draft.committed_at }
    }
}

/// Somebody else moved a ref of the session: nothing was written over.
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
                "{} was deleted by somebody, and what it pointed at is gone\nhint: the iteration stays in the spool; the next start keeps its files and goes on in a new session",
                self.name
            );
        }
        write!(
            f,
            "{} was moved by somebody else: expected {}, found {}\nhint: the iteration stays in the spool; put the ref back with `git update-ref {} {}` and run `specify ralph resume`",
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
    /// Records the sealed draft in `slot`: objects, sync, refs, sync. Gives the id of its commit.
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
            self.move_refs(&[log, snapshot], Reason::of(draft))?;
            return Ok(commit);
        }
        let Some(done) = self.find_done(tip.as_ref(), draft)? else {
            return Err(Conflict { name: refs.log(), expected: draft.parent.clone(), found: tip }.into());
        };
        // Refs move one after the other, and the earlier try may have died between the two.
        if self.tip(&snapshot.name)? == snapshot.old {
            self.move_refs(&[snapshot], Reason::of(draft))?;
        }
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

    /// The commit of this very record, if an earlier try got as far as the ref.
    fn find_done(&self, tip: Option<&ObjectId>, draft: &Draft) -> Result<Option<ObjectId>> {
        let number = draft.iteration.as_ref().map(|iteration| iteration.iteration);
        let is_it = |entry: &LogEntry| {
            entry.session == draft.session
                && entry.kind == draft.kind
                && entry.iteration == number
                && entry.parent == draft.parent
        };
        let Some(tip) = tip else { return Ok(None) };
        Ok(self.chain(tip)?.iter().find(|entry| is_it(entry)).map(|entry| entry.commit.clone()))
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
        let deadline = Instant::now() + STALE_LOCK;
        let mut is_reclaimed = false;
        loop {
            let left = self.unmoved(moves)?;
            if left.is_empty() {
                break;
            }
            let Err(error) = self.transact(&left, reason) else { break };
            if Instant::now() < deadline {
                // Another git holds a lock for a moment: pack-refs, a fetch.
                std::thread::sleep(Duration::from_millis(20));
            } else if !is_reclaimed && self.remove_stale_locks(&left)? {
                is_reclaimed = true;
            } else {
                self.transact_by_git(&left, reason).with_context(|| error.to_string())?;
                break;
            }
        }
        let made = || moves.iter().filter(|one| one.new.is_some());
        for one in made() {
            self.share_ref(&one.name)?;
        }
        if self.syncing == Syncing::Always {
            self.sync_refs(made().map(|one| one.name.as_str()))?;
        }
        for Move { name, new, .. } in made() {
            let found = self.tip(name)?;
            if found != *new {
                return Err(Conflict { name: name.clone(), expected: new.clone(), found }.into());
            }
        }
        Ok(())
    }

    /// The moves that are still to be made.
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

    fn transact(&self, moves: &[&Move], reason: Reason) -> Result<()> {
        let packed = self.repository().common_dir.join("packed-refs");
        if packed.is_file() || packed.with_extension("lock").is_file() {
            // Where refs are packed, the library locks all of them to move one. Nobody takes that lock away when we
            // are killed then, and the user could neither pack refs nor delete branches. git locks only what moves.
            return self.transact_by_git(moves, reason);
        }
        let edits = moves.iter().map(|one| edit(one, reason)).collect::<Result<Vec<RefEdit>>>()?;
        let git = self.open_git()?;
        // Asked for only where the user wants a reflog of every ref.
        let time = format!("{} +0000", reason.at.seconds());
        let committer = gix::actor::SignatureRef {
            name: objects::COMMITTER.into(),
            email: objects::COMMITTER_EMAIL.into(),
            time: &time,
        };
        let names: Vec<String> = edits.iter().map(|edit| edit.name.as_bstr().to_string()).collect();
        let locking = git.refs.transaction().prepare(edits, LOOSE_REF_WAIT, PACKED_REFS_WAIT);
        let locked = locking.map_err(|error| caused("move refs", &error))?;
        if self.syncing == Syncing::Always {
            // The new values stand in the locks. A ref whose name is on the disk before its value would be empty after
            // a power cut, and the value before it gone.
            for name in &names {
                disk::sync_file_if_there(&self.lock_of(name))?;
            }
        }
        locked.commit(Some(committer)).map_err(|error| caused("move refs", &error))?;
        Ok(())
    }

    fn lock_of(&self, name: &str) -> Utf8PathBuf {
        self.repository().common_dir.join(format!("{name}.lock"))
    }

    /// git's own program knows ways around locks of packed refs that the library waits for in vain.
    fn transact_by_git(&self, moves: &[&Move], reason: Reason) -> Result<()> {
        let length = moves.iter().find_map(|one| one.new.as_ref()).map_or(40, |id| id.as_str().len());
        let zero = "0".repeat(length);
        let mut commands = String::from("start\n");
        for Move { name, old, new } in moves {
            let [old, new] = [old, new].map(|id| id.as_ref().map_or(zero.as_str(), ObjectId::as_str));
            commands.push_str(&format!("update {name} {new} {old}\n"));
        }
        commands.push_str("prepare\ncommit\n");
        self.update_refs(commands, reason)
    }

    /// Has git carry out what `git update-ref --stdin` understands, all of it or nothing.
    pub(super) fn update_refs(&self, commands: String, reason: Reason) -> Result<()> {
        Tool::git(&self.repository().common_dir)
            .args(["-c", "core.fsync=reference", "update-ref", "-m", &log_message(reason), "--stdin"])
            .env("GIT_COMMITTER_NAME", objects::COMMITTER)
            .env("GIT_COMMITTER_EMAIL", objects::COMMITTER_EMAIL)
            .env("GIT_COMMITTER_DATE", format!("@{} +0000", reason.at.seconds()))
            .stdin(commands)
            .read()?;
        Ok(())
    }

    fn remove_stale_locks(&self, moves: &[&Move]) -> Result<bool> {
        let mut is_any = false;
        for Move { name, .. } in moves {
            let lock = self.lock_of(name);
            match std::fs::remove_file(&lock) {
                Ok(()) => is_any = true,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("remove the stale lock {lock}")),
            }
        }
        Ok(is_any)
    }

    /// Lets in whom the repository lets in.
    pub(super) fn share_ref(&self, name: &str) -> Result<()> {
        let Repository { common_dir, sharing, .. } = self.repository();
        for path in [common_dir.join(name), common_dir.join("logs").join(name)] {
            for made in path.ancestors().take_while(|made| made.file_name() != Some("refs")) {
                disk::share(made, *sharing)?;
            }
        }
        Ok(())
    }

    /// Syncs loose refs and every folder above them that may be new, each once.
    pub(super) fn sync_refs<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<()> {
        let common = &self.repository().common_dir;
        let mut folders = Vec::new();
        for path in names.map(|name| common.join(name)) {
            // It may be packed by now: then it is git's to keep.
            disk::sync_file_if_there(&path)?;
            let above = path.ancestors().skip(1).take_while(|folder| *folder != common);
            folders.extend(above.map(Utf8Path::to_owned));
        }
        // The deepest first: a name must be there before the folder that leads to it counts.
        folders.sort_by(|one, other| other.cmp(one));
        folders.dedup();
        folders.iter().try_for_each(|folder| disk::sync_dir_if_there(folder))
    }
}

fn log_message(reason: Reason) -> String {
    format!("ralph: {}", reason.why)
}

fn edit(one: &Move, reason: Reason) -> Result<RefEdit> {
    // With `Any`, or with the library's own guard on the first parent alone, a ref that was moved or deleted
    // meanwhile would be written over without a word.
    let expected = match &one.old {
        None => PreviousValue::MustNotExist,
        Some(old) => PreviousValue::MustExistAndMatch(gix::refs::Target::Object(objects::to_gix(old)?)),
    };
    let name: gix::refs::FullName = one
        .name
        .as_str()
        .try_into()
        .map_err(|error| anyhow!("`{}` is no name for a ref: {error}", one.name))?;
    let new = objects::to_gix(one.new.as_ref().context("a move has somewhere to go")?)?;
    let log = LogChange { message: log_message(reason).into(), ..LogChange::default() };
    Ok(RefEdit::update_with_log(name, new, expected, log))
}
