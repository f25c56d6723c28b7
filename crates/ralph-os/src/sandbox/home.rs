//! The home folder that commands have: private, with links to what of the user's own can be read.

use std::fs;
use std::io::{self, Read, Write};

use camino::{Utf8Path, Utf8PathBuf};

use super::AgentState;
use super::places::present;
use crate::if_there::IfThere;
use crate::platform::{canonicalize, mode, open_below, set_mode, symlink, with_mode};
use crate::process::remove_path;

/// Folders that programs fill by themselves: empty at first, so that they can.
const EMPTY: &[&str] = &[".cache", ".npm", ".local/state"];

/// Those that last as long as the session. Their parents are the home itself, which no command can replace.
const CACHES: &[&str] = &[".cache", ".npm"];

/// Largest file that is copied, and that is read back.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Makes the private home `dir` anew, with links to all of the user's, `real`, that is neither hidden, nor an agent's own, nor a
/// cache; empty if there is none. Nothing of the old one is followed: commands may have put links anywhere.
pub(super) fn renew(
    real: Option<&Utf8Path>,
    dir: &Utf8Path,
    hide: &[Utf8PathBuf],
    show: &[Utf8PathBuf],
    states: &[AgentState],
) -> io::Result<()> {
    let new = Utf8PathBuf::from(format!("{dir}.new"));
    remove_path(&new)?;
    fs::create_dir(&new)?;
    if let Some(real) = real {
        let hidden = present(hide).into_iter().filter(|path| !show.contains(path));
        let hidden = hidden.filter_map(|path| path.strip_prefix(real).map(Utf8Path::to_owned).ok());
        let own = states.iter().flat_map(AgentState::roots);
        let left_out: Vec<_> = hidden.chain(own).chain(EMPTY.iter().map(Utf8PathBuf::from)).collect();
        link(real, &new, Utf8Path::new(""), &left_out)?;
    }
    for folder in EMPTY {
        fs::create_dir_all(new.join(folder))?;
    }
    let shown = show.iter().filter_map(|path| Some((path, new.join(path.strip_prefix(real?).ok()?))));
    for (from, to) in shown {
        if to.symlink_metadata().is_err() && from.exists() {
            to.parent().map_or(Ok(()), fs::create_dir_all)?;
            symlink(from, to)?;
        }
    }
    for cache in CACHES {
        let old = dir.join(cache);
        if old.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            fs::rename(old, new.join(cache))?;
        }
    }
    remove_path(dir)?;
    fs::rename(&new, dir)
}

fn link(real: &Utf8Path, dir: &Utf8Path, folder: &Utf8Path, left_out: &[Utf8PathBuf]) -> io::Result<()> {
    let Some(entries) = fs::read_dir(real.join(folder)).if_there()? else { return Ok(()) };
    for entry in entries {
        // A name that is not UTF-8 has no link.
        let Ok(name) = entry?.file_name().into_string() else { continue };
        let path = folder.join(name);
        let (from, to) = (real.join(&path), dir.join(&path));
        if left_out.contains(&path) {
            continue;
        }
        if left_out.iter().any(|other| other.starts_with(&path)) && from.is_dir() {
            fs::create_dir(&to)?;
            link(real, dir, &path, left_out)?;
        } else {
            symlink(from, to)?;
        }
    }
    Ok(())
}

/// Copies a file or a folder with all in it, links as links; nothing if it is not there. What is neither stays away.
pub(super) fn copy(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    let Some(metadata) = fs::metadata(from).if_there()? else { return Ok(()) };
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if metadata.is_dir() {
        fs::create_dir_all(to)?;
        for entry in from.read_dir_utf8()? {
            let entry = entry?;
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            if entry.file_type()?.is_symlink() {
                symlink(fs::read_link(from)?, to)?;
            } else {
                copy(from, &to)?;
            }
        }
    } else if metadata.is_file() && metadata.len() <= MAX_FILE_BYTES {
        remove_path(to)?;
        fs::copy(from, to)?;
        // An agent must be able to change its own copy.
        set_mode(to.as_std_path(), mode(&metadata) | 0o600)?;
    }
    Ok(())
}

/// Returns what is in a regular file below `top`, or `None` if there is none. No link on the way is followed: the agent may
/// have made it.
pub(super) fn read_plain(top: &Utf8Path, path: &Utf8Path) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open_below(top, path)? else { return Ok(None) };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Replaces a file of the user's by another of the same name and permissions.
pub(super) fn replace(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    // A link of the user's, as of dotfiles that are kept elsewhere, stays one.
    let path = canonicalize(path)?;
    let mode = mode(&fs::metadata(&path)?) & 0o777;
    let new = Utf8PathBuf::from(format!("{path}.ralph-new"));
    fs::remove_file(&new).if_there()?;
    let mut file = with_mode(mode).write(true).create_new(true).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, &path)
}
