//! When the progress of a feature was cleared: a ref of its own, one commit for each time.
//!
//! `refs/ralph-progress/<feature>`: the commits of a chain, oldest first, with an empty tree.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::objects::Signature;
use crate::refs::database::RefUpdate;
use crate::refs::naming::slug;
use crate::{Store, message};
use ralph_core::record::Timestamp;

const PREFIX: &str = "refs/ralph-progress/";

impl Store {
    /// Records that everything up to `at` is to be forgotten. Returns the name of the ref that says so.
    pub fn clear_progress(&self, feature: &str, at: Timestamp) -> Result<String> {
        let name = format!("{PREFIX}{}", slug(feature));
        let old = self.refs().tip(&name)?;
        let (_scratch, quarantine) = self.new_objects()?;
        let tree = quarantine.write_tree(&BTreeMap::new())?;
        let author = self.repository().author.clone();
        let signature = Signature { author, authored_at: at, committed_at: at };
        let message = message::of_clearing(feature, at);
        let commit = self.commit_tree(&quarantine, &tree, old.as_slice(), &signature, &message)?;
        let update = RefUpdate { name: name.clone(), old, new: Some(commit) };
        self.move_refs(&[update], quarantine.dir(), true)?;
        Ok(name)
    }

    /// Returns when the progress of a feature was last cleared, if it ever was.
    pub fn progress_cleared_at(&self, feature: &str) -> Result<Option<Timestamp>> {
        let tip = self.refs().tip(&format!("{PREFIX}{}", slug(feature)))?;
        tip.map(|tip| Ok(message::cleared_at(&self.message(&tip)?, self.committed_at(&tip)?))).transpose()
    }
}
