//! Repositories inside the work tree: submodules, and those that are none.

use std::collections::BTreeSet;

use anyhow::Result;
use camino::Utf8Path;

use ralph_os::platform::os_str;
use ralph_os::process::Tool;

use super::raw_path::{RawPath, lossy, split};
use super::{ALL_SUBMODULES, LISTING_TIMEOUT, PrivateIndex, WorkTree};

/// The mode of a commit of another repository.
const GITLINK: &[u8] = b"160000 ";

impl WorkTree {
    /// Submodules and nested repositories whose own work tree is not what their commit says: a snapshot of this
    /// repository holds the commit and nothing else.
    pub(super) fn dirty_submodules(&self, private_index: PrivateIndex<'_>) -> Vec<RawPath> {
        // What cannot be looked into is not known to be dirty.
        if self.fence.is_some() {
            let listed = self.git_private(private_index).args(["ls-files", "-z", "--stage"]).read();
            let listed = listed.unwrap_or_default();
            let links = split(&listed).filter(|line| line.starts_with(GITLINK));
            let paths = links.filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
            return paths
                .filter(|path| self.status_of(path).is_ok_and(|listed| !listed.is_empty()))
                .map(<[u8]>::to_vec)
                .collect();
        }
        let raw = self
            .git_private(private_index)
            .args(["diff-files", "-z", "--raw", ALL_SUBMODULES])
            .limit(LISTING_TIMEOUT)
            .read();
        let raw = raw.unwrap_or_default();
        let mut parts = split(&raw);
        let mut dirty = Vec::new();
        while let (Some(change), Some(path)) = (parts.next(), parts.next()) {
            if change.starts_with(b":160000 160000") {
                dirty.push(path.to_vec());
            }
        }
        dirty
    }

    /// Returns the files of a submodule that are not as in its commit, from the top of the submodule.
    pub fn dirty_files_of(&self, submodule: &str) -> Result<Vec<String>> {
        let listed = self.status_of(submodule.as_bytes())?;
        Ok(split(&listed).filter_map(|line| line.get(3..)).map(lossy).collect())
    }

    /// Asks the git of a repository inside the work tree, by its own configuration: an agent may have written that.
    fn status_of(&self, submodule: &[u8]) -> Result<Vec<u8>> {
        let git = Tool::git(&self.top)
            .arg("-C")
            .arg(os_str(submodule))
            .args(["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"])
            .limit(LISTING_TIMEOUT);
        self.fence.iter().fold(git, Tool::inside).read()
    }

    /// Returns those of `paths` that are repositories of their own, and neither in `index` nor submodules by
    /// `.gitmodules`: a commit would name a commit of theirs that no clone can get.
    pub(super) fn nested_repositories(
        &self,
        index: &Utf8Path,
        paths: &BTreeSet<RawPath>,
    ) -> Result<BTreeSet<RawPath>> {
        let is_folder =
            |path: &&RawPath| self.path(path).symlink_metadata().is_ok_and(|found| found.is_dir());
        let mut nested: BTreeSet<RawPath> = paths.iter().filter(is_folder).cloned().collect();
        if nested.is_empty() {
            return Ok(nested);
        }
        let listed = self.git_with(index).args(["ls-files", "-z", "--stage"]).read()?;
        for line in split(&listed).filter(|line| line.starts_with(GITLINK)) {
            if let Some(tab) = line.iter().position(|byte| *byte == b'\t') {
                nested.remove(&line[tab + 1..]);
            }
        }
        let modules = self.path(b".gitmodules");
        if !nested.is_empty() && modules.symlink_metadata().is_ok_and(|found| found.is_file()) {
            let asked = ["config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
            // It exits 1 if there is none, and a file that is none of git's names none.
            let named = self.git().args(asked).in_directory(&self.top).run()?.stdout;
            for entry in split(&named) {
                if let Some(end) = entry.iter().position(|byte| *byte == b'\n') {
                    nested.remove(&entry[end + 1..]);
                }
            }
        }
        Ok(nested)
    }
}
