//! Folders of ours for what can be made again: caches, pages that were made of records, and what a loop says.

use std::fs;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use super::{Scratch, Store, disk};

impl Store {
    /// Returns a folder of ours, for the user and whom the repository lets in. It is there when this returns.
    pub(super) fn folder(&self, name: &str) -> Result<Utf8PathBuf> {
        let folder = self.repository().ralph_dir().join(name);
        disk::create_private_dir(&folder)?;
        for made in [self.repository().ralph_dir().as_path(), &folder] {
            disk::share(made, self.repository().sharing)?;
        }
        Ok(folder)
    }

    /// Writes a cache to a new file and renames it, so that readers see the old or the new one.
    pub(super) fn write_cache(&self, file: &Utf8Path, bytes: &[u8]) -> Result<()> {
        let scratch = Scratch::create(self.repository())?;
        let draft = scratch.path("cache");
        fs::write(&draft, bytes).with_context(|| format!("write {draft}"))?;
        self.folder("cache")?;
        disk::share(&draft, self.repository().sharing)?;
        fs::rename(&draft, file).with_context(|| format!("write {file}"))
    }

    /// Returns the folder for pages.
    pub fn reports(&self) -> Result<Utf8PathBuf> {
        self.folder("reports")
    }

    /// Removes the pages, with what they contain of sessions that are removed.
    pub(super) fn forget_reports(&self) -> Result<()> {
        disk::remove_dir_if_there(&self.repository().ralph_dir().join("reports"))
    }
}
