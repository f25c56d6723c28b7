//! Files that must survive a power cut: the only place that syncs.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde::de::DeserializeOwned;

use ralph_core::record::quoted_for_shell;
use ralph_git::repository::Sharing;
use ralph_os::if_there::IfThere;
use ralph_os::platform::{self, mode, set_mode, without_wait};

/// Number of files from which one sync of the file system is cheaper than an fsync of each.
const SYNCFS_MIN_FILES: usize = 500;

/// Flushes that are asked for side by side at most.
const MAX_FLUSHERS: usize = 8;

/// Bytes that are free for the user on the file system of `dir`.
pub fn free(dir: &Utf8Path) -> Result<u64> {
    platform::free_bytes(dir.as_std_path()).with_context(|| format!("ask how full the disk of {dir} is"))
}

/// Lets in whom the repository lets in, as git does with files of its own; fine if it is not there.
pub fn share(path: &Utf8Path, sharing: Option<Sharing>) -> Result<()> {
    let Some(sharing) = sharing else { return Ok(()) };
    let shared = fs::symlink_metadata(path).and_then(|metadata| {
        let mode = mode(&metadata);
        let wanted = sharing.mode(mode, metadata.is_dir());
        if wanted == mode { Ok(()) } else { set_mode(path.as_std_path(), wanted) }
    });
    match shared {
        // A file of another user of the group is shared by its owner.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            Ok(())
        }
        other => other.with_context(|| format!("share {path}")),
    }
}

/// Opens a file of ours to read. An agent may have put a pipe in its place, and to open that can take for ever.
///
/// # Errors
///
/// If something else than a regular file has its place, too.
pub fn open(path: &Utf8Path) -> io::Result<File> {
    regular(without_wait(0).read(true).open(path)?, path)
}

/// Opens a file of ours to read, write and lock it. It is made with `mode` if it is not there.
///
/// # Errors
///
/// As [`open`].
pub fn open_to_change(path: &Utf8Path, mode: u32) -> io::Result<File> {
    let mut options = without_wait(mode);
    options.read(true).write(true).create(true).truncate(false);
    regular(options.open(path)?, path)
}

/// Writes `bytes` in the place of what a file of ours holds: where a kill may leave half of them, and no draft.
pub fn overwrite(path: &Utf8Path, bytes: &[u8]) -> Result<()> {
    let written = open_to_change(path, 0o666).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(bytes)
    });
    written.with_context(|| format!("write {path}"))
}

fn regular(file: File, path: &Utf8Path) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let remove = quoted_for_shell(path.as_str());
    Err(io::Error::other(format!(
        "not a regular file, though a file of ralph belongs there\nhint: `rm {remove}` removes it"
    )))
}

/// Forces the content of a file, or the names in a folder, to the disk; fine if it is gone.
pub fn sync_if_there(path: &Utf8Path) -> Result<()> {
    let opened = without_wait(0).read(true).open(path);
    let synced = opened.and_then(|file| platform::sync(&file, path.as_std_path()));
    synced.if_there().map(drop).with_context(|| format!("sync {path}"))
}

/// Returns every file below `dir`, and the folders that lead to one.
pub fn all_in(dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
    let mut found = Vec::new();
    let mut unread = vec![dir.to_owned()];
    while let Some(folder) = unread.pop() {
        let inside = children(&folder)?;
        if !inside.is_empty() {
            found.push(folder);
        }
        for path in inside {
            if path.is_dir() { unread.push(path) } else { found.push(path) }
        }
    }
    Ok(found)
}

/// Forces files and folders to the disk, in no order; fine if some are gone. All of them are on the file systems of `dirs`.
///
/// A flush waits for the disk, and many wait no longer than one: what has no order is flushed side by side.
pub fn sync_each(paths: &[Utf8PathBuf], dirs: &[&Utf8Path]) -> Result<()> {
    if paths.len() > SYNCFS_MIN_FILES {
        let mut is_synced = true;
        for dir in dirs {
            is_synced &= sync_file_system(dir)?;
        }
        if is_synced {
            return Ok(());
        }
    }
    if let [path] = paths {
        return sync_if_there(path);
    }
    let next = AtomicUsize::new(0);
    let flush = || {
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            sync_if_there(path)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let flushers: Vec<_> = (0..MAX_FLUSHERS.min(paths.len())).map(|_| scope.spawn(flush)).collect();
        let ended = flushers.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // All are waited for, also behind one that failed.
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Forces all that was written to the file system of `dir` to the disk, where the system can do that.
#[cfg(target_os = "linux")]
fn sync_file_system(dir: &Utf8Path) -> Result<bool> {
    let dir_file = File::open(dir).with_context(|| format!("open {dir}"))?;
    rustix::fs::syncfs(dir_file).with_context(|| format!("sync the file system of {dir}"))?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_dir: &Utf8Path) -> Result<bool> {
    Ok(false)
}

/// Writes a file so that after a crash there is either all of it or what was there before.
pub fn write_durably(path: &Utf8Path, bytes: &[u8]) -> Result<()> {
    write_through(&draft_of(path), path, bytes, 0o666)
}

/// Does the same with a file that vouches for `others`, which are written: where it is there, so are they. The name of its
/// folder is made durable, too, if that is new.
pub fn write_durably_with(
    path: &Utf8Path,
    bytes: &[u8],
    mut others: Vec<Utf8PathBuf>,
    is_folder_new: bool,
) -> Result<()> {
    let draft = draft_of(path);
    write_new(&draft, bytes, 0o666).with_context(|| format!("write {path}"))?;
    others.push(draft.clone());
    let folder = path.parent().unwrap_or(Utf8Path::new("/"));
    sync_each(&others, &[folder])?;
    fs::rename(&draft, path).with_context(|| format!("write {path}"))?;
    let folders: Vec<_> =
        folder.ancestors().take(if is_folder_new { 2 } else { 1 }).map(ToOwned::to_owned).collect();
    sync_each(&folders, &[folder])
}

/// Does the same with a file for the user alone.
pub fn write_private(path: &Utf8Path, bytes: &[u8]) -> Result<()> {
    write_private_through(&draft_of(path), path, bytes)
}

/// The same by a draft of this name.
pub fn write_private_through(draft: &Utf8Path, path: &Utf8Path, bytes: &[u8]) -> Result<()> {
    write_through(draft, path, bytes, 0o600)
}

fn draft_of(path: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{path}.new"))
}

fn write_through(draft: &Utf8Path, path: &Utf8Path, bytes: &[u8], mode: u32) -> Result<()> {
    let written = write_new(draft, bytes, mode).and_then(|file| {
        file.sync_all()?;
        fs::rename(draft, path)
    });
    written.with_context(|| format!("write {path}"))?;
    sync_if_there(path.parent().unwrap_or(Utf8Path::new("/")))
}

/// Writes a file in the place of whatever has this name: a draft that a kill left, or what an agent put there.
fn write_new(path: &Utf8Path, bytes: &[u8], mode: u32) -> io::Result<File> {
    fs::remove_file(path).if_there()?;
    let mut file = platform::with_mode(mode).write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Returns what is in a folder, in order; nothing if it is not there. Names that are not UTF-8 are none of ours.
pub fn children(dir: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
    let entries = fs::read_dir(dir).if_there().with_context(|| format!("read {dir}"))?;
    let mut paths = Vec::new();
    for entry in entries.into_iter().flatten() {
        let path = entry.with_context(|| format!("read {dir}"))?.path();
        if let Ok(path) = Utf8PathBuf::from_path_buf(path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads a file; none if it is not there.
pub fn read_if_there(path: &Utf8Path) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    let length = read.if_there().with_context(|| format!("read {path}"))?;
    Ok(length.map(|_| bytes))
}

/// Reads a file with JSON; none if it is not there.
pub fn read_json<T: DeserializeOwned>(path: &Utf8Path) -> Result<Option<T>> {
    match read_if_there(path)? {
        None => Ok(None),
        Some(bytes) => serde_json::from_slice(&bytes).map(Some).with_context(|| format!("read {path}")),
    }
}

/// Returns a path in a folder that ends in `name` and is not taken: `1-name`, `2-name`, ...
pub fn free_name(folder: &Utf8Path, name: &str) -> Utf8PathBuf {
    let mut paths = (1_u64..).map(|number| folder.join(format!("{number}-{name}")));
    paths.find(|path| !path.exists()).unwrap_or_else(|| folder.join(name))
}

/// Removes a file. Returns true if it was there.
pub fn remove_file_if_there(path: &Utf8Path) -> Result<bool> {
    let removed = fs::remove_file(path).if_there().with_context(|| format!("remove {path}"))?;
    Ok(removed.is_some())
}

/// Removes a folder with all that is in it; fine if it is not there.
pub fn remove_dir_if_there(dir: &Utf8Path) -> Result<()> {
    platform::remove_dir_all(dir.as_std_path()).if_there().map(drop).with_context(|| format!("remove {dir}"))
}
