//! Pages that were made of records, beside the cache: whatever is there can be made again.

use std::fs;
use std::io::ErrorKind;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;

use super::{Store, disk};

impl Store {
    /// Returns the folder for them, for the user alone. It is there when this returns.
    pub fn reports(&self) -> Result<Utf8PathBuf> {
        let folder = self.repository().ralph_dir().join("reports");
        disk::create_private_dir(&folder)?;
        for made in [self.repository().ralph_dir().as_path(), &folder] {
            disk::share(made, self.repository().sharing)?;
        }
        Ok(folder)
    }

    /// Removes them, with what they contain of sessions that are removed.
    pub(super) fn forget_reports(&self) -> Result<()> {
        let folder = self.repository().ralph_dir().join("reports");
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("remove {folder}"))
            }
            _ => Ok(()),
        }
    }
}
