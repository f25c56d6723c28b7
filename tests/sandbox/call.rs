//! A call of one of our programs, and what came of it.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::hints;
use super::running::Running;
use super::sound::Untouched;
use super::{BASELINE, CLEAN, PATIENCE, REFUSE, Sandbox};

/// Words of a command line: a text with blanks between them, or a list.
pub trait Words {
    fn words(self) -> Vec<OsString>;
}

impl Words for &str {
    fn words(self) -> Vec<OsString> {
        self.split_whitespace().map(OsString::from).collect()
    }
}

impl Words for &String {
    fn words(self) -> Vec<OsString> {
        self.as_str().words()
    }
}

impl<const N: usize> Words for [&str; N] {
    fn words(self) -> Vec<OsString> {
        self.into_iter().map(OsString::from).collect()
    }
}

/// The names by which the program is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `specify-ralph`, which is what is installed.
    Own,
    /// `specify`, with `ralph` in front of the words.
    SpecifyRalph,
    /// `specify`, with the words alone.
    Specify,
    GitRalph,
}

impl Program {
    pub fn path(self) -> &'static str {
        match self {
            Self::Own => env!("CARGO_BIN_EXE_specify-ralph"),
            Self::SpecifyRalph | Self::Specify => specify(),
            Self::GitRalph => env!("CARGO_BIN_EXE_git-ralph"),
        }
    }
}

/// Returns a shim: a link called `specify`, as `shim install` makes it.
fn specify() -> &'static str {
    static LINK: OnceLock<String> = OnceLock::new();
    LINK.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shim");
        std::fs::create_dir_all(&folder).unwrap();
        let made = folder.join(std::process::id().to_string());
        let link = folder.join("specify");
        symlink(Program::Own.path(), &made).unwrap();
        // Other tests run beside this one: the link is there at every moment.
        std::fs::rename(&made, &link).unwrap();
        link.to_str().unwrap().to_owned()
    })
}

/// A call that is yet to be made.
#[derive(Debug)]
pub struct Call<'a> {
    pub(super) sandbox: &'a Sandbox,
    program: Program,
    words: Vec<OsString>,
    variables: Vec<(OsString, OsString)>,
    directory: PathBuf,
    stdin: Vec<u8>,
    may_read_all: bool,
    has_baseline: bool,
    is_judged: bool,
    is_checked: bool,
}

impl<'a> Call<'a> {
    pub(super) fn new(sandbox: &'a Sandbox, words: impl Words, clock: String) -> Self {
        Self {
            sandbox,
            program: Program::SpecifyRalph,
            words: words.words(),
            variables: vec![("RALPH_TEST_CLOCK".into(), clock.into())],
            directory: sandbox.repo.clone(),
            stdin: Vec::new(),
            may_read_all: true,
            has_baseline: false,
            is_judged: false,
            is_checked: false,
        }
    }

    /// Modes of files hold for it as for everybody, also where the superuser makes the call.
    pub fn bound_by_modes(mut self) -> Self {
        self.may_read_all = false;
        self
    }

    pub fn program(mut self, program: Program) -> Self {
        self.program = program;
        self
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// With the validation before the first iteration, as it is by default.
    pub fn with_baseline(mut self) -> Self {
        self.has_baseline = true;
        self
    }

    /// As it is by default: with the validation before the first iteration, and with all that the judge refuses.
    pub fn judged(mut self) -> Self {
        self.is_judged = true;
        self.with_baseline()
    }

    /// As it is by default: with the check in a clean checkout.
    pub fn checked(mut self) -> Self {
        self.is_checked = true;
        self
    }

    /// On the clock of the machine, where time passes by itself.
    pub fn in_real_time(mut self) -> Self {
        self.variables.retain(|(name, _)| name != "RALPH_TEST_CLOCK");
        self
    }

    pub fn dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = self.sandbox.repo.join(directory);
        self
    }

    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// The command as it would be run, with its streams still unset.
    pub fn command(&self) -> Command {
        let mut command = if self.may_read_all || !is_superuser() {
            self.sandbox.hermetic(self.program.path())
        } else {
            let mut command = self.sandbox.hermetic("setpriv");
            command.args(["--bounding-set=-dac_override,-dac_read_search", self.program.path()]);
            command
        };
        if self.program == Program::SpecifyRalph {
            command.arg("ralph");
        }
        if self.has_baseline {
            command.env_remove(BASELINE);
        }
        if self.is_checked {
            command.env_remove(CLEAN);
        }
        if self.is_judged {
            command.env_remove(REFUSE);
        }
        command.args(&self.words).current_dir(&self.directory);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(self) -> Run {
        let run = self.start().wait();
        let waived = self.sandbox.waived.get();
        // Nothing is taken away from under a call that goes on.
        if hints::are_tried_everywhere() && !waived.hints && self.sandbox.running.get() == 0 {
            hints::try_all(&self, &run);
        }
        run
    }

    /// Runs it to its end, tries every command that it printed, and returns these too.
    #[track_caller]
    pub fn run_with_hints(self) -> (Run, Vec<String>) {
        let run = self.start().wait();
        let tried = hints::try_all(&self, &run);
        (run, tried)
    }

    pub fn spawn(self) -> Running<'a> {
        self.start()
    }

    fn start(&self) -> Running<'a> {
        let untouched = Untouched::of(self.sandbox);
        let streams = tempfile::tempdir().unwrap();
        let path = |name: &str| streams.path().join(name);
        std::fs::write(path("stdin"), &self.stdin).unwrap();
        let child = self
            .command()
            .stdin(File::open(path("stdin")).unwrap())
            .stdout(Stdio::from(File::create(path("stdout")).unwrap()))
            .stderr(Stdio::from(File::create(path("stderr")).unwrap()))
            .spawn()
            .unwrap();
        let line = self.words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        Running::new(self.sandbox, child, streams, line, untouched)
    }
}

fn is_superuser() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

/// What came of a call. Every expectation gives it back, for the next one.
#[derive(Debug)]
pub struct Run {
    pub(super) line: String,
    /// The exit code; 128+n for signal n.
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Run {
    #[track_caller]
    pub fn code(self, expected: i32) -> Self {
        assert!(self.code == expected, "exit code {expected} expected of {self}");
        self
    }

    #[track_caller]
    pub fn stdout(self, expected: impl AsRef<[u8]>) -> Self {
        let expected = expected.as_ref();
        let shown = String::from_utf8_lossy(expected);
        assert!(self.stdout == expected, "expected on stdout:\n{shown}\n--- of {self}");
        self
    }

    #[track_caller]
    pub fn stdout_has(self, part: &str) -> Self {
        assert!(self.text().contains(part), "expected `{part}` on stdout of {self}");
        self
    }

    #[track_caller]
    pub fn stdout_lacks(self, part: &str) -> Self {
        assert!(!self.text().contains(part), "expected no `{part}` on stdout of {self}");
        self
    }

    #[track_caller]
    pub fn stderr(self, expected: &str) -> Self {
        assert!(self.talk() == expected, "expected on stderr:\n{expected}\n--- of {self}");
        self
    }

    #[track_caller]
    pub fn stderr_has(self, part: &str) -> Self {
        assert!(self.talk().contains(part), "expected `{part}` on stderr of {self}");
        self
    }

    /// What it printed.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The commits of the iterations that it said are recorded.
    pub fn acknowledged(&self) -> Vec<String> {
        Self::acknowledged_in(&self.text())
    }

    /// The commits of the iterations that NDJSON events say are recorded.
    pub fn acknowledged_in(stdout: &str) -> Vec<String> {
        stdout
            .lines()
            // The last line may be half written.
            // One of several loops marks its events.
            .map(|line| line.trim_start_matches('\x1e'))
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter(|event| event["type"] == "iteration_recorded")
            .map(|event| event["commit"].as_str().expect("an event names its commit").to_owned())
            .collect()
    }

    /// What it said beside it.
    pub fn talk(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error} in the JSON of {self}"))
    }

    /// A JSON value for each line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<serde_json::Value> {
        let line = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in a line of {self}"))
        };
        self.text().lines().map(line).collect()
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { line, code, .. } = self;
        writeln!(f, "`{line}` (exit code {code}, within {PATIENCE:?})")?;
        write!(f, "--- stdout:\n{}\n--- stderr:\n{}", self.text(), self.talk())
    }
}
