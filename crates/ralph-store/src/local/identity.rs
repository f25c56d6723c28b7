//! The identity of this clone: a random key in its git directory, which is never recorded, sent or copied by git.

use std::fs::File;
use std::io::{Read, Seek, Write};

use anyhow::{Context, Result, anyhow};
use camino::Utf8PathBuf;
use sha2::{Digest, Sha256};

use ralph_core::record::hex;
use ralph_git::repository::Repository;
use ralph_os::process::create_private_dir;

use super::{disk, lock};

const KEY_BYTES: usize = 32;

/// How much of a hash is recorded.
const HASH_BYTES: usize = 16;

/// The key of one clone. Hashes in the record are keyed with it, so that values cannot be guessed without the key.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    key: [u8; KEY_BYTES],
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identity({})", self.machine())
    }
}

impl Identity {
    /// Returns the public name of this clone, which sessions are recorded with.
    pub fn machine(&self) -> String {
        self.hash(&["machine"])
    }

    /// Returns a hash of a setting by which a later call notices that it was changed.
    pub fn fingerprint(&self, name: &str, value: &str) -> String {
        self.hash(&["setting", name, value])
    }

    /// Returns a hash of the settings that are kept for a resumption.
    pub fn fingerprint_of(&self, kept_settings: &[u8]) -> String {
        self.hash(&["kept", &hex(&Sha256::digest(kept_settings))])
    }

    /// Returns a hash of the paths, modes and sizes of files.
    pub fn fingerprint_of_files<'f>(&self, files: impl Iterator<Item = (&'f str, u32, u64)>) -> String {
        let mut hash = Sha256::new();
        for (path, mode, size) in files {
            hash.update(format!("{mode:o} {size} {path}\0"));
        }
        self.hash(&["files", &hex(&hash.finalize())])
    }

    fn hash(&self, parts: &[&str]) -> String {
        let mut hash = Sha256::new();
        hash.update(self.key);
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hex(&hash.finalize()[..HASH_BYTES])
    }

    /// Returns the key of this clone; `None` if no session was ever begun here. Writes nothing.
    pub fn find(repository: &Repository) -> Result<Option<Self>> {
        let found = disk::read_if_there(&path(repository))?;
        Ok(found.and_then(|bytes| bytes.try_into().ok()).map(|key| Self { key }))
    }

    /// Writes the key again if it is not there any more, or another one. Returns true if that was so.
    pub fn keep(&self, repository: &Repository) -> Result<bool> {
        // What cannot be read is not the key, whatever an agent put there.
        if Self::find(repository).ok().flatten().as_ref() == Some(self) {
            return Ok(false);
        }
        let path = path(repository);
        create_private_dir(path.parent().context("find the folder of the key")?)?;
        disk::remove_file_if_there(&path)?;
        disk::write_durably(&path, &self.key)?;
        disk::share(&path, repository.sharing)?;
        Ok(true)
    }

    /// Returns the key of this clone, which is made if there is none.
    pub fn find_or_create(repository: &Repository) -> Result<Self> {
        if let Some(found) = Self::find(repository)? {
            return Ok(found);
        }
        let path = path(repository);
        let folder = path.parent().context("find the folder of the key")?;
        create_private_dir(folder)?;
        let mut file = disk::open_to_change(&path, 0o600).with_context(|| format!("open {path}"))?;
        // Two loops in two work trees may begin at the same time, and must get the same key.
        lock::wait_for(&file, &path)?;
        let key = read_or_write(&mut file).with_context(|| format!("write {path}"))?;
        for made in [folder, &path] {
            disk::share(made, repository.sharing)?;
        }
        disk::sync_if_there(folder)?;
        Ok(Self { key })
    }
}

fn path(repository: &Repository) -> Utf8PathBuf {
    repository.ralph_dir().join("key")
}

/// Returns bytes of the system that cannot be guessed.
pub fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("ask the system for random bytes: {error}"))?;
    Ok(bytes)
}

fn read_or_write(file: &mut File) -> Result<[u8; KEY_BYTES]> {
    let mut found = Vec::new();
    file.read_to_end(&mut found)?;
    if let Ok(key) = found.try_into() {
        return Ok(key);
    }
    let key = random_bytes()?;
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&key)?;
    file.sync_all()?;
    Ok(key)
}
