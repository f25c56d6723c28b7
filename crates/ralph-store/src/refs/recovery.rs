//! Restores refs of a running session that another program deleted or moved.
//!
//! Only the holder of the loop's lock writes them, so anything else there is a mistake of the agent's: a `git update-ref` with
//! the wrong name, a cleaning of refs.

use anyhow::{Context, Result};

use crate::objects;
use crate::reading::blobs::read_commit;
use ralph_core::record::ObjectId;

use super::database::RefUpdate;
use super::queries::Refs;

/// Maximum number of commits that are searched for an ancestor.
const MAX_ANCESTORS: usize = 100_000;

/// What was found where a ref of a running session should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefState {
    /// It is where we left it, or another record of the session follows there.
    Fine,
    /// It was not, and was restored. Holds the warning.
    Restored(String),
    /// It is gone, and so is the commit that it pointed at.
    Lost,
}

impl Refs<'_> {
    /// Puts the ref `name` back to `expected`, where we left it.
    pub fn recover(&self, name: &str, expected: &ObjectId) -> Result<RefState> {
        let found = self.tip(name)?;
        if found.as_ref() == Some(expected) {
            return Ok(RefState::Fine);
        }
        if !self.store.has(expected)? {
            return Ok(RefState::Lost);
        }
        let target = self.symbolic_target(name)?;
        if target.is_some() {
            self.delete_symbolic(name)?;
        }
        let warning = match (&found, target) {
            (_, Some(target)) => {
                format!("{name} was made a symbolic ref to {target} by another program; it was restored")
            }
            (None, None) => format!("{name} was deleted by another program; it was restored"),
            (Some(found), None) => {
                format!("{name} was moved to {found} by another program; it was restored")
            }
        };
        if let Some(found) = &found
            && self.is_below(expected, found)?
        {
            return Ok(RefState::Fine);
        }
        let one = RefUpdate { name: name.to_owned(), old: found, new: Some(expected.clone()) };
        self.move_all(&[one]).with_context(|| format!("put {name} back"))?;
        Ok(RefState::Restored(warning))
    }

    /// Returns true if `lower` is one of the first parents of `upper`.
    pub(crate) fn is_below(&self, lower: &ObjectId, upper: &ObjectId) -> Result<bool> {
        let git = self.store.open_git()?;
        let lower = objects::to_gix(lower)?;
        let mut next = objects::to_gix(upper)?;
        for _ in 0..MAX_ANCESTORS {
            // What is no commit, or is not there, has nothing below it.
            let Ok(commit) = read_commit(&git, &next) else { return Ok(false) };
            match commit.parents.first() {
                Some(parent) if *parent == lower => return Ok(true),
                Some(parent) => next = *parent,
                None => return Ok(false),
            }
        }
        Ok(false)
    }
}
