//! What of the user's work tree is in no commit, and so not in a lane.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::Result;
use camino::Utf8Path;

use super::credentials::is_credentials;
use super::raw_path::split;
use super::users_index;
use super::{LISTING_TIMEOUT, WorkTree};
use ralph_core::record::ObjectId;

impl WorkTree {
    /// Returns the tracked files that are not as in the last commit, staged ones among them.
    pub fn uncommitted(&self) -> Result<Vec<String>> {
        let status = ["status", "--porcelain", "-z", "--untracked-files=no", "--no-renames"];
        let listed = self.git().args(status).limit(LISTING_TIMEOUT).read()?;
        let paths: Vec<_> = split(&listed).filter_map(|entry| entry.get(3..)).collect();
        let filtered = self.filtered_among(paths.iter().copied())?;
        Ok(paths.into_iter().filter(|path| !filtered.contains(*path)).map(lossy).collect())
    }

    /// Returns true if a file is as in the last commit. No filter runs.
    pub fn is_as_committed(&self, path: &str) -> bool {
        let compared = self.clone().unfiltered().and_then(|unfiltered| {
            unfiltered.git().args(["diff", "--no-ext-diff", "--quiet", "HEAD", "--", path]).run()
        });
        compared.is_ok_and(|compared| compared.is_success())
    }

    /// Returns the files below `paths`, from the top, that git does not track: those that it ignores, or the others.
    pub fn untracked_below(&self, paths: &[String], is_ignored: bool) -> Result<Vec<String>> {
        let literal = paths.iter().map(|path| format!(":(top,literal){path}"));
        let listing = self.git().args(["ls-files", "--others", "-z", "--full-name", "--exclude-standard"]);
        let listing = listing.args(is_ignored.then_some("--ignored")).arg("--").args(literal);
        Ok(split(&listing.limit(LISTING_TIMEOUT).read()?).map(lossy).collect())
    }

    /// Returns what git does not track, ignored or not: files, and folders in which it tracks nothing.
    pub fn untracked_collapsed(&self) -> Result<Vec<String>> {
        let listing = self.git().args(["ls-files", "--others", "--directory", "-z"]);
        let listed = listing.limit(LISTING_TIMEOUT).read()?;
        Ok(split(&listed).map(|path| lossy(path).trim_end_matches('/').to_owned()).collect())
    }

    /// Returns what git ignores of `files`, from the top: the outermost folder of each that it ignores, or the file itself. Rules
    /// of the folder `except` do not count, nor those in a file of the user's outside of the work tree.
    pub fn ignored_roots(&self, files: &[String], except: &str) -> Result<Vec<String>> {
        let above = files.iter().flat_map(|file| Utf8Path::new(file).ancestors());
        let above: BTreeSet<&str> = above.map(Utf8Path::as_str).filter(|path| !path.is_empty()).collect();
        let asked: String = above.iter().map(|path| format!("{path}\0")).collect();
        let checked = self.git().args(["check-ignore", "-v", "-z", "--stdin"]).stdin(asked).run()?;
        let fields: Vec<String> = split(&checked.stdout).map(lossy).collect();
        let rules: BTreeMap<&str, &str> =
            fields.chunks_exact(4).map(|rule| (rule[3].as_str(), rule[0].as_str())).collect();
        let own = format!("{except}/.gitignore");
        // In order, what is in a folder comes behind it.
        let mut roots: Vec<String> = Vec::new();
        for (path, source) in rules {
            let is_within = roots.iter().any(|root| Utf8Path::new(path).starts_with(root));
            if !is_within && source != own && !Utf8Path::new(source).is_absolute() {
                roots.push(path.to_owned());
            }
        }
        Ok(roots)
    }

    /// Returns a submodule of the last commit or of the index, if there is any.
    pub fn submodule(&self) -> Result<Option<String>> {
        let listed = self.git().args(["ls-files", "--stage", "-z"]).read()?;
        let mut found = split(&listed).filter(|entry| entry.starts_with(b"160000 "));
        let path = found.next().and_then(|entry| entry.split(|byte| *byte == b'\t').nth(1));
        Ok(path.map(lossy))
    }

    /// Returns those of `paths` that git ignores.
    pub fn ignored_among(&self, paths: &[String]) -> Result<Vec<String>> {
        let asked: String = paths.iter().map(|path| format!("{path}\0")).collect();
        let checked = self.git().args(["check-ignore", "-z", "--stdin"]).stdin(asked).run()?;
        Ok(split(&checked.stdout).map(lossy).collect())
    }

    /// Commits the tracked files as they are now, and the untracked ones of `more` but for credentials, on top of `head`. No branch
    /// moves, and the user's index stays as it is.
    pub fn commit_of_changes(
        &self,
        index: &Utf8Path,
        head: &ObjectId,
        more: &[String],
        message: &str,
    ) -> Result<ObjectId> {
        users_index::copy(&self.git_dir.join("index"), index)?;
        self.git_with(index).args(["add", "--update", "."]).read()?;
        let more: Vec<&String> = more.iter().filter(|path| !is_credentials(path.as_bytes())).collect();
        if !more.is_empty() {
            self.git_with(index).args(["add", "--"]).args(more).read()?;
        }
        let tree = self.git_with(index).arg("write-tree").line()?;
        fs::remove_file(index)?;
        let commit = self.git().args(["commit-tree", "--no-gpg-sign", "-p", head.as_str(), &tree]);
        commit.stdin(message).line()?.parse()
    }
}

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
