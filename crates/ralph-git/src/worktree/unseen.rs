//! What is in the work tree and in no snapshot: ignored files, empty folders, files of submodules. One walk for all.

use std::fs::{self, Metadata};
use std::path::Path;

use anyhow::Result;

use ralph_os::platform::{Identity, bytes_of, changed_at, identity};

use super::raw_path::{RawPath, joined, lossy, split};
use super::{LISTING_TIMEOUT, WorkTree};

/// Maximum number of files and folders that a walk looks at.
const MAX_ENTRIES: usize = 500_000;

/// When a file or folder changed, in seconds and nanoseconds, as the file system says.
pub type ChangeTime = (i64, i64);

/// What snapshots do not hold, each path from the top with the time at which it changed.
#[derive(Debug, Default)]
pub struct UnseenEntries {
    pub ignored: Vec<(String, ChangeTime, Option<Identity>)>,
    /// Folders without a file in or below them, that git does not ignore.
    pub empty_folders: Vec<(String, ChangeTime)>,
    /// Submodules, with the time of what is newest: of files that are not as in their commit, or of another commit.
    pub submodules: Vec<(String, ChangeTime)>,
    entries: usize,
}

impl WorkTree {
    /// Returns what snapshots do not hold. What is `passed_over`, by its path or below an ignored folder by its name alone, is not
    /// looked into.
    pub fn unseen_entries(&self, passed_over: &dyn Fn(&str) -> bool) -> Result<UnseenEntries> {
        let mut found = UnseenEntries::default();
        let listing = ["ls-files", "-z", "--others", "--exclude-standard", "--directory"];
        let git = || self.git().limit(LISTING_TIMEOUT).args(listing);
        for path in split(&git().arg("--ignored").read()?).map(lossy) {
            let path = path.trim_end_matches('/');
            if !passed_over(path) {
                found.add_ignored(self.top.as_std_path(), path, passed_over);
            }
        }
        for path in split(&git().read()?).map(lossy).filter(|path| path.ends_with('/')) {
            found.add_empty_folders(self.top.as_std_path(), path.trim_end_matches('/'), passed_over);
        }
        let staged = self.git().args(["ls-files", "-z", "--stage"]).read()?;
        for line in split(&staged).filter(|line| line.starts_with(b"160000 ")) {
            let Some(submodule) = line.splitn(2, |byte| *byte == b'\t').nth(1).map(lossy) else { continue };
            // What cannot be looked into is not known to be changed.
            let dirty = self.dirty_files_of(&submodule).unwrap_or_default();
            let at = |file: &String| self.top.join(&submodule).join(file).symlink_metadata().ok();
            let files = dirty.iter().filter_map(at).chain(self.heads_of(&submodule));
            let newest = files.map(|found| changed_at(&found)).max();
            found.submodules.extend(newest.map(|newest| (submodule.clone(), newest)));
        }
        Ok(found)
    }

    /// Returns the files of earlier snapshots that a `.gitignore` ignores that was changed since this was last asked; `None` if
    /// none was changed.
    pub fn take_newly_ignored(&mut self) -> Option<Vec<String>> {
        Some(self.newly_ignored.take()?.iter().map(|path| lossy(path)).collect())
    }

    /// Returns what says beside the `.gitignore` files what git ignores: the list of this clone, and the settings.
    pub fn exclusions(&self) -> Vec<Option<Vec<u8>>> {
        let own = fs::read(self.repository.common_dir.join("info/exclude")).ok();
        self.settings_files().into_iter().chain([own]).collect()
    }

    /// Returns those of the paths that no `.gitignore` ignores, but this clone alone.
    pub fn ignored_here_alone(&self, paths: &[String]) -> Result<Vec<String>> {
        let asked: Vec<RawPath> = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
        let git = self.git().args(["check-ignore", "-v", "-z", "--no-index", "--stdin"]);
        let found = git.stdin(joined(&asked)).run()?;
        // Each path has four fields: source, line, pattern, path.
        let fields: Vec<&[u8]> = found.stdout.split(|byte| *byte == 0).collect();
        let here = fields.chunks_exact(4).filter(|entry| !entry[0].ends_with(b".gitignore"));
        Ok(here.map(|entry| lossy(entry[3])).collect())
    }

    /// Returns the files in which a submodule notes what is checked out.
    fn heads_of(&self, submodule: &str) -> Vec<Metadata> {
        let top = self.top.join(submodule);
        let place = top.join(".git");
        let link = fs::read_to_string(&place).ok();
        let elsewhere = link.as_ref().and_then(|link| link.trim().strip_prefix("gitdir: "));
        let git_dir = elsewhere.map_or(place, |dir| top.join(dir));
        let heads = ["HEAD", "logs/HEAD"].map(|name| git_dir.join(name).symlink_metadata().ok());
        heads.into_iter().flatten().collect()
    }
}

impl UnseenEntries {
    fn add_ignored(&mut self, top: &Path, path: &str, passed_over: &dyn Fn(&str) -> bool) {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return;
        }
        let place = top.join(path);
        let Ok(metadata) = place.symlink_metadata() else { return };
        if !metadata.is_dir() {
            let identity = identity(&place, &metadata);
            self.ignored.push((path.to_owned(), changed_at(&metadata), identity));
            return;
        }
        // One of another repository, or of an environment of Python's, is no work of a task.
        if place.join(".git").exists() || place.join("pyvenv.cfg").exists() {
            return;
        }
        for name in names_in(&place).into_iter().filter(|name| !passed_over(name)) {
            self.add_ignored(top, &format!("{path}/{name}"), passed_over);
        }
    }

    /// Adds the empty folders at or below a path. Returns true if there is no file.
    fn add_empty_folders(&mut self, top: &Path, path: &str, passed_over: &dyn Fn(&str) -> bool) -> bool {
        self.entries += 1;
        let place = top.join(path);
        let Ok(metadata) = place.symlink_metadata() else { return false };
        if self.entries > MAX_ENTRIES || !metadata.is_dir() || passed_over(path) {
            return false;
        }
        let names = names_in(&place);
        if names.is_empty() {
            self.empty_folders.push((path.to_owned(), changed_at(&metadata)));
            return true;
        }
        // All are looked at, also after the first with a file.
        let mut full = names;
        full.retain(|name| !self.add_empty_folders(top, &format!("{path}/{name}"), passed_over));
        full.is_empty()
    }
}

/// Returns the names in a folder; none of one that cannot be read.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| lossy(&bytes_of(&entry.file_name()))).collect();
    names.sort_unstable();
    names
}
