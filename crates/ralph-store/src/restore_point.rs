//! What a restoration found and what it made of it, kept on a ref of its own, so that it can be undone.
//!
//! `refs/ralph-restore/<work tree>/<number>` is a commit of the work tree as it was made; its parent is a commit of
//! the work tree as it was found, whose parent is HEAD.

use anyhow::{Context, Result};
use camino::Utf8Path;
use serde::{Deserialize, Serialize};

use ralph_core::record::{ObjectId, SessionId, Timestamp};
use ralph_git::worktree::WorkTree;
use ralph_os::if_there::IfThere;

use super::files::pretty_json;
use super::local::disk;
use super::local::spool::{Slot, names};
use super::objects::{Quarantine, Signature};
use super::reading::blobs::read_commit;
use super::refs::database::RefUpdate;
use super::refs::naming::slug;
use super::{Store, message, objects};

/// Where restorations of work trees are kept.
const PREFIX: &str = "refs/ralph-restore/";

/// A restoration that was made, or is about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestorePoint {
    /// Counted from 1 in each work tree.
    pub number: u32,
    pub refname: String,
    /// Commits of the work tree before and after.
    pub found: ObjectId,
    pub made: ObjectId,
}

impl RestorePoint {
    /// Notes durably, in the folder of a record, that this is about to be carried out, so that a recovery can finish it.
    pub fn note_in(&self, slot: &Slot) -> Result<()> {
        slot.create()?;
        disk::write_durably_with(&slot.path(names::ROLLBACK), &pretty_json(self)?, Vec::new(), true)
    }

    /// Returns the one that was noted in the folder of a record; `None` if there was none.
    pub fn noted_in(slot: &Slot) -> Result<Option<Self>> {
        disk::read_json(&slot.path(names::ROLLBACK))
    }
}

/// How long files that were put back stay so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PutBackKind {
    ForGood,
    /// For one run of the validation, after which they become again what they were.
    ForOneRun,
}

/// Files that are being put back: what a recovery has to finish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutBack {
    pub kind: PutBackKind,
    pub point: RestorePoint,
}

impl PutBack {
    /// Notes durably, in the folder of a record, that this is about to be carried out.
    pub fn note_in(&self, slot: &Slot) -> Result<()> {
        disk::write_durably(&slot.path(names::PUT_BACK), &pretty_json(self)?)
    }

    /// Returns the one that was noted in the folder of a record; `None` if there was none.
    pub fn noted_in(slot: &Slot) -> Result<Option<Self>> {
        disk::read_json(&slot.path(names::PUT_BACK))
    }

    /// Removes the note.
    pub fn forget(slot: &Slot) -> Result<()> {
        let path = slot.path(names::PUT_BACK);
        std::fs::remove_file(&path).if_there().with_context(|| format!("remove {path}"))?;
        Ok(())
    }
}

/// What is to be kept of a restoration.
#[derive(Debug, Clone, Copy)]
pub struct Restoration<'a> {
    /// Trees, in `objects`.
    pub found: &'a ObjectId,
    pub made: &'a ObjectId,
    pub objects: &'a Utf8Path,
    /// The session that it goes back to.
    pub session: &'a SessionId,
    pub feature: &'a str,
    /// `iteration 3 of session ...`
    pub target: &'a str,
    pub at: Timestamp,
}

impl Store {
    /// Keeps a restoration before it is carried out, durably.
    pub fn keep_restoration(
        &self,
        work_tree: &WorkTree,
        restoration: Restoration<'_>,
    ) -> Result<RestorePoint> {
        let Restoration { found, made, objects, session, feature, target, at } = restoration;
        let number = self.restore_points(work_tree)?.last().map_or(0, |last| last.number) + 1;
        let refname = format!("{}{number}", restore_folder(work_tree));
        let quarantine = Quarantine::open(objects, self.repository().hash)?;
        let signature =
            Signature { author: self.repository().author.clone(), authored_at: at, committed_at: at };
        let head = work_tree.head()?;
        let [before, after] = ["before", "after"].map(|when| {
            let moment = format!("work tree {when} restoration {number}, to {target}");
            message::of_restoration(&moment, session, feature)
        });
        let found = quarantine.write_commit(found, head.as_slice(), &signature, &before)?;
        let made = quarantine.write_commit(made, std::slice::from_ref(&found), &signature, &after)?;
        self.publish(&quarantine)?;
        let one = RefUpdate { name: refname.clone(), old: None, new: Some(made.clone()) };
        self.move_refs(&[one], objects, true)?;
        Ok(RestorePoint { number, refname, found, made })
    }

    /// Returns the restorations of this work tree, oldest first.
    pub fn restore_points(&self, work_tree: &WorkTree) -> Result<Vec<RestorePoint>> {
        let git = self.open_git()?;
        let folder = restore_folder(work_tree);
        let mut points = Vec::new();
        for (refname, made) in self.refs().below(&folder)? {
            let number = refname.strip_prefix(&folder).and_then(|number| number.parse().ok());
            let Some(number) = number else { continue };
            let Ok(commit) = read_commit(&git, &objects::to_gix(&made)?) else { continue };
            let Some(parent) = commit.parents.first() else { continue };
            let found = objects::from_gix(parent)?;
            points.push(RestorePoint { number, refname, found, made });
        }
        points.sort_by_key(|point| point.number);
        Ok(points)
    }

    /// Returns the session and the feature that a restoration went back to.
    pub fn restored(&self, point: &RestorePoint) -> Result<(SessionId, String)> {
        let named = message::named_in(&self.message(&point.made)?);
        named.with_context(|| format!("{} is not a restoration of ours", point.refname))
    }
}

fn restore_folder(work_tree: &WorkTree) -> String {
    format!("{PREFIX}{}/", slug(&work_tree.name()))
}
