//! Opening a resolved path by its name, as no folder can be held there. A link in its last place is not followed; a folder above it that
//! becomes a link at that moment is not noticed.

use std::ffi::OsString;
use std::fs::{self, File, FileType};
use std::io;
use std::path::Path;

use camino::Utf8Path;

use super::Access;
use super::refused::{Refused, refused};
use super::resolve::Resolved;
use ralph_os::platform::without_links;

/// Opens a regular file.
pub(super) fn open(resolved: &Resolved, access: Access) -> io::Result<File> {
    if let Some(found) = &resolved.found {
        check_kind(found.file_type())?;
    }
    let mut options = without_links(0);
    match access {
        Access::Read => options.read(true),
        Access::Edit => options.read(true).write(true),
        Access::Append => options.append(true).create(true),
        Access::Overwrite => options.write(true).create(true).truncate(false),
    };
    regular(options.open(resolved.path())?)
}

/// Opens a regular file that the user named, wherever links lead.
pub(super) fn open_named(path: &Utf8Path) -> io::Result<File> {
    check_kind(fs::metadata(path)?.file_type())?;
    regular(File::open(path)?)
}

/// Opens a regular file that is no link.
pub(super) fn open_plain(path: &Path) -> io::Result<File> {
    check_kind(fs::symlink_metadata(path)?.file_type())?;
    regular(without_links(0).read(true).open(path)?)
}

/// Creates a file under a name that nothing has.
pub(super) fn create_new(folder: &Resolved, name: &Path) -> io::Result<File> {
    without_links(0).write(true).create_new(true).open(folder.path().join(name))
}

pub(super) fn remove(folder: &Resolved, name: &Path) -> io::Result<()> {
    fs::remove_file(folder.path().join(name))
}

/// Makes the folder and those above it that do not exist.
pub(super) fn create_folders(resolved: &Resolved) -> io::Result<()> {
    fs::create_dir_all(resolved.path())
}

pub(super) fn names_in(resolved: &Resolved) -> io::Result<Vec<OsString>> {
    fs::read_dir(resolved.path())?.map(|entry| entry.map(|entry| entry.file_name())).collect()
}

/// Returns true if opening failed at something that was not there when the path was resolved.
pub(super) fn is_race(error: &io::Error) -> bool {
    matches!(refused(error), Some(Refused::Changing))
}

fn regular(file: File) -> io::Result<File> {
    check_kind(file.metadata()?.file_type())?;
    Ok(file)
}

fn check_kind(kind: FileType) -> io::Result<()> {
    if kind.is_symlink() {
        Err(Refused::Changing.into())
    } else if kind.is_dir() {
        Err(Refused::Directory.into())
    } else if kind.is_file() {
        Ok(())
    } else {
        Err(Refused::NotAFile("a device").into())
    }
}
