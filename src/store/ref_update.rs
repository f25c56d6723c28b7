//! Refs that have more than one writer, changed by the git program: each from the value that is expected, or not at
//! all. No lock on them is ever taken for a dead one's.

use anyhow::Result;

use crate::record::{ObjectId, Timestamp};

use super::Store;
use super::ref_database::{Reason, all_or_nothing};

/// A ref that is to go from one value to another.
#[derive(Debug, Clone)]
pub(super) struct RefUpdate {
    pub name: String,
    /// `None` if it must not exist.
    pub old: Option<ObjectId>,
    /// None deletes it.
    pub new: Option<ObjectId>,
}

/// What came of two versions of a ref with many writers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MergeResult {
    pub here: ObjectId,
    /// With what is not wanted here, and may be wanted elsewhere.
    pub there: ObjectId,
}

impl MergeResult {
    pub fn same(both: ObjectId) -> Self {
        Self { here: both.clone(), there: both }
    }
}

impl Store {
    /// Makes all changes or none.
    pub(super) fn change_refs(&self, changes: &[RefUpdate], why: &'static str, at: Timestamp) -> Result<()> {
        let mut commands = String::new();
        for RefUpdate { name, old, new } in changes {
            commands.push_str(&match (new, old) {
                (Some(new), Some(old)) => format!("update {name} {new} {old}\n"),
                (Some(new), None) => format!("create {name} {new}\n"),
                (None, Some(old)) => format!("delete {name} {old}\n"),
                (None, None) => continue,
            });
        }
        let refs = self.refs();
        refs.update(&all_or_nothing(&commands), Reason { why, at })?;
        let made = changes.iter().filter(|change| change.new.is_some());
        refs.fsync(&made.map(|change| change.name.as_str()).collect::<Vec<_>>())
    }

    /// Makes each change that can be made, and gives why the others cannot.
    pub(super) fn change_each(
        &self,
        changes: Vec<RefUpdate>,
        why: &'static str,
        at: Timestamp,
    ) -> (Vec<RefUpdate>, Vec<(RefUpdate, anyhow::Error)>) {
        if changes.is_empty() || self.change_refs(&changes, why, at).is_ok() {
            return (changes, Vec::new());
        }
        let (mut made, mut failed) = (Vec::new(), Vec::new());
        for change in changes {
            match self.change_refs(std::slice::from_ref(&change), why, at) {
                Ok(()) => made.push(change),
                Err(error) => failed.push((change, error)),
            }
        }
        (made, failed)
    }
}
