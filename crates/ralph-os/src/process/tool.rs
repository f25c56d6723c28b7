//! Short-lived tools whose whole output we read: mostly the git program.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use camino::Utf8Path;

use super::bounded::{self, Heeds};
use super::launcher::{launches, through_ourselves};
use super::marker::Marker;
use super::outside;
use super::started::in_own_group;
use crate::platform::{self, NULL_DEVICE};
use crate::sandbox::Fence;

/// How long a tool may take that has no other limit: git on a big work tree may need minutes, but not more.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

/// The limit of what handles all files or objects of a repository while a user waits, or after everybody's back.
pub const LONG: Duration = Duration::from_hours(6);

/// Bytes that are handed on at once.
const PIECE: usize = 64 << 10;

/// The variables that tie a git command to one repository, as `git rev-parse --local-env-vars` lists them.
///
/// A hook or a `rebase --exec` sets some of them for us; children must find the repository by themselves.
pub const LOCAL_GIT_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_INTERNAL_SUPER_PREFIX",
];

/// Keeps git from fetching by itself what a partial clone lacks.
pub const NO_LAZY_FETCH: &str = "GIT_NO_LAZY_FETCH";

/// A tool to run to its end, with its output in memory.
#[derive(Debug, Clone)]
pub struct Tool {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, Option<OsString>)>,
    directory: OsString,
    stdin: Vec<u8>,
    limit: Duration,
    heeds: Heeds,
    has_own_session: bool,
}

/// What a tool left behind.
#[derive(Debug)]
pub struct Captured {
    /// The exit code; 128+n for signal n.
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Captured {
    pub fn is_success(&self) -> bool {
        self.code == 0
    }

    /// Returns the line of stderr that says why it failed, for messages: git's last word, or the first one that is no hint.
    pub fn complaint(&self) -> String {
        let stderr = String::from_utf8_lossy(&self.stderr);
        let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let first = |kind: &str| lines.iter().find(|line| line.starts_with(kind));
        let is_hint = |line: &str| line.starts_with("hint: ");
        let line = first("fatal: ").or_else(|| first("error: "));
        let line = line.or_else(|| lines.iter().find(|line| !is_hint(line))).or(lines.first());
        line.map_or_else(|| format!("exit code {}", self.code), |line| (*line).to_owned())
    }
}

/// Returns true if a terminal controls us. Where none does, a child needs no session of its own to be without one, and
/// the start of our own program in between can be spared.
fn has_terminal() -> bool {
    static HAS_TERMINAL: OnceLock<bool> = OnceLock::new();
    *HAS_TERMINAL.get_or_init(|| File::open("/dev/tty").is_ok())
}

impl Tool {
    pub fn new(program: impl Into<OsString>, directory: &Utf8Path) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: vec![
                ("GIT_TERMINAL_PROMPT".into(), Some("0".into())),
                // The complaints that we read and pass on must not depend on the user's language.
                ("LC_ALL".into(), Some("C".into())),
            ],
            directory: directory.as_os_str().to_owned(),
            stdin: Vec::new(),
            limit: DEFAULT_TIMEOUT,
            heeds: Heeds::Stop,
            has_own_session: false,
        }
    }

    /// The git program, finding its repository by `directory` alone; no hook, monitor or lock of the user's, and no
    /// network access that was not asked for.
    pub fn git(directory: &Utf8Path) -> Self {
        let tool = Self::new("git", directory).without_local_variables();
        // Replacements (`git replace`) and grafts show other objects and parents than those that were written.
        tool.env(NO_LAZY_FETCH, "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_GRAFT_FILE", "/dev/null")
            .args([
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.safecrlf=false",
                "-c",
                "log.showSignature=false",
                "--no-optional-locks",
            ])
    }

    /// The git program as the user called it, with `GIT_DIR` and `git -c` in force: for discovery alone.
    pub fn git_as_called(directory: &Utf8Path) -> Self {
        let mut tool = Self::new("git", directory);
        // With it `git config` reads one file alone, which is not what git itself goes by.
        tool.environment.push(("GIT_CONFIG".into(), None));
        // Unit tests stand for a call from a plain shell, also where a hook of git's starts them.
        if cfg!(test) { tool.without_local_variables() } else { tool }
    }

    fn without_local_variables(mut self) -> Self {
        self.environment.extend(LOCAL_GIT_VARIABLES.iter().map(|name| ((*name).into(), None)));
        self
    }

    /// A command of the user's, in their language and through their shell, outside of any git command.
    pub fn shell(command: &str, directory: &Utf8Path) -> Self {
        let mut tool = Self::new("sh", directory).args(["-c", command]);
        tool.environment = LOCAL_GIT_VARIABLES.iter().map(|name| ((*name).into(), None)).collect();
        tool
    }

    /// The git program as the user would call it, talking to the user in the user's language.
    pub fn git_for_user(directory: &Utf8Path) -> Self {
        Self { environment: Vec::new(), ..Self::new("git", directory) }
    }

    #[must_use]
    pub fn in_directory(self, directory: &Utf8Path) -> Self {
        Self { directory: directory.as_os_str().to_owned(), ..self }
    }

    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    #[must_use]
    pub fn args<I: IntoIterator<Item: Into<OsString>>>(mut self, arguments: I) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Stops it after that time, which is an error then. Without this it is ten minutes.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs also in a session that was stopped; ends at once by the next stop.
    #[must_use]
    pub fn after_the_session(mut self) -> Self {
        self.heeds = Heeds::LaterStop;
        self
    }

    /// Returns it a session of its own, without a terminal: for a git that runs filters of the user's.
    #[must_use]
    pub fn in_own_session(mut self) -> Self {
        self.has_own_session = true;
        self
    }

    /// Returns the call, without its streams.
    pub(super) fn expression(&self) -> duct::Expression {
        let outside = outside::in_force();
        let program = match &outside {
            Some(outside) => outside.program(&self.program),
            None => platform::tool(&self.program),
        };
        let settings =
            outside.iter().flat_map(|outside| outside.settings()).filter(|_| self.program == "git");
        let arguments: Vec<OsString> = settings.chain(self.arguments.iter().cloned()).collect();
        let call = duct::cmd(&program, &arguments);
        let call = if !(self.has_own_session && launches()) {
            call
        } else if has_terminal() {
            // It is known that the program is there.
            through_ourselves(NULL_DEVICE.into(), &program, &arguments).unwrap_or(call)
        } else {
            in_own_group(&call)
        };
        let call = call.dir(&self.directory).unchecked();
        let call = call.env(Marker::TOOL, Marker::of_tools());
        // Of two settings the one that was applied first wins there, and the last one here.
        let call = self.environment.iter().rev().fold(call, |call, (name, value)| match value {
            Some(value) => call.env(name, value),
            None => call.env_remove(name),
        });
        let variables = outside.iter().flat_map(|outside| outside.variables());
        variables.fold(call, |call, (name, value)| match value {
            Some(value) => call.env(name, value),
            None => call.env_remove(name),
        })
    }

    /// Returns it the PATH of the user: for a shell that only says where a program is.
    #[must_use]
    pub fn on_the_users_path(self) -> Self {
        #[expect(clippy::disallowed_methods, reason = "commands inside find programs there")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        self.env("PATH", path)
    }

    /// Runs it inside of a fence.
    #[must_use]
    pub fn inside(mut self, fence: &Fence) -> Self {
        let words = [&self.program].into_iter().chain(&self.arguments);
        let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let own = self
            .environment
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?, value.as_ref()?.to_str()?)));
        let words = fence.as_the_user(words, own);
        let directory = self.directory.to_string_lossy().into_owned();
        let mut words = fence.wrap(&words, Utf8Path::new(&directory)).into_iter();
        self.program = words.next().unwrap_or_default().into();
        self.arguments = words.map(Into::into).collect();
        let dropped = std::env::vars_os()
            .filter(|(name, value)| fence.drops(&name.to_string_lossy(), &value.to_string_lossy()));
        let dropped: Vec<_> = dropped.map(|(name, _)| (name, None)).collect();
        let set = fence.variables().into_iter().map(|(name, value)| (name.into(), Some(value.into())));
        self.environment = dropped.into_iter().chain(self.environment).chain(set).collect();
        // These are in the command line.
        self.environment.retain(|(name, _)| !outside::leads(&name.to_string_lossy()));
        self
    }

    /// Runs to the end, whatever the exit code; an error only where the program cannot be started, or takes longer
    /// than its limit or a stop allows.
    pub fn run(self) -> Result<Captured> {
        let words = self.to_string();
        let expression = self.expression().stdin_bytes(self.stdin);
        let leads_session = self.has_own_session && launches();
        let output = bounded::run(&expression, leads_session, self.limit, self.heeds)
            .with_context(|| format!("run `{words}`"))?;
        Ok(Captured { code: super::code_of(output.status), stdout: output.stdout, stderr: output.stderr })
    }

    /// Runs it to its end and hands on its stdout as it comes, so that no more than a piece of it is in memory. A
    /// failing exit code is an error that quotes the tool's complaint.
    pub fn stream(self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let words = self.to_string();
        let mut reader = self
            .expression()
            .stdin_bytes(self.stdin)
            .stderr_capture()
            .reader()
            .with_context(|| format!("run `{words}`"))?;
        let mut piece = vec![0; PIECE];
        loop {
            match reader.read(&mut piece).with_context(|| format!("read what `{words}` prints"))? {
                0 => break,
                length => each(&piece[..length]),
            }
        }
        if let Some(output) = reader.try_wait().with_context(|| format!("run `{words}`"))? {
            let code = super::code_of(output.status);
            let captured = Captured { code, stdout: Vec::new(), stderr: output.stderr.clone() };
            if !captured.is_success() {
                bail!("`{words}`: {}", captured.complaint());
            }
        }
        Ok(())
    }

    /// Runs it with our own terminal and streams, but for a stdin that it was given, and gives its exit code, or 128+n for signal n.
    pub fn hand_over(self) -> Result<i32> {
        let words = self.to_string();
        let expression = self.expression();
        let expression = if self.stdin.is_empty() { expression } else { expression.stdin_bytes(self.stdin) };
        let output = expression.run().with_context(|| format!("run `{words}`"))?;
        Ok(super::code_of(output.status))
    }

    /// Runs to the end and gives stdout; a failing exit code is an error that quotes the tool's complaint.
    pub fn read(self) -> Result<Vec<u8>> {
        Ok(self.read_all()?.0)
    }

    /// As [`Tool::read`], with what it complained about anyway.
    pub fn read_all(self) -> Result<(Vec<u8>, Vec<u8>)> {
        let words = self.to_string();
        let captured = self.run()?;
        if !captured.is_success() {
            bail!("`{words}`: {}", captured.complaint());
        }
        Ok((captured.stdout, captured.stderr))
    }

    /// As [`Tool::read`], as one trimmed line of text.
    pub fn line(self) -> Result<String> {
        let words = self.to_string();
        let text = String::from_utf8(self.read()?).with_context(|| format!("read what `{words}` prints"))?;
        Ok(text.trim_end_matches(['\n', '\r']).to_owned())
    }
}

impl std::fmt::Display for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.program.to_string_lossy())?;
        let mut arguments = self.arguments.iter().peekable();
        while let Some(argument) = arguments.next() {
            let argument = argument.to_string_lossy();
            match argument.as_ref() {
                // Settings of ours on every git command say nothing in a message.
                "-c" => drop(arguments.next()),
                "--no-optional-locks" => {}
                shown => write!(f, " {shown}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_tool_is_an_error_that_quotes_its_complaint() {
        let error =
            Tool::git(Utf8Path::new("/")).args(["rev-parse", "--verify", "nothing"]).read().unwrap_err();
        let text = format!("{error:#}");
        assert!(text.starts_with("`git rev-parse --verify nothing`: fatal: "), "{text}");
    }

    #[test]
    fn the_complaint_is_the_line_that_says_why() {
        for (stderr, complaint) in [
            ("hint: a\nerror: b\nfatal: c\n", "fatal: c"),
            ("hint: a\n\nerror: b\nc\n", "error: b"),
            ("hint: a\nrejected\n", "rejected"),
            ("hint: a\n", "hint: a"),
            ("", "exit code 1"),
        ] {
            let captured = Captured { code: 1, stdout: Vec::new(), stderr: stderr.into() };
            assert_eq!(captured.complaint(), complaint, "{stderr:?}");
        }
    }

    #[test]
    fn the_list_of_local_variables_holds_all_that_git_names() {
        let listed = Tool::git(Utf8Path::new("/")).args(["rev-parse", "--local-env-vars"]).line().unwrap();
        for name in listed.lines() {
            assert!(LOCAL_GIT_VARIABLES.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_tool_that_gives_no_answer_in_time_is_an_error() {
        let limit = Duration::from_millis(100);
        let tool = Tool::new("sleep", Utf8Path::new("/")).arg("1000").limit(limit);
        let error = tool.run().unwrap_err();
        assert_eq!(format!("{error:#}"), "run `sleep 1000`: no answer within 100 ms");
        let quick = Tool::new("echo", Utf8Path::new("/")).arg("hi").limit(Duration::from_mins(1));
        assert_eq!(quick.line().unwrap(), "hi");
    }

    #[test]
    fn a_tool_that_prints_without_end_is_an_error() {
        for script in ["exec yes", "yes | head -c 300000000 >&2"] {
            let error = Tool::new("sh", Utf8Path::new("/")).args(["-c", script]).run().unwrap_err();
            assert_eq!(format!("{error:#}"), "run `sh`: printed more than 256 MiB");
        }
    }

    #[test]
    fn what_is_set_last_wins_also_over_what_git_commands_never_inherit() {
        let tool = Tool::new("sh", Utf8Path::new("/")).env("GIT_DIR", "first");
        let tool = tool.env("GIT_DIR", "second").args(["-c", "echo $GIT_DIR"]);
        assert_eq!(tool.line().unwrap(), "second");
        let tool = Tool::git(Utf8Path::new("/")).env("GIT_INDEX_FILE", "/nowhere/index");
        assert_eq!(tool.args(["-c", "alias.x=!echo $GIT_INDEX_FILE", "x"]).line().unwrap(), "/nowhere/index");
    }

    #[test]
    fn what_is_fed_comes_back() {
        let big = vec![b'x'; 300_000];
        let captured = Tool::new("cat", Utf8Path::new("/")).stdin(big.clone()).run().unwrap();
        assert_eq!(captured.stdout, big);
        let mut came = Vec::new();
        let streamed = Tool::new("cat", Utf8Path::new("/")).stdin(big.clone());
        streamed.stream(&mut |piece| came.extend_from_slice(piece)).unwrap();
        assert_eq!(came, big);
        let failing = Tool::git(Utf8Path::new("/")).args(["rev-parse", "--verify", "nothing"]);
        let error = failing.stream(&mut |_| {}).unwrap_err();
        assert!(error.to_string().contains("fatal: "), "{error}");
    }
}
