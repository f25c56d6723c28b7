//! The `git-ralph` program: makes every command available as `git ralph ...`.

use std::process::ExitCode;

fn main() -> ExitCode {
    specify_ralph::cli::git_ralph(std::env::args_os())
}
