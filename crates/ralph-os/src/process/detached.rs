//! A program that outlives us and the terminal: it is not waited for, and no Ctrl-C reaches it.

use std::fs::File;
use std::io;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8Path;

use super::Marker;
use super::launcher::{LAUNCH, launcher};
use super::outside;
use super::registry::StartedPid;
use crate::platform;

/// Time between two checks of a program that may end at once.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A program that goes on when we end.
#[derive(Debug)]
pub struct Detached {
    child: Child,
    /// While we hold it, no other process cleans it up.
    _pid: StartedPid,
}

impl Detached {
    /// Starts `argv` in `directory`, in a session of its own, with both its outputs in `said`.
    pub fn start(argv: &[String], directory: &Utf8Path, said: File) -> io::Result<Self> {
        // A mark that is no session's: a loop must not take it for a stray of its agent's.
        Self::spawn(argv, directory, said, Some("detached"))
    }

    /// Returns the same for a loop, which does not run within an iteration.
    pub fn start_loop(argv: &[String], directory: &Utf8Path, said: File) -> io::Result<Self> {
        Self::spawn(argv, directory, said, None)
    }

    fn spawn(argv: &[String], directory: &Utf8Path, said: File, mark: Option<&str>) -> io::Result<Self> {
        let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let program =
            outside::in_force().map_or_else(|| program.into(), |outside| outside.program(program.as_ref()));
        #[expect(clippy::disallowed_methods, reason = "this is the room that starts programs")]
        let mut command = if let Some(launcher) = launcher().filter(|_| cfg!(unix)) {
            let mut command = std::process::Command::new(launcher);
            // Its reason, if it cannot start the program, is what the program says.
            command.args([LAUNCH, "/dev/stderr"]).arg(program);
            command
        } else {
            let mut command = std::process::Command::new(platform::program(&program));
            platform::in_own_group(&mut command);
            command
        };
        command.args(arguments).current_dir(directory);
        if let Some(mark) = mark {
            command.env(Marker::VARIABLE, mark);
        }
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        let (child, pid) = StartedPid::of_detached(&mut command)?;
        Ok(Self { child, _pid: pid })
    }

    /// Returns its exit code, or 128+n for signal n, where it ends within that time.
    pub fn ended_within(&mut self, limit: Duration) -> Option<i32> {
        let until = Instant::now() + limit;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(super::code_of(status));
            }
            if Instant::now() >= until {
                return None;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns its exit code, or 128+n for signal n, once it has ended.
    pub fn code(&mut self) -> Option<i32> {
        self.child.try_wait().ok().flatten().map(super::code_of)
    }

    /// Returns true if it has ended.
    pub fn is_over(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    #[test]
    fn what_is_started_has_its_own_group_and_its_words_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let fifo = folder.join("end");
        let script = "ps -o pid=,pgid= -p $$ | tr -s ' '; echo over > end";
        crate::process::run_in_shell("mkfifo end", folder).unwrap();
        let mut said =
            File::options().read(true).write(true).create_new(true).open(folder.join("said")).unwrap();
        let argv = ["sh", "-c", script].map(str::to_owned);
        let mut detached = Detached::start(&argv, folder, said.try_clone().unwrap()).unwrap();
        assert!(!detached.is_over());
        assert_eq!(std::fs::read_to_string(fifo).unwrap(), "over\n");
        let mut text = String::new();
        said.rewind().unwrap();
        said.read_to_string(&mut text).unwrap();
        let numbers: Vec<_> = text.split_whitespace().collect();
        assert_eq!((numbers.len(), numbers[0]), (2, numbers[1]), "{text}");
        assert_eq!(detached.ended_within(Duration::from_mins(1)), Some(0));
        assert!(detached.is_over());
        assert_eq!(detached.code(), Some(0));
    }
}
