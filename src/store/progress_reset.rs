//! When the progress of a feature was cleared: a ref of its own, one commit for each time.
//!
//! `refs/ralph-progress/<feature>`: the commits of a chain, oldest first, with an empty tree.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use gix::objs::FindExt;

use crate::record::Timestamp;

use super::objects::{Quarantine, Signature};
use super::ref_update::{Reason, RefUpdate};
use super::refs::slug;
use super::{Scratch, Store, message, objects};

const PREFIX: &str = "refs/ralph-progress/";

impl Store {
    /// Records that everything up to `at` is to be forgotten. Returns the name of the ref that says so.
    pub fn clear_progress(&self, feature: &str, at: Timestamp) -> Result<String> {
        let name = format!("{PREFIX}{}", slug(feature));
        let old = self.tip(&name)?;
        let scratch = Scratch::create(self.repository())?;
        let quarantine = Quarantine::open(&scratch.path("objects"), self.repository().hash)?;
        let tree = objects::from_gix(&quarantine.write_tree(&BTreeMap::new())?)?;
        let signature =
            Signature { author: self.repository().author.clone(), authored_at: at, committed_at: at };
        let text = message::of_clearing(feature);
        let commit = quarantine.write_commit(&tree, old.as_slice(), &signature, &text)?;
        self.publish(&quarantine)?;
        self.move_refs(
            &[RefUpdate { name: name.clone(), old, new: Some(commit) }],
            Reason { why: "clear", at },
        )?;
        Ok(name)
    }

    /// Returns when the progress of a feature was last cleared, if it ever was.
    pub fn progress_cleared_at(&self, feature: &str) -> Result<Option<Timestamp>> {
        let name = format!("{PREFIX}{}", slug(feature));
        let Some(tip) = self.tip(&name)? else { return Ok(None) };
        let git = self.open_git()?;
        let mut buffer = Vec::new();
        let commit = git.objects.find_commit(&objects::to_gix(&tip)?, &mut buffer);
        let commit = commit.map_err(|error| anyhow!("read {name}: {error}"))?;
        Ok(Some(super::blobs::seconds_of(commit.committer)))
    }
}
