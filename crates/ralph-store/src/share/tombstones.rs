//! The sessions that were purged, on `refs/ralph-meta/tombstones`: so that no sync brings them back.
//!
//! The tree holds one file, with a line for each: the name of the log's ref, and when it was purged. Lines are only
//! ever added, so two versions are merged by taking the lines of both.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::objects::Quarantine;
use crate::refs::naming::{SessionRefs, TOMBSTONES};
use crate::{Store, message};
use ralph_core::record::{ObjectId, SessionId, Timestamp};

/// The file in the tree.
const FILE: &str = "tombstones";

/// Names of log refs, and when they were purged as the line says it.
pub(super) type TombstoneLines = BTreeMap<String, String>;

/// Returns the purged sessions that are known here.
pub(crate) fn all(store: &Store) -> Result<TombstoneLines> {
    Ok(store.refs().tip(TOMBSTONES)?.map(|tip| lines_of(store, &tip)).transpose()?.unwrap_or_default())
}

fn lines_of(store: &Store, commit: &ObjectId) -> Result<TombstoneLines> {
    let message = store.message(commit)?;
    if !message::is_of(&message, "tombstones") {
        bail!("{TOMBSTONES} is not ours: its tip {commit} has no trailer `Ralph-Record: tombstones`");
    }
    let bytes = store.file(commit, FILE)?.unwrap_or_default();
    Ok(read(&String::from_utf8_lossy(&bytes)))
}

/// Adds sessions to those that were purged.
pub(super) fn add(store: &Store, sessions: &[SessionRefs], at: Timestamp) -> Result<()> {
    let added = store.change_shared(TOMBSTONES, |here, quarantine| {
        let mut all = here.map(|here| lines_of(store, here)).transpose()?.unwrap_or_default();
        let before = all.len();
        for refs in sessions {
            all.entry(refs.log()).or_insert_with(|| at.to_string());
        }
        if all.len() == before {
            return Ok(None);
        }
        let parents: Vec<ObjectId> = here.into_iter().cloned().collect();
        Ok(Some((write(store, quarantine, &all, &parents, at)?, ())))
    });
    added.map(drop)
}

/// Brings the tombstones of another repository together with ours. Returns the commit that has both, for here and for there.
pub(super) fn merge(
    store: &Store,
    here: Option<&ObjectId>,
    theirs: &ObjectId,
    at: Timestamp,
) -> Result<(ObjectId, ObjectId)> {
    let their_lines = lines_of(store, theirs)?;
    let our_lines = here.map(|here| lines_of(store, here)).transpose()?.unwrap_or_default();
    let mut all = their_lines.clone();
    for (name, when) in &our_lines {
        // The earlier date of two, so that all come to the same lines.
        let kept = all.entry(name.clone()).or_insert_with(|| when.clone());
        if when < kept {
            kept.clone_from(when);
        }
    }
    if let Some(kept) = store.fast_forward(here, theirs, all == our_lines, all == their_lines)? {
        return Ok((kept.clone(), kept));
    }
    let parents: Vec<ObjectId> = here.into_iter().chain([theirs]).cloned().collect();
    let (_scratch, quarantine) = store.new_objects()?;
    let both = write(store, &quarantine, &all, &parents, at)?;
    Ok((both.clone(), both))
}

fn write(
    store: &Store,
    quarantine: &Quarantine,
    all: &TombstoneLines,
    parents: &[ObjectId],
    at: Timestamp,
) -> Result<ObjectId> {
    let text: String = all.iter().map(|(name, when)| format!("{name} {when}\n")).collect();
    let blob = quarantine.write_blob(text.as_bytes())?;
    let tree = quarantine.write_tree(&[(FILE.to_owned(), blob)].into())?;
    let message = message::signed("Purged sessions", "tombstones");
    store.commit_version(quarantine, &tree, parents, &message, at)
}

/// Returns the ids of the sessions that were purged.
pub fn sessions(store: &Store) -> Result<Vec<SessionId>> {
    let tombstones = all(store)?;
    Ok(tombstones.keys().filter_map(|name| SessionRefs::from_log(name)).map(|refs| refs.session).collect())
}

/// Lines that are not ours are left out.
fn read(text: &str) -> TombstoneLines {
    text.lines()
        .filter_map(|line| {
            let (name, when) = line.split_once(' ')?;
            let when: Timestamp = when.parse().ok()?;
            Some((SessionRefs::from_log(name)?.log(), when.to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_ours_are_read() {
        let text = "refs/ralph/001-login/20261121-204512-3f9a0c1d 2026-11-22T00:00:00Z\nrefs/heads/main 2026-11-22T00:00:00Z\n\x1b[31m\nrefs/ralph/001-login/20261121-204512-3f9a0c1e soon\n";
        let found = read(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found["refs/ralph/001-login/20261121-204512-3f9a0c1d"], "2026-11-22T00:00:00Z");
    }
}
