//! From a sealed draft in the spool to a commit on the session's ref: the one way in.
//!
//! Every step can be repeated. The same draft gives the same commit id, so a step that was done before a crash is
//! found done, and no iteration is ever recorded twice.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, bail};
use camino::Utf8Path;
use redact_stream::Redactor;

use ralph_core::record::{Iteration, ObjectId, RecordKind, Subject};
use ralph_os::process;

use super::Store;
use super::files::{FileWriter, pretty_json};
use super::local::disk;
use super::local::lock::{BranchMove, SILENCE};
use super::local::spool::{Draft, Slot, names};
use super::message::{self, Snapshot};
use super::objects::{self, Quarantine, Signature};
use super::refs::database::RefUpdate;
use super::refs::naming::SessionRefs;
use super::refs::update::Conflict;

impl Store {
    /// Records the sealed draft in `slot`: objects, sync, refs, sync. Returns the id of its commit.
    pub fn append(&self, slot: &Slot, draft: &Draft, redactor: &Redactor) -> Result<ObjectId> {
        let refs = SessionRefs::new(&draft.feature, draft.session.clone());
        let tip = self.refs().tip(&refs.log())?;
        let snapshot = draft.snapshot.clone().filter(|id| Some(id) != draft.snapshot_parent.as_ref());
        let snapshot = snapshot.map(|new| RefUpdate {
            name: refs.snapshot(),
            old: draft.snapshot_parent.clone(),
            new: Some(new),
        });
        // The branch first: git moves refs in this order, and what the log says is published must be.
        let publication = draft.iteration.as_ref().filter(|_| !draft.is_published);
        let publication = publication.and_then(Iteration::publication);
        let publication = publication.map(|(name, base, published)| RefUpdate {
            name,
            old: Some(base.clone()),
            new: Some(published.clone()),
        });
        // The objects of all others are looked for again before the next record.
        let is_last = draft.kind == RecordKind::End;
        if tip == draft.parent {
            let commit = self.write_objects(slot, draft, redactor)?;
            let log = RefUpdate { name: refs.log(), old: tip, new: Some(commit.clone()) };
            let updates: Vec<_> = publication.into_iter().chain(snapshot).chain([log]).collect();
            self.move_refs(&updates, &slot.objects(), is_last)?;
            return Ok(commit);
        }
        let Some(done) = self.find_done(&refs, tip.as_ref(), draft)? else {
            return Err(Conflict { name: refs.log(), expected: draft.parent.clone(), found: tip }.into());
        };
        // Refs move one after the other, and the earlier try may have died between the two.
        for update in publication.into_iter().chain(snapshot) {
            if self.refs().tip(&update.name)? == update.old {
                self.move_refs(&[update], &slot.objects(), is_last)?;
            }
        }
        self.settle(&slot.objects(), is_last)?;
        Ok(done)
    }

    /// Moves refs to objects that are in `dir`, too, and sees that they stay, as [`Store::settle`] does. The branch of a lane moves while
    /// no other loop moves it, and where git dies over that, once more.
    pub(super) fn move_refs(&self, updates: &[RefUpdate], dir: &Utf8Path, is_last: bool) -> Result<()> {
        let restore = || self.restore_objects(dir);
        let move_all = || self.refs().move_to(updates, restore);
        let mut moved = updates.iter().filter_map(|update| Some((&update.name, update.new.as_ref()?)));
        if let Some((branch, to)) = moved.find(|(name, _)| name.starts_with("refs/heads/")) {
            let mut moment = BranchMove::begin(self.repository(), branch, to, SILENCE)?;
            let moved = match self.refs().move_within(updates, restore, Duration::ZERO) {
                Err(error) if !error.is::<Conflict>() => {
                    moment.remove_dead_lock(self.repository())?;
                    move_all()
                }
                moved => moved,
            };
            // What went wrong in order left nothing behind.
            moment.end();
            moved?;
        } else {
            move_all()?;
        }
        self.settle(dir, is_last)
    }

    /// Writes those objects in `dir` again that the repository does not have any more: a `git prune` beside us takes what the
    /// refs do not lead to yet. Returns how many these were.
    pub fn restore_objects(&self, dir: &Utf8Path) -> Result<usize> {
        if !dir.is_dir() {
            return Ok(0);
        }
        let quarantine = Quarantine::open(dir, self.repository().hash)?;
        let folder = self.repository().common_dir.join("objects");
        let mut absent = quarantine.names()?;
        absent.retain(|name| !objects::loose_path(&folder, name).exists());
        if !absent.is_empty() {
            // Packs are opened once, and only if an object is not loose.
            let reader = self.reader()?;
            let mut packed = BTreeSet::new();
            for name in &absent {
                if reader.has(&name.parse()?)? {
                    packed.insert(name.clone());
                }
            }
            absent.retain(|name| !packed.contains(name));
        }
        if absent.is_empty() {
            return Ok(0);
        }
        quarantine.drop_torn()?;
        quarantine.publish_those(&folder, self.repository().sharing, self.syncing, |name| {
            !absent.iter().any(|absent| absent == name)
        })
    }

    /// Sees that the objects in `dir`, which refs lead to by now, stay: a `git prune` that looked at the refs before may still take them.
    /// While one runs they go into a pack, as it takes loose objects alone, and a repack the packs that it found when it began. If it is
    /// the last time that they are looked for, the processes of the system are asked, too: `git gc` notes that it runs, `git prune` not.
    pub fn settle(&self, dir: &Utf8Path, is_last: bool) -> Result<()> {
        let common_dir = &self.repository().common_dir;
        let may_prune = common_dir.join("gc.pid").exists() || is_last && self.is_pruned_here()?;
        if !may_prune {
            return self.restore_objects(dir).map(drop);
        }
        if !dir.is_dir() {
            return Ok(());
        }
        let quarantine = Quarantine::open(dir, self.repository().hash)?;
        quarantine.drop_torn()?;
        quarantine.pack_into(common_dir, self.syncing)
    }

    /// Returns true if a git of this machine takes objects of the repository.
    fn is_pruned_here(&self) -> Result<bool> {
        let common_dir = &self.repository().common_dir;
        let mut folders = vec![common_dir.clone()];
        folders.extend(common_dir.parent().filter(|_| common_dir.ends_with(".git")).map(Utf8Path::to_owned));
        for linked in disk::children(&common_dir.join("worktrees"))? {
            let file = disk::read_if_there(&linked.join("gitdir"))?.unwrap_or_default();
            let top =
                Utf8Path::new(String::from_utf8_lossy(&file).trim_end()).parent().map(Utf8Path::to_owned);
            // Without a path every folder would be meant.
            folders.extend(top.filter(|top| top.is_absolute()));
        }
        let folders: Vec<&Utf8Path> = folders.iter().map(|folder| &**folder).collect();
        Ok(process::is_git_pruning(&folders))
    }

    /// Throws away what a power cut left half written of the objects in `slot`; they are written again.
    pub fn drop_torn_objects(&self, slot: &Slot) -> Result<()> {
        Quarantine::open(&slot.path(names::OBJECTS), self.repository().hash)?.drop_torn()
    }

    /// Moves new objects into the repository, durably.
    pub(super) fn publish(&self, quarantine: &Quarantine) -> Result<()> {
        let folder = self.repository().common_dir.join("objects");
        quarantine.publish(&folder, self.repository().sharing, self.syncing)
    }

    /// Writes the commit of a snapshot beside the other objects of `slot`. No ref moves yet.
    ///
    /// Its parents are the previous snapshot, HEAD, and what the agent left if the validation changed that: so a push sends
    /// only what changed, and work that is reset away stays reachable.
    pub fn write_snapshot(&self, slot: &Slot, snapshot: &Snapshot<'_>) -> Result<ObjectId> {
        let quarantine = Quarantine::open(&slot.objects(), self.repository().hash)?;
        let Snapshot { previous, head, sealed, .. } = snapshot;
        let parents: Vec<ObjectId> = previous.iter().chain(head).chain(sealed).copied().cloned().collect();
        let signature = Signature {
            author: self.repository().author.clone(),
            authored_at: snapshot.taken_at,
            committed_at: snapshot.taken_at,
        };
        quarantine.write_commit(snapshot.tree, &parents, &signature, &message::of_snapshot(snapshot))
    }

    /// Returns the commit of this very record, if an earlier try got as far as the ref.
    fn find_done(
        &self,
        refs: &SessionRefs,
        tip: Option<&ObjectId>,
        draft: &Draft,
    ) -> Result<Option<ObjectId>> {
        let number = draft.iteration.as_ref().map(|iteration| iteration.iteration);
        let Some(tip) = tip else { return Ok(None) };
        let done = self.chain(refs, tip)?.into_iter().find(|entry| {
            entry.session() == draft.session
                && entry.kind() == draft.kind
                && entry.iteration() == number
                && entry.parent() == draft.parent
        });
        Ok(done.map(|entry| entry.commit()))
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
        self.publish(&quarantine)?;
        Ok(commit)
    }
}
