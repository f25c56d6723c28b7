//! A lane: a work tree of ours, outside of the repository, in which agents work and whose results go on a branch.
//!
//! Our git takes it for one more work tree of the user's repository: its HEAD, its index and its sparse patterns are in a
//! folder beside it. What the git commands of agents find in the lane is a repository of its own, made anew for each
//! attempt; our git never runs in that one.

use std::fs;
use std::io::Write as _;

use anyhow::{Context, Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

use crate::repository::HashKind;
use ralph_core::record::{AttemptId, ObjectId, full_branch_name};
use ralph_os::if_there::IfThere;
use ralph_os::platform;
use ralph_os::process::{LONG, NO_LAZY_FETCH, Tool, create_private_dir, open_folders, remove_path};

use super::raw_path::split;
use super::users_index;
use super::{PrivateIndex, WorkTree};

/// Sections of the user's settings that the repository of an agent has.
const SECTIONS: &[&str] = &["user", "author", "committer", "filter", "diff", "merge", "lfs", "i18n"];

/// Settings of `core` that it has.
const CORE: &[&str] = &[
    "autocrlf",
    "eol",
    "safecrlf",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
    "filemode",
    "quotepath",
    "sparsecheckout",
    "sparsecheckoutcone",
];

/// How many commits are looked through for one that passed.
const MAX_COMMITS: &str = "--max-count=1000";

/// How many commits are looked through for one that took in a branch.
const MAX_MERGED: &str = "--max-count=50";

/// Most commits of an agent that are listed, and largest file of its refs, in bytes.
const MAX_LISTED: &str = "--max-count=50";
const MAX_REFS_BYTES: u64 = 1 << 20;

/// What a file takes of a disk is a multiple of this, as most file systems have it.
const BLOCK_BYTES: u64 = 4096;

/// The folders of checkouts among the lanes: those for the user's own results, and those for ranges of anybody's commits.
const CLEAN: &str = "clean";
const RANGE: &str = "range";

/// The file beside HEAD that says for what the setup of a lane ran last.
const SETUP_NOTE: &str = "setup";

/// Where a lane is. The one place that knows its paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// From 1. A clean checkout has one as well, as what runs there must not know where it is.
    pub number: u32,
    /// The name of a clean checkout, in which no agent works; `None` of a lane.
    clean: Option<String>,
    /// The branch that its results go on: a name below `refs/heads/`, or a whole one.
    pub branch: String,
    /// Names of files that git commands of agents in it ignore.
    ignored: &'static [&'static str],
    /// The folder of all lanes of the repository.
    root: Utf8PathBuf,
    /// The git directory of the work tree that it was started from.
    users_git_dir: Utf8PathBuf,
    /// The top of that work tree.
    pub users_top: Utf8PathBuf,
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedFile {
    /// As git writes it: `100644`.
    pub mode: String,
    pub bytes: Vec<u8>,
}

impl CommittedFile {
    /// Returns true if it is no link.
    pub fn is_plain(&self) -> bool {
        self.mode.starts_with("100")
    }
}

impl Lane {
    /// Returns the name by which its lock and its spools are known.
    pub fn name(&self) -> String {
        let kind = self.root.file_name().unwrap_or(CLEAN);
        self.clean.as_ref().map_or_else(|| Self::name_of(self.number), |name| format!("{kind}-{name}"))
    }

    /// Returns the name of the lane with this number.
    pub fn name_of(number: u32) -> String {
        format!("lane-{number}")
    }

    /// Returns the number of the lane of that name.
    pub fn number_of(name: &str) -> Option<u32> {
        name.strip_prefix("lane-")?.parse().ok()
    }

    /// Returns the top of the lane, where agents and all commands of the project work.
    pub fn dir(&self) -> Utf8PathBuf {
        self.clean
            .as_ref()
            .map_or_else(|| self.root.join(self.number.to_string()), |name| self.root.join(name))
    }

    /// Returns a file or folder of ours beside it. Those of a clean checkout are not among the checkouts: these have the names of
    /// the user's folders, which may be any.
    fn beside(&self, ending: &str) -> Utf8PathBuf {
        match &self.clean {
            Some(name) => Utf8PathBuf::from(format!("{}.state/{name}.{ending}", self.root)),
            None => self.root.join(format!("{}.{ending}", self.number)),
        }
    }

    /// Returns the repository that git commands in the lane find.
    pub fn private_git_dir(&self) -> Utf8PathBuf {
        self.dir().join(".git")
    }

    /// Returns our own git directory of it, with its HEAD and its index.
    pub fn git_dir(&self) -> Utf8PathBuf {
        self.beside("git")
    }

    /// Returns the folder for temporary files of what runs in it.
    pub fn temp_dir(&self) -> Utf8PathBuf {
        self.beside("tmp")
    }

    /// Returns the folder for files of an attempt that no commit takes.
    fn aside_dir(&self) -> Utf8PathBuf {
        self.beside("aside")
    }

    /// Returns the folder of a clean checkout for the caches of installers: what they link from a shared one could be edited there.
    pub fn caches_dir(&self) -> Utf8PathBuf {
        self.beside("caches")
    }

    /// Returns the folder with what `lanes.copy` names as it was before the first attempt.
    pub fn copies_dir(&self) -> Utf8PathBuf {
        self.beside("copies")
    }

    /// Returns what was noted when its setup ran last.
    pub fn setup_note(&self) -> Option<String> {
        fs::read_to_string(self.git_dir().join(SETUP_NOTE)).ok()
    }

    /// Notes for what its setup ran.
    pub fn note_setup(&self, state: &str) -> Result<()> {
        let note = self.git_dir().join(SETUP_NOTE);
        fs::write(&note, state).with_context(|| format!("write {note}"))
    }

    /// Returns the folder of all lanes of the repository: git looks for none in it or above.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// Returns the ref that its results go on.
    pub fn reference(&self) -> String {
        full_branch_name(&self.branch)
    }

    /// Returns what every child in it gets.
    pub fn variables(&self) -> [(String, String); 3] {
        [
            ("RALPH_LANE", self.number.to_string()),
            ("RALPH_LANE_DIR", self.dir().into_string()),
            ("GIT_CEILING_DIRECTORIES", self.root.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

/// A commit of a branch, and what it says of itself.
#[derive(Debug)]
pub struct BranchCommit {
    pub commit: ObjectId,
    /// True if it says that the validation passed on its tree.
    pub says_passed: bool,
    /// The attempt whose result it has.
    pub result: Option<AttemptId>,
    /// The iteration whose record published it.
    pub publisher: Option<AttemptId>,
}

impl WorkTree {
    /// Returns lane `number` of the same repository in the folder `root`.
    #[must_use]
    pub fn lane_in(&self, root: Utf8PathBuf, number: u32, branch: &str) -> Self {
        self.with_lane(Lane {
            number,
            clean: None,
            branch: branch.to_owned(),
            ignored: &[],
            root,
            users_git_dir: self.git_dir.clone(),
            users_top: self.top.clone(),
        })
    }

    /// Returns the clean checkout of the user's work tree, in the folder `root` of the lanes of the repository. `number` is what
    /// commands in it get for that of a lane, and `branch` what they see checked out; none if it is empty.
    #[must_use]
    pub fn clean_in(&self, root: &Utf8Path, number: u32, branch: &str) -> Self {
        self.checkout_in(root.join(CLEAN), number, branch)
    }

    /// Returns the checkout in which other people's commits run: it is not kept, and has nothing of the one for the user's own.
    #[must_use]
    pub fn range_checkout_in(&self, root: &Utf8Path, number: u32) -> Self {
        self.checkout_in(root.join(RANGE), number, "")
    }

    /// Returns a checkout whose folder has the name of the user's, which tests may depend on.
    fn checkout_in(&self, root: Utf8PathBuf, number: u32, branch: &str) -> Self {
        let users = self.lane.as_ref().map(|lane| (lane.users_git_dir.clone(), lane.users_top.clone()));
        let (users_git_dir, users_top) = users.unwrap_or_else(|| (self.git_dir.clone(), self.top.clone()));
        self.with_lane(Lane {
            number,
            clean: Some(users_top.file_name().unwrap_or("root").to_owned()),
            branch: branch.to_owned(),
            ignored: &[],
            root,
            users_git_dir,
            users_top,
        })
    }

    /// Returns all checkouts in the folder `root` of the lanes of the repository, whichever work trees they are of.
    pub fn clean_checkouts(&self, root: &Utf8Path) -> Result<Vec<Self>> {
        let mut checkouts = Vec::new();
        for folder in [CLEAN, RANGE].map(|kind| root.join(kind)) {
            let entries = folder.read_dir_utf8().if_there().with_context(|| format!("read {folder}"))?;
            for entry in entries.into_iter().flatten().flatten() {
                let found = self.checkout_in(folder.clone(), 1, "");
                let lane = found.lane.map(|lane| Lane { clean: Some(entry.file_name().to_owned()), ..lane });
                checkouts.extend(lane.map(|lane| self.with_lane(lane)));
            }
        }
        Ok(checkouts)
    }

    fn with_lane(&self, lane: Lane) -> Self {
        let (top, git_dir) = (lane.dir(), lane.git_dir());
        let new =
            Self::new(self.repository.clone(), top, git_dir, self.allowed_links.clone(), self.home.clone());
        Self { lane: Some(lane), ..new }
    }

    /// Returns the same lane, in which git commands of agents ignore files of these names.
    #[must_use]
    pub fn ignoring(self, ignored: &'static [&'static str]) -> Self {
        Self { lane: self.lane.map(|lane| Lane { ignored, ..lane }), ..self }
    }

    /// Returns the lane that it is; `None` for a work tree of the user's.
    pub fn lane(&self) -> Option<&Lane> {
        self.lane.as_ref()
    }

    /// Makes the files of a lane those of the commit `tip`, whatever was left there; ignored files stay. The repository for git
    /// commands in it is made anew. What the commit leads to may be in the folder `objects` alone.
    pub fn take_lane_to(&self, tip: &ObjectId, objects: Option<&Utf8Path>) -> Result<()> {
        let Some(lane) = &self.lane else { return Ok(()) };
        self.take_to(lane, Some(tip), (tip, objects), &["-ffdq"])
            .with_context(|| format!("take {} to {}", self.top, tip.short()))?;
        let made = self.make_private_git(lane, "lane", Some(tip), objects).and_then(|dir| {
            fs::copy(self.git_dir.join("index"), dir.join("index")).if_there()?;
            Ok(())
        });
        made.with_context(|| format!("create {}", lane.private_git_dir()))
    }

    /// Removes what git ignores in a lane, but for `keep`, which are paths from the top; its setup runs again.
    pub fn remove_ignored(&self, keep: &[String]) -> Result<()> {
        // A pattern names one more that is ignored, so that what stays is excepted from all.
        let kept = keep.iter().flat_map(|path| ["-e".to_owned(), format!("!/{}", escaped(path))]);
        let git = self.git().in_own_session().limit(LONG).args(["clean", "-ffdXq"]);
        git.args(kept.collect::<Vec<_>>()).read()?;
        Ok(fs::remove_file(self.git_dir.join(SETUP_NOTE)).if_there().map(drop)?)
    }

    /// Makes the files of a clean checkout those of `tree`, whose objects may be in the folder `objects` alone. Nothing that git ignores stays, but for `keep`, which are paths from the
    /// top. Git commands in it see the commit `head` checked out, as they did where the tree is of.
    pub fn take_checkout_to(
        &self,
        (tree, objects): (&ObjectId, Option<&Utf8Path>),
        head: Option<&ObjectId>,
        keep: &[String],
    ) -> Result<()> {
        let Some(lane) = &self.lane else { return Ok(()) };
        create_private_dir(&lane.root)?;
        let mut clean = vec!["-ffdxq".to_owned()];
        for path in keep {
            clean.extend(["-e".to_owned(), format!("/{}", escaped(path))]);
        }
        let words: Vec<&str> = clean.iter().map(String::as_str).collect();
        self.take_to(lane, head, (tree, objects), &words)
            .with_context(|| format!("check out {} in {}", tree.short(), self.top))?;
        let made = self.make_private_git(lane, &lane.branch, head, objects).and_then(|dir| {
            // What is in no commit is in no index either, as where the tree was made.
            if let Some(head) = head {
                let index = dir.join("index");
                let git = self.git_reading(objects);
                git.env("GIT_INDEX_FILE", index.as_str()).args(["read-tree", head.as_str()]).read()?;
            }
            Ok(())
        });
        made.with_context(|| format!("create {}", lane.private_git_dir()))
    }

    /// Returns the bytes that a new lane takes: as many as the tracked files that are here, and as what it gets copies of.
    pub fn bytes_of_lane(&self, copies: &[String]) -> Result<u64> {
        let listed = self.git().args(["ls-files", "-z"]).limit(LONG).read()?;
        let tracked = split(&listed).map(|path| String::from_utf8_lossy(path).into_owned());
        // A sparse work tree lacks some, and so does its lane.
        Ok(tracked.chain(copies.iter().cloned()).map(|path| bytes_below(&self.top.join(path))).sum())
    }

    /// Returns the bytes that the files of a lane take.
    pub fn bytes_in_lane(&self) -> u64 {
        bytes_below(&self.top)
    }

    /// Gives a lane a copy of a file or folder below `top`, by its path from there.
    pub fn copy_into_lane(&self, top: &Utf8Path, path: &str) -> Result<()> {
        let (from, to) = (top.join(path), self.top.join(path));
        copy(&from, &to).with_context(|| format!("copy {from} to {to}"))
    }

    /// Moves a file or folder out of a lane, by its path from the top. It stays beside the lane until that is taken again.
    pub fn move_aside(&self, path: &str) -> Result<()> {
        let Some(lane) = &self.lane else { return Ok(()) };
        let (from, to) = (self.top.join(path), lane.aside_dir().join(path));
        create_private_dir(to.parent().unwrap_or(&to))?;
        fs::rename(&from, &to).if_there().map(drop).with_context(|| format!("move {from} to {to}"))
    }

    /// Removes a lane with everything in it and beside it.
    pub fn remove_lane(&self) -> Result<()> {
        let Some(lane) = &self.lane else { return Ok(()) };
        let beside =
            [lane.git_dir(), lane.temp_dir(), lane.aside_dir(), lane.caches_dir(), lane.copies_dir()];
        for folder in [lane.dir()].into_iter().chain(beside) {
            remove_path(&folder).with_context(|| format!("remove {folder}"))?;
        }
        Ok(())
    }

    /// Returns true if a lane was never taken to a commit.
    pub fn is_new_lane(&self) -> bool {
        !self.git_dir.join("index").exists()
    }

    /// Makes the folders of a lane, so that git knows it: one without a HEAD is at `tip`, with no file in it yet; on a branch
    /// without a commit if there is none.
    pub fn make_lane(&self, tip: Option<&ObjectId>) -> Result<()> {
        let Some(lane) = &self.lane else { return Ok(()) };
        create_private_dir(&self.git_dir.join("info"))?;
        if !self.top.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            fs::remove_file(&self.top).if_there()?;
            platform::private_dirs().create(&self.top)?;
        }
        platform::set_mode(self.top.as_std_path(), 0o700)?;
        let common = &self.repository.common_dir;
        fs::write(self.git_dir.join("commondir"), format!("{common}\n"))?;
        fs::write(self.git_dir.join("gitdir"), format!("{}\n", lane.private_git_dir()))?;
        for name in ["info/sparse-checkout", "config.worktree"] {
            fs::remove_file(self.git_dir.join(name)).if_there()?;
            fs::copy(lane.users_git_dir.join(name), self.git_dir.join(name)).if_there()?;
        }
        let head = self.git_dir.join("HEAD");
        if head.exists() { Ok(()) } else { write_by_rename(&head, &head_at(tip)) }
    }

    fn take_to(
        &self,
        lane: &Lane,
        tip: Option<&ObjectId>,
        (tree, objects): (&ObjectId, Option<&Utf8Path>),
        clean: &[&str],
    ) -> Result<()> {
        remove_path(&lane.aside_dir())?;
        self.make_lane(tip)?;
        write_by_rename(&self.git_dir.join("HEAD"), &head_at(tip))?;
        // Only the holder of the loop's lock gets here.
        fs::remove_file(self.git_dir.join("index.lock")).if_there()?;
        // A checkout may fetch files that a partial clone lacks.
        let git = self.git_reading(objects);
        let git = git.in_own_session().env(NO_LAZY_FETCH, "0").limit(LONG);
        let reset = git.clone().args(["read-tree", "--reset", "-u", tree.as_str()]);
        let clean = git.args(["clean"]).args(clean);
        let take = || reset.clone().read().and_then(|_| clean.clone().read());
        if take().is_err() {
            // An agent may have made folders read-only.
            open_folders(self.top.as_std_path());
            take()?;
        }
        Ok(())
    }

    /// Makes the repository that git commands of an agent find: with the user's objects to read, and without remotes, aliases
    /// and hooks. `tip` is checked out in it on `branch`, or on none if that is empty. Returns its folder.
    fn make_private_git(
        &self,
        lane: &Lane,
        branch: &str,
        tip: Option<&ObjectId>,
        objects: Option<&Utf8Path>,
    ) -> Result<Utf8PathBuf> {
        let dir = lane.private_git_dir();
        remove_path(&dir)?;
        let common = &self.repository.common_dir;
        for name in ["objects/info", "objects/pack", "refs/heads", "info"] {
            fs::create_dir_all(dir.join(name))?;
        }
        let own = objects.map_or_else(String::new, |objects| format!("{objects}\n"));
        fs::write(dir.join("objects/info/alternates"), format!("{}\n{own}", common.join("objects")))?;
        if branch.is_empty() {
            fs::write(dir.join("HEAD"), head_at(tip))?;
        } else {
            let reference = full_branch_name(branch);
            fs::write(dir.join("HEAD"), format!("ref: {reference}\n"))?;
            if let Some(tip) = tip {
                let file = dir.join(reference);
                fs::create_dir_all(file.parent().unwrap_or(&file))?;
                fs::write(file, format!("{tip}\n"))?;
            }
        }
        fs::write(dir.join("packed-refs"), self.refs_to_show(lane)?)?;
        fs::write(dir.join("config"), self.settings_to_show(lane)?)?;
        for (from, name) in [
            (common, "info/exclude"),
            (common, "info/attributes"),
            (common, "shallow"),
            (&self.git_dir, "info/sparse-checkout"),
        ] {
            fs::copy(from.join(name), dir.join(name)).if_there()?;
        }
        let names = lane.ignored.iter().map(|name| format!("\n{name}"));
        let mut exclude = fs::OpenOptions::new().create(true).append(true).open(dir.join("info/exclude"))?;
        exclude.write_all(names.collect::<String>().as_bytes())?;
        Ok(dir)
    }

    /// Returns the user's branch, what it follows, the default branch and the tags of their history, as packed refs.
    fn refs_to_show(&self, lane: &Lane) -> Result<Vec<u8>> {
        let git = Tool::git(&self.top).env("GIT_DIR", lane.users_git_dir.as_str());
        let mut names = Vec::new();
        for name in ["HEAD", "refs/remotes/origin/HEAD"] {
            let asked = git.clone().args(["symbolic-ref", "--quiet", name]).run()?;
            names.extend(String::from_utf8_lossy(&asked.stdout).lines().map(str::to_owned));
        }
        if let Some(branch) = names.first() {
            let upstream = git.clone().args(["for-each-ref", "--format=%(upstream)", branch]).line()?;
            names.extend((!upstream.is_empty()).then_some(upstream));
        }
        let mut shown = b"# pack-refs with: sorted\n".to_vec();
        if names.is_empty() {
            return Ok(shown);
        }
        let list = ["for-each-ref", "--format=%(objectname) %(refname)"];
        let mut lines = git.clone().args(list).args(&names).read()?;
        let merged = names.iter().map(|name| format!("--merged={name}"));
        lines.extend(git.args(list).args(merged).arg("refs/tags").run()?.stdout);
        let mut lines: Vec<&[u8]> =
            lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        lines.sort_by_key(|line| line.splitn(2, |byte| *byte == b' ').nth(1));
        lines.dedup();
        for line in lines {
            shown.extend_from_slice(line);
            shown.push(b'\n');
        }
        Ok(shown)
    }

    /// Returns the configuration of that repository: what says who commits, and how files are read and written.
    fn settings_to_show(&self, lane: &Lane) -> Result<String> {
        let git = Tool::git(&self.top).env("GIT_DIR", lane.users_git_dir.as_str());
        let listed = git.args(["config", "--list", "-z"]).read()?;
        let (version, format) = match self.repository.hash {
            HashKind::Sha1 => (0, ""),
            HashKind::Sha256 => (1, "[extensions]\n\tobjectformat = sha256\n"),
        };
        let mut text = format!(
            "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\tlogallrefupdates = true\n[gc]\n\tauto = 0\n{format}"
        );
        // Objects of git-lfs are beside those of the user's, and may be there alone.
        let common = &self.repository.common_dir;
        let mut lfs = Some(common.join("lfs")).filter(|lfs| lfs.exists());
        for entry in String::from_utf8_lossy(&listed).split('\0') {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            let (Some((section, _)), Some((before, name))) = (key.split_once('.'), key.rsplit_once('.'))
            else {
                continue;
            };
            if key == "lfs.storage" {
                lfs = Some(common.join(value));
            }
            let is_shown = SECTIONS.contains(&section) || section == "core" && CORE.contains(&name);
            if !is_shown {
                continue;
            }
            let heading = match before.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')) {
                Some(subsection) => format!("[{section} {}]", quoted(subsection)),
                None => format!("[{section}]"),
            };
            text.push_str(&format!("{heading}\n\t{name} = {}\n", quoted(value)));
        }
        text.extend(lfs.map(|lfs| format!("[lfs]\n\tstorage = {}\n", quoted(lfs.as_str()))));
        Ok(text)
    }

    /// Returns true if one commit is another, or is in its history.
    pub fn is_ancestor(&self, one: &ObjectId, other: &ObjectId) -> Result<bool> {
        let asked = self.git().args(["merge-base", "--is-ancestor", one.as_str(), other.as_str()]).run()?;
        match asked.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => bail!("compare {one} with {other}: {}", asked.complaint()),
        }
    }

    /// Returns true if a commit of `head` since it left `tip` has all that `tip` changed: to merge the two would change nothing
    /// there. Whatever became of it after that commit. What git makes of it is written to `objects`, a folder of ours.
    pub fn has_changes_of(&self, head: &ObjectId, tip: &ObjectId, objects: &Utf8Path) -> Result<bool> {
        create_private_dir(objects)?;
        let range = format!("{tip}..{head}");
        let listed =
            self.git().args(["log", "--first-parent", MAX_MERGED, "--format=%H %T", &range]).read()?;
        let listed = String::from_utf8_lossy(&listed);
        let mut commits = listed.lines().filter_map(|line| line.split_once(' '));
        Ok(commits.any(|(commit, tree)| {
            let merge = self.git_with_objects(objects).args(["merge-tree", "--write-tree", "--no-messages"]);
            // A conflict and a git before 2.38 are both no.
            merge.args([commit, tip.as_str()]).line().is_ok_and(|merged| merged == tree)
        }))
    }

    /// Returns the commits after `base` up to `tip`, newest first, and the files in which the two differ.
    pub fn between(&self, base: &ObjectId, tip: &ObjectId) -> Result<(Vec<String>, Vec<String>)> {
        let range = format!("{base}..{tip}");
        let commits = self.git().args(["log", "--format=%h %s", "--max-count=20", &range]).read()?;
        let files =
            self.git().args(["diff-tree", "-r", "--name-only", base.as_str(), tip.as_str()]).read()?;
        let [commits, files] = [commits, files]
            .map(|bytes| String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect());
        Ok((commits, files))
    }

    /// Returns the first line of a commit's message.
    pub fn subject(&self, commit: &ObjectId) -> Result<String> {
        self.git().args(["log", "-1", "--no-show-signature", "--format=%s", commit.as_str()]).line()
    }

    /// Returns how many commits `tip` has that `base` has not.
    pub fn count_between(&self, base: &ObjectId, tip: &ObjectId) -> Result<u64> {
        let counted = self.git().args(["rev-list", "--count", &format!("{base}..{tip}")]).line()?;
        counted.parse().with_context(|| format!("count the commits from {base} to {tip}"))
    }

    /// Returns the subjects of the commits that an agent made after `base` in its repository of a lane, oldest first. Git runs in
    /// ours and takes objects from there: nothing that an agent configured counts.
    pub fn subjects_in_lane(&self, base: &ObjectId) -> Result<Vec<String>> {
        let Some(dir) = self.lane.as_ref().map(Lane::private_git_dir) else { return Ok(Vec::new()) };
        let Some(tip) = tip_in(&dir).filter(|tip| tip != base) else { return Ok(Vec::new()) };
        let git = self.git_with_objects(&dir.join("objects"));
        let log = ["log", "--reverse", "--no-show-signature", "--format=%s", MAX_LISTED];
        let listed = git.args(log).arg(format!("{base}..{tip}")).read()?;
        Ok(String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect())
    }

    /// Returns the last commits of a range of a branch, by first parents, newest first, with what they say of themselves. An amended
    /// commit says it, too: the record knows what was published.
    pub fn commits_of_branch(&self, range: &str) -> Result<Vec<BranchCommit>> {
        let trailers = ["Check", "Session", "Iteration", "Integrated-By"]
            .map(|name| format!("%(trailers:key=Ralph-{name},valueonly,separator=%x2C)"));
        let format = format!("--format=%H%x00{}", trailers.join("%x00"));
        let listed = self.git().args(["log", "--first-parent", MAX_COMMITS, &format, range]).read()?;
        let id = |session: &str, number: &str| {
            Some(AttemptId { session: session.parse().ok()?, number: number.parse().ok()? })
        };
        let mut commits = Vec::new();
        for line in String::from_utf8_lossy(&listed).lines() {
            if let [commit, check, session, iteration, by] = line.split('\0').collect::<Vec<_>>()[..] {
                let result = id(session, iteration);
                let publisher = by.split_once(':').and_then(|(session, number)| id(session, number));
                commits.push(BranchCommit {
                    commit: commit.parse()?,
                    says_passed: check == "passed",
                    publisher: publisher.or_else(|| result.clone()),
                    result,
                });
            }
        }
        Ok(commits)
    }

    /// Returns the results that the last commits of a branch name, whoever brought them there.
    pub fn named_results(&self, tip: &ObjectId) -> Result<Vec<AttemptId>> {
        let trailers = ["Session", "Iteration"]
            .map(|name| format!("%(trailers:key=Ralph-{name},valueonly,separator=%x2C)"));
        let format = format!("--format={}", trailers.join("%x00"));
        let listed = self.git().args(["log", MAX_COMMITS, &format, tip.as_str()]).read()?;
        let listed = String::from_utf8_lossy(&listed);
        let named = listed.lines().filter_map(|line| {
            let (session, number) = line.split_once('\0')?;
            Some(AttemptId { session: session.parse().ok()?, number: number.parse().ok()? })
        });
        Ok(named.collect())
    }

    /// Returns a file of a commit or tree, by its path from the top; `None` if there is no such file.
    pub fn committed_file(&self, treeish: &ObjectId, path: &str) -> Result<Option<CommittedFile>> {
        let common = &self.repository.common_dir;
        file_in(&|| Tool::git(common).env("GIT_DIR", common.as_str()), treeish, path)
    }

    /// Returns true if the index has a file, by its path from the top.
    pub fn is_in_index(&self, path: &str) -> Result<bool> {
        let listed = self.git().args(["--literal-pathspecs", "ls-files", "-z", "--", path]).read()?;
        Ok(!listed.is_empty())
    }

    /// Returns a file of a tree that was written with `private_index`.
    pub fn snapshot_file(
        &self,
        private_index: PrivateIndex<'_>,
        tree: &ObjectId,
        path: &str,
    ) -> Result<Option<CommittedFile>> {
        file_in(&|| self.git_private(private_index), tree, path)
    }

    /// Writes `tree` with other contents of some files, or without them. The index of `private_index` is used up for it.
    pub fn tree_with(
        &self,
        private_index: PrivateIndex<'_>,
        tree: &ObjectId,
        files: &[(&str, Option<CommittedFile>)],
    ) -> Result<ObjectId> {
        users_index::remove(private_index.index)?;
        self.git_private(private_index).args(["read-tree", tree.as_str()]).read()?;
        let mut lines = Vec::new();
        for (path, file) in files {
            let (mode, id) = match file {
                Some(CommittedFile { mode, bytes }) => {
                    let hash = self.git_private(private_index).args([
                        "hash-object",
                        "-w",
                        "--stdin",
                        "--no-filters",
                    ]);
                    (mode.as_str(), hash.stdin(bytes.clone()).line()?)
                }
                None => ("0", tree.to_string()),
            };
            lines.extend_from_slice(format!("{mode} {id}\t{path}\0").as_bytes());
        }
        let update = ["update-index", "--replace", "-z", "--index-info"];
        self.git_private(private_index).args(update).stdin(lines).read()?;
        self.try_tree_of_index(private_index)
    }

    /// Writes a commit as the user would, but without hooks.
    pub fn commit_tree(
        &self,
        private_index: PrivateIndex<'_>,
        tree: &ObjectId,
        parent: &ObjectId,
        message: &str,
        is_signed: bool,
    ) -> Result<ObjectId> {
        let git = self.git_private(private_index).args(["commit-tree", "-p", parent.as_str()]);
        let git = if is_signed { git.arg("-S") } else { git.arg("--no-gpg-sign") };
        let git = match self.repository.author {
            Some(_) => self.identity.iter().fold(git, |git, (name, value)| git.env(name, value)),
            None => ["AUTHOR", "COMMITTER"].iter().fold(git, |git, role| {
                let name = git.env(&format!("GIT_{role}_NAME"), "specify ralph");
                name.env(&format!("GIT_{role}_EMAIL"), "ralph@localhost")
            }),
        };
        git.arg(tree.as_str()).stdin(message).line()?.parse()
    }
}

fn read_small(path: &Utf8Path) -> Option<String> {
    let found = path.symlink_metadata().ok()?;
    (found.is_file() && found.len() <= MAX_REFS_BYTES).then(|| fs::read_to_string(path).ok())?
}

/// Returns what HEAD of a repository is at, if its refs are plain files.
fn tip_in(dir: &Utf8Path) -> Option<ObjectId> {
    let head = read_small(&dir.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return head.trim().parse().ok() };
    let is_branch = name.starts_with("refs/heads/") && !name.contains("..");
    let loose = read_small(&dir.join(name)).filter(|_| is_branch);
    loose.and_then(|id| id.trim().parse().ok()).or_else(|| {
        let packed = read_small(&dir.join("packed-refs"))?;
        let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(_, packed)| *packed == name).and_then(|(id, _)| id.parse().ok())
    })
}

fn bytes_below(path: &Utf8Path) -> u64 {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            let entries = path.read_dir_utf8().into_iter().flatten().flatten();
            entries.map(|entry| bytes_below(entry.path())).sum()
        }
        Ok(found) => found.len().next_multiple_of(BLOCK_BYTES),
        Err(_) => 0,
    }
}

/// Copies a file, or a folder with what is in it; links are copied as links, and what is neither stays away.
fn copy(from: &Utf8Path, to: &Utf8Path) -> std::io::Result<()> {
    let found = from.symlink_metadata()?;
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if found.is_dir() {
        fs::create_dir_all(to)?;
        for entry in from.read_dir_utf8()? {
            let entry = entry?;
            copy(entry.path(), &to.join(entry.file_name()))?;
        }
    } else if found.is_symlink() {
        platform::symlink(from.read_link_utf8()?, to)?;
    } else if found.is_file() {
        fs::copy(from, to)?;
    }
    Ok(())
}

fn file_in(git: &dyn Fn() -> Tool, treeish: &ObjectId, path: &str) -> Result<Option<CommittedFile>> {
    let listed = git().args(["ls-tree", "-z", "--full-tree", treeish.as_str(), "--", path]).read()?;
    let listed = String::from_utf8_lossy(split(&listed).next().unwrap_or_default()).into_owned();
    let mut words = listed.split([' ', '\t']);
    let (Some(mode), Some("blob"), Some(id)) = (words.next(), words.next(), words.next()) else {
        return Ok(None);
    };
    let bytes = git().env(NO_LAZY_FETCH, "0").args(["cat-file", "blob", id]).read()?;
    Ok(Some(CommittedFile { mode: mode.to_owned(), bytes }))
}

/// Returns what a HEAD says that is at a commit, or on a branch without one.
fn head_at(tip: Option<&ObjectId>) -> String {
    tip.map_or_else(|| "ref: refs/heads/none\n".to_owned(), |tip| format!("{tip}\n"))
}

/// Returns a path as a pattern of git's that means it alone.
fn escaped(path: &str) -> String {
    path.chars().flat_map(|c| ("\\*?[ !#".contains(c)).then_some('\\').into_iter().chain([c])).collect()
}

fn write_by_rename(path: &Utf8Path, text: &str) -> Result<()> {
    let draft = path.with_extension("new");
    fs::write(&draft, text)?;
    Ok(fs::rename(&draft, path)?)
}

/// Quotes a value or a subsection for a configuration file of git's.
pub(super) fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
