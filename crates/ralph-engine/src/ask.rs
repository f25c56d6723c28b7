//! A command of the user's that is asked something: the question on its stdin, the answer from its stdout.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};

use ralph_os::process::{Child, Interrupt, Limits, Marker, Pulse};
use ralph_os::sandbox::Fence;

/// Longest answer; what says more is stopped.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;

/// The command that is asked.
#[derive(Debug, Clone)]
pub struct Summarizer {
    /// For the shell.
    pub command: String,
    pub timeout: Duration,
}

/// Where it runs.
pub(super) struct CommandContext<'a> {
    pub directory: &'a Utf8Path,
    pub environment: Vec<(String, String)>,
    /// A folder for its streams.
    pub scratch: Utf8PathBuf,
    pub marker: Marker,
    pub interrupt: &'a Interrupt,
    pub fence: Option<Fence>,
}

impl Summarizer {
    /// Returns the answer, or in words why there is none. Only what keeps us from asking is an error.
    pub(super) fn ask(&self, question: &str, room: &CommandContext<'_>) -> Result<Result<String, String>> {
        let path = |name: &str| room.scratch.join(format!("asked.{name}"));
        let (stdin, stdout, stderr) = (path("stdin"), path("stdout"), path("stderr"));
        fs::write(&stdin, question).with_context(|| format!("write {stdin}"))?;
        let child = Child {
            argv: ["sh", "-c", &self.command].map(str::to_owned).into(),
            directory: room.directory.to_owned(),
            environment: room.environment.clone(),
            defaults: Vec::new(),
            removed: Vec::new(),
            stdin: Some(stdin.clone()),
            stdout: stdout.clone(),
            stderr: stderr.clone(),
            marker: room.marker.clone(),
            limits: Limits { wall: self.timeout, idle: None, output: MAX_ANSWER_BYTES },
            fence: room.fence.clone(),
        };
        let ended = child
            .run(room.interrupt, &mut || Pulse::Alive)
            .with_context(|| format!("run `{}`", self.command))?;
        let answer = fs::read(&stdout).with_context(|| format!("read {stdout}"))?;
        for path in [stdin, stdout, stderr] {
            fs::remove_file(&path).with_context(|| format!("remove {path}"))?;
        }
        let answer = String::from_utf8_lossy(&answer).trim().to_owned();
        Ok(match (ended.exit.reason, ended.exit.code) {
            (Some(reason), _) => Err(format!("`{}`: {}", self.command, reason.as_str().replace('_', " "))),
            (None, 0) if answer.is_empty() => Err(format!("`{}` said nothing", self.command)),
            (None, 0) => Ok(answer),
            (None, code) => Err(format!("`{}` exited {code}", self.command)),
        })
    }
}
