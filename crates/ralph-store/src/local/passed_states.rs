//! States of the work tree on which the validation passed.
//!
//! A cache: `<common git dir>/ralph/cache/passed-<work tree>`, a line for each state, newest last. A state is known by a
//! hash that only this clone can make; after it, and a tab, the tests that ran there. Without the file a validation runs once more than it need.

use anyhow::Result;
use camino::Utf8PathBuf;
use failure_excerpt::Tally;

use ralph_git::worktree::WorkTree;

use super::{disk, folders};

/// Most states that are kept.
const MAX_STATES: usize = 50;

/// Returns what the validation printed of its tests on a state on which it passed; the inner `None` if that is not
/// known.
pub fn find(work_tree: &WorkTree, state: &str) -> Option<Option<Tally>> {
    let line = read(work_tree).into_iter().rev().find(|line| state_of(line) == state)?;
    Some(line.split_once('\t').and_then(|(_, tests)| serde_json::from_str(tests).ok()))
}

pub fn add(work_tree: &WorkTree, state: &str, tests: Option<&Tally>) -> Result<()> {
    let mut states = read(work_tree);
    let line = match tests {
        Some(tests) => format!("{state}\t{}", serde_json::to_string(tests)?),
        None => state.to_owned(),
    };
    if states.last().is_some_and(|last| *last == line) {
        return Ok(());
    }
    states.retain(|known| state_of(known) != state);
    states.push(line);
    states.drain(..states.len().saturating_sub(MAX_STATES));
    folders::create(work_tree.repository(), "cache")?;
    let path = path(work_tree);
    // In place: half a line is no hash that is known, and a draft would be left where we are killed.
    disk::overwrite(&path, (states.join("\n") + "\n").as_bytes())?;
    disk::share(&path, work_tree.repository().sharing)
}

fn read(work_tree: &WorkTree) -> Vec<String> {
    let bytes = disk::read_if_there(&path(work_tree)).ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

fn path(work_tree: &WorkTree) -> Utf8PathBuf {
    let name = work_tree.name();
    work_tree.repository().ralph_dir().join("cache").join(format!("passed-{name}"))
}

fn state_of(line: &str) -> &str {
    line.split('\t').next().unwrap_or_default()
}
