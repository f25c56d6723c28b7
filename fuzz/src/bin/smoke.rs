//! Fuzzes every target for a while without libFuzzer, on all processors: seeds, mutated seeds and noise, the same for the same seed.
//!
//! `smoke [--seconds T | --inputs N] [--seed S] [TARGET]...`; a failing input is written to `fuzz/failed/`.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};
use specify_ralph_fuzz::{TARGETS, Target};

/// How long, for each target.
#[derive(Debug, Clone, Copy)]
enum Length {
    Seconds(u64),
    Inputs(u64),
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let (mut length, mut seed, mut only) = (Length::Seconds(6), 1, Vec::new());
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number =
            || words.next().context("a number is missing")?.parse::<u64>().context("read a number");
        match word.as_str() {
            "--seconds" => length = Length::Seconds(number()?),
            "--inputs" => length = Length::Inputs(number()?),
            "--seed" => seed = number()?,
            option if option.starts_with('-') => bail!("unknown option {option}"),
            _ => only.push(word),
        }
    }
    let wanted: Vec<Target> = TARGETS
        .into_iter()
        .filter(|(name, _)| only.is_empty() || only.iter().any(|word| word == name))
        .collect();
    if wanted.len() < only.len() {
        bail!("targets: {}", TARGETS.map(|(name, _)| name).join(" "));
    }
    println!("seed {seed}");
    let waiting = Mutex::new(wanted.into_iter());
    let workers = thread::available_parallelism().map_or(2, NonZero::get);
    let results = thread::scope(|scope| {
        let work = || worker(&waiting, length, seed);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a target's panic is caught"))
            .collect::<Vec<_>>()
    });
    let failed: Vec<usize> = results.into_iter().collect::<Result<_>>()?;
    Ok(failed.iter().sum::<usize>() == 0)
}

/// Takes one target after the other, and gives how many of them failed.
fn worker(waiting: &Mutex<impl Iterator<Item = Target>>, length: Length, seed: u64) -> Result<usize> {
    let mut failed = 0;
    loop {
        let next = waiting.lock().expect("nobody panics with it").next();
        let Some(target) = next else { return Ok(failed) };
        match fuzz(target, length, seed)? {
            Ok(inputs) => println!("{:<14} {inputs} inputs", target.0),
            Err(path) => {
                failed += 1;
                println!("{:<14} FAILED: {}", target.0, path.display());
            }
        }
    }
}

/// Gives how many inputs were tried, or the file of the one that failed.
fn fuzz((name, check): Target, length: Length, seed: u64) -> Result<Result<u64, PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let seeds = seeds(&root.join("seeds").join(name))?;
    let mut random = Random(seed);
    let begun = Instant::now();
    let mut count = 0;
    loop {
        let is_enough = match length {
            Length::Seconds(seconds) => begun.elapsed() >= Duration::from_secs(seconds),
            Length::Inputs(inputs) => count >= inputs,
        };
        if is_enough && count >= seeds.len() as u64 {
            return Ok(Ok(count));
        }
        let input = match seeds.get(usize::try_from(count)?) {
            Some(seed) => seed.clone(),
            None => random.input(&seeds),
        };
        count += 1;
        if catch_unwind(AssertUnwindSafe(|| check(&input))).is_err() {
            let path = root.join("failed").join(format!("{name}-{seed}-{count}"));
            fs::create_dir_all(path.parent().context("name the folder")?)?;
            fs::write(&path, &input)?;
            return Ok(Err(path));
        }
    }
}

fn seeds(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut seeds = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        seeds.insert(path.clone(), fs::read(&path)?);
    }
    Ok(seeds.into_values().collect())
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap_or(0)
    }

    /// Noise now and then, else one to eight changes to a seed.
    fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        if seeds.is_empty() || self.below(20) == 0 {
            let length = self.below(200);
            return (0..length).map(|_| self.byte()).collect();
        }
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(8) {
            self.change(&mut input, seeds);
        }
        input.truncate(1 << 16);
        input
    }

    fn byte(&mut self) -> u8 {
        const LIKELY: &[u8] = b" \n\r\t-*+[]xX`#>:=\"'{}()<>|%/\\.,0123456789abcTRalph\0\x01\x7f\x80\xc3\xff";
        match self.below(4) {
            0 => u8::try_from(self.below(256)).unwrap_or(0),
            _ => LIKELY[self.below(LIKELY.len())],
        }
    }

    fn change(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        let end = (at + self.below(64)).min(input.len());
        match self.below(7) {
            0 => input.insert(at, self.byte()),
            1 if at < input.len() => input[at] = self.byte(),
            2 => drop(input.drain(at..end)),
            3 => {
                let part = input[at..end].to_vec();
                let to = self.below(input.len() + 1);
                input.splice(to..to, part);
            }
            4 => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len() + 1);
                let part = other[from..(from + self.below(200)).min(other.len())].to_vec();
                input.splice(at..end, part);
            }
            5 => input.truncate(at),
            _ => {
                // The lines in another order.
                let mut lines: Vec<&[u8]> = input.split_inclusive(|&byte| byte == b'\n').collect();
                let (one, other) = (self.below(lines.len()), self.below(lines.len()));
                if !lines.is_empty() {
                    lines.swap(one, other);
                }
                *input = lines.concat();
            }
        }
    }
}
