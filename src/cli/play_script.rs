//! `specify ralph play-script`: the scripted agent, as the child that the loop starts.

use std::io::{stderr, stdin, stdout};

use anyhow::Result;
use camino::Utf8Path;

use ralph_agent::script::{Stage, play};

use crate::cli::Context;

/// Returns the exit code of the turn that was played.
pub fn run(file: &Utf8Path, context: &Context) -> Result<i32> {
    let lookup = context.lookup();
    let mut stage = Stage {
        directory: &context.directory,
        stdin: &mut stdin(),
        stdout: &mut stdout(),
        stderr: &mut stderr(),
        lookup: &lookup,
    };
    play(file, &mut stage)
}
