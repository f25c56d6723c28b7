//! Children that run long: agents and validations, with their streams in files.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, Result};
use camino::Utf8PathBuf;
use rustix::process::Signal;

use super::launcher::{failure_file, launcher, take_failure};
use super::limits::{Limits, Pulse, Watch};
use super::process_tree::{ProcessTree, reap_orphans};
use super::started::Started;
use super::{Interrupt, LOCAL_GIT_VARIABLES, Marker, code_of, stream, system};
use crate::record::{Exit, ExitReason};

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
    /// A file to read from; nothing to read where it is none.
    pub stdin: Option<Utf8PathBuf>,
    pub stdout: Utf8PathBuf,
    pub stderr: Utf8PathBuf,
    pub marker: Marker,
    pub limits: Limits,
}

/// How a child ended, and what it left running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub exit: Exit,
    /// Names of the programs that went on in the background after its own end. They are stopped by now.
    pub leftovers: Vec<String>,
}

/// How long a child that is asked to stop may take.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// From INT to TERM: agents save their state and print a last event, the slowest in under 2 s.
    interrupt: Duration,
    /// From TERM to KILL: enough to end tools and save, short enough that Ctrl-C still feels like Ctrl-C.
    terminate: Duration,
}

const PATIENCE: Patience = Patience { interrupt: Duration::from_secs(5), terminate: Duration::from_secs(3) };

/// Between two looks at streams and wishes; the end of the child itself wakes us at once.
const TICK: Duration = Duration::from_millis(25);

/// How long a killed child may take to vanish, for one in the middle of a system call on a dead disk never does.
const VANISH: Duration = Duration::from_secs(5);

impl Child {
    /// Runs it to its end, or stops it; then stops what it left behind. `on_tick` is called meanwhile to tell how
    /// it does, and once more after the end. An error means that its streams cannot be made; all else is in what comes back.
    pub fn run(&self, interrupt: &Interrupt, on_tick: &mut dyn FnMut() -> Pulse) -> Result<Ended> {
        self.run_with(PATIENCE, interrupt, on_tick)
    }

    fn run_with(
        &self,
        patience: Patience,
        interrupt: &Interrupt,
        on_tick: &mut dyn FnMut() -> Pulse,
    ) -> Result<Ended> {
        let stdout = stream::create(&self.stdout)?;
        let stderr = stream::create(&self.stderr)?;
        if let Some(signal) = interrupt.signal() {
            return Ok(Ended::without_leftovers(128 + signal, Some(ExitReason::Interrupted)));
        }
        // Only what is adopted can be found after its parent's end.
        let adopts = system::adopt_orphans();
        let started = match self.start(&stdout, &stderr)? {
            Ok(started) => started,
            Err(reason) => {
                writeln!(&stderr, "{reason}").context("write down why the child could not be started")?;
                return Ok(Ended::without_leftovers(-1, Some(ExitReason::StartFailed)));
            }
        };
        let mut tree = ProcessTree::of(&self.marker, &started);
        let mut watch = Watch::new(self.limits, [stdout, stderr]);
        let mut pulse = Pulse::Alive;
        let (status, reason) = loop {
            if let Some(output) = started.handle().wait_timeout(TICK).context("wait for the child")? {
                break (Some(output.status), None);
            }
            let reason = match interrupt.signal() {
                Some(_) => Some(ExitReason::Interrupted),
                None => watch.exceeded(pulse)?,
            };
            if let Some(reason) = reason {
                break (stop(&started, &mut tree, (reason, patience), interrupt)?, Some(reason));
            }
            pulse = on_tick();
            if watch.is_time_for_orphans() {
                reap_orphans(&mut tree);
            }
        };
        let start_failed = take_failure(status.and_then(|status| status.code()), &self.stderr);
        if let Some(why) = start_failed.filter(|_| reason.is_none()) {
            let [_, stderr] = &watch.streams;
            writeln!(&*stderr, "{}", self.cannot_start(&why))
                .context("write down why the child could not be started")?;
            return Ok(Ended::without_leftovers(-1, Some(ExitReason::StartFailed)));
        }
        tree.root_ended();
        let has_left = !adopts || system::has_children();
        let leftovers = if has_left { tree.stop_leftovers(interrupt) } else { Vec::new() };
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
        Ok(Ended { exit: Exit { code, reason }, leftovers })
    }

    /// Starts it; the inner error is the child's, in words for its stderr.
    fn start(&self, stdout: &File, stderr: &File) -> Result<Result<Started, String>> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Ok(Err("nothing to start: the command is empty".to_owned()));
        };
        // A path is meant from where the child runs, not from where the user stands.
        let is_path = program.contains('/');
        let found = if is_path { self.directory.join(program).into_string() } else { program.clone() };
        let launcher = launcher();
        let mut expression = match launcher {
            Some(launcher) => duct::cmd(
                launcher.program(),
                launcher.arguments(&failure_file(&self.stderr), &found, arguments),
            ),
            None => duct::cmd(found, arguments),
        };
        expression = expression
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
        let (environment, defaults, removed) =
            (self.environment.clone(), self.defaults.clone(), self.removed.clone());
        let marker = self.marker.clone();
        expression = expression.before_spawn(move |command| {
            let inherited: Vec<String> = command
                .get_envs()
                .filter_map(|(name, value)| value.and(name.to_str().map(str::to_owned)))
                .collect();
            for name in &inherited {
                if is_gits_own(name) || removed.contains(name) {
                    command.env_remove(name);
                }
            }
            for (name, value) in &defaults {
                if !inherited.contains(name) {
                    command.env(name, value);
                }
            }
            command.env("GIT_TERMINAL_PROMPT", "0");
            command.envs(environment.iter().map(|(name, value)| (name, value)));
            command.envs(marker.variables());
            if launcher.is_none() {
                command.process_group(0);
            }
            Ok(())
        });
        Ok(Started::start(&expression).map_err(|error| self.cannot_start(&error.to_string())))
    }

    fn cannot_start(&self, why: &str) -> String {
        let program = self.argv.first().map_or("", String::as_str);
        if self.directory.is_dir() {
            format!("cannot start `{program}`: {why}")
        } else {
            format!("cannot start `{program}`: {} is no directory", self.directory)
        }
    }
}

impl Ended {
    fn without_leftovers(code: i32, reason: Option<ExitReason>) -> Self {
        Self { exit: Exit { code, reason }, leftovers: Vec::new() }
    }
}

fn is_gits_own(name: &str) -> bool {
    LOCAL_GIT_VARIABLES.contains(&name)
        || name.starts_with("GIT_CONFIG_KEY_")
        || name.starts_with("GIT_CONFIG_VALUE_")
}

/// Asks, insists, and kills; gives how the child itself ended.
fn stop(
    started: &Started,
    tree: &mut ProcessTree<'_>,
    (reason, patience): (ExitReason, Patience),
    interrupt: &Interrupt,
) -> Result<Option<ExitStatus>> {
    // Looked at before the first signal, for whoever loses its parent is hard to find.
    tree.members();
    if reason == ExitReason::Interrupted && interrupt.first_signal() == Signal::INT {
        tree.interrupt_group(patience.interrupt, interrupt);
    }
    tree.ask_all(patience.terminate, interrupt);
    tree.kill();
    let output = started.handle().wait_timeout(VANISH).context("wait for the stopped child")?;
    Ok(output.map(|output| output.status))
}

#[cfg(test)]
mod tests;
