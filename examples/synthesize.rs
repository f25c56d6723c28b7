//! Makes a repository with thousands of files and recorded iterations: something to measure with and to look at.
//!
//! `cargo run --release --example synthesize -- DIR ITERATIONS [--sessions N] [--files N] [--snapshots] [--small] [--sync]`

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that people call by hand")]

#[path = "../benches/synthetic.rs"]
mod synthetic;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use camino::Utf8PathBuf;
use ralph_store::Syncing;

use synthetic::{Shape, Writer};

const USAGE: &str = "synthesize DIR ITERATIONS [--sessions N] [--files N] [--snapshots] [--small] [--sync]

  DIR           a folder that is empty or not there
  ITERATIONS    how many to record, over all sessions
  --sessions N  spread them over N sessions (1)
  --files N     tracked files of the project (5000)
  --snapshots   change five files in each iteration and keep the work tree
  --small       prompts and outputs of a few hundred bytes, as of an agent that does nothing
  --sync        force every record to the disk, as a real loop does";

struct Args {
    dir: Utf8PathBuf,
    iterations: u32,
    sessions: u32,
    files: usize,
    shape: Shape,
}

fn main() -> ExitCode {
    match args().and_then(|args| make(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn args() -> Result<Args> {
    let mut words = Vec::new();
    let mut args =
        Args { dir: Utf8PathBuf::new(), iterations: 0, sessions: 1, files: 5_000, shape: Shape::REAL };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().context("a number is missing")?.parse().context("read a number");
        match argument.as_str() {
            "--sessions" => args.sessions = number()?,
            "--files" => args.files = usize::try_from(number()?)?,
            "--snapshots" => args.shape.snapshots = true,
            "--small" => (args.shape.prompt, args.shape.output) = (200, 200),
            "--sync" => args.shape.syncing = Syncing::Always,
            option if option.starts_with('-') => bail!("unknown option {option}\n\n{USAGE}"),
            _ => words.push(argument),
        }
    }
    let [dir, iterations] = words.as_slice() else { bail!("{USAGE}") };
    args.dir = std::path::absolute(dir)?.try_into().context("read DIR")?;
    args.iterations = iterations.parse().context("read ITERATIONS")?;
    if args.sessions == 0 {
        bail!("--sessions: at least 1");
    }
    Ok(args)
}

fn make(args: &Args) -> Result<()> {
    synthetic::project(&args.dir, args.files)?;
    let store = synthetic::store(&args.dir, args.shape.syncing)?;
    let mut left = args.iterations;
    for number in 0..args.sessions {
        let mut writer = Writer::start(&store, args.shape, number)?;
        // What does not divide evenly goes to the first sessions.
        let share = left.div_ceil(args.sessions - number);
        for _ in 0..share {
            writer.iterate()?;
        }
        left -= share;
        writer.end()?;
    }
    println!("{}: {} iterations in {} sessions", args.dir, args.iterations, args.sessions);
    Ok(())
}
