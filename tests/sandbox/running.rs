//! A call of our program that is under way.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::sound::Untouched;
use super::{Run, Sandbox};

/// How long anything may take before the scene has failed. Long: the machine may be busy with other things.
pub const PATIENCE: Duration = Duration::from_mins(4);

/// Between two looks at something that is waited for.
const LOOK: Duration = Duration::from_millis(2);

/// Waits until `look` gives something; the one place where scenes wait.
#[track_caller]
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(LOOK);
    }
}

/// A process of ours. It is killed where a scene loses it.
#[derive(Debug)]
pub struct Running<'a> {
    sandbox: &'a Sandbox,
    child: Child,
    streams: tempfile::TempDir,
    line: String,
    untouched: Untouched,
}

impl<'a> Running<'a> {
    pub(super) fn new(
        sandbox: &'a Sandbox,
        child: Child,
        streams: tempfile::TempDir,
        line: String,
        untouched: Untouched,
    ) -> Self {
        sandbox.running.set(sandbox.running.get() + 1);
        Self { sandbox, child, streams, line, untouched }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until a file of the project is there (an agent of the scene makes it), while the program runs.
    #[track_caller]
    pub fn wait_for_file(&mut self, path: impl AsRef<Path>) -> &mut Self {
        let path = self.sandbox.repo().join(path);
        self.wait_for(&path.display().to_string(), |_| path.exists())
    }

    /// Waits until the program has printed `text`.
    #[track_caller]
    pub fn wait_for_text(&mut self, text: &str) -> &mut Self {
        self.wait_for(text, |running| running.so_far().contains(text))
    }

    #[track_caller]
    pub fn wait_for(&mut self, what: &str, mut is_there: impl FnMut(&Self) -> bool) -> &mut Self {
        wait_until(what, || {
            if is_there(self) {
                return Some(());
            }
            if let Some(status) = self.child.try_wait().unwrap()
                && !is_there(self)
            {
                panic!("{what} did not come of {}", self.ended(status));
            }
            None
        });
        self
    }

    /// What it has printed so far.
    pub fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.stream("stdout")).into_owned()
    }

    /// Sends a signal to the program alone, as `kill` would.
    pub fn signal(&mut self, signal: Signal) -> &mut Self {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        self
    }

    /// Kills the program so that it cannot do anything about it.
    #[track_caller]
    pub fn kill(mut self) -> Run {
        // It may have ended by itself just now: then there is nobody to kill, and its code tells.
        drop(self.child.kill());
        self.wait()
    }

    #[track_caller]
    pub fn wait(mut self) -> Run {
        let line = format!("the end of `{}`", self.line);
        let status = wait_until(&line, || self.child.try_wait().unwrap());
        self.untouched.compare(self.sandbox, &self.line);
        self.ended(status)
    }

    fn ended(&self, status: ExitStatus) -> Run {
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1);
        Run { line: self.line.clone(), code, stdout: self.stream("stdout"), stderr: self.stream("stderr") }
    }

    fn stream(&self, name: &str) -> Vec<u8> {
        fs::read(self.streams.path().join(name)).unwrap()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        self.sandbox.running.set(self.sandbox.running.get() - 1);
    }
}
