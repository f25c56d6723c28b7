//! The user's checkout: what is in it, as a tree, without touching the index, stash, branch or a file.
//!
//! One of the two doors to git. Works through the git program with a private index, so that every filter,
//! attribute and ignore rule means what it means to git.

mod budget;
mod checkout;
mod commit;
mod credentials;
mod filters;
mod restore;
mod submodules;
mod users_index;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use crate::process::{Marker, Tool, was_cut_short};
use crate::project_files::open_plain;
use crate::record::{LeftOut, ObjectId, SessionId, Timestamp};
use crate::repository::{Repository, as_alternate};

use budget::{Budget, Candidate};
use credentials::is_credentials;
use users_index::Stamp;

pub use checkout::Checkout;
pub use commit::{Prepared, Staged};
pub use restore::{Change, Paths, TreeEntry};

/// How long git may take to list what is untracked, or to look into submodules.
const LISTING: Duration = Duration::from_secs(60);

/// How long a git of a snapshot may take. Filters of the user's run in it, the first time for every file.
const SNAPSHOT: Duration = Duration::from_secs(600);

/// So many paths that git refuses are each found by halving; when more are bad, what is left goes unread.
const REFUSALS: usize = 100;

/// git would write files from this size on straight into a pack, and only loose objects are moved into the repository.
const ALL_LOOSE: &str = "core.bigFileThreshold=1048576g";

/// The settings `diff.ignoreSubmodules` and `submodule.NAME.ignore` would hide a new commit of a submodule.
const ALL_SUBMODULES: &str = "--ignore-submodules=none";

/// The checkout of one work tree.
#[derive(Debug, Clone)]
pub struct WorkTree {
    top: Utf8PathBuf,
    git_dir: Utf8PathBuf,
    common_dir: Utf8PathBuf,
    /// How the user's index was when the private one was made from it.
    seen: Option<Stamp>,
    has_gitlinks: bool,
    /// Whether some of the files that the index names may be at a remote alone.
    is_partial: bool,
    budget: Budget,
    /// How long a git of a snapshot may take: less after one took too long, so that a night is not spent waiting.
    limit: Duration,
    /// Carried by every git that we start, so that it is found and stopped should we die before it.
    marker: Option<Marker>,
}

/// The whole work tree as a tree object: tracked and untracked, ignored files left out.
#[derive(Debug, Clone)]
pub struct Contents {
    pub tree: ObjectId,
    pub left_out: Vec<LeftOut>,
    /// Of those left out, the ones that git failed to take.
    pub refused: BTreeSet<RawPath>,
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
pub type RawPath = Vec<u8>;

impl WorkTree {
    pub fn new(repository: &Repository) -> Result<Self> {
        Ok(Self {
            top: repository.work_tree()?.to_owned(),
            git_dir: repository.git_dir.clone(),
            common_dir: repository.common_dir.clone(),
            seen: None,
            has_gitlinks: false,
            is_partial: repository.is_partial(),
            budget: Budget::default(),
            limit: SNAPSHOT,
            marker: None,
        })
    }

    /// The same, at work for a session.
    #[must_use]
    pub fn at_work_for(self, session: &SessionId) -> Self {
        Self { marker: Some(Marker::new(session).in_work_tree(&self.top)), ..self }
    }

    /// A path inside the work tree, from its top.
    pub fn relative(&self, path: &Utf8Path) -> String {
        path.strip_prefix(&self.top).unwrap_or(path).to_string()
    }

    /// Writes the work tree as it is now. Where anything fails, tries once more with a fresh private index, and
    /// then, for the user's index itself may be broken, with one made from the last commit.
    pub fn contents(&mut self, workshop: Workshop<'_>) -> Result<Contents> {
        let written = self.prepare_index(workshop.index).and_then(|()| self.write_tree(workshop));
        let written = written.or_else(|error| {
            if was_cut_short(&error) {
                return Err(error);
            }
            self.seen = None;
            self.prepare_index(workshop.index)?;
            self.write_tree(workshop)
        });
        let is_cut_short = written.as_ref().is_err_and(was_cut_short);
        self.limit = if is_cut_short { LISTING } else { SNAPSHOT };
        written.or_else(|error| {
            if is_cut_short {
                // What git was at may be half done, and is begun anew.
                self.seen = None;
                return Err(error.context("take a snapshot of the work tree"));
            }
            let begun = self.begin_from_head(workshop).and_then(|()| self.write_tree(workshop));
            begun.map_err(|_| error.context("take a snapshot of the work tree"))
        })
    }

    /// The files in which two trees differ, from the top of the work tree.
    pub fn changed(
        &self,
        workshop: Workshop<'_>,
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<Vec<RawPath>> {
        if before == after {
            return Ok(Vec::new());
        }
        let output = self
            .git_private(workshop)
            .args(["diff-tree", "-r", "-z", "--name-only", "--no-renames", ALL_SUBMODULES])
            .args([before.as_str(), after.as_str()])
            .read()?;
        Ok(split(&output).map(<[u8]>::to_vec).collect())
    }

    /// Commits that `after` has and `before` has not, nor any of `known`, committed no earlier than `since`, oldest
    /// first.
    ///
    /// So what an agent pulled is nobody's work of this iteration. There is no latest date: an agent's clock may be
    /// ahead of ours.
    pub fn commits_between(
        &self,
        (before, after): (Option<&ObjectId>, Option<&ObjectId>),
        known: &[u8],
        since: Timestamp,
    ) -> Result<Vec<ObjectId>> {
        let Some(after) = after.filter(|after| Some(*after) != before) else { return Ok(Vec::new()) };
        let mut wanted = format!("{after}\n");
        for id in String::from_utf8_lossy(known).lines().chain(before.map(ObjectId::as_str)) {
            wanted.push_str(&format!("^{id}\n"));
        }
        let tool = self.git().args(["log", "--reverse", "--format=%H %ct", "--stdin"]);
        let output = tool.stdin(wanted).read()?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let is_recent =
            |seconds: &str| seconds.parse::<i64>().is_ok_and(|seconds| seconds >= since.seconds());
        let commits = text.lines().filter_map(|line| line.split_once(' '));
        commits.filter(|(_, seconds)| is_recent(seconds)).map(|(id, _)| id.parse()).collect()
    }

    /// Variables with which a git of the user's finds what [`WorkTree::contents`] wrote into `objects`.
    pub fn with_objects(&self, objects: &Utf8Path) -> [(&'static str, String); 2] {
        [
            ("GIT_OBJECT_DIRECTORY", objects.to_string()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", as_alternate(&self.common_dir.join("objects"))),
        ]
    }

    fn git(&self) -> Tool {
        // Named outright: the user may have called us with a GIT_DIR that no search from here would find.
        let git = Tool::git(&self.top)
            .env("GIT_DIR", self.git_dir.as_str())
            .env("GIT_WORK_TREE", self.top.as_str());
        let marks = self.marker.iter().flat_map(Marker::variables);
        marks.fold(git, |git, (name, value)| git.env(name, value))
    }

    fn git_private(&self, workshop: Workshop<'_>) -> Tool {
        // A split index would put its other half beside the user's; the cache of what is untracked is of no use here.
        // Where a file is as young as the index, any of these may look into it again, through filters of the user's.
        self.git()
            .in_own_session()
            .limit(self.limit)
            .args(["-c", "core.splitIndex=false", "-c", "core.untrackedCache=false"])
            .env("GIT_INDEX_FILE", workshop.index.as_str())
            .env("GIT_OBJECT_DIRECTORY", workshop.objects.as_str())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", as_alternate(&self.common_dir.join("objects")))
    }

    /// The object folder of the repository, quoted where its path would be taken for several.
    fn write_tree(&mut self, workshop: Workshop<'_>) -> Result<Contents> {
        let mut left_out = Vec::new();
        let listed = self.list(workshop, &mut left_out)?;
        let mut paths = BTreeSet::new();
        let mut candidates = Vec::new();
        let mut oversized = BTreeSet::new();
        let mut removed = BTreeSet::new();
        for line in split(&listed) {
            let (tag, path) = line.split_at(line.len().min(2));
            let is_untracked = tag == b"? ";
            if tag[0].is_ascii_lowercase() {
                // The user asked git to take it for unchanged.
                continue;
            }
            if tag == b"R " || (!is_untracked && self.is_behind_link(path)) {
                removed.insert(path.to_vec());
                continue;
            }
            match if is_untracked { self.untracked(path, workshop) } else { self.tracked(path, workshop) } {
                Verdict::Take(size) if is_untracked => {
                    candidates.push(Candidate { path: path.to_vec(), size });
                }
                Verdict::Take(_) => drop(paths.insert(path.to_vec())),
                Verdict::TakeLink(folder) => {
                    self.has_gitlinks = true;
                    paths.insert(folder);
                }
                Verdict::Oversized => drop(oversized.insert(path.to_vec())),
                Verdict::Leave(reason) => left_out.push(leave(path, reason)),
            }
        }
        paths.extend(self.budget.choose(candidates, &mut left_out));
        removed.extend(self.forget_untracked(&oversized, &mut paths, &mut left_out)?);
        if paths.iter().any(|path| path == b".gitignore" || path.ends_with(b"/.gitignore")) {
            removed.extend(self.newly_ignored(workshop)?);
        }
        paths.retain(|path| !removed.contains(path));
        let removed: Vec<_> = removed.into_iter().collect();
        let mut refused = BTreeSet::new();
        self.feed(workshop, &["--force-remove"], &removed, (&mut left_out, &mut refused))?;
        let paths: Vec<_> = paths.into_iter().collect();
        self.feed(workshop, &["--add", "--remove", "--replace"], &paths, (&mut left_out, &mut refused))?;
        if self.has_gitlinks {
            let dirty = self.dirty_submodules(workshop);
            left_out.extend(dirty.iter().map(|path| leave(path, LeftOut::SUBMODULE_CHANGES)));
        }
        // What is not here was committed by somebody and is at their remote. git would fetch it to look at it.
        let options: &[&str] = if self.is_partial { &["--missing-ok"] } else { &[] };
        let tree = self.git_private(workshop).arg("write-tree").args(options.iter().copied()).line()?;
        let tree = tree.parse()?;
        left_out.sort();
        left_out.dedup();
        Ok(Contents { tree, left_out, refused })
    }

    /// What differs from the private index, each path behind a tag and a blank.
    fn list(&self, workshop: Workshop<'_>, left_out: &mut Vec<LeftOut>) -> Result<Vec<u8>> {
        let list = || self.git_private(workshop).args(["ls-files", "-z", "-v"]).limit(LISTING);
        let others = ["--others", "--exclude-standard"];
        let began = Instant::now();
        let all = list().args(["--modified", "--deleted"]).args(others).read_all();
        let all = all.map(|(listed, complaints)| {
            left_out.extend(sealed_folders(&complaints));
            listed
        });
        all.or_else(|error| {
            let is_hopeless = began.elapsed() >= LISTING;
            if was_cut_short(&error) && !is_hopeless {
                return Err(error);
            }
            let mut listed = self.list_tracked(workshop)?;
            // A folder of millions, or one that cannot be read: what is tracked is worth a snapshot by itself.
            let untracked = if is_hopeless { Err(error) } else { list().args(others).read() };
            match untracked {
                Ok(untracked) => listed.extend(untracked),
                Err(error) => left_out.push(leave(b"./", &format!("nothing untracked was taken: {error:#}"))),
            }
            Ok(listed)
        })
    }

    /// What is tracked and differs, without a look into the files: a filter that fails would end that.
    fn list_tracked(&self, workshop: Workshop<'_>) -> Result<Vec<u8>> {
        users_index::renew(workshop.index)?;
        let raw = self.git_private(workshop).args([
            "diff-files",
            "-z",
            "--name-status",
            "--no-renames",
            ALL_SUBMODULES,
        ]);
        let raw = raw.limit(LISTING).read()?;
        let mut parts = split(&raw);
        let mut listed = Vec::new();
        while let (Some(change), Some(path)) = (parts.next(), parts.next()) {
            listed.extend_from_slice(if change == b"D" { b"R " } else { b"C " });
            listed.extend_from_slice(path);
            listed.push(0);
        }
        Ok(listed)
    }

    /// Makes the private index from the user's, so that only what changed must be hashed. It is made anew when
    /// the user's changed: then files may be tracked that are ignored, or bits may be set that hide others.
    fn prepare_index(&mut self, index: &Utf8Path) -> Result<()> {
        let lock = Utf8PathBuf::from(format!("{index}.lock"));
        if lock.exists() {
            // Only the holder of the loop's lock gets here, so this was left by one who died.
            fs::remove_file(&lock).with_context(|| format!("remove the stale lock {lock}"))?;
        }
        let now = Stamp::of(&self.git_dir, &self.common_dir);
        if self.seen == Some(now) && index.exists() {
            return Ok(());
        }
        self.budget = Budget::default();
        self.has_gitlinks = users_index::copy(&self.git_dir.join("index"), index)?;
        self.seen = Some(now);
        Ok(())
    }

    /// Makes the private index from the last commit, with every file to be hashed.
    fn begin_from_head(&mut self, workshop: Workshop<'_>) -> Result<()> {
        users_index::remove(workshop.index)?;
        self.budget = Budget::default();
        self.has_gitlinks = true;
        self.git_private(workshop).args(["read-tree", "HEAD"]).read().map(drop)
    }

    fn untracked(&self, path: &[u8], workshop: Workshop<'_>) -> Verdict {
        if let Some(folder) = path.strip_suffix(b"/") {
            // A repository inside the work tree: git records which commit it is at, if it has one.
            let asked = Tool::git(&self.top)
                .arg("-C")
                .arg(OsStr::from_bytes(folder))
                .args(["rev-parse", "--verify", "--quiet", "HEAD"])
                .run();
            return match asked {
                Ok(captured) if captured.is_success() => Verdict::TakeLink(folder.to_vec()),
                _ => Verdict::Leave(LeftOut::NESTED_REPOSITORY),
            };
        }
        if is_credentials(path) {
            return Verdict::Leave("credentials");
        }
        match self.look(path, workshop) {
            Look::Oversized => Verdict::Leave("too large"),
            Look::Unreadable => Verdict::Leave("unreadable"),
            Look::Fine(size) => Verdict::Take(size),
        }
    }

    /// Whether a folder on the way to it has become a link: then it is no file of this work tree.
    fn is_behind_link(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        ends.into_iter().any(|end| self.path(&path[..end]).is_symlink())
    }

    fn tracked(&self, path: &[u8], workshop: Workshop<'_>) -> Verdict {
        match self.look(path, workshop) {
            Look::Oversized => Verdict::Oversized,
            Look::Unreadable => Verdict::Leave("unreadable"),
            Look::Fine(size) => Verdict::Take(size),
        }
    }

    fn look(&self, path: &[u8], workshop: Workshop<'_>) -> Look {
        let path = self.path(path);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                if metadata.len() > workshop.max_file {
                    Look::Oversized
                } else if open_plain(&path).is_err() && path.exists() {
                    Look::Unreadable
                } else {
                    Look::Fine(metadata.len())
                }
            }
            // A link, a submodule, or gone: git knows what to do.
            _ => Look::Fine(0),
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
        (left_out, refused): (&mut Vec<LeftOut>, &mut BTreeSet<RawPath>),
    ) -> Result<()> {
        if paths.is_empty() {
            return Ok(());
        }
        let stdin = joined(paths);
        let update = self.git_private(workshop).args(["-c", ALL_LOOSE]).arg("update-index").args(options);
        let captured = update.args(["-z", "--stdin"]).stdin(stdin).run()?;
        if captured.is_success() {
            return Ok(());
        }
        if let [path] = paths {
            left_out.push(leave(path, &format!("{}{}", LeftOut::REFUSED, captured.complaint())));
            refused.insert(path.clone());
            return Ok(());
        }
        if left_out.len() > REFUSALS {
            left_out.extend(paths.iter().map(|path| leave(path, LeftOut::UNREAD)));
            refused.extend(paths.iter().cloned());
            return Ok(());
        }
        let (one, other) = paths.split_at(paths.len() / 2);
        self.feed(workshop, options, one, (left_out, refused))?;
        self.feed(workshop, options, other, (left_out, refused))
    }

    fn path(&self, raw: &[u8]) -> PathBuf {
        self.top.as_std_path().join(OsStr::from_bytes(raw))
    }
}

enum Verdict {
    /// A file of that many bytes.
    Take(u64),
    /// A repository in that folder, to be taken as the commit that it is at.
    TakeLink(RawPath),
    /// In our index, but past the size limit: taken only where the user tracks it.
    Oversized,
    Leave(&'static str),
}

enum Look {
    /// Its size.
    Fine(u64),
    Oversized,
    Unreadable,
}

/// The folders that git says it could not look into.
fn sealed_folders(stderr: &[u8]) -> impl Iterator<Item = LeftOut> {
    stderr.split(|&byte| byte == b'\n').filter_map(|line| {
        let path = line.strip_prefix(b"warning: could not open directory '")?;
        let end = path.windows(3).rposition(|part| part == b"': ")?;
        Some(leave(&path[..end], "unreadable"))
    })
}

fn leave(path: &[u8], reason: &str) -> LeftOut {
    LeftOut { path: lossy(path), reason: reason.to_owned() }
}

/// Paths as git reads them from its standard input with `-z`.
fn joined<'a>(paths: impl IntoIterator<Item = &'a RawPath>) -> Vec<u8> {
    paths.into_iter().flat_map(|path| path.iter().copied().chain([0])).collect()
}

fn lossy(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

fn split(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}
