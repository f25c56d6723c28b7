//! `specify ralph excerpt`: what the next prompt would get of an output, and the fingerprint of its failure.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use anyhow::{Context as _, Result};
use camino::{Utf8Path, Utf8PathBuf};
use failure_excerpt::{Examination, Features, Neighbours, Output, examine};
use serde::Deserialize;
use serde_json::json;

use ralph_core::record::Refusal;
use ralph_engine::Window;
use ralph_ui::json::write_line;
use ralph_ui::style::inert;

use crate::cli::{Context, ExitCode, print};

/// The longest cause, as in the record.
const MAX_CAUSE_CHARS: usize = 200;

pub fn run(
    max_chars: usize,
    inputs: Option<&Utf8Path>,
    neighbours: bool,
    context: &Context,
) -> Result<ExitCode> {
    if let Some(inputs) = inputs {
        return print(|out| batch(&context.directory.join(inputs), max_chars, neighbours, out));
    }
    let stdout = Window::read(&mut std::io::stdin().lock()).context("read the output from stdin")?;
    let examined = examined(&stdout, &Window::default(), &context.directory, None);
    print(|out| -> Result<()> {
        writeln!(out, "{}", inert(&examined.excerpt(max_chars)))?;
        if let Some(levels) = examined.fingerprint() {
            writeln!(out, "\nfingerprint {}", levels.strict)?;
        }
        Ok(())
    })
}

fn examined(stdout: &Window, stderr: &Window, cwd: &Utf8Path, exit_code: Option<i32>) -> Examination {
    examine(&Output {
        stdout: &stdout.text,
        stderr: &stderr.text,
        exit_code,
        cwd: Some(cwd.as_str()),
        is_partial: stdout.is_cut || stderr.is_cut,
    })
}

/// Returns a stream that the user named.
fn stream(path: &Utf8Path) -> Result<Window> {
    Window::of_file(open(path)?).with_context(|| format!("read {path}"))
}

fn open(path: &Utf8Path) -> Result<File, Refusal> {
    File::open(path).map_err(|error| Refusal::new(format!("cannot read {path}: {error}")))
}

/// A line of the inputs of a batch. Whatever else it holds is not looked at.
#[derive(Debug, Deserialize)]
struct Input {
    id: String,
    stdout: Utf8PathBuf,
    stderr: Utf8PathBuf,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    exit_code: Option<i32>,
}

/// One line of JSON for each line of `inputs`.
fn batch(inputs: &Utf8Path, max_chars: usize, with_neighbours: bool, out: &mut impl Write) -> Result<()> {
    let mut found = Vec::new();
    let mut features = Vec::new();
    for (number, line) in BufReader::new(open(inputs)?).lines().enumerate() {
        let line = line.with_context(|| format!("read {inputs}"))?;
        if line.trim().is_empty() {
            continue;
        }
        let input: Input = serde_json::from_str(&line).map_err(|error| {
            Refusal::new(format!("{inputs}:{}: {error}", number + 1)).with_hint(
                "each line is an object with `id`, `stdout` and `stderr`, the last two the paths of files",
            )
        })?;
        let cwd = Utf8PathBuf::from(input.cwd.clone().unwrap_or_default());
        let examined = examined(&stream(&input.stdout)?, &stream(&input.stderr)?, &cwd, input.exit_code);
        if with_neighbours {
            features.push(Features::of(&examined));
        }
        found.push(json!({
            "id": input.id,
            "cause": examined.cause(MAX_CAUSE_CHARS),
            "excerpt": examined.excerpt(max_chars),
            "fingerprint": examined.fingerprint().map(|levels| levels.strict),
            "tally": examined.tally(),
        }));
    }
    let neighbours = Neighbours::new(&features);
    for (index, one) in found.iter().enumerate() {
        let mut answer = one.clone();
        if with_neighbours {
            let near = neighbours.of(index).into_iter().map(|(other, _)| found[other]["id"].clone());
            answer["neighbours"] = near.collect();
        }
        write_line(out, &answer)?;
    }
    Ok(())
}
