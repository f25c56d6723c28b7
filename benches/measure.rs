//! Measures the processor time and the memory of a command and of all its children.

use std::ffi::OsString;
use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// First argument that makes this program run a command and write its cost to a file.
pub const METER_ARG: &str = "--meter";

/// A command to measure.
#[derive(Debug, Clone)]
pub struct BenchCommand {
    argv: Vec<OsString>,
    dir: Utf8PathBuf,
    environment: Vec<(String, String)>,
    expected_exit_codes: &'static [i32],
}

/// The cost of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// User and system time, in milliseconds.
    pub cpu: f64,
    /// Elapsed time, in milliseconds.
    pub wall: f64,
    /// Largest resident set of any one process, in MiB.
    pub memory: f64,
}

impl BenchCommand {
    pub fn new<I: IntoIterator<Item: Into<OsString>>>(dir: &Utf8Path, argv: I) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            dir: dir.to_owned(),
            environment: Vec::new(),
            expected_exit_codes: &[0],
        }
    }

    /// Returns the command that runs one of this program's own workloads.
    pub fn workload<I: IntoIterator<Item: Into<OsString>>>(dir: &Utf8Path, argv: I) -> Result<Self> {
        let own = std::env::current_exe().context("locate the current executable")?;
        let argv = argv.into_iter().map(Into::into);
        Ok(Self::new(dir, [own.into_os_string(), "--workload".into()].into_iter().chain(argv)))
    }

    /// Returns `specify ralph` with `args`.
    pub fn ralph(dir: &Utf8Path, args: &[&str]) -> Self {
        let all = [env!("CARGO_BIN_EXE_specify-ralph"), "ralph"].into_iter().chain(args.iter().copied());
        Self::new(dir, all)
    }

    pub fn git(dir: &Utf8Path, args: &[&str]) -> Self {
        Self::new(dir, ["git"].into_iter().chain(args.iter().copied()))
    }

    /// Sets the exit codes that count as success, instead of 0.
    pub fn expected_exit_codes(mut self, codes: &'static [i32]) -> Self {
        self.expected_exit_codes = codes;
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs the command once and returns its cost.
    ///
    /// It is started by a fresh copy of this program: `RUSAGE_CHILDREN` counts every child that the calling process waited
    /// for.
    pub fn measure(&self) -> Result<Cost> {
        let report = tempfile::NamedTempFile::new().context("make a file for the costs")?;
        let stderr = tempfile::NamedTempFile::new().context("make a file for stderr")?;
        let status = Command::new(std::env::current_exe().context("locate the current executable")?)
            .arg(METER_ARG)
            .arg(report.path())
            .args(&self.argv)
            .current_dir(&self.dir)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(stderr.path())?)
            .status()
            .with_context(|| format!("start {:?}", self.argv))?;
        ensure!(
            status.code().is_some_and(|code| self.expected_exit_codes.contains(&code)),
            "{:?} in {}: {status}: {}",
            self.argv,
            self.dir,
            fs::read_to_string(stderr.path())?
        );
        let text = fs::read_to_string(report.path()).context("read the costs")?;
        let numbers: Vec<f64> = text.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [cpu, wall, memory] = numbers.as_slice() else {
            anyhow::bail!("invalid costs `{text}`: expected 3 numbers")
        };
        Ok(Cost { cpu: *cpu, wall: *wall, memory: *memory })
    }
}

/// Runs `argv`, writes its cost to `report`, and returns its exit code, or -1 if a signal killed it.
pub fn meter(report: &str, argv: &[String]) -> Result<i32> {
    let (program, arguments) = argv.split_first().context("nothing to measure")?;
    let started = Instant::now();
    let status =
        Command::new(program).args(arguments).status().with_context(|| format!("start {program}"))?;
    let wall = started.elapsed().as_secs_f64() * 1e3;
    let Cost { cpu, memory, .. } = children_so_far()?;
    fs::write(report, format!("{cpu} {wall} {memory}")).context("write the costs")?;
    Ok(status.code().unwrap_or(-1))
}

/// Returns what all children cost that this process waited for, without their elapsed time.
pub fn children_so_far() -> Result<Cost> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("getrusage(RUSAGE_CHILDREN)")?;
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    // Linux counts `max_rss` in KiB.
    Ok(Cost { cpu: microseconds as f64 / 1e3, wall: 0.0, memory: usage.max_rss() as f64 / 1024.0 })
}

impl Cost {
    /// Returns the time of one of `steps` steps, without what `baseline` took, and at least 0.001 ms. Memory is not divided.
    pub fn per_step(self, baseline: Self, steps: u32) -> Self {
        let share = |whole: f64, baseline: f64| ((whole - baseline) / f64::from(steps)).max(0.001);
        Self {
            cpu: share(self.cpu, baseline.cpu),
            wall: share(self.wall, baseline.wall),
            memory: self.memory,
        }
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
