//! The program. The name by which it is called says what its first word means.

use std::process::ExitCode;

fn main() -> ExitCode {
    specify_ralph::cli::main(std::env::args_os())
}
