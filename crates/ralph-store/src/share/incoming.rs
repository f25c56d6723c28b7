//! What came from elsewhere, checked before a ref of ours names it.
//!
//! It lies under `refs/ralph-incoming/` until then. Nothing of it is believed: its schema and its shape are checked,
//! its sizes are bounded, and the names in it are compared and never followed.

use std::collections::{BTreeSet, HashSet};

use anyhow::{Result, anyhow, bail};
use camino::{Utf8Component, Utf8Path};
use gix::objs::FindExt;
use gix::objs::tree::EntryKind;

use crate::MAX_BLOB_BYTES;
use crate::message;
use crate::objects;
use crate::reading::blobs::{Commit, bounded, read_commit};
use crate::refs::naming::SessionRefs;
use ralph_core::record::{Envelope, LogEntry, ObjectId, RecordKind};

/// Bytes of a commit. Our messages stay below 20 KiB, except with a long list of closed tasks.
const COMMIT_LIMIT: u64 = 1024 * 1024;

/// Bytes of a tree of a record: a folder of some thousand chunks.
const TREE_LIMIT: u64 = 4 * 1024 * 1024;

/// Records of a session.
const CHAIN_LIMIT: usize = 1_000_000;

/// Folders in the tree of a record.
const DEPTH_LIMIT: usize = 3;

/// What a look at a ref gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Inspection {
    /// Ours, with the number of its commits that were not here.
    Ours(usize),
    /// Not ours: left alone.
    Foreign,
}

/// The words for two sides that both went on.
const DIVERGED: &str = "it went on here and there in different ways";

/// Looks at what came in as the log `refs`, down to what is `here` under its name already; `ends` is where the clone is shallow.
pub(crate) fn look_at_log(
    git: &gix::Repository,
    refs: &SessionRefs,
    tip: &ObjectId,
    here: Option<&ObjectId>,
    ends: &BTreeSet<gix::ObjectId>,
) -> Result<Inspection> {
    let mut entries: Vec<LogEntry> = Vec::new();
    let mut trees = HashSet::new();
    let mut next = Some(objects::to_gix(tip)?);
    let here = here.map(objects::to_gix).transpose()?;
    let mut is_joined = here.is_none();
    while let Some(id) = next {
        if Some(id) == here {
            is_joined = true;
            break;
        }
        let Commit { message, parents, tree, authored_at, committed_at } = bounded_commit(git, id)?;
        let envelope = Envelope {
            commit: objects::from_gix(&id)?,
            parent: parents.first().map(|id| objects::from_gix(id)).transpose()?,
            authored_at,
            committed_at,
        };
        // A record that this version cannot read is passed on as it is: its shape is looked at like that of any other.
        let parsed = LogEntry::of_message(&message, &envelope).or_else(|error| {
            let unknown = message::unreadable(&message, &envelope, None, None);
            unknown.filter(|_| message::is_of_this_schema(&message)).map(Some).ok_or(error)
        });
        let Some(entry) = parsed? else {
            if entries.is_empty() {
                return Ok(Inspection::Foreign);
            }
            bail!("a commit that is not ours stands below one that is: {}", id.to_hex());
        };
        if SessionRefs::new(entry.feature(), entry.session()) != *refs {
            bail!("{} is a record of another session", id.to_hex());
        }
        if !stays_inside(entry.feature()) {
            bail!("{} is of a feature that leads out of the repository", id.to_hex());
        }
        if parents.len() > 1 {
            bail!("{} has more than one parent", id.to_hex());
        }
        look_at_tree(git, tree, 1, &mut trees)?;
        let is_end = ends.contains(&id);
        let is_start =
            entry.kind() == RecordKind::Start || entry.kind() == RecordKind::Unknown && parents.is_empty();
        if !is_end && parents.is_empty() != is_start {
            bail!("{} is not the start of a session", id.to_hex());
        }
        next = parents.first().copied().filter(|_| !is_end);
        entries.push(entry);
        if entries.len() > CHAIN_LIMIT {
            bail!("it has more than {CHAIN_LIMIT} records");
        }
    }
    if !is_joined {
        bail!("{DIVERGED}");
    }
    if here.is_none() && entries.iter().all(|entry| entry.kind() == RecordKind::Unknown) {
        bail!("this version can read none of its records");
    }
    entries.reverse();
    check_numbers(&entries)?;
    Ok(Inspection::Ours(entries.len()))
}

fn check_numbers(entries: &[LogEntry]) -> Result<()> {
    for readable in entries.split(|entry| entry.kind() == RecordKind::Unknown) {
        let numbers: Vec<u32> = readable.iter().filter_map(LogEntry::iteration).collect();
        if numbers.windows(2).any(|pair| pair[0].checked_add(1) != Some(pair[1])) {
            bail!("its iterations are not numbered one after the other");
        }
    }
    Ok(())
}

/// Looks at a chain of snapshots down to what is here already. What the snapshots hold is the project's, and is
/// only ever written to a work tree by git itself.
pub(super) fn look_at_snapshots(
    git: &gix::Repository,
    refs: &SessionRefs,
    tip: &ObjectId,
    here: Option<&ObjectId>,
    ends: &BTreeSet<gix::ObjectId>,
) -> Result<Inspection> {
    let mut next = Some(objects::to_gix(tip)?);
    let here = here.map(objects::to_gix).transpose()?;
    let mut count = 0;
    while let Some(id) = next {
        if Some(id) == here {
            return Ok(Inspection::Ours(count));
        }
        let Commit { message, parents, .. } = bounded_commit(git, id)?;
        if !message::is_of_snapshot(&message) {
            if count == 0 {
                return Ok(Inspection::Foreign);
            }
            break;
        }
        let named = message::named_in(&message);
        if named.map(|(session, feature)| SessionRefs::new(&feature, session)).as_ref() != Some(refs) {
            bail!("{} is a snapshot of another session", id.to_hex());
        }
        count += 1;
        if count > CHAIN_LIMIT {
            bail!("it has more than {CHAIN_LIMIT} snapshots");
        }
        next = parents.first().copied().filter(|_| !ends.contains(&id));
    }
    if here.is_some() {
        bail!("{DIVERGED}");
    }
    Ok(Inspection::Ours(count))
}

/// Returns true if a path from the top of the work tree stays in it, and out of git's own folder. What a record says of
/// where files are may come from anybody.
pub fn stays_inside(path: &str) -> bool {
    Utf8Path::new(path)
        .components()
        .all(|part| matches!(part, Utf8Component::Normal(name) if !name.eq_ignore_ascii_case(".git")))
}

fn bounded_commit(git: &gix::Repository, id: gix::ObjectId) -> Result<Commit> {
    bounded(git, id, COMMIT_LIMIT)?;
    read_commit(git, &id)
}

/// A tree of a record holds plain files with plain names, and folders of them.
fn look_at_tree(
    git: &gix::Repository,
    id: gix::ObjectId,
    depth: usize,
    seen: &mut HashSet<gix::ObjectId>,
) -> Result<()> {
    if !seen.insert(id) {
        return Ok(());
    }
    if depth > DEPTH_LIMIT {
        bail!("the tree of a record is too deep");
    }
    bounded(git, id, TREE_LIMIT)?;
    let mut buffer = Vec::new();
    let tree = git
        .objects
        .find_tree(&id, &mut buffer)
        .map_err(|error| anyhow!("read the tree {}: {error}", id.to_hex()))?;
    for entry in &tree.entries {
        let mut bytes = entry.filename.iter();
        let is_plain = bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
        if entry.filename.starts_with(b".") || !is_plain {
            bail!("the tree {} holds a name that is none of ours: {}", id.to_hex(), entry.filename);
        }
        match entry.mode.kind() {
            EntryKind::Tree => look_at_tree(git, entry.oid.to_owned(), depth + 1, seen)?,
            EntryKind::Blob if seen.insert(entry.oid.to_owned()) => {
                bounded(git, entry.oid.to_owned(), MAX_BLOB_BYTES)?;
            }
            EntryKind::Blob => {}
            EntryKind::BlobExecutable | EntryKind::Link | EntryKind::Commit => {
                bail!("the tree {} holds something else than plain files: {}", id.to_hex(), entry.filename)
            }
        }
    }
    Ok(())
}
