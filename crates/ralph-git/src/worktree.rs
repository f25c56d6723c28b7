//! The user's checkout: reads it as a tree, without touching the index, stash, branch or a file.
//!
//! One of the two interfaces to git. Uses the git program with a private index, so that every filter,
//! attribute and ignore rule means what it means to git.

mod budget;
mod changed_file;
mod checkout;
mod commit;
mod credentials;
mod elsewhere;
mod filters;
mod head;
mod ignored;
mod lane;
mod merge;
mod private_index;
mod range;
mod raw_path;
mod replace;
mod restore;
mod same;
mod settings;
mod short_diff;
mod snapshot;
mod submodules;
mod uncommitted;
mod unseen;
mod users_index;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use crate::repository::{Repository, as_alternate};
use ralph_core::record::{ObjectId, SessionId, Timestamp};
use ralph_os::platform::{changed_at, os_str, repo_path};
use ralph_os::process::{Marker, Tool};
use ralph_os::sandbox::Fence;
use ralph_project::project_files::{ProjectFiles, allowed_folders};

use budget::SnapshotBudget;
use changed_file::ALL_SUBMODULES;
use filters::with_settings;
use raw_path::split;
use users_index::Stamp;

pub use changed_file::{ChangedFile, changed_between};
pub use checkout::Checkout;
pub use commit::StagedEntries;
pub use elsewhere::{CommitPlace, CommitsElsewhere};
pub use head::{OPERATIONS, Operation};
pub use lane::{CommittedFile, Lane};
pub use range::{Merged, RangeCommit};
pub use raw_path::{RawPath, collides};
pub use restore::{PathChange, TreeEntry};
pub use same::MAX_COMPARED;
pub use settings::WatchedSettings;
pub use unseen::{ChangeTime, UnseenEntries};

/// How long git may take to list what is untracked, or to look into submodules.
const LISTING_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a git of a snapshot may take. Filters of the user's run in it, the first time for every file.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_mins(10);

/// Which tree is worked on: the files, the HEAD and the index of one work tree.
#[derive(Debug, Clone)]
pub struct WorkTree {
    repository: Repository,
    top: Utf8PathBuf,
    /// The git directory of this work tree.
    git_dir: Utf8PathBuf,
    /// The values of `ralph.allowLinks`: where links in the work tree may lead beyond it.
    allowed_links: Vec<String>,
    /// The home folder, for the `~/` in them.
    home: Option<String>,
    /// The stamp of the user's index when the private one was copied from it.
    seen: Option<Stamp>,
    /// The tree that was last written from the private index, the folder of its objects, and whether it is new there.
    written: Option<(ObjectId, Utf8PathBuf, bool)>,
    has_gitlinks: bool,
    /// Files of earlier snapshots that a changed `.gitignore` ignores; `None` if none was changed.
    newly_ignored: Option<BTreeSet<RawPath>>,
    budget: SnapshotBudget,
    /// Time limit of git for a snapshot: shorter after one timed out, so that no night is spent waiting.
    limit: Duration,
    /// Set for every git that we start, so that it is found and stopped if we die first.
    marker: Option<Marker>,
    /// Set if it is ours, and no work tree of the user's.
    lane: Option<Lane>,
    /// Set if agents work in a fence here: what git runs of theirs belongs there, too.
    fence: Option<Fence>,
    /// Settings of git with which its filters run in the fence.
    fenced_filters: Vec<(String, String)>,
    /// Variables that say who makes our commits here; empty where git's settings say it.
    identity: Vec<(String, String)>,
}

/// An index and an object directory of our own, so that git writes neither to the user's.
#[derive(Debug, Clone, Copy)]
pub struct PrivateIndex<'a> {
    /// The index file; created from the user's if it does not exist.
    pub index: &'a Utf8Path,
    /// Where new objects are written; existing ones are read from the repository.
    pub objects: &'a Utf8Path,
    /// Untracked files of more bytes are left out.
    pub max_file: u64,
}

impl WorkTree {
    pub(crate) fn new(
        repository: Repository,
        top: Utf8PathBuf,
        git_dir: Utf8PathBuf,
        allowed_links: Vec<String>,
        home: Option<String>,
    ) -> Self {
        Self {
            repository,
            top,
            git_dir,
            allowed_links,
            home,
            seen: None,
            written: None,
            has_gitlinks: false,
            newly_ignored: None,
            budget: SnapshotBudget::default(),
            limit: SNAPSHOT_TIMEOUT,
            marker: None,
            lane: None,
            fence: None,
            fenced_filters: Vec::new(),
            identity: Vec::new(),
        }
    }

    /// Returns the same, with links permitted as these values of `ralph.allowLinks` say.
    #[must_use]
    pub fn permitting_links(self, allowed_links: Vec<String>) -> Self {
        Self { allowed_links, ..self }
    }

    /// Returns the repository that it is a work tree of.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// Returns the absolute path of its top.
    pub fn top(&self) -> &Utf8Path {
        &self.top
    }

    /// Returns the git directory of this work tree, where its HEAD and its index are.
    pub fn git_dir(&self) -> &Utf8Path {
        &self.git_dir
    }

    /// Returns the home folder of the user, as `~/` means it.
    pub fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    /// Returns a name for it that no other work tree of the same repository has.
    pub fn name(&self) -> String {
        if let Some(lane) = &self.lane {
            return lane.name();
        }
        if self.git_dir == self.repository.common_dir {
            return "main".to_owned();
        }
        // A linked work tree may well be called `main`, too.
        format!("linked-{}", self.git_dir.file_name().unwrap_or_default())
    }

    /// Returns its files.
    pub fn project_files(&self) -> Result<ProjectFiles> {
        let values = self.allowed_links.iter().map(String::as_str);
        let allowed = allowed_folders(values, self.home.as_deref())?;
        let private = self.lane.as_ref().map(Lane::private_git_dir);
        let git_dirs = [&self.git_dir, &self.repository.common_dir].into_iter().chain(&private);
        let git_dirs: Vec<&Utf8Path> = git_dirs.map(Utf8PathBuf::as_path).collect();
        Ok(ProjectFiles::new(&self.top, &git_dirs, &allowed))
    }

    /// Marks the processes of this work tree with a session.
    #[must_use]
    pub fn at_work_for(self, session: &SessionId) -> Self {
        Self { marker: Some(Marker::new(session).in_work_tree(&self.top)), ..self }
    }

    /// Has filters, and all git in repositories inside the work tree, run in a fence.
    pub fn behind(self, fence: Option<Fence>) -> Result<Self> {
        let fenced = Self { fence, ..self };
        Ok(Self { fenced_filters: fenced.fence_filters()?, ..fenced })
    }

    /// Returns a path inside the work tree, from its top.
    pub fn relative(&self, path: &Utf8Path) -> String {
        repo_path(path.strip_prefix(&self.top).unwrap_or(path))
    }

    /// Returns the files in which two trees differ, from the top of the work tree, each with the lines that were added
    /// and removed.
    pub fn changed(
        &self,
        private_index: PrivateIndex<'_>,
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<Vec<ChangedFile>> {
        changed_between(self.git_private(private_index), before, after)
    }

    /// Commits that `after` has and `before` has not, nor any of `known`, committed no earlier than `since`, oldest
    /// first.
    ///
    /// So commits that an agent pulled do not count as work of this iteration. There is no latest date: an agent's clock may be
    /// ahead of ours.
    pub fn commits_between(
        &self,
        before: Option<&ObjectId>,
        after: Option<&ObjectId>,
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

    /// Returns the files that commits changed, each with the last commit that did, oldest commit first.
    pub fn changed_in(&self, commits: &[ObjectId]) -> Result<Vec<(RawPath, ObjectId)>> {
        let wanted: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        let listing = ["diff-tree", "--stdin", "--root", "-r", "-z", "--name-only", "--no-renames"];
        let output = self.git().args(listing).arg(ALL_SUBMODULES).stdin(wanted).read()?;
        let mut found = Vec::new();
        let mut current = None;
        for part in split(&output) {
            match commits.iter().find(|commit| commit.as_str().as_bytes() == part) {
                Some(commit) => current = Some(commit),
                None => found.extend(current.map(|commit| (part.to_vec(), commit.clone()))),
            }
        }
        Ok(found)
    }

    /// Returns true if a commit is part of the branch that is checked out.
    pub fn is_in_branch(&self, commit: &ObjectId) -> bool {
        let asked = self.git().args(["merge-base", "--is-ancestor", commit.as_str(), "HEAD"]).run();
        asked.is_ok_and(|captured| captured.is_success())
    }

    /// Returns true if there is a file at a path from the top.
    pub fn has_file(&self, path: &str) -> bool {
        self.path(path.as_bytes()).symlink_metadata().is_ok()
    }

    /// Returns when the file at a path from the top was last changed in any way, in seconds and nanoseconds; `None` if it is
    /// not there.
    pub fn changed_at(&self, path: &[u8]) -> Option<(i64, i64)> {
        Some(changed_at(&self.path(path).symlink_metadata().ok()?))
    }

    /// Lists all files of `tree`, which [`WorkTree::contents`] wrote into `objects`, as `git ls-tree -r -z` does.
    pub fn entries(&self, objects: &Utf8Path, tree: &ObjectId) -> Result<Vec<u8>> {
        self.git_with_objects(objects).args(["ls-tree", "-r", "-z", "--full-tree", tree.as_str()]).read()
    }

    /// Variables with which a git of the user's finds what [`WorkTree::contents`] wrote into `objects`.
    pub fn with_objects(&self, objects: &Utf8Path) -> [(&'static str, String); 2] {
        [
            ("GIT_OBJECT_DIRECTORY", objects.to_string()),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", as_alternate(&self.repository.common_dir.join("objects"))),
        ]
    }

    fn git(&self) -> Tool {
        // Named outright: the user may have called us with a GIT_DIR that no search from here would find.
        let git = Tool::git(&self.top)
            .env("GIT_DIR", self.git_dir.as_str())
            .env("GIT_WORK_TREE", self.top.as_str());
        let marks = self.marker.iter().flat_map(Marker::variables);
        let git = marks.fold(git, |git, (name, value)| git.env(name, value));
        with_settings(git, &self.fenced_filters)
    }

    /// Returns git that writes objects into a folder of ours, and reads the user's too.
    fn git_with_objects(&self, objects: &Utf8Path) -> Tool {
        self.with_objects(objects).into_iter().fold(self.git(), |git, (name, value)| git.env(name, value))
    }

    /// Returns git that finds what may be in the folder `objects` alone.
    fn git_reading(&self, objects: Option<&Utf8Path>) -> Tool {
        objects.map_or_else(|| self.git(), |objects| self.git_with_objects(objects))
    }

    fn git_private(&self, private_index: PrivateIndex<'_>) -> Tool {
        // A split index would put its other half beside the user's; the cache of what is untracked is of no use here.
        // If a file is as new as the index, any of these may read it again, through the user's filters.
        self.git_with_objects(private_index.objects)
            .in_own_session()
            .limit(self.limit)
            .args(["-c", "core.splitIndex=false", "-c", "core.untrackedCache=false"])
            .env("GIT_INDEX_FILE", private_index.index.as_str())
    }

    fn path(&self, raw: &[u8]) -> PathBuf {
        self.top.as_std_path().join(os_str(raw))
    }
}
