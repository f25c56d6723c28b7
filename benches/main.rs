//! Measures what we promise, against git doing the same work: `just bench`, or `just bench --large`.
//!
//! Processor time, user and system, of a whole process and its children, in pairs of ours and git's.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that people call by hand")]
#![expect(
    clippy::disallowed_methods,
    reason = "what is measured is started without any of our own machinery"
)]
#![expect(clippy::cast_precision_loss, reason = "numbers for people to read")]

mod frame;
mod growth;
mod measure;
mod past;
mod rows;
mod synthetic;
mod table;
mod workloads;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// What is measured.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The sizes that take minutes to make as well.
    pub is_large: bool,
    /// Only rows in whose names one of these occurs.
    pub only: Vec<String>,
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [first, report, command @ ..] if first == measure::METER_ARG => {
            let code = measure::meter(report, command)?;
            return Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)));
        }
        [first, workload @ ..] if first == "--workload" => {
            workloads::run(workload)?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let mut options = Options::default();
    for word in words {
        match word.as_str() {
            // Cargo says so to every benchmark.
            "--bench" => {}
            "--large" => options.is_large = true,
            option if option.starts_with('-') => bail!("unknown option {option}: [--large] [ROW]..."),
            _ => options.only.push(word),
        }
    }
    println!("{}", table::HEAD);
    rows::measure(&options, &mut |row| println!("{}", row.line()))?;
    Ok(ExitCode::SUCCESS)
}
