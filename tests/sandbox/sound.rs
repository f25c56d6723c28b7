//! What must hold after every scene, seen from outside.
//!
//! - nothing of the user's in the git directory was changed by any call: index, HEAD, branches, stash, settings;
//! - git finds nothing wrong in the store;
//! - every session is a chain of one start, iterations numbered from 1, and what resumes or ends it;
//! - no lock, temporary file, spool or process was left;
//! - the journal is what the record says.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Program, Sandbox};

/// Everything in the git directory that is not ours to change, by path.
#[derive(Debug)]
pub struct Untouched(BTreeMap<PathBuf, Vec<u8>>);

impl Untouched {
    pub(super) fn of(sandbox: &Sandbox) -> Self {
        let git_dir = sandbox.path(".git");
        let is_ours = |path: &Path| {
            let path = path.strip_prefix(&git_dir).unwrap();
            let refs = [
                "ralph",
                "ralph-snap",
                "ralph-restore",
                "ralph-progress",
                "ralph-meta",
                "ralph-incoming",
                "notes/ralph",
                "heads/ralph",
            ];
            let is_ref = |name| {
                path.starts_with(format!("refs/{name}")) || path.starts_with(format!("logs/refs/{name}"))
            };
            // One for all refs, which are looked at by their names.
            let is_table = path.components().any(|part| part.as_os_str() == "reftable");
            let is_ours = path.starts_with("objects") || path.starts_with("ralph");
            is_ours || is_table || refs.into_iter().any(is_ref)
        };
        let files = files(&git_dir).into_iter().filter(|path| !is_ours(path));
        let mut found: BTreeMap<_, _> =
            files.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect();
        let tables = git_dir.join("reftable");
        if tables.exists() {
            found.insert(tables, in_tables(sandbox));
        }
        Self(found)
    }

    /// Compares with what is there now.
    #[track_caller]
    pub(super) fn compare(&self, sandbox: &Sandbox, line: &str) {
        if sandbox.waived.get().git {
            return;
        }
        let now = Self::of(sandbox);
        for path in self.0.keys().chain(now.0.keys()) {
            let path_now = now.0.get(path);
            assert!(self.0.get(path) == path_now, "`{line}` changed {}", path.display());
        }
    }
}

/// HEAD and the refs that are not ours, where they are kept in tables.
fn in_tables(sandbox: &Sandbox) -> Vec<u8> {
    let said = |words: &[&str]| sandbox.hermetic("git").args(words).output().unwrap().stdout;
    let listed = said(&["for-each-ref", "--format=%(refname) %(objectname) %(symref)"]);
    let is_ours = |line: &&str| line.starts_with("refs/ralph") || line.starts_with("refs/notes/ralph ");
    let listed = String::from_utf8(listed).unwrap();
    let others: String = listed.lines().filter(|line| !is_ours(line)).collect();
    let head = [&["symbolic-ref", "--quiet", "HEAD"][..], &["rev-parse", "--verify", "--quiet", "HEAD"]];
    [others.into_bytes(), head.map(said).concat()].concat()
}

/// All files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                _ => found.push(entry.path()),
            }
        }
    }
    found.sort();
    found
}

impl Sandbox {
    /// Looks everything over. Called at the end of each scene; a scene may ask for it earlier as well.
    #[track_caller]
    pub fn record_is_sound(&self) {
        if !self.path(".git").exists() {
            return;
        }
        self.store_is_sound(self.repo());
        self.nothing_is_left();
        if !self.waived.get().journal && !self.sessions_in(self.repo()).is_empty() {
            // Every record against itself, and the journal against the record.
            let check = self.hermetic(Program::Specify.path()).args(["ralph", "fsck"]).output();
            let check = check.unwrap();
            let said = [check.stdout, check.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(check.status.success(), "the record is not as it was written: {said}");
        }
    }

    /// Looks over the objects and refs of a repository.
    #[track_caller]
    pub fn store_is_sound(&self, repo: &Path) {
        let fsck =
            self.hermetic("git").current_dir(repo).args(["fsck", "--strict", "--no-dangling"]).output();
        let fsck = fsck.unwrap();
        let said = [fsck.stdout, fsck.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let complaints: Vec<_> = said.lines().filter(|line| !line.starts_with("notice: ")).collect();
        assert!(fsck.status.success() && complaints.is_empty(), "git fsck: {complaints:#?}");
        for name in self.sessions_in(repo) {
            self.chain_is_sound(repo, &name);
        }
    }

    /// The refs of ours in a repository: those whose tip says so.
    fn sessions_in(&self, repo: &Path) -> Vec<String> {
        let format = "--format=%(refname) %(trailers:key=Ralph-Schema,valueonly,separator=%x2C)";
        let refs = self.git_in(repo, ["for-each-ref", format, "refs/ralph/"]);
        refs.lines().filter_map(|line| line.strip_suffix(" 1")).map(str::to_owned).collect()
    }

    #[track_caller]
    fn chain_is_sound(&self, repo: &Path, name: &str) {
        let value = |key: &str| format!("%(trailers:key=Ralph-{key},valueonly,separator=%x2C)");
        let format = ["%P", &value("Record"), &value("Iteration"), &value("Session"), &value("Outcome")];
        let log = self.git_in(repo, ["log", "--reverse", &format!("--format={}", format.join("|")), name]);
        let mut next = 1;
        let mut before = "";
        for (place, line) in log.lines().enumerate() {
            let [parents, record, iteration, session, outcome] =
                line.split('|').collect::<Vec<_>>().try_into().unwrap();
            assert_eq!(Some(session), name.rsplit('/').next(), "{name}: {log}");
            assert_eq!(place == 0, parents.is_empty(), "{name}: a chain with one root: {log}");
            assert_eq!(place == 0, record == "start", "{name}: it starts once: {log}");
            let outcomes =
                ["success", "failure", "skipped", "interrupted", "checked", "reopened", "integrated"];
            match record {
                "start" | "resume" => {}
                "iteration" => {
                    assert_eq!(iteration, next.to_string(), "{name}: numbered without a gap: {log}");
                    assert!(outcomes.contains(&outcome), "{name}: {log}");
                    assert!(before != "end", "{name}: nothing but a resumption follows an end: {log}");
                    next += 1;
                }
                "end" => assert!(before != "end", "{name}: it ends once: {log}"),
                other => panic!("{name}: a record of an unknown kind `{other}`: {log}"),
            }
            before = record;
        }
    }

    /// No lock, temporary file, spool or process of ours is left.
    #[track_caller]
    pub fn nothing_is_left(&self) {
        let git_dir = self.path(".git");
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let left: Vec<_> = files(&git_dir)
            .into_iter()
            .filter(|path| {
                let is_lock = path.extension().is_some_and(|extension| extension == "lock");
                // What the kernel frees is no lock that is left.
                let is_lock = is_lock && !path.starts_with(git_dir.join("ralph/branches"));
                let is_temporary = name(path).starts_with(".tmp") || name(path).starts_with("tmp_");
                is_lock || is_temporary || path.starts_with(git_dir.join("ralph/spool"))
            })
            .chain(files(&self.outside("tmp")))
            .collect();
        assert!(left.is_empty(), "left behind: {left:#?}");
        let spool = git_dir.join("ralph/spool");
        let folders = fs::read_dir(&spool).map_or(0, Iterator::count);
        assert_eq!(folders, 0, "empty folders left in {}", spool.display());
        assert!(!git_dir.join("ralph/scratch").exists(), "left behind: scratch");
        let processes = self.processes_of_sessions();
        assert!(processes.is_empty(), "still running: {processes:?}");
    }

    /// The processes that carry the mark of a session of this sandbox.
    pub fn processes_of_sessions(&self) -> Vec<String> {
        self.processes_with("RALPH_SESSION=")
    }

    /// The processes of this sandbox that have a variable.
    pub fn processes_with(&self, beginning: &str) -> Vec<String> {
        let home = format!("HOME={}", self.outside("home").display());
        let is_of_a_session = |folder: &Path| {
            let environment = fs::read(folder.join("environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            environment.windows(home.len()).any(|part| part == home.as_bytes())
                && variables.any(|variable| variable.starts_with(beginning.as_bytes()))
        };
        let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
        let found = processes.flatten().map(|entry| entry.path()).filter(|folder| is_of_a_session(folder));
        let words = |folder: PathBuf| {
            let words = fs::read(folder.join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).replace('\0', " ")
        };
        found.map(words).collect()
    }
}
