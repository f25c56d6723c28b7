//! Which session was last written from which work tree: whose text progress.txt is.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use camino::Utf8PathBuf;

use ralph_core::record::SessionId;
use ralph_git::repository::Repository;

use super::{disk, folders};
use crate::SessionRefs;
use ralph_git::worktree::{Lane, WorkTree};

/// Path of a feature, and the last session on it.
type Sessions = BTreeMap<String, SessionId>;

/// Returns the session on `feature` that was last written from this work tree; none in a fresh clone.
pub fn last_written(work_tree: &WorkTree, feature: &str) -> Result<Option<SessionRefs>> {
    Ok(read(work_tree)?.remove(feature).map(|session| SessionRefs::new(feature, session)))
}

/// Returns the newest session on `feature` that was written from a lane, if none was written from this work tree since.
pub fn last_written_in_lanes(work_tree: &WorkTree, feature: &str) -> Result<Option<SessionRefs>> {
    let newest =
        last_written_in_each_lane(work_tree, feature)?.into_iter().max_by_key(|refs| refs.session.clone());
    let here = read(work_tree)?.remove(feature);
    Ok(newest.filter(|newest| here.is_none_or(|here| newest.session > here)))
}

/// Returns the sessions on `feature` that were last written from the lanes, one of each.
pub fn last_written_in_each_lane(work_tree: &WorkTree, feature: &str) -> Result<Vec<SessionRefs>> {
    let mut found = Vec::new();
    for path in disk::children(&work_tree.repository().ralph_dir().join("last"))? {
        if path.file_stem().and_then(Lane::number_of).is_some() {
            let session = disk::read_json::<Sessions>(&path)?.unwrap_or_default().remove(feature);
            found.extend(session.map(|session| SessionRefs::new(feature, session)));
        }
    }
    Ok(found)
}

/// Returns the newest session that was written from this work tree, whatever its feature.
pub fn newest_written(work_tree: &WorkTree) -> Result<Option<SessionRefs>> {
    let newest = read(work_tree)?.into_iter().max_by(|(_, one), (_, other)| one.cmp(other));
    Ok(newest.map(|(feature, session)| SessionRefs::new(&feature, session)))
}

/// Writes down that `session` is now the one.
pub fn note_last_written(work_tree: &WorkTree, feature: &str, session: &SessionId) -> Result<()> {
    let mut sessions = read(work_tree)?;
    sessions.insert(feature.to_owned(), session.clone());
    folders::create(work_tree.repository(), "last")?;
    let path = path(work_tree);
    disk::write_durably(&path, &serde_json::to_vec_pretty(&sessions)?)?;
    disk::share(&path, work_tree.repository().sharing)
}

fn read(work_tree: &WorkTree) -> Result<Sessions> {
    Ok(disk::read_json(&path(work_tree))?.unwrap_or_default())
}

fn path(work_tree: &WorkTree) -> Utf8PathBuf {
    work_tree.repository().ralph_dir().join("last").join(format!("{}.json", work_tree.name()))
}

/// Returns the sessions that the journals of all work trees follow.
pub(crate) fn last_of_all(repository: &Repository) -> Result<BTreeSet<SessionId>> {
    let mut last = BTreeSet::new();
    for path in disk::children(&repository.ralph_dir().join("last"))? {
        last.extend(disk::read_json::<Sessions>(&path)?.unwrap_or_default().into_values());
    }
    Ok(last)
}
