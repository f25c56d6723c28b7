//! Reads and writes the files of a project, wherever links in it lead.
//!
//! A clone may hold any symbolic link, and an agent may replace a file at any moment. So each access resolves links
//! itself, refuses what ends outside of the work tree or in a git directory, and then opens the resolved path without
//! following anything. Only regular files of a bounded size are read, and nothing here waits for a FIFO or a device.

mod allowed;
#[cfg_attr(windows, path = "open_windows.rs")]
mod open;
mod refused;
mod resolve;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

pub use allowed::allowed_folders;
pub use refused::{Refused, explain, refused};

use ralph_os::if_there::IfThere;
use ralph_os::platform::{Identity, canonicalize, identity};

use resolve::Resolved;

/// Settings, JSON of spec-kit's and templates.
pub const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// spec.md, hooks and their like.
pub const MAX_DOCUMENT_BYTES: u64 = 16 << 20;
/// A list of 60,000 tasks takes some 5 MiB. A parsed list takes up to some 30 times its size.
pub const MAX_TASK_LIST_BYTES: u64 = 8 << 20;
/// progress.txt grows by about 1 KiB an iteration and is read whole.
pub const MAX_PROGRESS_BYTES: u64 = 256 << 20;

/// How often an access is tried again when links change between resolving and opening.
const MAX_ATTEMPTS: u32 = 8;

/// The files of one work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFiles {
    /// The top of the work tree, without links in it.
    top: Utf8PathBuf,
    /// Device and inode of the git directories, which may stand inside the work tree under any name.
    git_directories: Vec<Identity>,
    /// Folders elsewhere that the user permits links to.
    allowed: Vec<Utf8PathBuf>,
    /// The path and bytes of a file that is read as it is in a commit.
    committed: Option<(Utf8PathBuf, Arc<[u8]>)>,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    /// Reading and writing of what exists.
    Edit,
    /// At the end; the file is created if there is none.
    Append,
    /// From the start; the file is created if there is none, and not yet emptied.
    Overwrite,
}

impl ProjectFiles {
    /// The files below `top`. `git_directories` are never entered, and links may also lead below `allowed`.
    pub fn new(top: &Utf8Path, git_directories: &[&Utf8Path], allowed: &[Utf8PathBuf]) -> Self {
        let files = Self {
            top: canonicalize(top).unwrap_or_else(|_| top.to_owned()),
            git_directories: git_directories
                .iter()
                .filter_map(|path| identity(path.as_std_path(), &path.metadata().ok()?))
                .collect(),
            allowed: Vec::new(),
            committed: None,
        };
        files.allowing(allowed)
    }

    /// The same files, but for one that is read as it is in a commit, and cannot be written.
    #[must_use]
    pub fn with_committed(self, path: &Utf8Path, bytes: Vec<u8>) -> Self {
        Self { committed: Some((path.to_owned(), bytes.into())), ..self }
    }

    /// The same files, with links permitted to lead below `folders` as well.
    #[must_use]
    pub fn allowing(mut self, folders: &[Utf8PathBuf]) -> Self {
        self.allowed.extend(folders.iter().filter_map(|path| canonicalize(path).ok()));
        self
    }

    /// Returns the top of the work tree, without links in it.
    pub fn top(&self) -> &Utf8Path {
        &self.top
    }

    /// Returns the bytes of a file of at most `max_bytes`.
    pub fn read(&self, path: &Utf8Path, max_bytes: u64) -> io::Result<Vec<u8>> {
        if let Some((_, bytes)) = self.committed.as_ref().filter(|(committed, _)| committed == path) {
            return Ok(bytes.to_vec());
        }
        read_at_most(&mut self.open(path, Access::Read)?, max_bytes)
    }

    /// Opens a file that exists, to read it and to write into it.
    pub fn open_to_edit(&self, path: &Utf8Path) -> io::Result<File> {
        if self.committed.as_ref().is_some_and(|(committed, _)| committed == path) {
            return Err(io::Error::other("it is read from a branch that is not checked out"));
        }
        self.open(path, Access::Edit)
    }

    /// Appends to a file in place; creates it if it does not exist.
    pub fn append(&self, path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
        self.open(path, Access::Append)?.write_all(bytes)
    }

    /// Checks that a file, if it exists, can be read and written.
    pub fn check_writable(&self, path: &Utf8Path) -> io::Result<()> {
        self.open(path, Access::Edit).if_there().map(drop)
    }

    /// Replaces the contents of a file in place; creates it if it does not exist.
    pub fn overwrite(&self, path: &Utf8Path, bytes: &[u8]) -> io::Result<File> {
        let mut file = self.open(path, Access::Overwrite)?;
        file.set_len(0)?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Creates a file. Fails where anything has its name, a link to nowhere included.
    pub fn create_new(&self, path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = self.folder_and_name(path)?;
        File::from(open::create_new(&folder, name)?).write_all(bytes)
    }

    /// Creates a folder and those above it, if they do not exist.
    pub fn create_dir_all(&self, path: &Utf8Path) -> io::Result<()> {
        self.attempt(path, |resolved| open::create_folders(resolved).map(drop))
    }

    /// Removes a file; of a link, the link.
    pub fn remove(&self, path: &Utf8Path) -> io::Result<()> {
        let (folder, name) = self.folder_and_name(path)?;
        open::remove(&folder, name)
    }

    /// Returns the names in a folder, in no order.
    pub fn names_in(&self, path: &Utf8Path) -> io::Result<Vec<OsString>> {
        self.attempt(path, open::names_in)
    }

    /// Returns true if a folder, or a file that is not empty, is at `path`.
    pub fn is_filled(&self, path: &Utf8Path) -> bool {
        let Ok(resolved) = self.resolve(path) else { return false };
        match &resolved.found {
            Some(found) if found.is_dir() => true,
            Some(found) => found.is_file() && found.len() > 0,
            None => false,
        }
    }

    /// Returns where a file or folder that exists stands inside the work tree: without links, or, where a link leads to
    /// a folder that the user permits, by the place of that link.
    pub fn locate(&self, path: &Utf8Path) -> io::Result<Utf8PathBuf> {
        let resolved = self.resolve(path)?;
        if resolved.found.is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let outside = resolved.path();
        if let Ok(inside) = Utf8PathBuf::from_path_buf(outside.clone())
            && inside.starts_with(self.top())
        {
            return Ok(inside);
        }
        for folder in path.ancestors().skip(1) {
            let Ok(place) = self.resolve(folder) else { continue };
            let rest = path.strip_prefix(folder).map_err(io::Error::other)?;
            let is_plain = rest.components().all(|part| part.as_str() != "..");
            if let (true, Ok(place)) = (is_plain, Utf8PathBuf::from_path_buf(place.path()))
                && place.starts_with(self.top())
            {
                return Ok(place.join(rest));
            }
        }
        Err(Refused::Outside(outside).into())
    }

    fn open(&self, path: &Utf8Path, access: Access) -> io::Result<File> {
        self.attempt(path, |resolved| open::open(resolved, access))
    }

    /// Returns the resolved folder of `path`, and the name in it, which may be of a link.
    fn folder_and_name<'a>(&self, path: &'a Utf8Path) -> io::Result<(Resolved, &'a Path)> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let resolved = self.resolve(folder)?;
        if resolve::is_git_name(name.as_bytes()) {
            return Err(Refused::InGitDirectory(resolved.path().join(name)).into());
        }
        Ok((resolved, Path::new(name)))
    }

    /// Resolves and opens again where a link appeared in between, which opening then did not follow.
    fn attempt<T>(&self, path: &Utf8Path, open: impl Fn(&Resolved) -> io::Result<T>) -> io::Result<T> {
        for _ in 0..MAX_ATTEMPTS {
            match self.resolve(path).and_then(|resolved| open(&resolved)) {
                Err(error) if open::is_race(&error) => {}
                opened => return opened,
            }
        }
        Err(Refused::Changing.into())
    }
}

/// Reads all of a file, unless that is more than `max_bytes`.
pub fn read_at_most(file: &mut File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    if length <= max_bytes {
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        // It may grow meanwhile.
        file.take(max_bytes + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= max_bytes {
            return Ok(bytes);
        }
    }
    Err(Refused::TooLarge { max_bytes }.into())
}

/// Opens a regular file of ours that an agent may have replaced. A link, or something to wait for, counts as none.
pub fn open_plain(path: impl AsRef<Path>) -> io::Result<Option<File>> {
    match open::open_plain(path.as_ref()).if_there() {
        Err(error) if open::is_race(&error) || refused(&error).is_some() => Ok(None),
        opened => opened,
    }
}

/// Returns the bytes of a regular file that the user named, wherever it is; waits for no FIFO or device.
pub fn read_named(path: &Utf8Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    read_at_most(&mut open::open_named(path)?, max_bytes)
}
