//! A file that a child writes to.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Seek};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

use anyhow::{Context, Result};
use camino::Utf8Path;

/// Appending, so that what several processes write there does not overwrite each other.
pub(super) fn create(path: &Utf8Path) -> Result<File> {
    open(path).with_context(|| format!("create {path}"))
}

fn open(path: &Utf8Path) -> io::Result<File> {
    OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)
}

/// Writes the stream to its path again where a child deleted it there: we still hold what was written.
pub(super) fn put_back(mut stream: &File, path: &Utf8Path) -> Result<()> {
    let ours = stream.metadata().context("look at the child's output")?;
    let is_there = path.metadata().is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()));
    if is_there {
        return Ok(());
    }
    let mut copy = || -> io::Result<()> {
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut there = open(path)?;
        stream.rewind()?;
        io::copy(&mut stream, &mut there).map(drop)
    };
    copy().with_context(|| format!("write {path} again, which was deleted"))
}
