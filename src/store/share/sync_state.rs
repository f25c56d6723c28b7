//! What we know of remotes between two syncs: which refs each had, and which of them are not wanted here any more.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::record::{ObjectId, Timestamp, hex};
use crate::repository::Repository;
use crate::store::{Store, disk};

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

impl Store {
    fn sync_state_path(&self, remote: &Remote) -> Option<Utf8PathBuf> {
        // The address may hold a password, and is no valid file name.
        let hash = hex(&Sha256::digest(remote.url.as_ref()?.as_bytes())[..8]);
        Some(folder(self.repository()).join(format!("{hash}.json")))
    }

    pub(super) fn sync_state(&self, remote: &Remote) -> Result<SyncState> {
        let Some(path) = self.sync_state_path(remote) else { return Ok(SyncState::default()) };
        Ok(disk::read_json(&path)?.unwrap_or_default())
    }

    pub(super) fn write_sync_state(&self, remote: &Remote, sync_state: &SyncState) -> Result<()> {
        let Some(path) = self.sync_state_path(remote) else { return Ok(()) };
        disk::create_private_dir(&folder(self.repository()))?;
        disk::write_durably(&path, &serde_json::to_vec_pretty(sync_state)?)
    }

    fn forgotten_path(&self) -> Utf8PathBuf {
        folder(self.repository()).join(format!("{CLEANED}.json"))
    }

    /// Returns the refs that were cleaned away here, so that no sync brings them back.
    pub fn forgotten(&self) -> Result<BTreeSet<String>> {
        Ok(disk::read_json(&self.forgotten_path())?.unwrap_or_default())
    }

    /// Forgets that refs were cleaned away: they are wanted again, and here.
    pub(super) fn want_again<'a>(&self, names: impl Iterator<Item = &'a String>) -> Result<()> {
        let mut forgotten = self.forgotten()?;
        let before = forgotten.len();
        for name in names {
            forgotten.remove(name);
        }
        if forgotten.len() < before { self.write_forgotten(&forgotten) } else { Ok(()) }
    }

    pub(in crate::store) fn write_forgotten(&self, forgotten: &BTreeSet<String>) -> Result<()> {
        disk::create_private_dir(&folder(self.repository()))?;
        disk::write_durably(&self.forgotten_path(), &serde_json::to_vec_pretty(forgotten)?)
    }
}

/// Returns when a sync last brought this ref, or sent it.
pub(super) fn synced_at(repository: &Repository, name: &str) -> Result<Option<Timestamp>> {
    let states = states(repository)?.into_iter();
    Ok(states.filter(|state| state.refs.contains_key(name)).filter_map(|state| state.synced_at).max())
}

/// Returns what the remotes had, all of them together.
pub(in crate::store) fn all_refs(repository: &Repository) -> Result<BTreeMap<String, ObjectId>> {
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
