//! Paths as git prints and reads them.

use std::collections::BTreeSet;
use std::ops::Bound;

use ralph_core::record::LeftOut;

/// A path as git prints it: bytes, from the top of the work tree.
pub type RawPath = Vec<u8>;

pub(super) fn leave(path: &[u8], reason: &str) -> LeftOut {
    LeftOut { path: lossy(path), reason: reason.to_owned() }
}

/// Paths as git reads them from its standard input with `-z`.
pub(super) fn joined<'a>(paths: impl IntoIterator<Item = &'a RawPath>) -> Vec<u8> {
    paths.into_iter().flat_map(|path| path.iter().copied().chain([0])).collect()
}

pub(super) fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

pub(super) fn split(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// Returns true if a file cannot be beside others: where one of them is must be a folder, or a folder must be where it
/// is.
pub fn collides(path: &[u8], others: &BTreeSet<RawPath>) -> bool {
    let below = [path, b"/"].concat();
    let next = others.range::<[u8], _>((Bound::Excluded(below.as_slice()), Bound::Unbounded)).next();
    let mut folders = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end]);
    next.is_some_and(|other| other.starts_with(&below)) || folders.any(|folder| others.contains(folder))
}
