//! The user's index, which is copied and never written.

use std::fs::{self, File};
use std::time::SystemTime;

use anyhow::{Context, Result};
use camino::Utf8Path;

use ralph_os::if_there::IfThere;

/// The mode of a submodule or nested repository, as an entry of an index has it.
const GITLINK: [u8; 4] = [0, 0, 0xe0, 0];

/// How an index names its other half, where it is split; after it stands a size of a few bytes.
const SPLIT: [u8; 6] = *b"link\0\0";

/// The files of the git directory that say what is tracked and what is ignored, as they were at one moment.
pub(super) type Stamp = [Option<(SystemTime, u64)>; 4];

pub(super) fn stamp(git_dir: &Utf8Path, common_dir: &Utf8Path) -> Stamp {
    let files = [
        git_dir.join("index"),
        git_dir.join("info/sparse-checkout"),
        common_dir.join("info/exclude"),
        common_dir.join("config"),
    ];
    files.map(|path| {
        let metadata = path.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    })
}

/// Copies the user's index to `index`, or removes that if the user has none. Returns true if a submodule or
/// nested repository may be in it.
pub(super) fn copy(users: &Utf8Path, index: &Utf8Path) -> Result<bool> {
    // The time first: git trusts no entry that is as new as its index, so ours must not seem newer.
    let modified = users.metadata().and_then(|users| users.modified());
    let read = modified.and_then(|modified| Ok((fs::read(users)?, modified)));
    let found = read.if_there().with_context(|| format!("read {users}"))?;
    let Some((bytes, modified)) = found else { return remove(index).map(|()| false) };
    let draft = index.with_extension("new");
    let written = fs::write(&draft, &bytes)
        .and_then(|()| File::options().write(true).open(&draft)?.set_modified(modified))
        .and_then(|()| fs::rename(&draft, index));
    written.with_context(|| format!("create {index}"))?;
    Ok(bytes.windows(4).any(|part| part == GITLINK) || bytes.windows(6).any(|part| part == SPLIT))
}

/// Refreshes the mtime of the private index, so that git trusts it for every file whose size and times match.
pub(super) fn renew(index: &Utf8Path) -> Result<()> {
    let draft = index.with_extension("new");
    let copied = fs::copy(index, &draft).and_then(|_| fs::rename(&draft, index));
    copied.if_there().map(drop).with_context(|| format!("create {index} again"))
}

/// Removes the private index; fine if it is not there.
pub(super) fn remove(index: &Utf8Path) -> Result<()> {
    fs::remove_file(index).if_there().map(drop).with_context(|| format!("remove {index}"))
}
