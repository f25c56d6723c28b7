//! `git maintenance` beside a loop that has left much: a night of iterations leaves thousands of small files, and `git gc
//! --auto` would collect the whole repository in the middle of a user's commit.

use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use camino::Utf8Path;

use ralph_git::repository::Repository;
use ralph_os::process::{LONG, Tool};

use super::local::disk;
use super::refs::naming::{LOG_PREFIX, SNAPSHOT_PREFIX};

/// Number of loose objects from which git packs them. `git gc --auto` collects a repository at 6,700.
pub const MIN_LOOSE_TO_PACK: usize = 1000;

/// Number of loose refs of ours from which git packs all refs.
const MIN_LOOSE_REFS_TO_PACK: usize = 100;

/// Only every n-th of the 256 folders is counted to estimate the number of loose objects.
const SAMPLED: usize = 16;

/// What git must not take from its settings: all is on the disk before a loose file goes, and memory stays bounded while
/// agents work.
const SETTINGS: [&str; 4] =
    ["core.fsync=all", "pack.windowMemory=64m", "core.bigFileThreshold=4m", "pack.threads=1"];

/// The maintenance that runs beside a loop, if any.
#[derive(Debug, Default)]
pub struct Maintenance {
    running: Option<JoinHandle<Result<()>>>,
}

impl Maintenance {
    /// Starts git's maintenance if much is loose, unless it still runs.
    pub fn start_if_due(&mut self, repository: &Repository) -> Result<()> {
        if self.running.as_ref().is_some_and(|running| !running.is_finished()) {
            return Ok(());
        }
        self.wait()?;
        let mut tasks = Vec::new();
        if loose_objects(repository)? >= MIN_LOOSE_TO_PACK {
            tasks.push("--task=loose-objects");
        }
        if loose_refs(&repository.common_dir)? >= MIN_LOOSE_REFS_TO_PACK {
            tasks.push("--task=pack-refs");
        }
        if tasks.is_empty() {
            return Ok(());
        }
        let common_dir = repository.common_dir.clone();
        let thread = thread::Builder::new().name("maintenance".to_owned()).spawn(move || {
            let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
            let git = Tool::git(&common_dir).args(settings).limit(LONG).after_the_session();
            git.clone().args(["maintenance", "run", "--quiet"]).args(tasks).read()?;
            // Git leaves the loose files of what it packed to its next run.
            git.args(["prune-packed", "--quiet"]).read().map(drop)
        });
        self.running = Some(thread.context("start the maintenance")?);
        Ok(())
    }

    /// Waits until it is over.
    pub fn wait(&mut self) -> Result<()> {
        let Some(running) = self.running.take() else { return Ok(()) };
        running.join().unwrap_or_else(|_| Err(anyhow!("the maintenance panicked")))
    }
}

/// About how many loose objects a repository has, ours and others.
pub fn loose_objects(repository: &Repository) -> Result<usize> {
    let objects = repository.common_dir.join("objects");
    let mut found = 0;
    for folder in (0..256).step_by(SAMPLED) {
        found += disk::children(&objects.join(format!("{folder:02x}")))?.len();
    }
    Ok(found * SAMPLED)
}

/// Returns how many refs of sessions and snapshots have a file of their own; none where refs are in tables.
fn loose_refs(common_dir: &Utf8Path) -> Result<usize> {
    let mut files = 0;
    let mut unread = vec![common_dir.join(LOG_PREFIX), common_dir.join(SNAPSHOT_PREFIX)];
    while let Some(folder) = unread.pop() {
        for path in disk::children(&folder)? {
            if path.is_dir() { unread.push(path) } else { files += 1 }
        }
    }
    Ok(files)
}
