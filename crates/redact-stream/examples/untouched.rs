//! Says how much of some files redaction leaves as it is, what it takes out, and how fast it reads.
//!
//! `cargo run --release --example untouched -- [--least PERCENT] [--list] FILE_OR_FOLDER...`

#![expect(clippy::print_stdout, reason = "a program that people call by hand")]
#![expect(clippy::cast_precision_loss, reason = "a percentage of sizes of files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use redact_stream::Redactor;

fn main() -> Result<ExitCode> {
    let mut least = 0.0;
    let mut is_listing = false;
    let mut roots = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--least" => least = words.next().context("read a number behind --least")?.parse()?,
            "--list" => is_listing = true,
            _ => roots.push(PathBuf::from(word)),
        }
    }
    let mut files = Vec::new();
    for root in &roots {
        collect(root, &mut files)?;
    }
    let redactor = Redactor::default();
    let (mut all, mut untouched) = (0, 0);
    let start = Instant::now();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for file in &files {
        let bytes = fs::read(file).with_context(|| format!("read {}", file.display()))?;
        let (redacted, found) = redactor.redact_bytes(&bytes);
        let length =
            |rule: &str, count: u64| format!("[redacted:{rule}]").len() * usize::try_from(count).unwrap_or(0);
        let replacements: usize = found.iter().map(|(rule, count)| length(rule, *count)).sum();
        all += bytes.len();
        untouched += redacted.len() - replacements;
        if is_listing && !found.is_empty() {
            list(file, &bytes, &redacted);
        }
        for (rule, count) in found {
            *counts.entry(rule).or_default() += count;
        }
    }
    for (rule, count) in &counts {
        println!("{count:8} {rule}");
    }
    let percent = 100.0 * untouched as f64 / all.max(1) as f64;
    let seconds = start.elapsed().as_secs_f64();
    println!("{percent:.4} % of {all} bytes in {} files untouched, in {seconds:.2} s", files.len());
    Ok(if percent < least { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).with_context(|| format!("read {}", path.display()))?;
    let mut entries = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| collect(entry, files))
}

/// Prints the surroundings of each replacement, and what stood there.
fn list(file: &Path, bytes: &[u8], redacted: &[u8]) {
    let text = String::from_utf8_lossy(redacted);
    let plain = String::from_utf8_lossy(bytes);
    println!("{}", file.display());
    let mut at = 0;
    let mut parts = text.split("[redacted:").peekable();
    while let Some(part) = parts.next() {
        let kept = part.split_once(']').map_or(part, |(_, kept)| kept);
        let kept = if at == 0 { part } else { kept };
        let Some(found) = plain[at..].find(kept) else { return };
        if at > 0 {
            println!("    {:?}", &plain[at..at + found]);
        }
        at += found + kept.len();
        if parts.peek().is_some() {
            let behind: Vec<char> = plain[..at].chars().rev().take(50).collect();
            print!("  {:?}", behind.into_iter().rev().collect::<String>());
        }
    }
}
