//! From a sealed draft in the spool to a commit on the session's ref: the one way in.
//!
//! Every step can be repeated. The same draft gives the same commit id, so a step that was done before a crash is
//! found done, and no iteration is ever recorded twice.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use gix::refs::transaction::{LogChange, PreviousValue, RefEdit};

use crate::process::Tool;
use crate::record::{LogEntry, ObjectId};
use crate::redact::Redactor;

use super::files::{FileWriter, pretty_json};
use super::message::{self, Snapshot, Subject};
use super::objects::{self, Quarantine, Signature};
use super::refs::SessionRefs;
use super::spool::{Draft, Slot, names};
use super::{Store, disk};

/// How long a lock on one of our own refs may stand before we take it for a dead writer's: we hold the session's
/// flock, so no living one of ours can own it, and `git pack-refs` holds it for milliseconds.
const STALE_LOCK: Duration = Duration::from_secs(1);

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
        if tip != draft.parent
            && let Some(done) = self.find_done(tip.as_ref(), draft)?
        {
            return Ok(done);
        }
        if tip != draft.parent {
            return Err(Conflict { name: refs.log(), expected: draft.parent.clone(), found: tip }.into());
        }
        let commit = self.write_objects(slot, draft, redactor)?;
        self.move_refs(&refs, draft, &commit)?;
        Ok(commit)
    }

    /// Writes the commit of a snapshot beside the other objects of `slot`. No ref moves yet.
    ///
    /// Its parents are the previous snapshot and HEAD: so a push sends only what changed, and work that the agent
    /// resets away stays reachable.
    pub fn write_snapshot(&self, slot: &Slot, snapshot: &Snapshot<'_>) -> Result<ObjectId> {
        let quarantine = Quarantine::open(&slot.path(names::OBJECTS), self.repository().hash)?;
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
        let quarantine = Quarantine::open(&slot.path(names::OBJECTS), self.repository().hash)?;
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
        quarantine.publish(&self.repository().common_dir.join("objects"))?;
        Ok(commit)
    }

    /// Moves log ref and snapshot ref in one transaction, each from its expected value, and makes that durable.
    fn move_refs(&self, refs: &SessionRefs, draft: &Draft, commit: &ObjectId) -> Result<()> {
        let mut moves = vec![(refs.log(), draft.parent.clone(), commit.clone())];
        if let Some(snapshot) = draft.snapshot.clone().filter(|id| Some(id) != draft.snapshot_parent.as_ref())
        {
            moves.push((refs.snapshot(), draft.snapshot_parent.clone(), snapshot));
        }
        let edits = moves
            .iter()
            .map(|(name, old, new)| edit(name, old.as_ref(), new, draft))
            .collect::<Result<Vec<RefEdit>>>()?;
        let deadline = Instant::now() + STALE_LOCK;
        let mut is_reclaimed = false;
        while let Err(error) = self.transact(&edits, draft) {
            for (name, old, new) in &moves {
                let found = self.tip(name)?;
                if found != *old && found.as_ref() != Some(new) {
                    return Err(Conflict { name: name.clone(), expected: old.clone(), found }.into());
                }
            }
            if Instant::now() < deadline {
                // Another git holds a lock for a moment: pack-refs, a fetch.
                std::thread::sleep(Duration::from_millis(20));
            } else if !is_reclaimed && self.remove_stale_locks(&moves)? {
                is_reclaimed = true;
            } else {
                self.transact_by_git(&moves).with_context(|| error.to_string())?;
                break;
            }
        }
        for (name, _, new) in &moves {
            self.sync_ref(name)?;
            let found = self.tip(name)?;
            if found.as_ref() != Some(new) {
                return Err(Conflict { name: name.clone(), expected: Some(new.clone()), found }.into());
            }
        }
        Ok(())
    }

    fn transact(&self, edits: &[RefEdit], draft: &Draft) -> Result<()> {
        let git = self.open_git()?;
        // Asked for only where the user wants a reflog of every ref.
        let time = format!("{} +0000", draft.committed_at.seconds());
        let committer = gix::actor::SignatureRef {
            name: objects::COMMITTER.into(),
            email: objects::COMMITTER_EMAIL.into(),
            time: &time,
        };
        git.edit_references_as(edits.iter().cloned(), Some(committer))
            .map_err(|error| anyhow!("move refs: {error:#}"))?;
        Ok(())
    }

    /// git's own program knows ways around locks of packed refs that the library waits for in vain.
    fn transact_by_git(&self, moves: &[(String, Option<ObjectId>, ObjectId)]) -> Result<()> {
        let zero = "0".repeat(moves.first().map_or(40, |(_, _, new)| new.as_str().len()));
        let mut commands = String::from("start\n");
        for (name, old, new) in moves {
            let old = old.as_ref().map_or(zero.as_str(), ObjectId::as_str);
            commands.push_str(&format!("update {name} {new} {old}\n"));
        }
        commands.push_str("prepare\ncommit\n");
        Tool::git(&self.repository().common_dir)
            .args(["-c", "core.fsync=reference", "update-ref", "--stdin"])
            .stdin(commands)
            .read()?;
        Ok(())
    }

    fn remove_stale_locks(&self, moves: &[(String, Option<ObjectId>, ObjectId)]) -> Result<bool> {
        let mut is_any = false;
        for (name, _, _) in moves {
            let lock = self.repository().common_dir.join(format!("{name}.lock"));
            match std::fs::remove_file(&lock) {
                Ok(()) => is_any = true,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("remove the stale lock {lock}")),
            }
        }
        Ok(is_any)
    }

    /// Syncs a loose ref and every folder above it that may be new.
    fn sync_ref(&self, name: &str) -> Result<()> {
        let common = &self.repository().common_dir;
        let path = common.join(name);
        if path.is_file() {
            disk::sync_file(&path)?;
        }
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != common);
        for folder in folders {
            disk::sync_dir_if_there(folder)?;
        }
        Ok(())
    }
}

fn edit(name: &str, old: Option<&ObjectId>, new: &ObjectId, draft: &Draft) -> Result<RefEdit> {
    // With `Any`, or with the library's own guard on the first parent alone, a ref that was moved or deleted
    // meanwhile would be written over without a word.
    let expected = match old {
        None => PreviousValue::MustNotExist,
        Some(old) => PreviousValue::MustExistAndMatch(gix::refs::Target::Object(objects::to_gix(old)?)),
    };
    let name: gix::refs::FullName =
        name.try_into().map_err(|error| anyhow!("`{name}` is no name for a ref: {error}"))?;
    let log = LogChange { message: format!("ralph: {}", draft.kind.as_str()).into(), ..LogChange::default() };
    Ok(RefEdit::update_with_log(name, objects::to_gix(new)?, expected, log))
}
