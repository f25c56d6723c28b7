//! One loop per work tree: a lock that the kernel frees when its holder dies.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use ralph_core::record::{ObjectId, RALPH, Refusal, SessionId, Timestamp, full_branch_name};
use ralph_git::repository::Repository;
use ralph_git::worktree::WorkTree;
use ralph_os::if_there::IfThere;
use ralph_os::platform::{identity, identity_of, is_writable};
use ralph_os::process::create_private_dir;

use super::disk;
use crate::refs::naming::slug;

/// The extension of the file that names who holds a lock.
const HOLDER: &str = "holder";

/// Longer than anybody holds the lock who only looks at it.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Time between two tries for what is held for milliseconds.
const TRY_INTERVAL: Duration = Duration::from_millis(10);

/// A loop that holds a branch for so long, as it does for milliseconds, was stopped or hangs.
pub const SILENCE: Duration = Duration::from_mins(1);

/// Longer than a git takes to end whose loop is gone.
const DYING_TIME: Duration = Duration::from_millis(300);

/// Who holds a lock; written beside the lock for the message to the second comer, as a lock keeps others from reading the
/// file on some systems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub session: SessionId,
    pub pid: u32,
    pub host: String,
    pub started_at: Timestamp,
}

/// Takes a lock that is held as long as the file is open. `None` if another process has it.
pub(crate) fn try_to_hold(path: &Utf8Path) -> Result<Option<File>> {
    let file = disk::open_to_change(path, 0o666).with_context(|| format!("open {path}"))?;
    Ok(has_locked(file.try_lock(), path)?.then_some(file))
}

/// Waits for the lock on an open file, which is held as long as the file is open.
pub(crate) fn wait_for(file: &File, path: &Utf8Path) -> Result<()> {
    file.lock().with_context(|| format!("lock {path}"))
}

/// Returns true if no process holds the lock on a file. Writes nothing.
pub(crate) fn is_free(path: &Utf8Path) -> Result<bool> {
    let opened = disk::open(path).if_there().with_context(|| format!("open {path}"))?;
    let Some(file) = opened else { return Ok(true) };
    has_locked(file.try_lock_shared(), path)
}

/// Returns false if another process has the lock.
fn has_locked(tried: Result<(), TryLockError>, path: &Utf8Path) -> Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("lock {path}")),
    }
}

/// The lock, held as long as this value lives.
#[derive(Debug)]
pub struct LoopLock {
    file: File,
    path: Utf8PathBuf,
    holder: Option<Holder>,
    /// The lock on the branch that a lane publishes on.
    branch: Option<File>,
}

impl LoopLock {
    fn path(repository: &Repository, work_tree: &str) -> Utf8PathBuf {
        // No `.lock` at the end: git's own clean-up must not take it for one of its locks.
        repository.ralph_dir().join("loops").join(work_tree)
    }

    /// Takes the lock of this work tree for a loop, or refuses and names who has it.
    pub fn take(work_tree: &WorkTree) -> Result<Self> {
        Self::take_or_refuse(work_tree, "another loop runs")
    }

    /// Does the same for what must not change anything beside a loop.
    pub fn take_beside(work_tree: &WorkTree) -> Result<Self> {
        Self::take_or_refuse(work_tree, "the loop is running")
    }

    fn take_or_refuse(work_tree: &WorkTree, what: &str) -> Result<Self> {
        let holder = || holder_of(&Self::path(work_tree.repository(), &work_tree.name()));
        Self::try_take(work_tree)?.ok_or_else(|| refusal(what, holder()).into())
    }

    /// Takes the lock of this work tree. `None` if another loop has it.
    pub fn try_take(work_tree: &WorkTree) -> Result<Option<Self>> {
        let repository = work_tree.repository();
        refuse_read_only(repository)?;
        let path = Self::path(repository, &work_tree.name());
        let file = open_shared(&path, repository)?;
        let asked = Instant::now();
        while !has_locked(file.try_lock(), &path)? {
            // Who only looks whether it is held holds it for a moment, too.
            if asked.elapsed() >= POLL_INTERVAL {
                return Ok(None);
            }
            std::thread::sleep(POLL_INTERVAL / 20);
        }
        // The previous holder is not the present one.
        file.set_len(0).with_context(|| format!("write {path}"))?;
        disk::remove_file_if_there(&holder_file(&path))?;
        Ok(Some(Self { file, path, holder: None, branch: None }))
    }

    /// Takes the lock on the branch that this loop is to publish on, as well: alone, or beside the other loops of its group. Returns
    /// false if another loop has it.
    pub fn hold_branch(&mut self, repository: &Repository, branch: &str, is_in_group: bool) -> Result<bool> {
        let path = branch_file(repository, branch, "run");
        let file = open_shared(&path, repository)?;
        let tried = if is_in_group { file.try_lock_shared() } else { file.try_lock() };
        let is_held = has_locked(tried, &path)?;
        self.branch = is_held.then_some(file);
        Ok(is_held)
    }

    /// Takes the lock again where its file was deleted under us, so that no second loop gets in beside us.
    pub fn reacquire_if_deleted(&mut self, work_tree: &WorkTree) -> Result<()> {
        let there = self.path.metadata().ok().and_then(|there| identity(self.path.as_std_path(), &there));
        let ours = identity_of(&self.file).context("look at the lock")?;
        if there == Some(ours) {
            return Ok(());
        }
        let (holder, branch) = (self.holder.take(), self.branch.take());
        *self = Self { branch, ..Self::take(work_tree)? };
        holder.map_or(Ok(()), |holder| self.name_holder(work_tree, holder))
    }

    /// Writes down who holds it.
    pub fn name_holder(&mut self, work_tree: &WorkTree, holder: Holder) -> Result<()> {
        let path = holder_file(&self.path);
        disk::overwrite(&path, &serde_json::to_vec(&holder)?)?;
        disk::share(&path, work_tree.repository().sharing)?;
        self.holder = Some(holder);
        Ok(())
    }

    /// Who runs a loop in this work tree now. Writes nothing.
    pub fn holder_here(work_tree: &WorkTree) -> Result<Option<Holder>> {
        let path = Self::path(work_tree.repository(), &work_tree.name());
        if path.is_file() { Self::holder(&path) } else { Ok(None) }
    }

    /// Who runs loops now, in all work trees. Writes nothing.
    pub fn holders(repository: &Repository) -> Result<Vec<Holder>> {
        let mut holders = Vec::new();
        for path in locks(repository)? {
            holders.extend(Self::holder(&path)?);
        }
        Ok(holders)
    }

    /// Who held the locks of all work trees last, whether or not they still do.
    pub(crate) fn last_holders(repository: &Repository) -> Result<Vec<Holder>> {
        let mut holders = Vec::new();
        for path in locks(repository)? {
            holders.extend(holder_of(&path));
        }
        Ok(holders)
    }

    fn holder(path: &Utf8Path) -> Result<Option<Holder>> {
        Ok(if is_free(path)? { None } else { holder_of(path) })
    }
}

/// The lock of a clean checkout, held as long as this value lives.
#[derive(Debug)]
pub struct CheckoutLock {
    _file: File,
}

impl CheckoutLock {
    /// Takes the lock of the checkout `clean`. `None` if another process has it.
    pub fn try_take(clean: &WorkTree) -> Result<Option<Self>> {
        let repository = clean.repository();
        let path = repository.ralph_dir().join("clean").join(clean.name());
        let file = open_shared(&path, repository)?;
        Ok(has_locked(file.try_lock(), &path)?.then_some(Self { _file: file }))
    }
}

/// Waits until no other loop brings results into a branch of the user's. Held as long as the file is open.
pub fn wait_to_land(repository: &Repository) -> Result<File> {
    let path = repository.ralph_dir().join("branches").join("landing");
    let file = open_shared(&path, repository)?;
    wait_for(&file, &path)?;
    Ok(file)
}

/// Takes the turn at merging results onto a branch, held as long as the file is open. `None` if another loop has it.
pub fn try_to_integrate(repository: &Repository, branch: &str) -> Result<Option<File>> {
    let path = branch_file(repository, branch, "integrate");
    let file = open_shared(&path, repository)?;
    Ok(has_locked(file.try_lock(), &path)?.then_some(file))
}

/// Takes a branch for a group of loops: no other start gets it, and each loop of the group holds it too. `None` if a loop has it, of an
/// earlier group as well.
pub fn hold_branch_for_group(repository: &Repository, branch: &str) -> Result<Option<File>> {
    let path = branch_file(repository, branch, "run");
    let file = open_shared(&path, repository)?;
    // Shared with what the group starts. Between the two another start may have got it.
    let is_held = has_locked(file.try_lock(), &path)? && has_locked(file.try_lock_shared(), &path)?;
    Ok(is_held.then_some(file))
}

/// Waits for the moment in which this loop alone looks at what is open on a branch and picks of it. `None` if it is to stop meanwhile.
/// One that does not give it back for `patience` is named once.
pub fn wait_to_pick(
    repository: &Repository,
    branch: &str,
    patience: Duration,
    name: &mut dyn FnMut(String),
    is_to_stop: impl Fn() -> bool,
) -> Result<Option<File>> {
    let path = branch_file(repository, branch, "lock");
    let mut file = open_shared(&path, repository)?;
    let is_held = try_for_branch(&file, &path, patience, |is_silent| {
        if is_silent {
            name(silent_words(&path, branch));
        }
        Ok(!is_to_stop())
    })?;
    if !is_held {
        return Ok(None);
    }
    remove_dead_lock(repository, &full_branch_name(branch), &mut file)?;
    note_holder(&mut file, &path, "")?;
    Ok(Some(file))
}

/// Tries for the lock of a branch, which is held for milliseconds: the kernel would wake only who cannot be stopped. Before each
/// further try `is_to_wait` says whether there is one; it hears once that `patience` is over. That is counted in tries, as a loop that
/// was stopped itself has not waited.
fn try_for_branch(
    file: &File,
    path: &Utf8Path,
    patience: Duration,
    mut is_to_wait: impl FnMut(bool) -> Result<bool>,
) -> Result<bool> {
    let most = patience.as_millis() / TRY_INTERVAL.as_millis();
    let mut tries = 0;
    while !has_locked(file.try_lock(), path)? {
        if !is_to_wait(tries == most)? {
            return Ok(false);
        }
        tries += 1;
        std::thread::sleep(TRY_INTERVAL);
    }
    Ok(true)
}

/// Notes who has the lock of a branch, below where that is moved, if it is.
fn note_holder(file: &mut File, path: &Utf8Path, moved: &str) -> Result<()> {
    let noted = file.set_len(0).and_then(|()| file.rewind());
    let noted = noted.and_then(|()| writeln!(file, "{moved}\n{}", std::process::id()));
    noted.with_context(|| format!("write {path}"))
}

/// Names the loop that has the lock of a branch and does not give it back.
fn silent_words(path: &Utf8Path, branch: &str) -> String {
    let note = disk::read_if_there(path).ok().flatten().unwrap_or_default();
    let pid = String::from_utf8_lossy(&note).lines().nth(1).and_then(|pid| pid.parse::<u32>().ok());
    let seconds = SILENCE.as_secs();
    match pid {
        Some(pid) => format!(
            "another loop, process {pid}, has held {branch} for {seconds} s and does not answer\nhint: `kill -CONT {pid}` has one go on that was stopped; `kill -9 {pid}` loses nothing"
        ),
        None => format!("another loop has held {branch} for {seconds} s and does not answer"),
    }
}

/// The time of a validation among those of the other loops on its branch, held as long as this value lives.
#[derive(Debug)]
pub struct ValidationTurn {
    /// Who begins holds it for that; who runs alone holds it to the end, so that no other begins.
    gate: File,
    /// Shared by all that run.
    _running: File,
    began_alone: bool,
}

impl ValidationTurn {
    /// Waits until it may begin: beside others, or when no other runs. `pause` waits between two looks; `None` once it returns false.
    pub fn wait(
        repository: &Repository,
        branch: &str,
        is_alone: bool,
        pause: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>> {
        let [gate_path, path] = ["validate", "validating"].map(|what| branch_file(repository, branch, what));
        let (gate, running) = (open_shared(&gate_path, repository)?, open_shared(&path, repository)?);
        while !has_locked(gate.try_lock(), &gate_path)? {
            if !pause() {
                return Ok(None);
            }
        }
        let mut began_alone = has_locked(running.try_lock(), &path)?;
        while is_alone && !began_alone {
            if !pause() {
                return Ok(None);
            }
            began_alone = has_locked(running.try_lock(), &path)?;
        }
        // Its length says to those that run already whether another one came.
        gate.set_len(u64::from(!began_alone)).with_context(|| format!("write {gate_path}"))?;
        if !is_alone {
            running.unlock().and_then(|()| running.lock_shared()).with_context(|| format!("lock {path}"))?;
            gate.unlock().with_context(|| format!("unlock {gate_path}"))?;
        }
        Ok(Some(Self { gate, _running: running, began_alone }))
    }

    /// Returns true if no other ran in any part of its time so far.
    pub fn was_alone(&self) -> bool {
        self.began_alone && self.gate.metadata().is_ok_and(|gate| gate.len() == 0)
    }
}

/// The moment in which this loop alone moves a branch. Where it dies, its lock says what was under way.
#[derive(Debug)]
pub(crate) struct BranchMove {
    file: File,
    branch: String,
}

impl BranchMove {
    /// Waits for the moment, and notes where `branch`, a full name, is moved.
    ///
    /// # Errors
    ///
    /// If another loop does not give the branch back for `patience`: its process is named.
    pub fn begin(repository: &Repository, branch: &str, to: &ObjectId, patience: Duration) -> Result<Self> {
        let name = branch.trim_start_matches("refs/heads/");
        let path = branch_file(repository, name, "lock");
        let mut file = open_shared(&path, repository)?;
        try_for_branch(&file, &path, patience, |is_silent| {
            ensure!(!is_silent, silent_words(&path, name));
            Ok(true)
        })?;
        remove_dead_lock(repository, branch, &mut file)?;
        note_holder(&mut file, &path, &format!("{branch} {to}"))?;
        Ok(Self { file, branch: branch.to_owned() })
    }

    /// Removes git's lock on the branch, if git died over this move.
    pub fn remove_dead_lock(&mut self, repository: &Repository) -> Result<()> {
        remove_dead_lock(repository, &self.branch, &mut self.file).map(drop)
    }

    /// Notes that nothing is under way any more. That it is not noted, costs the next one a look.
    pub fn end(self) {
        let _still_noted = self.file.set_len(0).is_err();
    }
}

/// Removes git's lock on a branch whose git died while it moved it, as the note in `file` says: one that is empty, or has that value.
/// Returns true if there was one.
fn remove_dead_lock(repository: &Repository, branch: &str, file: &mut File) -> Result<bool> {
    let mut note = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut note)).context("read the lock of a branch")?;
    // Nothing but a move of this very branch is believed.
    let moved = note.lines().next().unwrap_or_default();
    let Some(to) = moved.strip_prefix(branch).and_then(|rest| rest.strip_prefix(' ')) else {
        return Ok(false);
    };
    let lock = repository.common_dir.join(format!("{branch}.lock"));
    let is_dead = || -> Result<bool> {
        let found = disk::read_if_there(&lock)?;
        Ok(found.is_some_and(|found| found.is_empty() || found.trim_ascii() == to.as_bytes()))
    };
    if !is_dead()? {
        return Ok(false);
    }
    // Its git may be about to end.
    std::thread::sleep(DYING_TIME);
    Ok(is_dead()? && disk::remove_file_if_there(&lock)?)
}

fn branch_file(repository: &Repository, branch: &str, what: &str) -> Utf8PathBuf {
    repository.ralph_dir().join("branches").join(format!("{}.{what}", slug(branch)))
}

/// Opens the file of a lock, for all that the repository lets in.
fn open_shared(path: &Utf8Path, repository: &Repository) -> Result<File> {
    create_private_dir(path.parent().unwrap_or(path))?;
    let file = disk::open_to_change(path, 0o666).with_context(|| format!("open {path}"))?;
    for made in path.ancestors().take(3) {
        disk::share(made, repository.sharing)?;
    }
    Ok(file)
}

/// Returns the locks of all work trees.
fn locks(repository: &Repository) -> Result<Vec<Utf8PathBuf>> {
    let mut paths = disk::children(&repository.ralph_dir().join("loops"))?;
    paths.retain(|path| path.extension() != Some(HOLDER));
    Ok(paths)
}

/// Returns the file beside a lock that names who holds it.
fn holder_file(lock: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{lock}.{HOLDER}"))
}

fn holder_of(lock: &Utf8Path) -> Option<Holder> {
    // Older versions wrote it into the lock.
    [&*holder_file(lock), lock].into_iter().find_map(|path| {
        let mut text = String::new();
        disk::open(path).ok()?.read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    })
}

/// Refuses a repository that nothing can be recorded in.
pub fn refuse_read_only(repository: &Repository) -> Result<()> {
    let common = &repository.common_dir;
    let folders = [common.clone(), common.join("objects"), common.join("refs"), repository.ralph_dir()];
    let closed = folders.into_iter().find(|folder| folder.is_dir() && !is_writable(folder.as_std_path()));
    let Some(folder) = closed else { return Ok(()) };
    Err(Refusal::new(format!("cannot write here: {folder} is read-only, or belongs to another user"))
        .with_hint(format!("run it as the owner of {common}, or in a clone of your own"))
        .into())
}

fn refusal(what: &str, holder: Option<Holder>) -> Refusal {
    match holder {
        Some(holder) => Refusal::new(format!(
            "{what} in this work tree: session {}, process {} on {}, since {}",
            holder.session, holder.pid, holder.host, holder.started_at
        ))
        .with_hint(format!(
            "wait for it, stop it with `{RALPH} stop`, or work in another work tree (git worktree add)"
        )),
        None => {
            Refusal::new("another loop is just starting in this work tree").with_hint("try again in a moment")
        }
    }
}

#[cfg(test)]
mod tests {
    use ralph_os::process::Tool;

    use super::*;

    fn new_repository() -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().unwrap();
        let top = Utf8PathBuf::try_from(folder.path().canonicalize().unwrap()).unwrap();
        Tool::git(&top).args(["init", "--quiet"]).read().unwrap();
        let (repository, _) = Repository::discover(&top, &[None, None], None).unwrap();
        (folder, repository)
    }

    #[test]
    fn a_lock_of_gits_is_removed_only_where_a_note_says_that_its_git_died_over_that_move() {
        let (_folder, repository) = new_repository();
        let [to, other] = ["1", "2"].map(|digit| digit.repeat(40));
        let lock = repository.common_dir.join("refs/heads/ralph/x.lock");
        std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
        let noted = format!("refs/heads/ralph/x {to}");
        for (note, text, is_removed) in [
            (noted.as_str(), "", true),
            (&noted, &format!("{to}\n"), true),
            (&noted, &format!("{other}\n"), false),
            ("", "", false),
            ("", &format!("{to}\n"), false),
            (&format!("refs/heads/other {to}"), "", false),
            (&format!("../../x {to}"), "", false),
        ] {
            let path = branch_file(&repository, "ralph/x", "lock");
            drop(open_shared(&path, &repository).unwrap());
            std::fs::write(&path, note).unwrap();
            std::fs::write(&lock, text).unwrap();
            drop(wait_to_pick(&repository, "ralph/x", SILENCE, &mut |_| {}, || false).unwrap().unwrap());
            assert_eq!(!lock.exists(), is_removed, "{note:?} {text:?}");
        }
        // Who moves it next begins with that, and leaves no note.
        std::fs::write(branch_file(&repository, "ralph/x", "lock"), &noted).unwrap();
        std::fs::write(&lock, "").unwrap();
        let moment = BranchMove::begin(&repository, "refs/heads/ralph/x", &other.parse().unwrap(), SILENCE);
        let moment = moment.unwrap();
        moment.end();
        assert!(!lock.exists());
        assert_eq!(std::fs::read(branch_file(&repository, "ralph/x", "lock")).unwrap(), b"");
    }

    #[test]
    fn a_loop_that_does_not_give_a_branch_back_is_named() {
        let (_folder, repository) = new_repository();
        let named = std::cell::RefCell::new(Vec::new());
        let pick = |patience| {
            let mut name = |words| named.borrow_mut().push(words);
            let asked = std::cell::Cell::new(0);
            let is_to_stop = || asked.replace(asked.get() + 1) == 3;
            wait_to_pick(&repository, "ralph/x", patience, &mut name, is_to_stop).unwrap()
        };
        let to = "1".repeat(40).parse().unwrap();
        let begin = || BranchMove::begin(&repository, "refs/heads/ralph/x", &to, Duration::ZERO);
        let moment = pick(SILENCE).unwrap();
        assert!(pick(SILENCE).is_none() && named.borrow().is_empty(), "it may take its time");
        assert!(pick(Duration::ZERO).is_none());
        let words = format!("another loop, process {}, has held ralph/x for 60 s", std::process::id());
        assert!(named.borrow()[0].starts_with(&words), "{named:?}");
        assert_eq!(named.borrow().len(), 1);
        assert!(begin().unwrap_err().to_string().contains("kill -9"));
        drop(moment);
        begin().unwrap().end();
        assert!(pick(Duration::ZERO).is_some());
    }

    #[test]
    fn a_validation_knows_whether_another_ran_in_any_part_of_its_time() {
        let (_folder, repository) = new_repository();
        let begin = |is_alone| ValidationTurn::wait(&repository, "x", is_alone, &mut || false).unwrap();
        let first = begin(false).unwrap();
        assert!(first.was_alone());
        let second = begin(false).unwrap();
        assert!(begin(true).is_none(), "others run");
        drop(second);
        let third = begin(false).unwrap();
        assert!(!first.was_alone() && !third.was_alone());
        drop(first);
        assert!(!third.was_alone(), "one ran when it began");
        drop(third);
        let alone = begin(true).unwrap();
        assert!(alone.was_alone() && begin(false).is_none() && begin(true).is_none());
        drop(alone);
        // Who waits to run alone is not overtaken by those that begin later.
        let running = begin(false);
        let (mut running, mut later) = (running, Vec::new());
        let mut pause = || {
            later.push(begin(false).is_none());
            running.take().is_some()
        };
        assert!(ValidationTurn::wait(&repository, "x", true, &mut pause).unwrap().is_some());
        assert_eq!(later, [true]);
    }
}
