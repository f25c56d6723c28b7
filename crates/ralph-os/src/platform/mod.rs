//! What differs between Unix and Windows, one function for each difference.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use camino::Utf8Path;

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;

/// A file, whatever its names: device and inode, or what is that on Windows.
pub type Identity = (u64, u64);

/// Returns a path as git, records and command lines that we print spell it: with `/` on all systems.
pub fn repo_path(path: &Utf8Path) -> String {
    if std::path::MAIN_SEPARATOR == '/' { path.to_string() } else { path.as_str().replace('\\', "/") }
}
