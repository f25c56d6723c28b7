//! `git-ralph` where no link can be installed: becomes the `specify-ralph` beside it, and hands its own name on.
//!
//! Nothing of the library is linked, so it stays small. `dev/specify` builds it under the name `specify`.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let failure = match std::env::current_exe() {
        Ok(own) => {
            let program = own.with_file_name("specify-ralph");
            let launcher = format!("exec:{}:{}", std::process::id(), own.display());
            #[expect(clippy::disallowed_methods, reason = "it has no other work than to start the program")]
            let mut command = Command::new(&program);
            command.env("SPECIFY_RALPH_LAUNCHER", launcher).args(std::env::args_os().skip(1));
            format!("{}: {}", program.display(), command.exec())
        }
        Err(error) => format!("find our own program: {error}"),
    };
    #[expect(clippy::print_stderr, reason = "the error of a program that does nothing else")]
    {
        eprintln!("error: {failure}\nhint: `specify-ralph` belongs into the same folder");
    }
    ExitCode::from(3)
}
