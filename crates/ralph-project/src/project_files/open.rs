//! Opening a resolved path without following anything.

use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use camino::Utf8Path;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::Access;
use super::refused::{Refused, refused};
use super::resolve::Resolved;

impl Access {
    fn flags(self) -> OFlags {
        match self {
            Self::Read => OFlags::RDONLY,
            Self::Edit => OFlags::RDWR,
            Self::Append => OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE,
            Self::Overwrite => OFlags::WRONLY | OFlags::CREATE,
        }
    }
}

/// Never follows, never waits, never becomes our terminal.
const SAFELY: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// To go on from; nothing is read of it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// As files and folders are made where the umask decides.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// Opens a regular file.
pub(super) fn open(resolved: &Resolved, access: Access) -> io::Result<File> {
    if let Some(found) = &resolved.found {
        // To open a device can already do something.
        check_kind(found.file_type())?;
    }
    let base = rustix::fs::open(&resolved.base, FOLDER, Mode::empty())?;
    regular(open_beneath(&base, &resolved.inner, access.flags() | SAFELY)?)
}

/// Opens a regular file that the user named, wherever links lead.
pub(super) fn open_named(path: &Utf8Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | SAFELY.difference(OFlags::NOFOLLOW);
    regular(rustix::fs::open(path.as_std_path(), flags, Mode::empty())?)
}

/// Opens a regular file that is no link.
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    regular(rustix::fs::open(path, OFlags::RDONLY | SAFELY, Mode::empty())?)
}

/// Creates a file under a name that nothing has.
pub(super) fn create_new(folder: &Resolved, name: &Path) -> io::Result<OwnedFd> {
    let folder = open_folder(folder, FOLDER)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFELY;
    Ok(rustix::fs::openat(folder, name, flags, FILE_MODE)?)
}

pub(super) fn remove(folder: &Resolved, name: &Path) -> io::Result<()> {
    Ok(rustix::fs::unlinkat(open_folder(folder, FOLDER)?, name, AtFlags::empty())?)
}

/// Makes the folder and those above it that do not exist.
pub(super) fn create_folders(resolved: &Resolved) -> io::Result<OwnedFd> {
    let mut folder = rustix::fs::open(&resolved.base, FOLDER, Mode::empty())?;
    for name in &resolved.inner {
        match rustix::fs::mkdirat(&folder, name, FOLDER_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = rustix::fs::openat(&folder, name, FOLDER, Mode::empty())?;
    }
    Ok(folder)
}

pub(super) fn names_in(resolved: &Resolved) -> io::Result<Vec<OsString>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | SAFELY;
    let mut names = Vec::new();
    for entry in Dir::new(open_folder(resolved, flags)?)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

/// Returns true if opening failed at something that was not there when the path was resolved.
pub(super) fn is_race(error: &io::Error) -> bool {
    let is_said = matches!(refused(error), Some(Refused::Changing));
    let raced = [Errno::LOOP, Errno::NOTDIR, Errno::AGAIN, Errno::NXIO, Errno::XDEV];
    is_said || error.raw_os_error().is_some_and(|code| raced.iter().any(|errno| errno.raw_os_error() == code))
}

fn open_folder(resolved: &Resolved, flags: OFlags) -> io::Result<OwnedFd> {
    if resolved.inner.as_os_str().is_empty() {
        return Ok(rustix::fs::open(&resolved.base, flags, Mode::empty())?);
    }
    let base = rustix::fs::open(&resolved.base, FOLDER, Mode::empty())?;
    Ok(open_beneath(&base, &resolved.inner, flags)?)
}

/// Opens a path below a folder, and fails where any part of it is a link.
fn open_beneath(base: &OwnedFd, inner: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::fs::ResolveFlags;
        let mode = if flags.contains(OFlags::CREATE) { FILE_MODE } else { Mode::empty() };
        let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(base, inner, flags, mode, beneath) {
            // Older than Linux 5.6, or a sandbox that does not know the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    open_by_steps(base, inner, flags)
}

/// Returns the same, component by component.
pub(super) fn open_by_steps(base: &OwnedFd, inner: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut names: Vec<&OsStr> = inner.iter().collect();
    let last = names.pop().ok_or(Errno::ISDIR)?;
    let mut folder = None;
    for name in names {
        let from = folder.as_ref().unwrap_or(base);
        folder = Some(rustix::fs::openat(from, name, FOLDER, Mode::empty())?);
    }
    rustix::fs::openat(folder.as_ref().unwrap_or(base), last, flags, FILE_MODE)
}

/// Refuses everything but a regular file, which reading then waits for as always.
fn regular(opened: OwnedFd) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(&opened)?;
    let file = File::from(opened);
    check_kind(file.metadata()?.file_type())?;
    rustix::fs::fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
    Ok(file)
}

fn check_kind(kind: FileType) -> io::Result<()> {
    let refused = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        Refused::Directory
    } else if kind.is_fifo() {
        Refused::NotAFile("a FIFO")
    } else if kind.is_socket() {
        Refused::NotAFile("a socket")
    } else {
        Refused::NotAFile("a device")
    };
    Err(refused.into())
}
