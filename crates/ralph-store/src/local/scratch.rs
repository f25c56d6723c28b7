//! Folders for what is made only to be looked at, and is thrown away.

use std::fs::{self, File};

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use ralph_git::repository::Repository;
use ralph_os::process::create_private_dir;

use super::{disk, lock};

/// A folder of one process, gone when this value goes.
#[derive(Debug)]
pub struct Scratch {
    dir: Utf8PathBuf,
    /// Locked: a process that gets this lock knows that the owner is gone, and cleans up after it.
    _held: File,
}

/// The file in a folder that its process holds the lock of.
const HELD: &str = "held";

impl Scratch {
    /// Makes a folder, and removes those of processes that died before they could.
    pub fn create(repository: &Repository) -> Result<Self> {
        Self::sweep(repository)?;
        let root = repository.ralph_dir().join("scratch");
        let process = std::process::id();
        let mut number = 0;
        loop {
            let dir = root.join(format!("{process}-{number}"));
            create_private_dir(&dir)?;
            if let Some(held) = lock::try_to_hold(&dir.join(HELD))? {
                return Ok(Self { dir, _held: held });
            }
            number += 1;
        }
    }

    /// Removes the folders of processes that died before they could.
    pub fn sweep(repository: &Repository) -> Result<()> {
        for dir in disk::children(&repository.ralph_dir().join("scratch"))? {
            if lock::try_to_hold(&dir.join(HELD)).is_ok_and(|held| held.is_some()) {
                disk::remove_dir_if_there(&dir)?;
            }
        }
        let _others_there = fs::remove_dir(repository.ralph_dir().join("scratch")).is_err();
        Ok(())
    }

    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    pub fn path(&self, name: &str) -> Utf8PathBuf {
        self.dir.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is removed by the next one.
        let _left = disk::remove_dir_if_there(&self.dir).is_err();
        let _others_there = self.dir.parent().is_some_and(|root| fs::remove_dir(root).is_err());
    }
}
