//! A project of its own for each scene: hermetic, on a clock that steps, and looked over when the scene ends.
//!
//! A scene sets up its project, calls the real program, and looks at what came of it. When a [`Sandbox`] goes, it
//! checks what must hold after any scene, see [`sound`].

#![expect(clippy::disallowed_methods, reason = "scenes start the real program and git as a user would")]
#![expect(clippy::unwrap_used, reason = "a harness that cannot do its work has failed the scene")]

mod call;
mod hints;
mod housekeeping;
pub mod random;
mod running;
pub mod signals;
pub mod sound;
mod state;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicI64, Ordering};

use time::OffsetDateTime;
use time::macros::datetime;

pub use call::{Call, Program, Run, Words};
pub use housekeeping::Housekeeping;
pub use running::{PATIENCE, Running, wait_until};
pub use state::State;

/// Has Linux treated like other systems, for the program and for scenes that expect less there.
const PORTABLE: &str = "RALPH_TEST_PORTABLE";

/// What libfaketime reads, which `tests/anywhere.sh` sets: a day holds for programs as for the tests.
const ANOTHER_DAY: &[&str] = &["LD_PRELOAD", "FAKETIME", "FAKETIME_DONT_FAKE_MONOTONIC", "NO_FAKE_STAT"];

/// Has the validation run before the first iteration, or not.
const BASELINE: &str = "SPECKIT_RALPH_VALIDATION_BASELINE";
/// Most agents of tests tick boxes and change nothing else.
const REFUSE: &str = "SPECKIT_RALPH_VALIDATION_REFUSE";

/// Whether results are tried in a clean checkout.
const CLEAN: &str = "SPECKIT_RALPH_VALIDATION_CLEAN";

/// Does the task that it is given, and says so.
pub const WILLING_AGENT: &str = "[[turn]]\ndo = [{ say = \"done\" }, { tick = \"current\" }]";

/// `edit [-e] SCRIPT.. FILE`: changes a file by a script of sed, as GNU's `sed -i` does, which other systems do not have.
const EDIT: &str = r#"for file; do :; done
edited=$(mktemp) && sed "$@" > "$edited" && cat "$edited" > "$file" && rm "$edited""#;

/// `tick [TASK|first|all]`: ticks the box of the current task, of another, the first open one or all, as an agent does.
const TICK: &str = r#"case ${1-$RALPH_TASK} in
  all) edit 's/\[ \]/[x]/' "$RALPH_TASKS" ;;
  first) edit -e '/\[ \]/{' -e 's/\[ \]/[x]/' -e ':rest' -e n -e 'b rest' -e '}' "$RALPH_TASKS" ;;
  *) edit "s/\[ \] ${1-$RALPH_TASK}/[x] ${1-$RALPH_TASK}/" "$RALPH_TASKS" ;;
esac"#;

/// A repository with one feature, and everything around it that programs would otherwise take from the machine.
#[derive(Debug)]
pub struct Sandbox {
    folder: tempfile::TempDir,
    repo: PathBuf,
    settings: RefCell<Settings>,
    /// When the next call of our program begins: each begins an hour after the one before.
    clock: Cell<OffsetDateTime>,
    /// What the scene itself does to the repository or the journal, so that it is not looked over.
    waived: Cell<Waived>,
    /// Calls that go on.
    running: Cell<u32>,
}

/// What is put together to `.specify/ralph.toml`.
#[derive(Debug, Default)]
struct Settings {
    agent: String,
    validation: String,
    extra: String,
}

/// What a scene may do that no scene does otherwise.
#[derive(Debug, Clone, Copy, Default)]
struct Waived {
    /// The scene's agent commits, stages, stashes or switches branches.
    git: bool,
    /// The scene leaves a progress.txt that is not what the record says.
    journal: bool,
    /// The scene looks at what a command would change that it only prints.
    hints: bool,
    /// The scene breaks the repository.
    everything: bool,
}

impl Sandbox {
    /// A repository on `main` with a feature of one open task, committed.
    pub fn new() -> Self {
        Self::with_git_init("init --quiet .")
    }

    /// The same in a repository that is made in another way.
    pub fn with_git_init(words: &str) -> Self {
        let sandbox = Self::without_repository("project");
        sandbox.git(words);
        sandbox.write("specs/001-login/spec.md", "# Login\n\nPeople can log in.\n");
        sandbox.write("specs/001-login/plan.md", "# Plan\n\nShell scripts.\n");
        sandbox.tasks("- [ ] T001 Write hello.txt");
        sandbox.commit("A feature");
        sandbox
    }

    /// The same, where the scene looks at files of refs, whatever [`ref_format`] says.
    pub fn with_refs_in_files() -> Self {
        Self::with_git_init(if ref_format().is_some() {
            "init --quiet --ref-format=files ."
        } else {
            "init --quiet ."
        })
    }

    /// An empty folder called `name` to work in.
    pub fn without_repository(name: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("ralph-scene-").tempdir_in(scenes()).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let repo = root.join(name);
        for made in ["home", "config", "tmp", "bin", "installed"] {
            fs::create_dir(root.join(made)).unwrap();
        }
        std::os::unix::fs::symlink(Program::Specify.path(), root.join("installed/specify")).unwrap();
        fs::create_dir_all(&repo).unwrap();
        let sandbox = Self {
            folder,
            repo,
            settings: RefCell::default(),
            clock: Cell::new(own_time()),
            waived: Cell::default(),
            running: Cell::default(),
        };
        sandbox.program("edit", EDIT).program("tick", TICK);
        sandbox.gitconfig(
            // No housekeeping of git's goes on behind a scene's back.
            "[init]\ndefaultBranch = main\n[user]\nname = Ada Lovelace\nemail = ada@example.org\n\
             [gc]\nautoDetach = false\n[maintenance]\nauto = false\nautoDetach = false\n",
        );
        sandbox
    }

    /// Replaces the user's own git settings.
    pub fn gitconfig(&self, text: &str) -> &Self {
        let format = ref_format().map(|format| format!("[init]\ndefaultRefFormat = {format}\n"));
        fs::write(self.outside("gitconfig"), format!("{text}{}", format.unwrap_or_default())).unwrap();
        self
    }

    /// The task list, under a heading.
    pub fn tasks(&self, list: &str) -> &Self {
        self.write("specs/001-login/tasks.md", format!("# Tasks: Login\n\n{list}\n"))
    }

    /// So many tasks, and an agent that does what it is asked, all of it committed.
    pub fn with_succeeding_agent(tasks: usize) -> Self {
        let scene = Self::new();
        let list: Vec<String> = (1..=tasks).map(|number| format!("- [ ] T{number:03} Do it")).collect();
        scene.tasks(&list.join("\n")).agent_script(WILLING_AGENT).commit("An agent");
        scene
    }

    /// A bare repository beside the project, which becomes the project's remote.
    pub fn with_remote(&self) -> PathBuf {
        let bare = self.outside("remote.git");
        self.git(["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        self.git(["config", "remote.origin.url", bare.to_str().unwrap()]);
        bare
    }

    /// The agent plays this script (see `src/agent/script.rs`).
    pub fn agent_script(&self, script: &str) -> &Self {
        self.write("agent.toml", script);
        let agent = "agent = \"scripted\"\n\n[agents.scripted]\ncommand = [\"agent.toml\"]\n";
        agent.clone_into(&mut self.settings.borrow_mut().agent);
        self.write_settings()
    }

    /// The agent is this shell script.
    pub fn agent_sh(&self, script: &str) -> &Self {
        self.write("agent.sh", script);
        self.agent("[agents.fake]\ncommand = [\"sh\", \"agent.sh\"]\n")
    }

    /// The agent is called `fake` and is what this table says.
    pub fn agent(&self, table: &str) -> &Self {
        self.settings.borrow_mut().agent = format!("agent = \"fake\"\n\n{table}");
        self.write_settings()
    }

    /// The agents of these names are shell scripts whose output is read as Claude's; the first is preferred.
    pub fn agents_like_claude(&self, scripts: &[(&str, &str)]) -> &Self {
        let mut names = Vec::new();
        let mut tables = String::new();
        for (name, script) in scripts {
            self.write(&format!("{name}.sh"), script);
            names.push(format!("{name:?}"));
            tables.push_str(&format!(
                "[agents.{name}]\ncommand = [\"sh\", \"{name}.sh\"]\nparser = \"claude\"\n"
            ));
        }
        self.settings.borrow_mut().agent = format!("agent = [{}]\n\n{tables}", names.join(", "));
        self.write_settings()
    }

    /// The validation is this command.
    pub fn validate(&self, command: &str) -> &Self {
        self.settings.borrow_mut().validation = format!("validation.command = '''{command}'''\n");
        self.write_settings()
    }

    /// Further settings, without a table of their own: `progress.max-entries = 3`.
    pub fn config(&self, settings: &str) -> &Self {
        self.settings.borrow_mut().extra.push_str(&format!("{}\n", settings.trim()));
        self.write_settings()
    }

    fn write_settings(&self) -> &Self {
        let Settings { agent, validation, extra } = &*self.settings.borrow();
        self.write(".specify/ralph.toml", format!("{extra}{validation}{agent}"))
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    /// Writes a file of the project that can be run.
    pub fn executable(&self, path: &str, script: &str) -> &Self {
        use std::os::unix::fs::PermissionsExt;
        self.write(path, script);
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Commits everything that is there.
    pub fn commit(&self, message: &str) -> &Self {
        self.git("add --all");
        self.git(["commit", "--quiet", "--allow-empty", "--message", message]);
        self
    }

    /// The top of the repository.
    pub fn repo(&self) -> &Path {
        &self.repo
    }

    /// A file of the project.
    pub fn path(&self, path: &str) -> PathBuf {
        self.repo.join(path)
    }

    /// A file beside the repository: `home`, `bin` (first on the PATH), or any of the scene's own.
    pub fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    /// A program that everything in this scene finds first.
    pub fn program(&self, name: &str, script: &str) -> &Self {
        use std::os::unix::fs::PermissionsExt;
        let path = self.outside("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Makes a program of the machine known in our own folder of programs.
    pub fn link(&self, name: &str) -> &Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
        let found = found.find(|program| program.is_file()).unwrap();
        std::os::unix::fs::symlink(found, self.outside("bin").join(name)).unwrap();
        self
    }

    #[track_caller]
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    /// The task list as it stands.
    #[track_caller]
    pub fn task_list(&self) -> String {
        self.read("specs/001-login/tasks.md")
    }

    /// The journal as it stands.
    #[track_caller]
    pub fn progress(&self) -> String {
        self.read("specs/001-login/progress.txt")
    }

    /// Runs `specify ralph` to its end, in the repository.
    #[track_caller]
    pub fn ralph(&self, words: impl Words) -> Run {
        self.call(words).run()
    }

    /// Starts `specify ralph` in the repository.
    pub fn spawn(&self, words: impl Words) -> Running<'_> {
        self.call(words).spawn()
    }

    /// A call of `specify ralph`, to be changed before it is made.
    pub fn call(&self, words: impl Words) -> Call<'_> {
        let start = self.clock.get();
        self.clock.set(start + time::Duration::HOUR);
        Call::new(self, words, start.format(&time::format_description::well_known::Rfc3339).unwrap())
    }

    /// What git prints in the repository, trimmed at its end; it must not fail.
    #[track_caller]
    pub fn git(&self, words: impl Words) -> String {
        self.git_in(&self.repo, words)
    }

    #[track_caller]
    pub fn git_in(&self, directory: &Path, words: impl Words) -> String {
        String::from_utf8_lossy(&self.git_bytes_in(directory, words)).trim_end().to_owned()
    }

    /// What git prints in the repository, to the byte.
    #[track_caller]
    pub fn git_bytes(&self, words: impl Words) -> Vec<u8> {
        self.git_bytes_in(&self.repo, words)
    }

    #[track_caller]
    pub fn git_bytes_in(&self, directory: &Path, words: impl Words) -> Vec<u8> {
        let words = words.words();
        let output = self.hermetic("git").current_dir(directory).args(&words).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {words:?}: {}\n{complaint}", output.status);
        output.stdout
    }

    /// A program with nothing of the machine's but the PATH, with our own folders in front: the scene's programs, and
    /// `specify` as an installation has it.
    pub fn hermetic(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let root = self.outside("");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = [self.outside("bin"), self.outside("installed")].into_iter();
        let path = std::env::join_paths(own.chain(std::env::split_paths(&path))).unwrap();
        signals::give_children_default_signals();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", path)
            .env("TZ", "UTC")
            .env("HOME", root.join("home"))
            .env("XDG_CONFIG_HOME", root.join("config"))
            .env("TMPDIR", root.join("tmp"))
            .env("LC_ALL", "C")
            // The scripted agent is named by the project's file; scenes about trust take this away.
            .env("SPECKIT_RALPH_TRUST", "always")
            .env("SPECKIT_RALPH_SYNC_CONFIRMED", "true")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", root.join("gitconfig"))
            .env("GIT_CEILING_DIRECTORIES", &root)
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            // Most scenes are about iterations: a run before the first would only change what their checks count. Those
            // that are about it call `with_baseline`.
            .env(BASELINE, "false")
            .env(REFUSE, "focus,skip,vanished,shrunk,judge")
            .env(CLEAN, "off")
            .current_dir(&self.repo);
        if Self::is_portable() {
            command.env(PORTABLE, "1");
        }
        let of_another_day = ANOTHER_DAY.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(of_another_day);
        command
    }

    /// Returns true if processes are looked at as on systems other than Linux.
    pub fn is_portable() -> bool {
        !cfg!(target_os = "linux") || std::env::var_os(PORTABLE).is_some()
    }

    /// Every file of the project and its git directory, to see that nothing was written.
    pub fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = sound::files(&self.repo).into_iter();
        files.map(|path| (path.clone(), fs::read(&path).unwrap_or_default())).collect()
    }

    /// The sessions that are recorded, by their refs, oldest first.
    pub fn sessions(&self) -> Vec<Session<'_>> {
        let refs = self.git("for-each-ref --format=%(refname) refs/ralph/");
        let mut sessions: Vec<_> =
            refs.lines().map(|name| Session { sandbox: self, refname: name.to_owned() }).collect();
        sessions.sort_by_key(|session| session.id().to_owned());
        sessions
    }

    /// The only session that is recorded.
    #[track_caller]
    pub fn session(&self) -> Session<'_> {
        let mut sessions = self.sessions();
        assert_eq!(sessions.len(), 1, "{sessions:?}");
        sessions.remove(0)
    }

    /// This scene's agent commits, stages, stashes or switches branches.
    pub fn agent_uses_git(&self) -> &Self {
        self.waive(|waived| waived.git = true)
    }

    /// This scene leaves a journal that is not what the record says.
    pub fn journal_differs(&self) -> &Self {
        self.waive(|waived| waived.journal = true)
    }

    /// No command that this scene prints is tried: what it changes is not put back, or is looked at.
    pub fn try_no_hints(&self) -> &Self {
        self.waive(|waived| waived.hints = true)
    }

    /// This scene breaks the repository; it looks it over itself.
    pub fn skip_final_fsck(&self) -> &Self {
        self.waive(|waived| waived.everything = true)
    }

    fn waive(&self, change: impl FnOnce(&mut Waived)) -> &Self {
        let mut waived = self.waived.get();
        change(&mut waived);
        self.waived.set(waived);
        self
    }
}

/// Returns the step at which the cases of a long table are played: each case where `RALPH_TEST_ALL` is set, as `.ci/long` does,
/// else one in `parts`. For tables whose cases go the same way through the program.
pub fn one_in(parts: usize) -> usize {
    if std::env::var_os("RALPH_TEST_ALL").is_some() { 1 } else { parts }
}

/// How repositories of scenes keep their refs; as git does by itself, where nothing is said.
fn ref_format() -> Option<String> {
    std::env::var("RALPH_TEST_REF_FORMAT").ok()
}

/// Returns the folder of all scenes: in memory if there is room, because a loop syncs what it writes and disks are slow
/// at that. `TMPDIR` decides otherwise.
fn scenes() -> PathBuf {
    let memory = Path::new("/dev/shm");
    // Only Linux has that folder, and the flag.
    #[cfg(not(target_os = "linux"))]
    let is_usable = false;
    #[cfg(target_os = "linux")]
    let is_usable = rustix::fs::statvfs(memory).is_ok_and(|volume| {
        let runs_programs = !volume.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC);
        let min_free_bytes = 2 << 30;
        runs_programs && volume.f_bavail.saturating_mul(volume.f_frsize) >= min_free_bytes
    });
    let is_free_to_choose = std::env::var_os("TMPDIR").is_none();
    if is_free_to_choose && is_usable { memory.to_owned() } else { std::env::temp_dir() }
}

/// A time at which no other scene begins, also none of another run of the tests on this machine: the processes of
/// a session are found by its id, and its id is its time.
fn own_time() -> OffsetDateTime {
    static SCENES: AtomicI64 = AtomicI64::new(0);
    let scene = SCENES.fetch_add(1, Ordering::Relaxed);
    let day = i64::from(std::process::id() % 20_000);
    datetime!(2020-01-01 0:00 UTC) + time::Duration::days(day) + time::Duration::seconds(scene * 13)
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.waived.get().everything {
            self.record_is_sound();
        }
    }
}

/// A session's chain of records, read with plain git.
#[derive(Debug)]
pub struct Session<'a> {
    sandbox: &'a Sandbox,
    refname: String,
}

impl Session<'_> {
    pub fn refname(&self) -> &str {
        &self.refname
    }

    pub fn id(&self) -> &str {
        self.refname.rsplit('/').next().unwrap()
    }

    /// The commits of the iterations, oldest first.
    pub fn iterations(&self) -> Vec<String> {
        let format = "--format=%H %(trailers:key=Ralph-Record,valueonly,separator=%x2C)";
        let log = self.sandbox.git(["log", "--reverse", format, &self.refname]);
        log.lines().filter_map(|line| line.strip_suffix(" iteration")).map(str::to_owned).collect()
    }

    /// A trailer of every iteration, oldest first.
    pub fn trailers(&self, key: &str) -> Vec<String> {
        self.iterations().iter().map(|commit| self.trailer(commit, key)).collect()
    }

    pub fn trailer(&self, commit: &str, key: &str) -> String {
        let format = format!("--format=%(trailers:key={key},valueonly,separator=%x2C)");
        self.sandbox.git(["log", "-1", &format, commit])
    }

    /// A file of the record of iteration `number`, to the byte.
    #[track_caller]
    pub fn file(&self, number: usize, path: &str) -> Vec<u8> {
        let commit = &self.iterations()[number - 1];
        self.sandbox.git_bytes(["cat-file", "blob", &format!("{commit}:{path}")])
    }

    #[track_caller]
    pub fn text(&self, number: usize, path: &str) -> String {
        String::from_utf8(self.file(number, path)).unwrap()
    }

    /// `iteration.json` of iteration `number`.
    #[track_caller]
    pub fn iteration(&self, number: usize) -> serde_json::Value {
        serde_json::from_slice(&self.file(number, "iteration.json")).unwrap()
    }

    /// The last `session.json`.
    #[track_caller]
    pub fn end(&self) -> serde_json::Value {
        let spec = format!("{}:session.json", self.refname);
        serde_json::from_slice(&self.sandbox.git_bytes(["cat-file", "blob", &spec])).unwrap()
    }
}
