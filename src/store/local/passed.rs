//! States of the work tree on which the validation passed.
//!
//! A cache: `<common git dir>/ralph/cache/passed-<work tree>`, a line for each state, newest last. A state is known by a
//! hash that only this clone can make. Without the file a validation runs once more than it need.

use anyhow::{Context, Result};
use camino::Utf8PathBuf;

use crate::repository::Repository;

use super::{disk, folders};

/// Most states that are kept.
const MAX_STATES: usize = 50;

/// The states of one work tree.
pub struct PassedStates<'a> {
    repository: &'a Repository,
}

impl<'a> PassedStates<'a> {
    pub fn of(repository: &'a Repository) -> Self {
        Self { repository }
    }

    pub fn contains(&self, state: &str) -> bool {
        self.read().iter().any(|known| known == state)
    }

    pub fn add(&self, state: &str) -> Result<()> {
        let mut states = self.read();
        if states.last().is_some_and(|last| last == state) {
            return Ok(());
        }
        states.retain(|known| known != state);
        states.push(state.to_owned());
        states.drain(..states.len().saturating_sub(MAX_STATES));
        folders::create(self.repository, "cache")?;
        let path = self.path();
        // In place: half a line is no hash that is known, and a draft would be left where we are killed.
        std::fs::write(&path, states.join("\n") + "\n").with_context(|| format!("write {path}"))?;
        disk::share(&path, self.repository.sharing)
    }

    fn read(&self) -> Vec<String> {
        let bytes = disk::read_if_there(&self.path()).ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }

    fn path(&self) -> Utf8PathBuf {
        let name = self.repository.work_tree_name();
        self.repository.ralph_dir().join("cache").join(format!("passed-{name}"))
    }
}
