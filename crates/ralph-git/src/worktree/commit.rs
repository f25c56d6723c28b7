//! A commit on the user's branch, where the user asked for such: by the user's own git and hooks, from a private index.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_core::record::ObjectId;
use ralph_os::if_there::IfThere;
use ralph_os::process::Tool;

use super::raw_path::{RawPath, joined, split};
use super::restore::TreeEntry;
use super::{ALL_SUBMODULES, WorkTree, users_index};

/// How long to wait for the lock of the user's index.
const INDEX_LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Time between two attempts to get it.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The entry of a path in an index: mode and object. A path that is gone has the mode 0.
type Entry = (Vec<u8>, Vec<u8>);

/// Paths of an index that are not as in the last commit, and what is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StagedEntries(BTreeMap<RawPath, Entry>);

impl StagedEntries {
    pub fn has(&self, path: &[u8]) -> bool {
        self.0.contains_key(path)
    }

    /// Returns the entries that are equal in both.
    #[must_use]
    pub fn intersection(&self, others: &Self) -> Self {
        let same = self.0.iter().filter(|(path, entry)| others.0.get(*path) == Some(entry));
        Self(same.map(|(path, entry)| (path.clone(), entry.clone())).collect())
    }

    /// Adds the paths whose entries differ between `then` and `now`.
    pub fn extend_by_changes(&mut self, then: &Self, now: &Self) {
        let paths = then.0.keys().chain(now.0.keys());
        let changed = paths.filter(|path| then.0.get(*path) != now.0.get(*path));
        self.0.extend(changed.map(|path| (path.clone(), Entry::default())));
    }

    /// Writes the entries into a file.
    pub fn write(&self, file: &Utf8Path) -> Result<()> {
        fs::write(file, self.lines()).with_context(|| format!("write {file}"))
    }

    /// Returns what [`StagedEntries::write`] put there; `None` if there is no such file.
    pub fn read(file: &Utf8Path) -> Result<Option<Self>> {
        let read = fs::read(file).if_there().with_context(|| format!("read {file}"))?;
        let Some(bytes) = read else { return Ok(None) };
        Ok(Some(Self(
            split(&bytes)
                .filter_map(|line| {
                    let (what, path) = cut(line, b'\t')?;
                    let (mode, id) = cut(what, b' ')?;
                    Some((path.to_vec(), (mode.to_vec(), id.to_vec())))
                })
                .collect(),
        )))
    }

    /// Removes that file.
    pub fn remove_file(file: &Utf8Path) -> Result<()> {
        users_index::remove(file)
    }

    /// As `git update-index --index-info` reads it.
    fn lines(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|(path, (mode, id))| {
                [mode.as_slice(), b" ", id.as_slice(), b"\t", path.as_slice(), b"\0"].concat()
            })
            .collect()
    }
}

impl WorkTree {
    /// Checks that git knows who commits here; an error says what is missing.
    pub fn check_identity(&self) -> Result<()> {
        for ident in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            self.git().args(["var", ident]).read()?;
        }
        Ok(())
    }

    /// Returns what the user has staged.
    pub fn staged(&self, head: Option<&ObjectId>) -> Result<StagedEntries> {
        let base = self.base(head)?;
        let listing = ["diff-index", "--cached", "--raw", "-z", "--no-renames", ALL_SUBMODULES, &base];
        let raw = self.git().args(listing).read()?;
        Ok(entries(&raw))
    }

    /// Returns the paths that are not as in the last commit in a tree of this work tree, untracked ones among them.
    pub fn differing(
        &self,
        head: Option<&ObjectId>,
        tree: &ObjectId,
        objects: Option<&Utf8Path>,
    ) -> Result<BTreeSet<RawPath>> {
        let base = self.base(head)?;
        let listing = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", ALL_SUBMODULES];
        let output = self.git_reading(objects).args(listing).args([base.as_str(), tree.as_str()]).read()?;
        Ok(split(&output).map(<[u8]>::to_vec).collect())
    }

    /// Makes `index` hold the last commit with these paths as they are in the work tree. Ignored files stay out. Returns
    /// whether there is anything to commit, and the repositories inside the work tree that stay out, as they are no submodules.
    pub fn prepare(
        &self,
        index: &Utf8Path,
        head: Option<&ObjectId>,
        paths: &BTreeSet<RawPath>,
    ) -> Result<(bool, BTreeSet<RawPath>)> {
        users_index::remove(&Utf8PathBuf::from(format!("{index}.lock")))?;
        // A copy of the user's: what it knows of sizes and times saves hashing every file.
        users_index::copy(&self.git_dir.join("index"), index)?;
        match head {
            Some(head) => self.git_with(index).args(["read-tree", "-i", "--reset", head.as_str()]).read()?,
            None => self.git_with(index).args(["read-tree", "--empty"]).read()?,
        };
        // It names what is ignored and not tracked, and exits 1 if nothing is.
        let checked =
            self.git_with(index).args(["check-ignore", "-z", "--stdin"]).stdin(joined(paths)).run()?;
        let ignored: BTreeSet<&[u8]> = split(&checked.stdout).collect();
        let mut paths: BTreeSet<RawPath> =
            paths.iter().filter(|path| !ignored.contains(path.as_slice())).cloned().collect();
        let nested = self.nested_repositories(index, &paths)?;
        paths.retain(|path| !nested.contains(path));
        let update =
            self.git_with(index).args(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]);
        let updated = self.with_strict_filters(update)?.stdin(joined(&paths)).run()?;
        if !updated.is_success() {
            match self.failed_filter(index, &updated, &paths)? {
                Some(failed) => bail!("{failed}"),
                None => bail!("`git update-index`: {}", updated.complaint()),
            }
        }
        let base = self.base(head)?;
        let compared =
            self.git_with(index).args(["diff-index", "--cached", "--quiet", ALL_SUBMODULES, &base]).run()?;
        Ok((compared.code == 1, nested))
    }

    /// Makes `index` hold the last commit with these entries, of which `None` takes a path out.
    pub fn prepare_entries(
        &self,
        index: &Utf8Path,
        head: Option<&ObjectId>,
        files: &BTreeMap<RawPath, Option<TreeEntry>>,
    ) -> Result<()> {
        users_index::remove(&Utf8PathBuf::from(format!("{index}.lock")))?;
        users_index::remove(index)?;
        let base = self.base(head)?;
        self.git_with(index).args(["read-tree", &base]).read()?;
        let entries = files.iter().map(|(path, entry)| {
            // With the mode 0, any id does.
            let (mode, id) = entry.as_ref().map_or(("0", base.as_str()), |it| (&it.mode, it.id.as_str()));
            (path.clone(), (mode.as_bytes().to_vec(), id.as_bytes().to_vec()))
        });
        let lines = StagedEntries(entries.collect()).lines();
        let update = ["update-index", "--replace", "-z", "--index-info"];
        self.git_with(index).args(update).stdin(lines).read().map(drop)
    }

    /// Returns the words and the variables that commit a prepared index as the user would: with hooks and signature.
    pub fn commit_command(
        &self,
        index: &Utf8Path,
        message: &Utf8Path,
    ) -> (Vec<String>, Vec<(String, String)>) {
        let words = [
            "git",
            "-c",
            "core.splitIndex=false",
            "-c",
            "core.untrackedCache=false",
            // What goes on in the background is stopped after every child, and these begin such.
            "-c",
            "core.fsmonitor=false",
            "-c",
            "maintenance.auto=false",
            "-c",
            "gc.auto=0",
            "commit",
            "--quiet",
            "--cleanup=whitespace",
            "--file",
            message.as_str(),
        ];
        let mut variables = self.identity.clone();
        variables.push(("GIT_INDEX_FILE".to_owned(), index.to_string()));
        if !self.is_found_by_git() {
            // By no search from here, or because `core.bare` or `core.worktree` say otherwise meanwhile.
            variables.push(("GIT_DIR".to_owned(), self.git_dir.to_string()));
            variables.push(("GIT_WORK_TREE".to_owned(), self.top.to_string()));
        }
        (words.map(str::to_owned).into(), variables)
    }

    /// Returns true if `commit` is a child of `head`, which it was prepared from. Otherwise it would undo a commit that
    /// another process made at the same time, and HEAD moves back to that one.
    pub fn undo_unless_child(&self, head: Option<&ObjectId>, commit: &ObjectId) -> Result<bool> {
        let parents = self.git().args(["log", "-1", "--format=%P", commit.as_str()]).line()?;
        let expected = head.map_or("", ObjectId::as_str);
        if parents == expected {
            return Ok(true);
        }
        let reason = "ralph: taken back, because another process committed at the same time";
        let back = ["update-ref", "-m", reason, "HEAD", parents.as_str(), commit.as_str()];
        self.git().args(back).read().context("take the commit back")?;
        Ok(false)
    }

    /// Returns the first parent of a commit, and what a trailer of it says.
    pub fn base_and_trailer(&self, commit: &ObjectId, trailer: &str) -> Result<(Option<ObjectId>, String)> {
        let format = format!("--format=%P%x00%(trailers:key={trailer},valueonly)");
        let line = self.git().args(["log", "-1", &format, commit.as_str()]).line()?;
        let (parents, value) = line.split_once('\0').unwrap_or_default();
        let parent = parents.split(' ').next().filter(|parent| !parent.is_empty());
        Ok((parent.map(str::parse).transpose()?, value.to_owned()))
    }

    /// Updates the user's index for the paths that `commit` changed since `base`, and leaves its other entries as they are.
    pub fn update_user_index(
        &self,
        base: Option<&ObjectId>,
        commit: &ObjectId,
        held: &StagedEntries,
    ) -> Result<()> {
        let base = self.base(base)?;
        let raw = self
            .git()
            .args(["diff-tree", "-r", "--raw", "-z", "--no-renames", ALL_SUBMODULES, &base, commit.as_str()])
            .read()?;
        let mut changes = entries(&raw);
        changes.0.retain(|path, _| !held.has(path));
        let lines = changes.lines();
        let began = Instant::now();
        loop {
            let update =
                self.git().args(["update-index", "-z", "--index-info"]).stdin(lines.clone()).run()?;
            if update.is_success() {
                return Ok(());
            }
            if began.elapsed() >= INDEX_LOCK_TIMEOUT || !self.git_dir.join("index.lock").exists() {
                bail!("{}", update.complaint());
            }
            thread::sleep(LOCK_RETRY_INTERVAL);
        }
    }

    /// Returns the last commit, or the empty tree if there is none.
    fn base(&self, head: Option<&ObjectId>) -> Result<String> {
        match head {
            Some(head) => Ok(head.to_string()),
            None => self.git().args(["hash-object", "-t", "tree", "--stdin"]).line(),
        }
    }

    pub(super) fn git_with(&self, index: &Utf8Path) -> Tool {
        let settings = ["-c", "core.splitIndex=false", "-c", "core.untrackedCache=false"];
        self.git().args(settings).env("GIT_INDEX_FILE", index.as_str())
    }
}

/// Returns what is before the first of these bytes, and what after it.
fn cut(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}

/// Returns the right sides of git's raw listing of differences: `:MODE MODE ID ID STATUS`, then the path.
fn entries(raw: &[u8]) -> StagedEntries {
    let mut parts = split(raw);
    let mut found = BTreeMap::new();
    while let (Some(change), Some(path)) = (parts.next(), parts.next()) {
        let mut words = change.split(|byte| *byte == b' ').skip(1);
        if let (Some(mode), Some(_), Some(id)) = (words.next(), words.next(), words.next()) {
            let mode = if mode == b"000000" { b"0".to_vec() } else { mode.to_vec() };
            found.insert(path.to_vec(), (mode, id.to_vec()));
        }
    }
    StagedEntries(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_listing_is_read_to_its_right_sides() {
        let raw = b":100644 100755 aaa bbb M\0a b\0:100644 000000 aaa 000 D\0gone\0:000000 120000 000 ccc A\0\xff\0";
        let entry = |mode: &str, id: &str| (mode.as_bytes().to_vec(), id.as_bytes().to_vec());
        assert_eq!(
            entries(raw),
            StagedEntries(BTreeMap::from([
                (b"a b".to_vec(), entry("100755", "bbb")),
                (b"gone".to_vec(), entry("0", "000")),
                (b"\xff".to_vec(), entry("120000", "ccc")),
            ]))
        );
        assert_eq!(entries(b""), StagedEntries::default());
    }

    #[test]
    fn what_is_staged_comes_back_from_a_file_to_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        let file = Utf8Path::from_path(folder.path()).unwrap().join("staged");
        assert_eq!(StagedEntries::read(&file).unwrap(), None);
        let staged = entries(b":1 100755 aaa bbb M\0a b\tc\n\0:1 000000 aaa 000 D\0\xff gone\0");
        assert_eq!(staged.0.len(), 2);
        staged.write(&file).unwrap();
        assert_eq!(StagedEntries::read(&file).unwrap(), Some(staged));
        StagedEntries::remove_file(&file).unwrap();
        assert_eq!(StagedEntries::read(&file).unwrap(), None);
    }
}
