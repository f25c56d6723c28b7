//! `specify ralph play-script`: the scripted agent, as the child that the loop starts.

use std::io::{stderr, stdin, stdout};

use anyhow::Result;
use camino::Utf8PathBuf;
use clap::Args;

use ralph_agent::script::{Stage, play};

use super::Context;

#[derive(Debug, Args)]
pub struct PlayScriptArgs {
    /// Script to play
    #[arg(value_name = "FILE")]
    pub file: Utf8PathBuf,
}

/// Returns the exit code of the turn that was played.
pub fn run(args: &PlayScriptArgs, context: &Context) -> Result<i32> {
    let lookup = context.lookup();
    let mut stage = Stage {
        directory: &context.directory,
        stdin: &mut stdin(),
        stdout: &mut stdout(),
        stderr: &mut stderr(),
        lookup: &lookup,
    };
    play(&args.file, &mut stage)
}
