//! What a program costs: processor time and memory of it and of all its children.

use std::ffi::OsString;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The argument with which this program runs another one and writes down what that cost.
pub const METER: &str = "--meter";

/// A command to measure.
#[derive(Debug, Clone)]
pub struct Task {
    words: Vec<OsString>,
    dir: Utf8PathBuf,
    environment: Vec<(String, String)>,
    codes: &'static [i32],
}

/// What one run cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// User and system time, in milliseconds.
    pub cpu: f64,
    /// Milliseconds.
    pub wall: f64,
    /// Most memory of one process, in MiB.
    pub memory: f64,
}

impl Task {
    pub fn new<I: IntoIterator<Item: Into<OsString>>>(dir: &Utf8Path, words: I) -> Self {
        Self {
            words: words.into_iter().map(Into::into).collect(),
            dir: dir.to_owned(),
            environment: Vec::new(),
            codes: &[0],
        }
    }

    /// One of the acts of this very program.
    pub fn act<I: IntoIterator<Item: Into<OsString>>>(dir: &Utf8Path, words: I) -> Result<Self> {
        let own = std::env::current_exe().context("find our own program")?;
        let words = words.into_iter().map(Into::into);
        Ok(Self::new(dir, [own.into_os_string(), "--act".into()].into_iter().chain(words)))
    }

    /// A command of the product.
    pub fn ralph(dir: &Utf8Path, words: &[&str]) -> Self {
        let all = [env!("CARGO_BIN_EXE_specify"), "ralph"].into_iter().chain(words.iter().copied());
        Self::new(dir, all)
    }

    pub fn git(dir: &Utf8Path, words: &[&str]) -> Self {
        Self::new(dir, ["git"].into_iter().chain(words.iter().copied()))
    }

    /// May end with this code as well.
    pub fn codes(mut self, codes: &'static [i32]) -> Self {
        self.codes = codes;
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs it once. A process of ours stands between, so that only its own children are counted.
    pub fn cost(&self) -> Result<Cost> {
        let report = tempfile::NamedTempFile::new().context("make a file for the costs")?;
        let complaints = tempfile::NamedTempFile::new().context("make a file for stderr")?;
        let status = Command::new(std::env::current_exe().context("find our own program")?)
            .arg(METER)
            .arg(report.path())
            .args(&self.words)
            .current_dir(&self.dir)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(complaints.path())?)
            .status()
            .context("start what is to be measured")?;
        ensure!(
            status.code().is_some_and(|code| self.codes.contains(&code)),
            "{:?} in {}: {status}: {}",
            self.words,
            self.dir,
            fs::read_to_string(complaints.path())?
        );
        let text = fs::read_to_string(report.path()).context("read the costs")?;
        let numbers: Vec<f64> = text.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [cpu, wall, memory] = numbers.as_slice() else { anyhow::bail!("read the costs: {text}") };
        Ok(Cost { cpu: *cpu, wall: *wall, memory: *memory })
    }
}

/// Runs `words` and writes their cost to `report`; gives their exit code.
pub fn meter(report: &str, words: &[String]) -> Result<i32> {
    let (program, arguments) = words.split_first().context("nothing to measure")?;
    let begun = Instant::now();
    let status =
        Command::new(program).args(arguments).status().with_context(|| format!("start {program}"))?;
    let wall = begun.elapsed().as_secs_f64() * 1e3;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("ask what the children used")?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    // Linux counts KiB here.
    fs::write(report, format!("{} {wall} {}", microseconds as f64 / 1e3, usage.max_rss() as f64 / 1024.0))
        .context("write the costs")?;
    Ok(status.code().unwrap_or(-1))
}

impl Cost {
    /// What is left without `other`, shared between `count`; memory stays.
    pub fn each(self, other: Self, count: u32) -> Self {
        let share = |one: f64, other: f64| ((one - other) / f64::from(count)).max(0.001);
        Self { cpu: share(self.cpu, other.cpu), wall: share(self.wall, other.wall), memory: self.memory }
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
