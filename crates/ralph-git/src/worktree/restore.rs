//! Bringing files of the work tree back to what an earlier tree says.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::record::ObjectId;
use ralph_os::platform::{bytes_of, is_executable};
use ralph_os::process::{Captured, LONG, Tool};

use super::raw_path::{RawPath, lossy, split};
use super::{ALL_SUBMODULES, PrivateIndex, WorkTree};

/// A path that is one thing in one tree and another in the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// As git has it, from the top of the work tree.
    pub path: RawPath,
    /// `None` if there is no such file.
    pub before: Option<TreeEntry>,
    pub after: Option<TreeEntry>,
}

/// The entry of a file in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    pub(super) mode: String,
    pub(super) id: ObjectId,
}

impl TreeEntry {
    /// Returns the entry of a plain file.
    pub fn plain(id: ObjectId) -> Self {
        Self { mode: "100644".to_owned(), id }
    }

    pub fn id(&self) -> &ObjectId {
        &self.id
    }

    /// Returns true if it is a commit of another repository, of which this one has no files.
    pub fn is_repository(&self) -> bool {
        self.mode == "160000"
    }
}

impl PathChange {
    pub fn name(&self) -> String {
        lossy(&self.path)
    }

    /// Returns true if a file is made where there was none.
    pub fn is_new(&self) -> bool {
        self.before.is_none()
    }

    pub fn is_removal(&self) -> bool {
        self.after.is_none()
    }

    /// Returns what undoes it.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { path: self.path, before: self.after, after: self.before }
    }

    pub fn is_of_repository(&self) -> bool {
        self.before.iter().chain(&self.after).any(TreeEntry::is_repository)
    }
}

impl WorkTree {
    /// Returns the differences from one tree or commit to another, in all paths or in some: git's pathspecs, in the folder
    /// inside the work tree where the user stands.
    pub fn differences(
        &self,
        private_index: PrivateIndex<'_>,
        from: &ObjectId,
        to: &ObjectId,
        paths: Option<(&Utf8Path, &[String])>,
    ) -> Result<Vec<PathChange>> {
        let (directory, specs) = paths.unwrap_or((&self.top, &[]));
        let raw = self
            .git_at(private_index, directory)
            .args(["diff-tree", "-r", "-z", "--raw", "--full-index", "--no-renames", ALL_SUBMODULES])
            .args([from.as_str(), to.as_str(), "--"])
            .args(specs)
            .read()?;
        let mut parts = split(&raw);
        let mut changes = Vec::new();
        while let (Some(line), Some(path)) = (parts.next(), parts.next()) {
            changes.push(change(line, path)?);
        }
        Ok(changes)
    }

    /// Returns the files of one tree or commit that another has elsewhere, moved or copied, alike in large part.
    pub fn moved(
        &self,
        private_index: PrivateIndex<'_>,
        from: &ObjectId,
        to: &ObjectId,
    ) -> Result<BTreeSet<RawPath>> {
        let git =
            self.git_private(private_index).args(["diff-tree", "-r", "-z", "--name-status", "-M", "-C"]);
        let found = git
            .args(["--no-rename-empty", "--diff-filter=RC", ALL_SUBMODULES, from.as_str(), to.as_str()])
            .read()?;
        let mut parts = split(&found);
        let mut moved = BTreeSet::new();
        while let (Some(_), Some(from), Some(_)) = (parts.next(), parts.next(), parts.next()) {
            moved.insert(from.to_vec());
        }
        Ok(moved)
    }

    /// Returns true if a change is of the mode alone, and the file has that mode already: with `core.fileMode = false`
    /// git does not look at it.
    pub fn has_mode_already(&self, change: &PathChange) -> bool {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { return false };
        let are_files = [before, after].iter().all(|entry| entry.mode == "100644" || entry.mode == "100755");
        if before.id != after.id || !are_files {
            return false;
        }
        let found = self.path(&change.path).symlink_metadata();
        found.is_ok_and(|found| {
            found.is_file() && is_executable(&found).is_none_or(|is| is == (after.mode == "100755"))
        })
    }

    /// Returns the first pathspec that matches nothing, neither now nor in the tree or commit `other`.
    pub fn unmatched<'a>(
        &self,
        private_index: PrivateIndex<'_>,
        other: &ObjectId,
        directory: &Utf8Path,
        specs: &'a [String],
    ) -> Result<Option<&'a str>> {
        for spec in specs {
            let with_tree = format!("--with-tree={other}");
            let listed = self
                .git_at(private_index, directory)
                .args(["ls-files", "--error-unmatch", &with_tree, "--", spec.as_str()])
                .run()?;
            if !listed.is_success() {
                return Ok(Some(spec));
            }
        }
        Ok(None)
    }

    /// Returns those of `candidates` that one of `snapshots` has. The snapshots are in their order, and all here.
    pub fn known(
        &self,
        private_index: PrivateIndex<'_>,
        snapshots: &[ObjectId],
        candidates: &BTreeSet<RawPath>,
    ) -> Result<BTreeSet<RawPath>> {
        let (Some(first), false) = (snapshots.first(), candidates.is_empty()) else {
            return Ok(BTreeSet::new());
        };
        let listing = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", first.as_str()];
        let listed = self.git_private(private_index).args(listing).read()?;
        // Of what came later it is enough to see what is there for the first time.
        let pairs: String = snapshots.windows(2).map(|pair| format!("{} {}\n", pair[1], pair[0])).collect();
        let added = self
            .git_private(private_index)
            .args([
                "diff-tree",
                "--stdin",
                "-r",
                "-z",
                "--name-only",
                "--no-renames",
                "--diff-filter=A",
                ALL_SUBMODULES,
            ])
            .arg("--no-commit-id")
            .stdin(pairs)
            .read()?;
        Ok(split(&listed)
            .chain(split(&added))
            .filter(|path| candidates.contains(*path))
            .map(<[u8]>::to_vec)
            .collect())
    }

    /// Returns those of `paths` that a sparse checkout keeps out of the work tree.
    pub fn out_of_sight(&self, private_index: PrivateIndex<'_>) -> Result<BTreeSet<RawPath>> {
        let listed = self.git_private(private_index).args(["ls-files", "-z", "-t"]).read()?;
        Ok(split(&listed).filter_map(|line| line.strip_prefix(b"S ")).map(<[u8]>::to_vec).collect())
    }

    /// Returns the tree that `private_index` holds, with `changes` made to it.
    pub fn with_changes(&self, private_index: PrivateIndex<'_>, changes: &[PathChange]) -> Result<ObjectId> {
        let index = Utf8PathBuf::from(format!("{}.wanted", private_index.index));
        std::fs::copy(private_index.index, &index).with_context(|| format!("create {index}"))?;
        let wanted = PrivateIndex { index: &index, ..private_index };
        let mut lines = Vec::new();
        // What is removed first, so that a folder can take the place of a file.
        let (removed, written): (Vec<&PathChange>, Vec<&PathChange>) =
            changes.iter().partition(|change| change.is_removal());
        for change in removed.into_iter().chain(written) {
            let (mode, id) = match &change.after {
                Some(entry) => (entry.mode.as_str(), entry.id.to_string()),
                None => ("0", "0".repeat(length_of_id(change))),
            };
            lines.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            lines.extend_from_slice(&change.path);
            lines.push(0);
        }
        self.git_private(wanted).args(["update-index", "-z", "--index-info"]).stdin(lines).read()?;
        self.git_private(wanted).arg("write-tree").line()?.parse()
    }

    /// Files of the work tree that stand where `changes` want others, and that `private_index`, which
    /// holds the work tree as it is, does not have: they could not be restored.
    pub fn endangered(
        &self,
        private_index: PrivateIndex<'_>,
        changes: &[PathChange],
    ) -> Result<BTreeSet<RawPath>> {
        let mut standing = BTreeSet::new();
        for change in changes.iter().filter(|change| !change.is_removal() && change.is_new()) {
            let ends = change.path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
            let in_the_way = ends
                .map(|end| &change.path[..end])
                .find(|path| self.path(path).symlink_metadata().is_ok_and(|found| !found.is_dir()));
            match in_the_way {
                Some(path) => drop(standing.insert(path.to_vec())),
                None => self.files_at(&change.path, &mut standing)?,
            }
        }
        if standing.is_empty() {
            return Ok(standing);
        }
        let listed = self.git_private(private_index).args(["ls-files", "-z"]).read()?;
        let kept: BTreeSet<&[u8]> = split(&listed).collect();
        standing.retain(|path| !kept.contains(path.as_slice()));
        Ok(standing)
    }

    /// Adds the file at `path`, or all files below the folder there; nothing where there is neither.
    fn files_at(&self, path: &[u8], found: &mut BTreeSet<RawPath>) -> Result<()> {
        let full = self.path(path);
        match full.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                found.insert(path.to_vec());
                return Ok(());
            }
            Err(_) => return Ok(()),
        }
        let entries = full.read_dir().with_context(|| format!("read {}", full.display()))?;
        for entry in entries {
            let name = entry.with_context(|| format!("read {}", full.display()))?.file_name();
            self.files_at(&[path, b"/", &*bytes_of(&name)].concat(), found)?;
        }
        Ok(())
    }

    /// Asks git whether it can go from `now`, which `private_index` holds, to `wanted`.
    pub fn check(&self, private_index: PrivateIndex<'_>, now: &ObjectId, wanted: &ObjectId) -> Result<()> {
        // Files may have other times than the index says, and the same bytes.
        let refreshed = self.git_private(private_index).args(["update-index", "-q", "--refresh"]).run();
        refreshed.context("look over the work tree")?;
        let looked = self.merge(private_index, &["-n"], now, wanted)?;
        if !looked.is_success() {
            bail!("git refuses: {}", complaint(&looked));
        }
        Ok(())
    }

    /// Writes and removes files so that the work tree goes from `now` to `wanted`.
    pub fn apply(&self, private_index: PrivateIndex<'_>, now: &ObjectId, wanted: &ObjectId) -> Result<()> {
        let merged = self.merge(private_index, &[], now, wanted)?;
        if !merged.is_success() {
            bail!("git stopped midway: {}", complaint(&merged));
        }
        Ok(())
    }

    fn merge(
        &self,
        private_index: PrivateIndex<'_>,
        options: &[&str],
        now: &ObjectId,
        wanted: &ObjectId,
    ) -> Result<Captured> {
        let git = self.git_private(private_index).arg("read-tree").args(options.iter().copied());
        git.args(["-m", "-u", "--no-recurse-submodules", now.as_str(), wanted.as_str()]).limit(LONG).run()
    }

    fn git_at(&self, private_index: PrivateIndex<'_>, directory: &Utf8Path) -> Tool {
        self.git_private(private_index).in_directory(directory)
    }
}

fn complaint(git: &Captured) -> String {
    let complaint = git.complaint();
    complaint.strip_prefix("error: ").unwrap_or(&complaint).to_owned()
}

fn length_of_id(change: &PathChange) -> usize {
    change.before.as_ref().map_or(40, |entry| entry.id.as_str().len())
}

pub(super) fn tree_entry(mode: &str, id: &str) -> Result<Option<TreeEntry>> {
    if mode == "000000" {
        return Ok(None);
    }
    Ok(Some(TreeEntry { mode: mode.to_owned(), id: id.parse()? }))
}

/// Reads `:100644 100755 <id> <id> M`.
pub(super) fn change(line: &[u8], path: &[u8]) -> Result<PathChange> {
    let text = String::from_utf8_lossy(line);
    let fields: Vec<&str> = text.trim_start_matches(':').split(' ').collect();
    let [mode_before, mode_after, before, after, _] = fields.as_slice() else {
        bail!("read what git diff-tree prints: `{text}`");
    };
    Ok(PathChange {
        path: path.to_vec(),
        before: tree_entry(mode_before, before)?,
        after: tree_entry(mode_after, after)?,
    })
}
