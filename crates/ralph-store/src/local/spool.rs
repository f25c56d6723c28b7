//! Work in flight: what an iteration writes before it is a commit.
//!
//! `<common git dir>/ralph/spool/<session>/` holds `session.json` (which refs, which work tree), and a folder for
//! each record that is not a commit yet: `start`, `1`, `2`, ..., `end`. The name of a folder orders it.

use std::fs;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use ralph_core::record::{
    AgentSetup, Before, Iteration, ObjectId, PromptPart, RecordKind, Session, SessionId, Task, TaskName,
    Timestamp,
};
use ralph_git::repository::Repository;
use ralph_os::if_there::IfThere;
use ralph_os::process::create_private_dir;

use super::disk;
use crate::files::pretty_json;
use ralph_git::worktree::WorkTree;

/// What a session's spool must know to be finished by another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpoolMeta {
    pub session: SessionId,
    /// The feature's path from the repository's root.
    pub feature: String,
    pub feature_name: String,
    /// The work tree it runs in; [`Repository::work_tree_name`].
    pub work_tree: String,
    pub tasks_path: Utf8PathBuf,
    pub progress_path: Utf8PathBuf,
    pub host: String,
    /// Of the host; `None` where the system has none, and in spools of earlier versions.
    #[serde(default)]
    pub boot: Option<String>,
    pub pid: u32,
    /// The session as the start record has it.
    pub begun: Session,
    /// Settings that a recovery needs.
    pub untick: bool,
    pub snapshots: bool,
    pub snapshot_max_file: u64,
    /// Pathspecs of protected files, from the top of the work tree.
    #[serde(default)]
    pub protect: Vec<String>,
    pub redaction_rules: Vec<String>,
    pub redaction_allow: Vec<String>,
}

/// What is known of an iteration before its agent starts; synced, so that recovery attributes changes correctly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    pub iteration: u32,
    pub task: Task,
    pub attempt: u32,
    pub started_at: Timestamp,
    pub branch: Option<String>,
    pub head_before: Option<ObjectId>,
    pub agent: String,
    pub agent_version: Option<String>,
    pub model: Option<String>,
    pub validation_command: Option<String>,
    pub hints: Vec<String>,
    /// See [`Iteration::unit_tasks`].
    #[serde(default)]
    pub unit_tasks: Vec<TaskName>,
    /// Where the refs of the session stood, so that they can be put back after an agent deleted them and died with
    /// the loop.
    #[serde(default)]
    pub tips: Tips,
    /// See [`Iteration::restored_to`].
    #[serde(default)]
    pub restored_to: Option<ObjectId>,
    #[serde(default)]
    pub kept_paths: Vec<String>,
    /// See [`Iteration::before`] and [`Iteration::agent_setup`].
    #[serde(default)]
    pub before: Option<Before>,
    #[serde(default)]
    pub agent_setup: Option<Box<AgentSetup>>,
    /// See [`Iteration::prompt_parts`].
    #[serde(default)]
    pub prompt_parts: Vec<PromptPart>,
}

/// Where the refs of a session stand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tips {
    pub log: Option<ObjectId>,
    pub snapshot: Option<ObjectId>,
}

/// A record that is complete but for its commit: `manifest.json` in the spool, whose rename is the commit point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    pub kind: RecordKind,
    pub feature: String,
    pub session: SessionId,
    /// The tip of the log that this record follows; none for a start.
    pub parent: Option<ObjectId>,
    /// The tip of the snapshots before, and after.
    pub snapshot_parent: Option<ObjectId>,
    pub snapshot: Option<ObjectId>,
    pub authored_at: Timestamp,
    pub committed_at: Timestamp,
    /// Set in a record of an iteration, with `redactions` empty.
    pub iteration: Option<Iteration>,
    /// Set in every other record.
    pub session_json: Option<Session>,
    /// True if the branch has what the record publishes, and went on from there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_published: bool,
    /// Files of the tree: their path there, and their name in the folder of this draft.
    pub files: Vec<(String, String)>,
}

/// The tasks that a session of a group works on, from before its attempt begins until that is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub session: SessionId,
    /// The task that was picked, and those of its unit.
    pub tasks: Vec<TaskName>,
    pub since: Timestamp,
}

/// Names of the files in the folder of an iteration.
pub mod names {
    pub const BEGIN: &str = "begin.json";
    pub const MANIFEST: &str = "manifest.json";
    pub const PROMPT: &str = "prompt.md";
    pub const AGENT_STDOUT: &str = "agent.stdout";
    pub const AGENT_STDERR: &str = "agent.stderr";
    pub const VALIDATION_STDOUT: &str = "validation.stdout";
    pub const VALIDATION_STDERR: &str = "validation.stderr";
    /// The tests of the validation by name, where all are known.
    pub const VALIDATION_TESTS: &str = "validation.tests.json";
    /// The streams of the validation's second run.
    pub const SECOND_STDOUT: &str = "second.stdout";
    pub const SECOND_STDERR: &str = "second.stderr";
    /// Of the validation of an attempt in a clean checkout.
    pub const CLEAN_STDOUT: &str = "clean.stdout";
    pub const CLEAN_STDERR: &str = "clean.stderr";
    /// Of `lanes.setup` there.
    pub const SETUP_STDOUT: &str = "setup.stdout";
    pub const SETUP_STDERR: &str = "setup.stderr";
    /// Both sides of the files that git could not merge.
    pub const HUNKS: &str = "hunks.txt";
    /// tasks.md as it stood before the agent started: all marks.
    pub const TASKS_BEFORE: &str = "tasks.before.md";
    /// The name of the task that a person accepts, until that is recorded.
    pub const ACCEPTS: &str = "accepts";
    /// tasks.md as the agent left it, where boxes in it are opened again: all claims.
    pub const TASKS_FOUND: &str = "tasks.found.md";
    pub const TASKS: &str = "tasks.md";
    pub const PROGRESS: &str = "progress.md";
    pub const PROGRESS_BASE: &str = "progress.base.md";
    /// Where the refs of the project stood before the agent started, one id a line.
    pub const REFS_BEFORE: &str = "refs.before";
    /// The restoration that takes changes of failed attempts back, from before a file changes.
    pub const ROLLBACK: &str = "rollback.json";
    /// Files that are being put back, from before the first of them changes.
    pub const PUT_BACK: &str = "put-back.json";
    /// Protected files are as they were: what changes them from here on is no agent.
    pub const PROTECTED: &str = "protected.done";
    pub const OBJECTS: &str = "objects";
    pub const META: &str = "session.json";
    /// What a session has taken of the list, where others work on it too.
    pub const CLAIM: &str = "claim";
}

/// The spool of one session.
#[derive(Debug, Clone)]
pub struct Spool {
    dir: Utf8PathBuf,
}

/// The folder of one record.
#[derive(Debug, Clone)]
pub struct Slot {
    dir: Utf8PathBuf,
}

impl Spool {
    fn root(repository: &Repository) -> Utf8PathBuf {
        repository.ralph_dir().join("spool")
    }

    /// Makes the spool of a new session, or takes over the one that a session to be resumed has left.
    ///
    /// It is created together with its owner file: without that it would belong to no session.
    pub fn create(work_tree: &WorkTree, place: &SpoolMeta) -> Result<Self> {
        let repository = work_tree.repository();
        let root = Self::root(repository);
        let spool = Self { dir: root.join(place.session.as_str()) };
        // From the top: the repository may be moved or copied before a recovery.
        let place = pretty_json(&SpoolMeta {
            tasks_path: work_tree.relative(&place.tasks_path).into(),
            progress_path: work_tree.relative(&place.progress_path).into(),
            ..place.clone()
        })?;
        if spool.dir.exists() {
            disk::write_durably(&spool.dir.join(names::META), &place)?;
        } else {
            let [draft, _] = Self::passing(repository, &work_tree.name());
            disk::remove_dir_if_there(&draft)?;
            create_private_dir(&draft)?;
            disk::write_durably(&draft.join(names::META), &place)?;
            fs::rename(&draft, &spool.dir).with_context(|| format!("create {}", spool.dir))?;
        }
        // The folders are for all who share the repository; what a session holds is for its user alone.
        disk::share(&repository.ralph_dir(), repository.sharing)?;
        disk::share(&root, repository.sharing)?;
        disk::sync_if_there(&root)?;
        disk::sync_if_there(&repository.ralph_dir())?;
        Ok(spool)
    }

    /// Returns a spool in the making, and one that is being removed. Each work tree has its own, so that the holder of
    /// its lock knows that no other process uses them.
    fn passing(repository: &Repository, work_tree: &str) -> [Utf8PathBuf; 2] {
        [".new", ".old"].map(|end| Self::root(repository).join(format!("{work_tree}{end}")))
    }

    /// Returns true if the making or removing of a spool of this work tree was cut off.
    pub fn is_any_passing(work_tree: &WorkTree) -> bool {
        Self::passing(work_tree.repository(), &work_tree.name()).iter().any(|dir| dir.exists())
    }

    /// Removes what the making or removing of a spool of this work tree left when it was cut off.
    pub fn remove_passing(work_tree: &WorkTree) -> Result<()> {
        Self::passing(work_tree.repository(), &work_tree.name())
            .iter()
            .try_for_each(|dir| disk::remove_dir_if_there(dir))
    }

    /// Returns every spool that is there, oldest session first. Folders that are no session's are left alone.
    pub fn all(repository: &Repository) -> Result<Vec<Self>> {
        let folders = disk::children(&Self::root(repository))?;
        let is_session =
            |dir: &Utf8PathBuf| dir.file_name().is_some_and(|name| name.parse::<SessionId>().is_ok());
        Ok(folders.into_iter().filter(is_session).map(|dir| Self { dir }).collect())
    }

    /// Returns the spool of a session that is not over.
    pub fn of(repository: &Repository, session: &SessionId) -> Result<Option<Self>> {
        Ok(Self::all(repository)?.into_iter().find(|spool| spool.session().as_ref() == Some(session)))
    }

    /// Returns what the spool of a session that is not over is for.
    pub fn place_of(repository: &Repository, session: &SessionId) -> Result<Option<SpoolMeta>> {
        Ok(Self::of(repository, session)?.map(|spool| spool.place()).transpose()?.flatten())
    }

    /// Returns what a running session works on.
    pub fn in_flight(repository: &Repository, session: &SessionId) -> Option<Begin> {
        let slots = Self::of(repository, session).ok()??.slots().ok()?;
        slots.last()?.read_begin().ok()?
    }

    /// Returns true if it was not deleted.
    pub fn is_whole(&self) -> bool {
        self.dir.join(names::META).is_file()
    }

    pub fn session(&self) -> Option<SessionId> {
        self.dir.file_name()?.parse().ok()
    }

    /// Returns what it is for, with paths from the top of its work tree; `None` if the folder was created or emptied by
    /// another program.
    pub fn place(&self) -> Result<Option<SpoolMeta>> {
        disk::read_json(&self.dir.join(names::META))
    }

    /// Returns the folder for the record `name`: `start`, `resume`, `end`, or the number of an iteration.
    pub fn slot(&self, name: &str) -> Slot {
        Slot { dir: self.dir.join(name) }
    }

    /// Returns the records in flight, in the order in which they follow each other.
    pub fn slots(&self) -> Result<Vec<Slot>> {
        let mut slots: Vec<Slot> = disk::children(&self.dir)?
            .into_iter()
            .filter(|path| path.is_dir())
            .map(|dir| Slot { dir })
            .filter(|slot| slot.order().is_some())
            .collect();
        slots.sort_by_key(Slot::order);
        Ok(slots)
    }

    /// Returns the private index of the session's snapshots, and other things that die with the session.
    pub fn scratch(&self) -> Utf8PathBuf {
        self.dir.join("scratch")
    }

    /// Returns the file in which the child that runs is noted.
    pub fn child_note(&self) -> Utf8PathBuf {
        self.dir.join("child")
    }

    /// Returns where the objects of the newest record are kept until the next one: a `git prune` that began before the refs
    /// led to them may take them from the repository.
    pub fn kept_objects(&self) -> Utf8PathBuf {
        self.dir.join("written")
    }

    /// Keeps the objects of a record that is written, instead of those of the record before.
    pub fn keep_objects(&self, slot: &Slot) -> Result<()> {
        let (from, to) = (slot.objects(), self.kept_objects());
        if !from.is_dir() {
            return Ok(());
        }
        disk::remove_dir_if_there(&to)?;
        fs::rename(&from, &to).with_context(|| format!("move {from} to {to}"))
    }

    /// Claims tasks. Who does it holds the branch's lock.
    pub fn claim(&self, claim: &Claim) -> Result<()> {
        disk::write_durably(&self.dir.join(names::CLAIM), &pretty_json(claim)?)
    }

    /// Gives its claim up, if it has one.
    pub fn unclaim(&self) -> Result<()> {
        disk::remove_file_if_there(&self.dir.join(names::CLAIM)).map(drop)
    }

    /// Returns its claim, if it has one.
    pub fn claimed(&self) -> Result<Option<Claim>> {
        disk::read_json(&self.dir.join(names::CLAIM))
    }

    /// Returns the claims of all sessions on a branch, but for those of `own`. One counts until it is gone: that its session died frees
    /// nothing before the attempt is recorded. One that another program broke is as good as none: its task may be done twice, and comes on
    /// the branch once.
    pub fn claims(repository: &Repository, branch: &str, own: &SessionId) -> Result<Vec<Claim>> {
        let mut claims = Vec::new();
        for spool in Self::all(repository)? {
            let (claim, place) = (spool.claimed().ok().flatten(), spool.place().ok().flatten());
            let claim = claim.filter(|claim| claim.session != *own);
            claims.extend(
                claim.filter(|_| place.is_some_and(|place| place.begun.branch.as_deref() == Some(branch))),
            );
        }
        Ok(claims)
    }

    /// Moves it out of the way of recoveries, because its content has no place in the record any more. Returns the new path.
    pub fn set_aside(&self, repository: &Repository) -> Result<Utf8PathBuf> {
        let kept = repository.ralph_dir().join("kept");
        create_private_dir(&kept)?;
        let place = disk::free_name(&kept, self.dir.file_name().unwrap_or_default());
        disk::remove_dir_if_there(&self.kept_objects())?;
        fs::rename(&self.dir, &place).with_context(|| format!("move {} to {place}", self.dir))?;
        Ok(place)
    }

    /// Removes it all at once, as others see it.
    pub fn remove(&self, repository: &Repository) -> Result<()> {
        let work_tree =
            self.place().ok().flatten().map_or_else(|| "main".to_owned(), |place| place.work_tree);
        let [_, old] = Self::passing(repository, &work_tree);
        disk::remove_dir_if_there(&old)?;
        fs::rename(&self.dir, &old).with_context(|| format!("remove {}", self.dir))?;
        disk::remove_dir_if_there(&old)
    }
}

impl Slot {
    fn order(&self) -> Option<u32> {
        match self.dir.file_name()? {
            "start" | "resume" => Some(0),
            "end" => Some(u32::MAX),
            _ => self.number(),
        }
    }

    /// Returns the number of the iteration that is recorded in it; `None` if that is none.
    pub fn number(&self) -> Option<u32> {
        self.dir.file_name()?.parse().ok()
    }

    /// Returns the folder `dir` as one for the streams of something that is no record.
    pub fn within(dir: &Utf8Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub fn create(&self) -> Result<()> {
        create_private_dir(&self.dir)
    }

    pub fn path(&self, name: &str) -> Utf8PathBuf {
        self.dir.join(name)
    }

    /// Returns where new objects wait.
    pub fn objects(&self) -> Utf8PathBuf {
        self.dir.join(names::OBJECTS)
    }

    /// Writes what must be known before the agent starts, and makes it durable.
    pub fn begin(&self, begin: &Begin, prompt: &str, tasks: &[u8]) -> Result<()> {
        self.create()?;
        let written = [(names::PROMPT, prompt.as_bytes()), (names::TASKS_BEFORE, tasks)];
        for (name, bytes) in written {
            self.write(name, bytes)?;
        }
        let written = written.map(|(name, _)| self.path(name)).into();
        disk::write_durably_with(&self.path(names::BEGIN), &pretty_json(begin)?, written, true)
    }

    /// Returns where the refs of the project stood before the agent started; nothing if that is not known.
    pub fn refs_before(&self) -> Result<Vec<u8>> {
        Ok(disk::read_if_there(&self.path(names::REFS_BEFORE))?.unwrap_or_default())
    }

    /// tasks.md as the agent left it, if boxes in it may have been opened since.
    pub fn tasks_found(&self) -> Result<Option<Vec<u8>>> {
        disk::read_if_there(&self.path(names::TASKS_FOUND))
    }

    /// Returns true if it says what was known before the agent started.
    pub fn is_begun(&self) -> bool {
        [names::BEGIN, names::PROMPT, names::TASKS_BEFORE].iter().all(|name| self.path(name).is_file())
    }

    pub fn read_begin(&self) -> Result<Option<Begin>> {
        disk::read_json(&self.path(names::BEGIN))
    }

    /// Writes a file that a recovery goes by, durably. What an earlier try wrote stays.
    pub fn write_once(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path(name);
        if path.exists() { Ok(()) } else { disk::write_durably(&path, bytes) }
    }

    /// Writes a file that the draft will name.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path(name);
        fs::write(&path, bytes).with_context(|| format!("write {path}"))
    }

    /// Copies a file of another slot, if it is there.
    pub fn copy_from(&self, other: &Self, name: &str) -> Result<()> {
        let from = other.path(name);
        let copied = fs::copy(&from, self.path(name)).if_there();
        copied.map(drop).with_context(|| format!("copy {from}"))
    }

    /// The commit point: from here on the record will be made, by us or by who comes after us.
    pub fn seal(&self, draft: &Draft) -> Result<()> {
        // With the objects of the snapshot, which could not be recreated. What was written before the agent
        // started is on the disk since then, and this folder's name with it. The refs of before have done their
        // work by now.
        let done = [names::PROMPT, names::TASKS_BEFORE, names::BEGIN, names::REFS_BEFORE];
        let is_begun = self.path(names::BEGIN).exists();
        let mut written = disk::children(&self.dir)?;
        written.retain(|path| {
            // An empty file that is lost is read as an empty one.
            let has_bytes = path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0);
            has_bytes && !path.file_name().is_some_and(|name| done.contains(&name))
        });
        written.extend(disk::all_in(&self.objects())?);
        disk::write_durably_with(&self.path(names::MANIFEST), &pretty_json(draft)?, written, !is_begun)
    }

    pub fn draft(&self) -> Result<Option<Draft>> {
        disk::read_json(&self.path(names::MANIFEST))
    }

    pub fn remove(&self) -> Result<()> {
        disk::remove_dir_if_there(&self.dir)
    }
}
