//! A loop of ours that works for this process: it is woken by lines on its stdin, and ends when that does.

use std::io::{self, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};

use camino::Utf8Path;

use super::interrupt::Interrupt;
use super::registry::StartedPid;
use crate::platform;

/// A loop in a process group of its own: a Ctrl-C at the terminal is for us, and we pass it on.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    _pid: StartedPid,
}

impl Worker {
    /// Starts `argv` in `directory`. Returns it with its outputs.
    pub fn start(argv: &[String], directory: &Utf8Path) -> io::Result<(Self, ChildStdout, ChildStderr)> {
        let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        #[expect(clippy::disallowed_methods, reason = "this is the room that starts programs")]
        let mut command = std::process::Command::new(platform::program(program.as_ref()));
        platform::in_own_group(&mut command);
        command.args(arguments).current_dir(directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, pid) = StartedPid::of_detached(&mut command)?;
        let missing = || io::Error::other("it has no outputs");
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let stdin = child.stdin.take();
        Ok((Self { child, stdin, _pid: pid }, stdout, stderr))
    }

    /// Has it look again at what others did. One that has just ended needs nothing.
    pub fn wake(&mut self) {
        if let Some(stdin) = &mut self.stdin {
            let _ended = stdin.write_all(b"\n").and_then(|()| stdin.flush()).is_err();
        }
    }

    /// Has it end after what it has in hand: nothing wakes it any more.
    pub fn dismiss(&mut self) {
        self.stdin = None;
    }

    /// Passes on what came to us, once for each time.
    pub fn interrupt(&self, interrupt: &Interrupt) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            platform::signal_process(pid, interrupt.first_signal());
        }
    }

    /// Waits for its end. Returns its exit code, or 128+n for signal n.
    pub fn wait(&mut self) -> io::Result<i32> {
        self.child.wait().map(super::code_of)
    }
}
