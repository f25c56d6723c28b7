//! Whether the files are as an earlier tree or change has them, as far as that can be known at once.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

use anyhow::Result;

use super::WorkTree;
use super::changed_file::ChangedFile;
use super::raw_path::split;
use super::restore::{PathChange, change};
use ralph_core::record::{LeftOut, ObjectId};

/// Most files in an index for which git answers in a tenth of a second.
const MAX_TRACKED: u32 = 20_000;

/// Most files that are read, as git does not know by their times whether they changed.
const MAX_READ: usize = 1000;

/// Most files that are compared with what an attempt left.
pub const MAX_COMPARED: usize = 200;

/// Much longer than git takes for so many files: what is untracked may be a folder of millions.
const TIMEOUT: Duration = Duration::from_millis(500);

impl WorkTree {
    /// Returns true if all files are as in `tree`, a tree or commit, but for the paths `except`; `None` if that is not known at once.
    /// `left_out` is what the tree lacks of the files as they were then, where that is known. No filter runs.
    pub fn is_as_in(
        &self,
        tree: &ObjectId,
        except: &[&str],
        left_out: Option<&[LeftOut]>,
    ) -> Result<Option<bool>> {
        if self.tracked_files().is_none_or(|count| count > MAX_TRACKED) {
            return Ok(None);
        }
        let is_excepted = |path: &[u8]| except.iter().any(|except| except.as_bytes() == path);
        let unfiltered = self.clone().unfiltered()?;
        let git = || unfiltered.git().limit(TIMEOUT);
        // It looks into no submodule: the configuration there may be an agent's.
        let compare = ["diff-index", "-z", "--full-index", "--no-renames", "--ignore-submodules=dirty"];
        let compare = compare.into_iter().chain([tree.as_str(), "--"]);
        let (raw, mut known, mut to_read) = (git().args(compare).read()?, BTreeSet::new(), Vec::new());
        let mut parts = split(&raw);
        while let (Some(line), Some(path)) = (parts.next(), parts.next()) {
            known.insert(path.to_vec());
            if is_excepted(path) {
                continue;
            }
            // What the user's index does not have counts as removed there.
            let PathChange { before, after, .. } = change(line, path)?;
            let found = self.path(path).symlink_metadata();
            let (Some(before), Ok(found)) = (before, found) else { return Ok(Some(false)) };
            if after.is_some_and(|after| after.mode != before.mode) {
                return Ok(Some(false));
            }
            match std::str::from_utf8(path) {
                Ok(name) if found.is_file() && before.mode.starts_with("100") => to_read.push((name, before)),
                _ => return Ok(None),
            }
        }
        let others = git().args(["ls-files", "-z", "--others", "--exclude-standard"]).read()?;
        let mut new = split(&others).filter(|path| !known.contains(*path) && !is_excepted(path)).peekable();
        match left_out {
            None if new.peek().is_some() => return Ok(None),
            left_out => {
                let left_out = left_out.unwrap_or_default();
                if new.any(|path| !left_out.iter().any(|left| is_within(path, &left.path))) {
                    return Ok(Some(false));
                }
            }
        }
        if to_read.len() > MAX_READ {
            return Ok(None);
        }
        let ids = self.ids_of(&to_read.iter().map(|(name, _)| *name).collect::<Vec<_>>())?;
        let mut is_same = Some(true);
        for (id, (_, before)) in ids.iter().zip(&to_read) {
            match id {
                Some(id) if *id != before.id.as_str() => return Ok(Some(false)),
                Some(_) => {}
                // Only its filter knows.
                None => is_same = None,
            }
        }
        Ok(is_same)
    }

    /// Returns those of the first [`MAX_COMPARED`] files that are here as they were after the change.
    pub fn unchanged_since<'f>(&self, files: &'f [ChangedFile]) -> Result<Vec<&'f ChangedFile>> {
        let named = files.iter().filter_map(|file| Some((file, std::str::from_utf8(&file.path).ok()?)));
        let (here, gone): (Vec<_>, Vec<_>) =
            named.take(MAX_COMPARED).partition(|(_, path)| self.has_file(path));
        // What a link leads to is not what was recorded.
        let here: Vec<_> = here
            .into_iter()
            .filter(|(_, path)| self.top().join(path).symlink_metadata().is_ok_and(|it| it.is_file()))
            .collect();
        let ids = self.ids_of(&here.iter().map(|(_, path)| *path).collect::<Vec<_>>())?;
        // Where only a filter knows, it is taken as it was.
        let is_same =
            |file: &ChangedFile, id: &str| file.after.as_ref().is_some_and(|after| after.as_str() == id);
        let same =
            here.iter().zip(&ids).filter(|((file, _), id)| id.as_ref().is_none_or(|id| is_same(file, id)));
        let gone = gone.into_iter().filter(|(file, _)| file.after.is_none());
        Ok(same.map(|((file, _), _)| *file).chain(gone.map(|(file, _)| file)).collect())
    }

    /// Returns how many files the user's index has, by its head; `None` if that cannot be read.
    fn tracked_files(&self) -> Option<u32> {
        let path = self.git_dir.join("index");
        if !path.exists() {
            return Some(0);
        }
        let mut head = [0; 12];
        File::open(path).ok()?.read_exact(&mut head).ok()?;
        let [.., a, b, c, d] = head;
        Some(u32::from_be_bytes([a, b, c, d]))
    }
}

/// Returns true if a path is one that was left out, or in a folder that was.
fn is_within(path: &[u8], left: &str) -> bool {
    let left = left.as_bytes();
    path == left || left == b"./" || left.ends_with(b"/") && path.starts_with(left)
}
