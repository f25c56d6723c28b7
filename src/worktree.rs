//! The user's checkout: what is in it, as a tree, without touching the index, stash, branch or a file.
//!
//! One of the two doors to git. Works through the git program with a private index, so that every filter,
//! attribute and ignore rule means what it means to git.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use crate::process::{Marker, Tool};
use crate::record::{LeftOut, ObjectId, Timestamp};
use crate::repository::Repository;

/// The checkout of one work tree.
#[derive(Debug, Clone)]
pub struct WorkTree {
    top: Utf8PathBuf,
    git_dir: Utf8PathBuf,
    common_dir: Utf8PathBuf,
    /// Carried by every git that we start, so that it is found and stopped should we die before it.
    marker: Option<Marker>,
}

/// The whole work tree as a tree object: tracked and untracked, ignored files left out.
#[derive(Debug, Clone)]
pub struct Contents {
    pub tree: ObjectId,
    pub left_out: Vec<LeftOut>,
}

/// Where a snapshot is made.
#[derive(Debug, Clone, Copy)]
pub struct Workshop<'a> {
    /// The private index; made from the user's where it is not there.
    pub index: &'a Utf8Path,
    /// Where new objects go; the repository's own are read from where they are.
    pub objects: &'a Utf8Path,
    /// Untracked files of more bytes stay out.
    pub max_file: u64,
}

/// A path as git prints it: bytes, from the top of the work tree.
type RawPath = Vec<u8>;

impl WorkTree {
    pub fn new(repository: &Repository) -> Result<Self> {
        Ok(Self {
            top: repository.work_tree()?.to_owned(),
            git_dir: repository.git_dir.clone(),
            common_dir: repository.common_dir.clone(),
            marker: None,
        })
    }

    /// The same, at work for a session.
    #[must_use]
    pub fn marked(self, marker: Marker) -> Self {
        Self { marker: Some(marker), ..self }
    }

    /// A path inside the work tree, from its top.
    pub fn relative(&self, path: &Utf8Path) -> String {
        path.strip_prefix(&self.top).unwrap_or(path).to_string()
    }

    /// Writes the work tree as it is now. Where anything fails, tries once more with a fresh private index.
    pub fn contents(&self, workshop: Workshop<'_>) -> Result<Contents> {
        self.write_tree(workshop).or_else(|_| {
            if workshop.index.exists() {
                fs::remove_file(workshop.index).with_context(|| format!("remove {}", workshop.index))?;
            }
            self.write_tree(workshop).context("take a snapshot of the work tree")
        })
    }

    /// The files in which two trees differ, from the top of the work tree.
    pub fn changed(&self, objects: &Utf8Path, before: &ObjectId, after: &ObjectId) -> Result<Vec<String>> {
        if before == after {
            return Ok(Vec::new());
        }
        let output = self
            .git()
            .env("GIT_OBJECT_DIRECTORY", objects.as_str())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.alternates())
            .args(["diff-tree", "-r", "-z", "--name-only", "--no-renames", before.as_str(), after.as_str()])
            .read()?;
        Ok(split(&output).map(lossy).collect())
    }

    /// Commits that `after` has and `before` has not, committed no earlier than `since`, oldest first.
    pub fn commits_between(
        &self,
        before: Option<&ObjectId>,
        after: Option<&ObjectId>,
        since: Timestamp,
    ) -> Result<Vec<ObjectId>> {
        let Some(after) = after.filter(|after| Some(*after) != before) else { return Ok(Vec::new()) };
        let mut tool = self.git().args(["log", "--reverse", "--format=%H %ct", after.as_str()]);
        if let Some(before) = before {
            tool = tool.arg(format!("^{before}"));
        }
        let output = tool.read()?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let is_recent =
            |seconds: &str| seconds.parse::<i64>().is_ok_and(|seconds| seconds >= since.seconds());
        let commits = text.lines().filter_map(|line| line.split_once(' '));
        commits.filter(|(_, seconds)| is_recent(seconds)).map(|(id, _)| id.parse()).collect()
    }

    fn git(&self) -> Tool {
        // Named outright: the user may have called us with a GIT_DIR that no search from here would find.
        let git = Tool::git(&self.top)
            .env("GIT_DIR", self.git_dir.as_str())
            .env("GIT_WORK_TREE", self.top.as_str());
        match &self.marker {
            Some(marker) => git.env(Marker::VARIABLE, marker.value()),
            None => git,
        }
    }

    fn git_private(&self, workshop: Workshop<'_>) -> Tool {
        self.git()
            .env("GIT_INDEX_FILE", workshop.index.as_str())
            .env("GIT_OBJECT_DIRECTORY", workshop.objects.as_str())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.alternates())
    }

    /// The object folder of the repository, quoted where its path would be taken for several.
    fn alternates(&self) -> String {
        let path = self.common_dir.join("objects");
        if path.as_str().contains([':', '"', '\\']) {
            format!("\"{}\"", path.as_str().replace('\\', "\\\\").replace('"', "\\\""))
        } else {
            path.into_string()
        }
    }

    fn write_tree(&self, workshop: Workshop<'_>) -> Result<Contents> {
        self.prepare_index(workshop.index)?;
        let listed = self
            .git_private(workshop)
            .args(["ls-files", "-z", "-t", "--others", "--modified", "--deleted", "--exclude-standard"])
            .read()?;
        let mut left_out = Vec::new();
        let mut paths = BTreeSet::new();
        let mut oversized = BTreeSet::new();
        for line in split(&listed) {
            let (tag, path) = line.split_at(line.len().min(2));
            let verdict =
                if tag == b"? " { self.untracked(path, workshop) } else { self.tracked(path, workshop) };
            match verdict {
                Verdict::Take(path) => drop(paths.insert(path)),
                Verdict::Oversized => drop(oversized.insert(path.to_vec())),
                Verdict::Leave(reason) => left_out.push(leave(path, reason)),
            }
        }
        let mut removed = self.forget_untracked(&oversized, &mut paths, &mut left_out)?;
        if paths.iter().any(|path| path == b".gitignore" || path.ends_with(b"/.gitignore")) {
            removed.extend(self.newly_ignored(workshop)?);
        }
        self.feed(workshop, &["--force-remove"], &removed.into_iter().collect::<Vec<_>>(), &mut left_out)?;
        self.feed(
            workshop,
            &["--add", "--remove", "--replace"],
            &paths.into_iter().collect::<Vec<_>>(),
            &mut left_out,
        )?;
        let tree = self.git_private(workshop).arg("write-tree").line()?.parse()?;
        left_out.sort();
        left_out.dedup();
        Ok(Contents { tree, left_out })
    }

    /// Makes the private index from the user's, so that only what changed must be hashed.
    fn prepare_index(&self, index: &Utf8Path) -> Result<()> {
        let lock = Utf8PathBuf::from(format!("{index}.lock"));
        if lock.exists() {
            // Only the holder of the loop's lock gets here, so this was left by one who died.
            fs::remove_file(&lock).with_context(|| format!("remove the stale lock {lock}"))?;
        }
        let users = self.git_dir.join("index");
        if !index.exists() && users.exists() {
            let draft = Utf8PathBuf::from(format!("{index}.new"));
            fs::copy(&users, &draft).with_context(|| format!("copy {users}"))?;
            fs::rename(&draft, index).with_context(|| format!("create {index}"))?;
        }
        Ok(())
    }

    fn untracked(&self, path: &[u8], workshop: Workshop<'_>) -> Verdict {
        if let Some(folder) = path.strip_suffix(b"/") {
            // A repository inside the work tree: git records which commit it is at, if it has one.
            let inner = self.top.as_std_path().join(OsStr::from_bytes(folder));
            let head = Utf8PathBuf::from_path_buf(inner)
                .ok()
                .map(|inner| Tool::git(&inner).args(["rev-parse", "--verify", "--quiet", "HEAD"]).run());
            return match head {
                Some(Ok(captured)) if captured.is_success() => Verdict::Take(folder.to_vec()),
                _ => Verdict::Leave("nested repository"),
            };
        }
        if is_credentials(path) {
            return Verdict::Leave("credentials");
        }
        match self.look(path, workshop) {
            Look::Oversized => Verdict::Leave("too large"),
            Look::Unreadable => Verdict::Leave("unreadable"),
            Look::Fine => Verdict::Take(path.to_vec()),
        }
    }

    fn tracked(&self, path: &[u8], workshop: Workshop<'_>) -> Verdict {
        match self.look(path, workshop) {
            Look::Oversized => Verdict::Oversized,
            Look::Unreadable => Verdict::Leave("unreadable"),
            Look::Fine => Verdict::Take(path.to_vec()),
        }
    }

    fn look(&self, path: &[u8], workshop: Workshop<'_>) -> Look {
        let path = self.path(path);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                if metadata.len() > workshop.max_file {
                    Look::Oversized
                } else if File::open(&path).is_err() && path.exists() {
                    Look::Unreadable
                } else {
                    Look::Fine
                }
            }
            // A link, a submodule, or gone: git knows what to do.
            _ => Look::Fine,
        }
    }

    /// Of big files that our index knows, those that the user's does not know grew after a snapshot took them.
    fn forget_untracked(
        &self,
        oversized: &BTreeSet<RawPath>,
        paths: &mut BTreeSet<RawPath>,
        left_out: &mut Vec<LeftOut>,
    ) -> Result<BTreeSet<RawPath>> {
        if oversized.is_empty() {
            return Ok(BTreeSet::new());
        }
        let output = self.git().args(["ls-files", "-z"]).read()?;
        let users: BTreeSet<&[u8]> = split(&output).collect();
        let mut removed = BTreeSet::new();
        for path in oversized {
            if users.contains(path.as_slice()) {
                paths.insert(path.clone());
            } else {
                removed.insert(path.clone());
                left_out.push(leave(path, "too large"));
            }
        }
        Ok(removed)
    }

    /// Files of our index that a changed `.gitignore` now ignores, and that the user does not track.
    fn newly_ignored(&self, workshop: Workshop<'_>) -> Result<BTreeSet<RawPath>> {
        let listing = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let ours = self.git_private(workshop).args(listing).read()?;
        let users = self.git().args(listing).read()?;
        let users: BTreeSet<&[u8]> = split(&users).collect();
        Ok(split(&ours).filter(|path| !users.contains(path)).map(<[u8]>::to_vec).collect())
    }

    /// Feeds paths to the private index. Where git refuses, halves the list until it is clear which path it
    /// refuses, and leaves that one out: a file that cannot be read costs that file, never the iteration.
    fn feed(
        &self,
        workshop: Workshop<'_>,
        options: &[&str],
        paths: &[RawPath],
        left_out: &mut Vec<LeftOut>,
    ) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut stdin = Vec::new();
        for path in paths {
            stdin.extend_from_slice(path);
            stdin.push(0);
        }
        let update = self.git_private(workshop).arg("update-index").args(options);
        let captured = update.args(["-z", "--stdin"]).stdin(stdin).run()?;
        if captured.is_success() {
            return Ok(());
        }
        if let [path] = paths {
            left_out.push(leave(path, &captured.complaint()));
            return Ok(());
        }
        let (one, other) = paths.split_at(paths.len() / 2);
        self.feed(workshop, options, one, left_out)?;
        self.feed(workshop, options, other, left_out)
    }

    fn path(&self, raw: &[u8]) -> PathBuf {
        self.top.as_std_path().join(OsStr::from_bytes(raw))
    }
}

enum Verdict {
    Take(RawPath),
    /// In our index, but past the size limit: taken only where the user tracks it.
    Oversized,
    Leave(&'static str),
}

enum Look {
    Fine,
    Oversized,
    Unreadable,
}

fn leave(path: &[u8], reason: &str) -> LeftOut {
    LeftOut { path: lossy(path), reason: reason.to_owned() }
}

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

fn split(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// Whether an untracked file looks like one that holds credentials, by its name.
fn is_credentials(path: &[u8]) -> bool {
    let path = lossy(path).to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let is_example =
        [".example", ".sample", ".template", ".dist", ".pub"].iter().any(|end| name.ends_with(end));
    if is_example {
        return false;
    }
    let names = [
        ".env",
        ".envrc",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".htpasswd",
        ".git-credentials",
        "credentials",
        "credentials.json",
        "secrets.yml",
        "secrets.yaml",
        "secrets.json",
        "secrets.toml",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
    ];
    let ends = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"];
    let folders = [".aws/credentials", ".docker/config.json", ".kube/config"];
    names.contains(&name)
        || name.starts_with(".env.")
        || (name.starts_with("service-account") && Utf8Path::new(name).extension() == Some("json"))
        || ends.iter().any(|end| name.ends_with(end))
        || folders.iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_look_like_credentials_are_known_by_name() {
        for path in
            [".env", "api/.env.production", "keys/server.pem", "id_rsa", "home/.aws/credentials", "X.KEY"]
        {
            assert!(is_credentials(path.as_bytes()), "{path}");
        }
        for path in [".env.example", "id_rsa.pub", "src/environment.rs", "docs/keys.md", "monkey"] {
            assert!(!is_credentials(path.as_bytes()), "{path}");
        }
    }
}
