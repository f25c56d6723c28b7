//! Refs that are files: read through the library.

use std::collections::BTreeSet;
use std::time::SystemTime;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use crate::local::disk;
use crate::{Store, caused, objects};
use ralph_core::record::ObjectId;
use ralph_os::platform::{Identity, identity};

use super::database::{NoTip, RefUpdate};
use super::naming::SessionRefs;

fn look_up(store: &Store, name: &str) -> Result<Option<ObjectId>> {
    let git = store.open_git()?;
    let found = git.try_find_reference(name).map_err(|error| caused(&format!("read {name}"), &error))?;
    match found.as_ref().map(gix::Reference::try_id) {
        Some(Some(id)) => objects::from_gix(&id).map(Some),
        _ => Ok(None),
    }
}

fn list_below(store: &Store, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
    let git = store.open_git()?;
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

/// Returns the names of all refs below a prefix, which ends in `/`: one may be gone by the time it is asked for.
///
/// Reads no ref that has a file of its own. What is packed meanwhile is found among the packed ones, for these are
/// read last.
fn names(store: &Store, prefix: &str) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    let mut folders = vec![prefix.trim_end_matches('/').to_owned()];
    while let Some(folder) = folders.pop() {
        for path in disk::children(&store.repository().common_dir.join(&folder))? {
            let name = format!("{folder}/{}", path.file_name().unwrap_or_default());
            if SessionRefs::is_name_of_ours(&name) || !path.is_dir() {
                names.insert(name);
            } else {
                folders.push(name);
            }
        }
    }
    let git = store.open_git()?;
    let packed = git.refs.cached_packed_buffer().map_err(|error| caused("read packed refs", &error))?;
    if let Some(packed) = packed {
        let found =
            packed.iter_prefixed(prefix.into()).map_err(|error| caused("read packed refs", &error))?;
        names.extend(found.flatten().map(|reference| reference.name.as_bstr().to_string()));
    }
    names.retain(|name| name.rsplit_once('.').is_none_or(|(_, end)| end != "lock"));
    Ok(names.into_iter().collect())
}

pub(super) fn tip(store: &Store, name: &str) -> Result<Option<ObjectId>> {
    let mut found = look_up(store, name)?;
    // The library looks into the packed refs first: what is packed right after that look has left its own
    // file when the library gets there, and is missing, or as old as the pack. So such an answer counts
    // when it comes twice.
    while !store.repository().common_dir.join(name).is_file() {
        let again = look_up(store, name)?;
        if again == found {
            break;
        }
        found = again;
    }
    Ok(found)
}

pub(super) fn below(store: &Store, prefix: &str) -> Result<Vec<(String, ObjectId)>> {
    // The library reads the packed refs first: what is packed after that has left its own file when the library
    // gets there, and is missing.
    let packed = store.repository().common_dir.join("packed-refs");
    read_until_unchanged(|| version(&packed), || list_below(store, prefix))
}

pub(super) fn without_tip(store: &Store, pattern: &str) -> Result<Vec<(String, NoTip)>> {
    let git = store.open_git()?;
    if !pattern.ends_with('/') {
        let found = git.try_find_reference(pattern);
        let found = found.map_err(|error| caused(&format!("read {pattern}"), &error))?;
        return Ok(found.as_ref().and_then(symbolic).into_iter().collect());
    }
    let platform = git.references().map_err(|error| caused("list refs", &error))?;
    let found = platform.prefixed(pattern).map_err(|error| caused(&format!("list {pattern}"), &error))?;
    let (mut without_tip, mut is_whole) = (Vec::new(), true);
    for reference in found {
        is_whole &= reference.is_ok();
        without_tip.extend(reference.ok().as_ref().and_then(symbolic));
    }
    if !is_whole {
        // What was packed or deleted meanwhile is not broken.
        without_tip.extend(
            names(store, pattern)?
                .into_iter()
                .filter_map(|name| look_up(store, &name).err().map(|error| (name, NoTip::Broken(error)))),
        );
    }
    Ok(without_tip)
}

fn symbolic(reference: &gix::Reference<'_>) -> Option<(String, NoTip)> {
    let target = reference.target().try_name()?.as_bstr().to_string();
    Some((reference.name().as_bstr().to_string(), NoTip::Symbolic(target)))
}

/// Returns the lock of git on one of the refs, if there is one.
pub(super) fn lock_of(store: &Store, updates: &[RefUpdate]) -> Option<Utf8PathBuf> {
    let locks =
        updates.iter().map(|update| store.repository().common_dir.join(format!("{}.lock", update.name)));
    locks.into_iter().find(|lock| lock.exists())
}

/// Removes the locks of refs. Returns true if there was one. Other refs than ours have other writers: a lock of theirs is ours
/// only if it holds what we were to write.
pub(super) fn remove_locks(store: &Store, updates: &[RefUpdate]) -> Result<bool> {
    let mut is_any = false;
    for RefUpdate { name, new, .. } in updates {
        let lock = store.repository().common_dir.join(format!("{name}.lock"));
        let is_ours = name.starts_with("refs/ralph")
            || new.as_ref().is_some_and(|new| {
                disk::read_if_there(&lock).ok().flatten().unwrap_or_default().trim_ascii()
                    == new.as_str().as_bytes()
            });
        if !is_ours {
            continue;
        }
        is_any |= disk::remove_file_if_there(&lock).context("reclaim a stale lock")?;
    }
    Ok(is_any)
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
fn version(path: &Utf8Path) -> Option<(Identity, u64, SystemTime)> {
    let metadata = path.metadata().ok()?;
    Some((identity(path.as_std_path(), &metadata)?, metadata.len(), metadata.modified().ok()?))
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
