//! One walk over the files that no snapshot shows: path, mode and size, and of what they hold at most how a program begins.

use std::fs::{self, DirEntry};
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use camino::Utf8Path;
use gix::index::entry::Mode;
use gix::index::{Entry, File, decode};

use ralph_core::judge::{
    DependencyFolder, IgnoredFile, IgnoredFiles, holds_dependencies, is_build_or_cache,
    is_cache_in_dependencies, is_installers_note,
};
use ralph_os::platform::{bytes_of, changed_at, mode};

use super::WorkTree;
use super::raw_path::lossy;
use crate::repository::HashKind;

/// Maximum number of files and folders that a walk looks at.
const MAX_ENTRIES: usize = 500_000;

impl WorkTree {
    /// Returns the files that the snapshot of a private index does not have, without what builds and caches hold; `None` if
    /// there are too many. No git is started: what is not in the index was left out of the snapshot, by whatever rule.
    pub fn ignored_files(&self, index: &Utf8Path) -> Result<Option<IgnoredFiles>> {
        let hash = match self.repository.hash {
            HashKind::Sha1 => gix::hash::Kind::Sha1,
            HashKind::Sha256 => gix::hash::Kind::Sha256,
        };
        // Its checksum is git's business, which has just written it.
        let index = File::at(index.as_std_path(), hash, true, decode::Options::default())?;
        let mut walk = Walk { index: &index, found: IgnoredFiles::default(), entries: 0 };
        walk.add(self.top.as_std_path(), &mut Vec::new(), 0..index.entries().len(), None);
        let Walk { mut found, entries, .. } = walk;
        found.files.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        Ok((entries <= MAX_ENTRIES).then_some(found))
    }
}

fn begins_as_script(path: &Path) -> bool {
    let mut start = [0; 2];
    fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == *b"#!")
}

struct Walk<'i> {
    index: &'i File,
    found: IgnoredFiles,
    entries: usize,
}

impl Walk<'_> {
    /// Adds what is in a folder, of which the index has the entries `known`. `path` is where it is from the top, with a slash
    /// at its end, and empty for the top.
    fn add(&mut self, folder: &Path, path: &mut Vec<u8>, known: Range<usize>, dependency: Option<usize>) {
        let folder_name = lossy(
            path.strip_suffix(b"/").and_then(|it| it.rsplit(|byte| *byte == b'/').next()).unwrap_or_default(),
        );
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return;
            }
            let length = path.len();
            path.extend_from_slice(&bytes_of(&entry.file_name()));
            let name = lossy(&path[length..]);
            self.add_entry(&entry, path, [&folder_name, &name], known.clone(), dependency);
            path.truncate(length);
        }
    }

    fn add_entry(
        &mut self,
        entry: &DirEntry,
        path: &mut Vec<u8>,
        [folder_name, name]: [&str; 2],
        known: Range<usize>,
        dependency: Option<usize>,
    ) {
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        let is_known = self.position(&known, path).is_ok();
        if is_known || name == ".git" {
            return;
        }
        if let Some(dependency) = dependency {
            if is_installers_note(folder_name, name) {
                self.note(dependency, entry);
                return;
            }
            if is_cache_in_dependencies(folder_name, name) {
                return;
            }
        }
        if !is_folder {
            let Ok(found) = entry.metadata() else { return };
            if dependency.is_some() || !is_build_or_cache(name) {
                let (mode, size) = (mode(&found), found.len());
                // Only what has no extension says by its first bytes alone what it is.
                let is_script = dependency.is_none()
                    && found.is_file()
                    && mode & 0o111 != 0
                    && !name.contains('.')
                    && begins_as_script(&entry.path());
                self.found.files.push(IgnoredFile { path: lossy(path), mode, size, dependency, is_script });
            }
            return;
        }
        path.push(b'/');
        let below = self.below(&known, path);
        let folder = entry.path();
        if !below.is_empty() {
            // A sparse index names a folder that is not there as a whole.
            if self.entry(below.start).mode != Mode::DIR {
                self.add(&folder, path, below, dependency);
            }
        } else if dependency.is_some() {
            self.add(&folder, path, below, dependency);
        } else if holds_dependencies(name) || folder.join("pyvenv.cfg").exists() {
            let path_of_it = lossy(&path[..path.len() - 1]);
            self.found
                .dependencies
                .push(DependencyFolder { path: path_of_it, ..DependencyFolder::default() });
            self.add(&folder, path, below, Some(self.found.dependencies.len() - 1));
        } else if !is_build_or_cache(name) && !folder.join(".git").exists() {
            self.add(&folder, path, below, None);
        }
    }

    fn note(&mut self, dependency: usize, entry: &DirEntry) {
        let folder = &mut self.found.dependencies[dependency];
        folder.notes += 1;
        let changed = entry.metadata().map(|found| changed_at(&found));
        folder.noted_at = folder.noted_at.max(changed.unwrap_or_default());
    }

    fn entry(&self, position: usize) -> &Entry {
        &self.index.entries()[position]
    }

    /// Returns where the index has a path, among its entries `known`.
    fn position(&self, known: &Range<usize>, path: &[u8]) -> Result<usize, usize> {
        let entries = &self.index.entries()[known.clone()];
        entries.binary_search_by(|entry| AsRef::<[u8]>::as_ref(entry.path(self.index)).cmp(path))
    }

    /// Returns the entries below a folder, whose path ends in a slash.
    fn below(&self, known: &Range<usize>, folder: &[u8]) -> Range<usize> {
        let entries = &self.index.entries()[known.clone()];
        let path = |entry: &Entry| -> &[u8] { entry.path(self.index).as_ref() };
        let start = entries.partition_point(|entry| path(entry) < folder);
        let count = entries[start..].partition_point(|entry| path(entry).starts_with(folder));
        known.start + start..known.start + start + count
    }
}
