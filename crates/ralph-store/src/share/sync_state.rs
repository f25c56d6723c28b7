//! What we know of remotes between two syncs: which refs each had, and which of them are not wanted here any more.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::local::disk;
use ralph_core::record::{ObjectId, Timestamp, hex};
use ralph_git::repository::Repository;
use ralph_os::process::create_private_dir;

use super::remote::Remote;

/// What one remote had after the last sync.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SyncState {
    pub synced_at: Option<Timestamp>,
    pub refs: BTreeMap<String, ObjectId>,
}

/// The file of what was cleaned away.
const CLEANED: &str = "cleaned";

fn folder(repository: &Repository) -> Utf8PathBuf {
    repository.ralph_dir().join("sync")
}

impl SyncState {
    pub fn read(repository: &Repository, remote: &Remote) -> Result<Self> {
        let Some(path) = Self::path(repository, remote) else { return Ok(Self::default()) };
        Ok(disk::read_json(&path)?.unwrap_or_default())
    }

    pub fn write(&self, repository: &Repository, remote: &Remote) -> Result<()> {
        let Some(path) = Self::path(repository, remote) else { return Ok(()) };
        create_private_dir(&folder(repository))?;
        disk::write_durably(&path, &serde_json::to_vec_pretty(self)?)
    }

    fn path(repository: &Repository, remote: &Remote) -> Option<Utf8PathBuf> {
        // The address may hold a password, and is no valid file name.
        let hash = hex(&Sha256::digest(remote.url.as_ref()?.as_bytes())[..8]);
        Some(folder(repository).join(format!("{hash}.json")))
    }
}

fn cleaned_path(repository: &Repository) -> Utf8PathBuf {
    folder(repository).join(format!("{CLEANED}.json"))
}

/// Returns the refs that were cleaned away here, so that no sync brings them back.
pub fn cleaned_refs(repository: &Repository) -> Result<BTreeSet<String>> {
    Ok(disk::read_json(&cleaned_path(repository))?.unwrap_or_default())
}

/// Forgets that refs were cleaned away: they are wanted again, and here.
pub(super) fn want_again<'a>(repository: &Repository, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut cleaned = cleaned_refs(repository)?;
    let before = cleaned.len();
    for name in names {
        cleaned.remove(name);
    }
    if cleaned.len() < before { write_cleaned(repository, &cleaned) } else { Ok(()) }
}

pub(crate) fn write_cleaned(repository: &Repository, cleaned: &BTreeSet<String>) -> Result<()> {
    create_private_dir(&folder(repository))?;
    disk::write_durably(&cleaned_path(repository), &serde_json::to_vec_pretty(cleaned)?)
}

/// Returns when a sync last brought this ref, or sent it.
pub(super) fn synced_at(repository: &Repository, name: &str) -> Result<Option<Timestamp>> {
    let states = states(repository)?.into_iter();
    Ok(states.filter(|state| state.refs.contains_key(name)).filter_map(|state| state.synced_at).max())
}

/// Returns what the remotes had, all of them together.
pub(crate) fn all_refs(repository: &Repository) -> Result<BTreeMap<String, ObjectId>> {
    Ok(states(repository)?.into_iter().flat_map(|state| state.refs).collect())
}

fn states(repository: &Repository) -> Result<Vec<SyncState>> {
    let mut states = Vec::new();
    for path in disk::children(&folder(repository))? {
        if path.extension() == Some("json") && path.file_stem() != Some(CLEANED) {
            states.extend(disk::read_json::<SyncState>(&path)?);
        }
    }
    Ok(states)
}
