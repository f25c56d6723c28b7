//! The `specify` program: runs `ralph` itself and hands every other sub-command to spec-kit.

use std::process::ExitCode;

fn main() -> ExitCode {
    specify_ralph::cli::specify(std::env::args_os())
}
