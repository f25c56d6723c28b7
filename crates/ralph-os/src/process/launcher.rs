//! The start of a child through our own program: in a session of its own, without a terminal.
//!
//! The standard library cannot call `setsid` between fork and exec without `unsafe`. So the child begins as our own
//! program, which does that in safe code and then becomes the program that was asked for. What opens `/dev/tty` there
//! gets an error at once, instead of being stopped by the terminal.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use camino::{Utf8Path, Utf8PathBuf};

use super::interrupt::ending_signals;
use crate::platform;

/// The word of the command line after which our own program starts a child. No command for users.
pub const LAUNCH: &str = "launch-child";

/// The exit code of a launcher that could not start the program. Programs use it too, so the reason is in a file.
const NOT_STARTED: i32 = 127;

/// This program, if children are started through it.
static LAUNCHER: OnceLock<PathBuf> = OnceLock::new();

/// Has children started through this program. If nothing calls this, as in unit tests, a child gets a process group
/// instead of a session.
pub fn launch_through_ourselves() {
    // The file of a running program may be replaced or deleted; Linux can start it anyway.
    let program =
        if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { std::env::current_exe() };
    if let Ok(program) = program {
        let _first = LAUNCHER.set(program).is_ok();
    }
}

/// Returns this program, if children are started through it.
pub(super) fn launcher() -> Option<&'static Path> {
    LAUNCHER.get().map(PathBuf::as_path).filter(|program| program.exists())
}

/// Returns true if children are started through this program.
pub(super) fn launches() -> bool {
    launcher().is_some()
}

/// Returns how `program` is started through ours, if [`launches`]. A reason why it cannot be started goes to `failure`.
pub(super) fn through_ourselves(
    failure: &Utf8Path,
    program: &OsStr,
    arguments: impl IntoIterator<Item = impl Into<OsString>>,
) -> Option<duct::Expression> {
    let ourselves = launcher()?;
    let own = [LAUNCH.into(), failure.as_str().into(), program.to_owned()].into_iter();
    Some(duct::cmd(ourselves, own.chain(arguments.into_iter().map(Into::into))))
}

/// Returns the file for the reason why a child with this stderr could not be started.
pub(super) fn failure_file(stderr: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{stderr}.not-started"))
}

/// Returns why the launcher could not start the program, if it could not. Removes the file that says so.
pub(super) fn take_failure(code: Option<i32>, stderr: &Utf8Path) -> Option<String> {
    let file = failure_file(stderr);
    let reason = fs::read_to_string(&file).ok().filter(|_| code == Some(NOT_STARTED))?;
    let _gone = fs::remove_file(file).is_ok();
    Some(reason)
}

/// Does what the launcher does: `arguments` are those of [`Launcher::arguments`] after [`LAUNCH`]. Returns its exit
/// code, and only if it could not become the program.
pub fn launch(arguments: &[OsString]) -> i32 {
    let [failure, program, arguments @ ..] = arguments else { return NOT_STARTED };
    platform::start_session();
    let signal = platform::with_default_signals(ending_signals(), || exec(program, arguments));
    match signal {
        Err(error) => {
            // If nothing can be written, the exit code alone has to do.
            let _written = fs::write(failure, error.to_string()).is_ok();
            NOT_STARTED
        }
        Ok(signal) => {
            // Ends us in most cases.
            platform::default_action(signal);
            128 + signal
        }
    }
}

fn exec(program: &OsStr, arguments: &[OsString]) -> io::Error {
    #[expect(clippy::disallowed_methods, reason = "this is the room that starts programs")]
    let mut command = std::process::Command::new(program);
    platform::become_program(command.args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_taken_only_with_the_exit_code_of_the_launcher() {
        let folder = tempfile::tempdir().unwrap();
        let stderr = Utf8Path::from_path(folder.path()).unwrap().join("stderr");
        fs::write(failure_file(&stderr), "No such file").unwrap();
        assert_eq!(take_failure(Some(1), &stderr), None);
        assert_eq!(take_failure(Some(NOT_STARTED), &stderr).as_deref(), Some("No such file"));
        assert_eq!(take_failure(Some(NOT_STARTED), &stderr), None);
    }

    #[test]
    fn a_launcher_without_a_program_says_that_it_started_nothing() {
        assert_eq!(launch(&[]), NOT_STARTED);
        assert_eq!(launch(&["failure".into()]), NOT_STARTED);
    }
}
