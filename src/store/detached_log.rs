//! Where a loop talks to that has no terminal of its own.

use std::fs::File;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;

use super::Store;

impl Store {
    /// Returns the file for what a loop in this work tree says, emptied; what an earlier loop said is gone.
    pub fn talk(&self) -> Result<(Utf8PathBuf, File)> {
        let path = self.folder("talk")?.join(self.repository().work_tree_name());
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.with_context(|| format!("create {path}"))?;
        Ok((path, file))
    }
}
