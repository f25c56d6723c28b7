//! Children that run long: agents and validations, with their streams in files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;

use super::launcher::{failure_file, take_failure, through_ourselves};
use super::limits::{Limits, Pulse, Watch};
use super::process_tree::ProcessTree;
use super::started::ChildProcess;
use super::{Interrupt, LOCAL_GIT_VARIABLES, Marker, code_of, outside, stream, system};
use crate::platform::{self, Signal};
use crate::sandbox::Fence;
use ralph_core::record::{Exit, ExitReason};

/// A program to run, and all that it may see and do. It gets a session and a process group of its own, and no terminal.
#[derive(Debug, Clone)]
pub struct Child {
    pub argv: Vec<String>,
    pub directory: Utf8PathBuf,
    /// Set over what we inherited.
    pub environment: Vec<(String, String)>,
    /// Set only where we inherited nothing of that name.
    pub defaults: Vec<(String, String)>,
    /// Not handed on. Git's own variables never are.
    pub removed: Vec<String>,
    /// A file to read from; nothing to read if it is none.
    pub stdin: Option<Utf8PathBuf>,
    pub stdout: Utf8PathBuf,
    pub stderr: Utf8PathBuf,
    pub marker: Marker,
    pub limits: Limits,
    /// What keeps it in its place; `None` if it may do all that we may.
    pub fence: Option<Fence>,
}

/// How a child ended, and what it left running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildExit {
    pub exit: Exit,
    /// Names of the programs that went on in the background after its own end. They are stopped by now.
    pub leftovers: Vec<String>,
}

/// How long a child that is asked to stop may take.
#[derive(Debug, Clone, Copy)]
struct Grace {
    /// From INT to TERM: agents save their state and print a last event, the slowest in under 2 s.
    interrupt: Duration,
    /// From TERM to KILL: enough to end tools and save, short enough that Ctrl-C still feels like Ctrl-C.
    terminate: Duration,
    /// Whether INT comes first whatever the reason, not after Ctrl-C alone.
    always_interrupts: bool,
}

const GRACE: Grace =
    Grace { interrupt: Duration::from_secs(5), terminate: Duration::from_secs(3), always_interrupts: false };

/// Time between two checks of streams and requests to stop; the end of the child itself wakes us at once.
const TICK: Duration = Duration::from_millis(25);

/// How long a killed child may take to vanish, for one in the middle of a system call on a dead disk never does.
const VANISH_TIMEOUT: Duration = Duration::from_secs(5);

impl Child {
    /// Runs it to its end, or stops it; then stops what it left behind. `on_tick` is called meanwhile to report how
    /// it does, and once more after the end.
    ///
    /// # Errors
    ///
    /// If its streams cannot be made or watched. How it ended, or why it could not be started, is a value.
    pub fn run(&self, interrupt: &Interrupt, on_tick: &mut dyn FnMut() -> Pulse) -> Result<ChildExit> {
        self.run_with(GRACE, interrupt, on_tick)
    }

    /// The same for git with the hooks of the user: one that set files aside puts them back on INT, and not on TERM.
    ///
    /// # Errors
    ///
    /// As [`Child::run`].
    pub fn run_with_hooks(
        &self,
        interrupt: &Interrupt,
        on_tick: &mut dyn FnMut() -> Pulse,
    ) -> Result<ChildExit> {
        self.run_with(Grace { always_interrupts: true, ..GRACE }, interrupt, on_tick)
    }

    fn run_with(
        &self,
        grace: Grace,
        interrupt: &Interrupt,
        on_tick: &mut dyn FnMut() -> Pulse,
    ) -> Result<ChildExit> {
        let stdout = stream::create(&self.stdout)?;
        let stderr = stream::create(&self.stderr)?;
        if let Some(signal) = interrupt.signal() {
            return Ok(ChildExit::without_leftovers(128 + signal, Some(ExitReason::Interrupted)));
        }
        // Only what is adopted can be found after its parent's end.
        let adopts = system::adopt_orphans();
        let started = match self.start(&stdout, &stderr, grace.always_interrupts)? {
            Ok(started) => started,
            Err(why) => return not_started(&stderr, &why),
        };
        let mut tree = ProcessTree::of(&self.marker, &started, grace.always_interrupts);
        let mut watch = Watch::new(self.limits, [stdout, stderr]);
        let (status, reason) = wait(&started, &mut tree, &mut watch, grace, interrupt, on_tick)?;
        let start_failure = take_failure(status.and_then(|status| status.code()), &self.stderr);
        if let Some(why) = start_failure.filter(|_| reason.is_none()) {
            let [_, stderr] = &watch.streams;
            return not_started(stderr, &self.cannot_start(&why));
        }
        tree.root_ended();
        let has_left = !adopts || system::has_children();
        let mut leftovers = if has_left { tree.stop_leftovers(interrupt) } else { Vec::new() };
        leftovers.retain(|name| self.fence.as_ref().is_none_or(|fence| !fence.is_own_process(name)));
        if reason == Some(ExitReason::OutputLimit) {
            watch.cut_streams()?;
        }
        for (stream, path) in watch.streams.iter().zip([&self.stdout, &self.stderr]) {
            stream::put_back(stream, path)?;
        }
        let _ended = on_tick();
        let code = match reason {
            None | Some(ExitReason::Interrupted) => status.map_or(128 + Signal::KILL.as_raw(), code_of),
            Some(_) => -1,
        };
        Ok(ChildExit { exit: Exit { code, reason }, leftovers })
    }

    /// Starts it, marked as a tool if it is a git of ours. Returns why it could not be started as a value, in words for its stderr.
    fn start(&self, stdout: &File, stderr: &File, is_ours: bool) -> Result<Result<ChildProcess, String>> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Ok(Err("nothing to start: the command is empty".to_owned()));
        };
        // A path is meant from where the child runs, not from where the user stands.
        let is_path = platform::is_path(program);
        let found = if is_path { self.directory.join(program).into_string() } else { program.clone() };
        let found = platform::program(found.as_ref()).to_string_lossy().into_owned();
        let mut words: Vec<String> = [found].into_iter().chain(arguments.iter().cloned()).collect();
        if let Some(fence) = &self.fence {
            let own = self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            words = fence.wrap(&fence.as_the_user(words, own), &self.directory);
        }
        let (found, arguments) = (&words[0], &words[1..]);
        let launched = through_ourselves(&failure_file(&self.stderr), found.as_ref(), arguments);
        let is_launched = launched.is_some();
        let mut expression = launched
            .unwrap_or_else(|| duct::cmd(found, arguments))
            .dir(self.directory.as_std_path())
            .stdout_file(stdout.try_clone().context("share the child's stdout")?)
            .stderr_file(stderr.try_clone().context("share the child's stderr")?)
            .unchecked();
        expression = match &self.stdin {
            Some(path) => {
                let file = File::open(path).with_context(|| format!("open {path} for the child to read"))?;
                expression.stdin_file(file)
            }
            None => expression.stdin_null(),
        };
        let child = self.clone();
        expression = expression.before_spawn(move |command| {
            child.set_variables(command, is_ours);
            if !is_launched || cfg!(windows) {
                platform::in_own_group(command);
            }
            Ok(())
        });
        Ok(ChildProcess::start(&expression).map_err(|error| self.cannot_start(&error.to_string())))
    }

    fn set_variables(&self, command: &mut Command, is_ours: bool) {
        let inherited: BTreeMap<String, String> = command
            .get_envs()
            .filter_map(|(name, value)| {
                Some((name.to_str()?.to_owned(), value?.to_string_lossy().into_owned()))
            })
            .collect();
        for (name, value) in &inherited {
            let is_dropped = self.fence.as_ref().is_some_and(|fence| fence.drops(name, value));
            if is_local_to_git(name) || self.removed.contains(name) || is_dropped {
                command.env_remove(name);
            }
        }
        for (name, value) in &self.defaults {
            if !inherited.contains_key(name) {
                command.env(name, value);
            }
        }
        command.env("GIT_TERMINAL_PROMPT", "0");
        if is_ours {
            command.env(Marker::TOOL, Marker::of_tools());
        } else {
            command.env_remove(Marker::TOOL);
        }
        command.envs(self.fence.iter().flat_map(Fence::variables));
        // What leads to programs is in the command line of the fence.
        let is_outside = |name: &str| self.fence.is_none() || !outside::leads(name);
        let own = self.environment.iter().filter(|(name, _)| is_outside(name));
        command.envs(own.map(|(name, value)| (name, value)));
        command.envs(self.marker.variables());
        // The fence itself is put up outside.
        let outside = outside::in_force().filter(|_| self.fence.is_some());
        for (name, value) in outside.iter().flat_map(|outside| outside.variables()) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    fn cannot_start(&self, why: &str) -> String {
        let program = self.argv.first().map_or("", String::as_str);
        if self.directory.is_dir() {
            format!("cannot start `{program}`: {why}")
        } else {
            format!("cannot start `{program}`: {} is not a directory", self.directory)
        }
    }
}

impl ChildExit {
    fn without_leftovers(code: i32, reason: Option<ExitReason>) -> Self {
        Self { exit: Exit { code, reason }, leftovers: Vec::new() }
    }
}

/// Writes into its stderr why a child was not started.
fn not_started(mut stderr: &File, why: &str) -> Result<ChildExit> {
    writeln!(stderr, "{why}").context("write down why the child could not be started")?;
    Ok(ChildExit::without_leftovers(-1, Some(ExitReason::StartFailed)))
}

fn is_local_to_git(name: &str) -> bool {
    LOCAL_GIT_VARIABLES.contains(&name)
        || name.starts_with("GIT_CONFIG_KEY_")
        || name.starts_with("GIT_CONFIG_VALUE_")
}

/// Waits for the end of a child, or stops it. Returns how it ended itself, and why it was stopped, if it was.
fn wait(
    started: &ChildProcess,
    tree: &mut ProcessTree<'_>,
    watch: &mut Watch,
    grace: Grace,
    interrupt: &Interrupt,
    on_tick: &mut dyn FnMut() -> Pulse,
) -> Result<(Option<ExitStatus>, Option<ExitReason>)> {
    let mut pulse = Pulse::Alive;
    loop {
        if let Some(output) = started.handle().wait_timeout(TICK).context("wait for the child")? {
            return Ok((Some(output.status), None));
        }
        let reason = match interrupt.signal() {
            Some(_) => Some(ExitReason::Interrupted),
            None => watch.exceeded(pulse)?,
        };
        if let Some(reason) = reason {
            return Ok((stop(started, tree, grace, interrupt, reason)?, Some(reason)));
        }
        pulse = on_tick();
        if watch.is_time_for_orphans() {
            tree.reap_orphans();
        }
    }
}

/// Sends INT, TERM and KILL, each if the one before was not enough. Returns how the child itself ended.
fn stop(
    started: &ChildProcess,
    tree: &mut ProcessTree<'_>,
    grace: Grace,
    interrupt: &Interrupt,
    reason: ExitReason,
) -> Result<Option<ExitStatus>> {
    // Listed before the first signal: a process that loses its parent is hard to find.
    tree.members();
    let is_ctrl_c = reason == ExitReason::Interrupted && interrupt.first_signal() == Signal::INT;
    if is_ctrl_c || grace.always_interrupts {
        tree.interrupt_group(grace.interrupt, interrupt);
    }
    tree.ask_all(grace.terminate, interrupt);
    tree.kill();
    let output = started.handle().wait_timeout(VANISH_TIMEOUT);
    Ok(output.context("wait for the stopped child")?.map(|output| output.status))
}

#[cfg(test)]
mod tests;
