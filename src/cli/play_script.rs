//! `specify ralph play-script`: the scripted agent, as the child that the loop starts.

use std::io::{stderr, stdin, stdout};

use anyhow::Result;
use camino::Utf8PathBuf;
use clap::Args;

use crate::agent::script::{Stage, play};

use super::caller::Caller;

#[derive(Debug, Args)]
pub struct PlayScriptArgs {
    /// Script to play
    #[arg(value_name = "FILE")]
    pub file: Utf8PathBuf,
}

/// Returns the exit code of the turn that was played.
pub fn run(args: &PlayScriptArgs, caller: &Caller) -> Result<i32> {
    let lookup =
        |name: &str| caller.environment.value(name).and_then(|value| value.to_str()).map(str::to_owned);
    let mut stage = Stage {
        directory: &caller.directory,
        stdin: &mut stdin(),
        stdout: &mut stdout(),
        stderr: &mut stderr(),
        lookup: &lookup,
    };
    play(&args.file, &mut stage)
}
