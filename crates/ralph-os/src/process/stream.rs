//! A file that a child writes to.

use std::fs::{self, File};
use std::io::{self, Seek};

use anyhow::{Context, Result};
use camino::Utf8Path;

use super::private_dir::create_private_dir;
use crate::platform::{identity, identity_of, without_links};

/// Appending, so that what several processes write there does not overwrite each other.
pub(super) fn create(path: &Utf8Path) -> Result<File> {
    open(path).with_context(|| format!("create {path}"))
}

fn open(path: &Utf8Path) -> io::Result<File> {
    // An agent may have put a link in its place, to a file that is none of ours.
    without_links(0o600).create(true).read(true).append(true).open(path)
}

/// Writes the stream to its path again where a child deleted it there: we still hold what was written.
pub(super) fn put_back(mut stream: &File, path: &Utf8Path) -> Result<()> {
    let ours = identity_of(stream).context("look at the child's output")?;
    let there = path.symlink_metadata().ok();
    if there.as_ref().and_then(|there| identity(path.as_std_path(), there)) == Some(ours) {
        return Ok(());
    }
    if there.is_some_and(|there| !there.is_file() && !there.is_dir()) {
        fs::remove_file(path).with_context(|| format!("remove {path}, which is not ours"))?;
    }
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    let copied = open(path).and_then(|mut there| {
        stream.rewind()?;
        io::copy(&mut stream, &mut there)
    });
    copied.map(drop).with_context(|| format!("write {path} again, which was deleted"))
}
