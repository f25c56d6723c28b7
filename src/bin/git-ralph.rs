//! `git-ralph` where no link can be installed: becomes the `specify-ralph` beside it, and hands its own name on.
//!
//! Nothing of the library is linked, so it stays small. `dev/specify` builds it under the name `specify`.

use std::process::{Command, ExitCode};

#[cfg(unix)]
fn run(mut command: Command) -> std::io::Error {
    std::os::unix::process::CommandExt::exec(&mut command)
}

/// No process can become another program there.
#[cfg(windows)]
fn run(mut command: Command) -> std::io::Error {
    // A Ctrl-C is for the program, which has our console.
    let _ignored = ctrlc::set_handler(|| {}).is_ok();
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    }
}

fn main() -> ExitCode {
    let failure = match std::env::current_exe() {
        Ok(own) => {
            let program = own.with_file_name(format!("specify-ralph{}", std::env::consts::EXE_SUFFIX));
            let how = if cfg!(windows) { "spawn" } else { "exec" };
            let launcher = format!("{how}:{}:{}", std::process::id(), own.display());
            #[expect(clippy::disallowed_methods, reason = "it has no other work than to start the program")]
            let mut command = Command::new(&program);
            command.env("SPECIFY_RALPH_LAUNCHER", launcher).args(std::env::args_os().skip(1));
            format!("{}: {}", program.display(), run(command))
        }
        Err(error) => format!("find our own program: {error}"),
    };
    #[expect(clippy::print_stderr, reason = "the error of a program that does nothing else")]
    {
        eprintln!("error: {failure}\nhint: `specify-ralph` belongs into the same folder");
    }
    ExitCode::from(3)
}
