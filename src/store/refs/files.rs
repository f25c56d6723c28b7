//! Refs that are files: read and moved through the library, and by the git program where they are packed.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Error, Result, anyhow};
use camino::{Utf8Path, Utf8PathBuf};
use gix::lock::acquire::Fail;
use gix::refs::transaction::{LogChange, PreviousValue, RefEdit};

use crate::record::ObjectId;
use crate::repository::Repository;
use crate::store::local::disk;
use crate::store::{Store, Syncing, caused, objects};

use super::database::{NoTip, Reason, RefDatabase, RefUpdate, update_ref};
use super::naming::SessionRefs;

/// How long a lock on one of our own refs may be before we take it for a dead writer's: we hold the session's
/// flock, so no living one of ours can own it, and `git pack-refs` holds it for milliseconds.
const STALE_LOCK: Duration = Duration::from_secs(1);

/// How long the library waits for a lock: as long as git does if nothing is set.
const LOOSE_REF_WAIT: Fail = Fail::AfterDurationWithBackoff(Duration::from_millis(100));
const PACKED_REFS_WAIT: Fail = Fail::AfterDurationWithBackoff(Duration::from_secs(1));

pub(super) struct RefFiles<'a> {
    store: &'a Store,
}

impl<'a> RefFiles<'a> {
    pub fn new(store: &'a Store) -> Self {
        Self { store }
    }

    fn common_dir(&self) -> &Utf8Path {
        &self.store.repository().common_dir
    }

    fn look_up(&self, name: &str) -> Result<Option<ObjectId>> {
        let git = self.store.open_git()?;
        let found = git.try_find_reference(name).map_err(|error| caused(&format!("read {name}"), &error))?;
        match found.as_ref().map(gix::Reference::try_id) {
            Some(Some(id)) => objects::from_gix(&id).map(Some),
            _ => Ok(None),
        }
    }

    fn list_below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        let git = self.store.open_git()?;
        let platform = git.references().map_err(|error| caused("list refs", &error))?;
        let found = platform.prefixed(prefix).map_err(|error| caused(&format!("list {prefix}"), &error))?;
        let mut refs = Vec::new();
        // A ref that cannot be read, or that points at no object, is not one that we can list.
        for reference in found.flatten() {
            if let Some(id) = reference.try_id() {
                refs.push((reference.name().as_bstr().to_string(), objects::from_gix(&id)?));
            }
        }
        Ok(refs)
    }

    fn lock_of(&self, name: &str) -> Utf8PathBuf {
        self.common_dir().join(format!("{name}.lock"))
    }

    /// Syncs loose refs and every folder above them that may be new, each once.
    fn sync(&self, updates: &[RefUpdate]) -> Result<()> {
        let common = self.common_dir();
        let mut folders = Vec::new();
        for path in
            updates.iter().filter(|update| update.new.is_some()).map(|update| common.join(&update.name))
        {
            // It may be packed by now: then it is git's to keep.
            disk::sync_if_there(&path)?;
            let above = path.ancestors().skip(1).take_while(|folder| *folder != common);
            folders.extend(above.map(Utf8Path::to_owned));
        }
        // The deepest first: a name must be there before the folder that leads to it counts.
        folders.sort_by(|one, other| other.cmp(one));
        folders.dedup();
        folders.iter().try_for_each(|folder| disk::sync_if_there(folder))
    }
}

impl RefDatabase for RefFiles<'_> {
    fn tip(&self, name: &str) -> Result<Option<ObjectId>> {
        let mut found = self.look_up(name)?;
        // The library looks into the packed refs first: what is packed right after that look has left its own
        // file when the library gets there, and is missing, or as old as the pack. So such an answer counts
        // when it comes twice.
        while !self.common_dir().join(name).is_file() {
            let again = self.look_up(name)?;
            if again == found {
                break;
            }
            found = again;
        }
        Ok(found)
    }

    fn below(&self, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
        // The library reads the packed refs first: what is packed after that has left its own file when the library
        // gets there, and is missing.
        let packed = self.common_dir().join("packed-refs");
        read_until_unchanged(|| version(&packed), || self.list_below(prefix))
    }

    fn without_tip(&self, pattern: &str) -> Result<Vec<(String, NoTip)>> {
        let git = self.store.open_git()?;
        let pair = |reference: &gix::Reference<'_>| {
            let target = reference.target().try_name()?.as_bstr().to_string();
            Some((reference.name().as_bstr().to_string(), NoTip::Symbolic(target)))
        };
        if !pattern.ends_with('/') {
            let found = git.try_find_reference(pattern);
            let found = found.map_err(|error| caused(&format!("read {pattern}"), &error))?;
            return Ok(found.as_ref().and_then(pair).into_iter().collect());
        }
        let platform = git.references().map_err(|error| caused("list refs", &error))?;
        let found = platform.prefixed(pattern).map_err(|error| caused(&format!("list {pattern}"), &error))?;
        let (mut without_tip, mut is_whole) = (Vec::new(), true);
        for reference in found {
            is_whole &= reference.is_ok();
            without_tip.extend(reference.ok().as_ref().and_then(pair));
        }
        if !is_whole {
            // What was packed or deleted meanwhile is not broken.
            let broken = |name: String| self.look_up(&name).err().map(|error| (name, NoTip::Broken(error)));
            without_tip.extend(self.names(pattern)?.into_iter().filter_map(broken));
        }
        Ok(without_tip)
    }

    /// Reads no ref that has a file of its own. What is packed meanwhile is found among the packed ones, for these are
    /// read last.
    fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let mut names = BTreeSet::new();
        let mut folders = vec![prefix.trim_end_matches('/').to_owned()];
        while let Some(folder) = folders.pop() {
            for path in disk::children(&self.common_dir().join(&folder))? {
                let name = format!("{folder}/{}", path.file_name().unwrap_or_default());
                if SessionRefs::is_name_of_ours(&name) || !path.is_dir() {
                    names.insert(name);
                } else {
                    folders.push(name);
                }
            }
        }
        let git = self.store.open_git()?;
        let packed = git.refs.cached_packed_buffer().map_err(|error| caused("read packed refs", &error))?;
        if let Some(packed) = packed {
            let found =
                packed.iter_prefixed(prefix.into()).map_err(|error| caused("read packed refs", &error))?;
            names.extend(found.flatten().map(|reference| reference.name.as_bstr().to_string()));
        }
        let is_lock = |name: &String| name.rsplit_once('.').is_some_and(|(_, end)| end == "lock");
        Ok(names.into_iter().filter(|name| !is_lock(name)).collect())
    }

    fn move_all(&self, updates: &[RefUpdate], reason: Reason) -> Result<()> {
        let packed = self.common_dir().join("packed-refs");
        if packed.is_file() || packed.with_extension("lock").is_file() {
            // Where refs are packed, the library locks all of them to move one. That lock would remain if we
            // are killed then, and the user could neither pack refs nor delete branches. git locks only what moves.
            return self.update(updates, reason);
        }
        let edits = updates.iter().map(|update| edit(update, reason)).collect::<Result<Vec<RefEdit>>>()?;
        let git = self.store.open_git()?;
        // Asked for only if the user wants a reflog of every ref.
        let time = format!("{} +0000", reason.at.seconds());
        let committer = gix::actor::SignatureRef {
            name: objects::COMMITTER.into(),
            email: objects::COMMITTER_EMAIL.into(),
            time: &time,
        };
        let names: Vec<String> = edits.iter().map(|edit| edit.name.as_bstr().to_string()).collect();
        let locking = git.refs.transaction().prepare(edits, LOOSE_REF_WAIT, PACKED_REFS_WAIT);
        let locked = locking.map_err(|error| caused("move refs", &error))?;
        if self.store.syncing == Syncing::Always {
            // The new values are in the locks. A ref whose name is on the disk before its value would be empty after
            // a power cut, and the value before it gone.
            for name in &names {
                disk::sync_if_there(&self.lock_of(name))?;
            }
        }
        locked.commit(Some(committer)).map_err(|error| caused("move refs", &error))?;
        Ok(())
    }

    fn lock_timeout(&self) -> Duration {
        STALE_LOCK
    }

    fn remove_stale_lock(&self, updates: &[RefUpdate]) -> Result<bool> {
        let mut is_any = false;
        for RefUpdate { name, .. } in updates {
            let lock = self.lock_of(name);
            is_any |= disk::remove_file_if_there(&lock).context("reclaim a stale lock")?;
        }
        Ok(is_any)
    }

    /// git's own program knows ways around locks of packed refs that the library waits for without effect.
    fn retry_with_git(&self, updates: &[RefUpdate], reason: Reason, error: Error) -> Result<()> {
        // Where both are git's, they say the same.
        self.update(updates, reason).map_err(|last| {
            let (first, last_text) = (error.to_string(), last.to_string());
            if first == last_text { last } else { last.context(first) }
        })
    }

    fn update(&self, updates: &[RefUpdate], reason: Reason) -> Result<()> {
        update_ref(self.store, updates, reason).read().map(drop)
    }

    fn fsync(&self, updates: &[RefUpdate]) -> Result<()> {
        let Repository { common_dir, sharing, .. } = self.store.repository();
        for RefUpdate { name, .. } in updates.iter().filter(|update| update.new.is_some()) {
            for path in [common_dir.join(name), common_dir.join("logs").join(name)] {
                for made in path.ancestors().take_while(|made| made.file_name() != Some("refs")) {
                    disk::share(made, *sharing)?;
                }
            }
        }
        if self.store.syncing == Syncing::Always { self.sync(updates) } else { Ok(()) }
    }
}

/// How often refs are listed at most while others pack them.
const MAX_LISTINGS: usize = 10;

/// Reads until `version` was the same before and after.
fn read_until_unchanged<V: PartialEq, T>(
    mut version: impl FnMut() -> V,
    mut read: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut before = version();
    let mut found = read()?;
    for _ in 1..MAX_LISTINGS {
        let after = version();
        if after == before {
            break;
        }
        before = after;
        found = read()?;
    }
    Ok(found)
}

/// Returns what changes when git replaces a file.
fn version(path: &Utf8Path) -> Option<(u64, u64, SystemTime)> {
    let metadata = path.metadata().ok()?;
    Some((metadata.ino(), metadata.len(), metadata.modified().ok()?))
}

fn edit(update: &RefUpdate, reason: Reason) -> Result<RefEdit> {
    // With `Any`, or with the library's own guard on the first parent alone, a ref that was moved or deleted
    // meanwhile would be overwritten without a word.
    let expected = match &update.old {
        None => PreviousValue::MustNotExist,
        Some(old) => PreviousValue::MustExistAndMatch(gix::refs::Target::Object(objects::to_gix(old)?)),
    };
    let name: gix::refs::FullName = update
        .name
        .as_str()
        .try_into()
        .map_err(|error| anyhow!("`{}` is not a valid ref name: {error}", update.name))?;
    let new = objects::to_gix(update.new.as_ref().context("a ref of a session is not deleted")?)?;
    let log = LogChange { message: format!("ralph: {}", reason.why).into(), ..LogChange::default() };
    Ok(RefEdit::update_with_log(name, new, expected, log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_counts_if_nothing_was_packed_while_it_was_read() {
        for (versions, expected) in [(vec![1, 1], 1), (vec![1, 2, 2], 2), (vec![1, 2, 3, 3], 3)] {
            let (mut versions, mut reads) = (versions.into_iter(), 0);
            let read = || {
                reads += 1;
                Ok(reads)
            };
            assert_eq!(read_until_unchanged(|| versions.next(), read).unwrap(), expected);
        }
        let (mut version, mut reads) = (0, 0);
        let changing = || {
            version += 1;
            version
        };
        let found = read_until_unchanged(changing, || {
            reads += 1;
            Ok(reads)
        });
        assert_eq!(found.unwrap(), MAX_LISTINGS);
    }
}
