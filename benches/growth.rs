//! The rows about records, task lists and work trees that have grown.

use std::fs;

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};
use ralph_os::process::Tool;
use ralph_store::Syncing;

use super::measure::{BenchCommand, Cost};
use super::rows::{Bench, thousands};
use super::synthetic::{self, FEATURE, Shape, Writer};
use super::table::Goal;

/// Records of an agent that says little: what grows is their number.
const SMALL: Shape = Shape { output: 200, prompt: 200, snapshots: false, syncing: Syncing::Never };

/// Iterations of each of many sessions.
const ITERATIONS: u32 = 10;

impl Bench<'_> {
    /// `fsck` and `status` over many sessions, with loose objects and refs and with packed ones.
    pub(super) fn many_sessions(&mut self, sessions: u32) -> Result<()> {
        let name = thousands(sessions as usize);
        let fsck = format!("fsck of {name} sessions of {ITERATIONS} iterations");
        let status = format!("status with {name} sessions, 5,000 files");
        if !self.is_wanted(&fsck) && !self.is_wanted(&status) {
            return Ok(());
        }
        let dir = self.folder("sessions");
        synthetic::project(&dir, 5_000)?;
        let store = synthetic::store(&dir, Syncing::Never)?;
        for number in 0..sessions {
            let mut writer = Writer::start(&store, SMALL, number)?;
            (0..ITERATIONS).try_for_each(|_| writer.iterate())?;
            writer.end()?;
        }
        for is_packed in [false, true] {
            let how = if is_packed { "packed" } else { "loose" };
            if is_packed {
                Tool::git(&dir).args(["repack", "-adq"]).read()?;
                Tool::git(&dir).args(["pack-refs", "--all"]).read()?;
            }
            if self.is_wanted(&fsck) {
                let (ours, git) =
                    (BenchCommand::ralph(&dir, &["fsck"]), BenchCommand::git(&dir, &["fsck", "--full"]));
                let work = format!("{fsck}, {how}; git fsck --full");
                self.pair(&work, Goal::AtMost(1_500.0), |_| ours.measure(), |_| git.measure())?;
            }
            if self.is_wanted(&status) {
                self.status_of(&dir, &format!("{status}, {how}"))?;
            }
        }
        Ok(())
    }

    /// `status` and `log --json` over one long session.
    pub(super) fn long_session(&mut self, count: u32) -> Result<()> {
        let name = thousands(count as usize);
        let status = format!("status after {name} iterations, 5,000 files");
        let log = format!("log --json over {name} packed iterations; git log with the trailers");
        if !self.is_wanted(&status) && !self.is_wanted(&log) {
            return Ok(());
        }
        let dir = self.folder("long");
        synthetic::project(&dir, 5_000)?;
        let store = synthetic::store(&dir, Syncing::Never)?;
        let mut writer = Writer::start(&store, SMALL, 0)?;
        (0..count).try_for_each(|_| writer.iterate())?;
        writer.end()?;
        Tool::git(&dir).args(["repack", "-adq"]).read()?;
        if self.is_wanted(&status) {
            self.status_of(&dir, &status)?;
        }
        if self.is_wanted(&log) {
            let ours = BenchCommand::ralph(&dir, &["log", "--json"]);
            let git = BenchCommand::git(&dir, &["log", super::rows::LISTING, "--glob=refs/ralph/*"]);
            // The cache is there from the second time on.
            ours.measure()?;
            self.pair(&log, Goal::Ratio(0.25), |_| ours.measure(), |_| git.measure())?;
        }
        Ok(())
    }

    fn status_of(&mut self, dir: &Utf8Path, work: &str) -> Result<()> {
        let (ours, git) = (BenchCommand::ralph(dir, &["status"]), BenchCommand::git(dir, &["status"]));
        self.pair(work, Goal::Ratio(1.5), |_| ours.measure(), |_| git.measure())?;
        Ok(())
    }

    /// An iteration of a loop over many tasks, against one over a thousand.
    pub(super) fn many_tasks(&mut self, tasks: usize) -> Result<()> {
        const STEPS: u32 = 3;
        let work = format!("iteration with {} tasks; with 1,000 tasks", thousands(tasks));
        if !self.is_wanted(&work) {
            return Ok(());
        }
        let (many, few) = (self.with_tasks(tasks)?, self.with_tasks(1_000)?);
        let cost = |dir: &Utf8Path| -> Result<Cost> {
            let turns = |count: u32| {
                let count = count.to_string();
                let words = ["-n", &count, "--agent-command", "true", "--set", "stuck-after=0"];
                BenchCommand::ralph(dir, &[&words[..], &["--set", "skip-after=0"]].concat())
                    .expected_exit_codes(&[4])
                    .measure()
            };
            let start = turns(1)?;
            Ok(turns(1 + STEPS)?.per_step(start, STEPS))
        };
        self.pair(&work, Goal::Ratio(2.0), |_| cost(&many), |_| cost(&few))?;
        Ok(())
    }

    fn with_tasks(&self, tasks: usize) -> Result<Utf8PathBuf> {
        let dir = self.folder(&format!("tasks-{tasks}"));
        synthetic::project(&dir, 60)?;
        let lines = (1..=tasks).map(|task| format!("- [ ] T{task:03} Write part {task} of the login\n"));
        let text = format!("# Tasks: Logging in\n\n{}", lines.collect::<String>());
        fs::write(dir.join(FEATURE).join("tasks.md"), text)?;
        Ok(dir)
    }
}
