//! Protected files: what an agent changed of them is put back before anything is validated.

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::record::{ObjectId, RALPH, Timestamp, join_files};
use ralph_git::worktree::{PathChange, Paths, RawPath, TreePair};
use ralph_store::names::PROTECTED;
use ralph_store::{Begin, PutBack, PutBackKind, Slot};

use super::super::restoring::put_back::names;
use super::super::restoring::rollback::Rollback;
use super::super::running::Running;
use super::stages::ProtectedFiles;

/// Maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 5;

/// What came of protected files: those put back, and those that stay because somebody edits them.
pub(crate) struct Restored {
    pub put_back: Vec<String>,
    pub messages: Vec<String>,
}

impl Running<'_> {
    /// Puts protected files back that the agent changed or deleted.
    pub(super) fn put_protected_back(&mut self, slot: &Slot, begin: &Begin) -> ProtectedFiles {
        let place = self.recorder.place().clone();
        let Some(before) = begin.tips.snapshot.as_ref().filter(|_| !place.protect.is_empty()) else {
            return ProtectedFiles::default();
        };
        let rollback = Rollback { store: self.plan.store, work_tree: self.plan.work_tree, place: &place };
        match restore_protected(rollback, slot, before, self.plan.clock.now(), &[]) {
            Ok(Restored { put_back, messages }) => {
                if !put_back.is_empty() {
                    let names = join_files(&put_back, MAX_NAMED_FILES);
                    self.warn(format!(
                        "put back {names}, which {} protected",
                        if put_back.len() == 1 { "is" } else { "are" }
                    ));
                }
                for message in messages {
                    self.warn(message);
                }
                ProtectedFiles { put_back, failure: None }
            }
            Err(error) => {
                let failure = format!("protected files could not be put back: {error:#}");
                self.warn(failure.clone());
                ProtectedFiles { put_back: Vec::new(), failure: Some(failure) }
            }
        }
    }
}

/// Makes protected files again what they were in the snapshot `before`, but for `edited`, which a person is known to edit. New
/// files that match stay, and are named. What is changed after it is a person's: a mark in `slot` says so to a recovery.
pub(crate) fn restore_protected(
    rollback: Rollback<'_>,
    slot: &Slot,
    before: &ObjectId,
    at: Timestamp,
    edited: &[RawPath],
) -> Result<Restored> {
    let here = rollback.read()?;
    let top: &Utf8Path = here.work_tree.top();
    let paths = Paths { directory: top, specs: &rollback.place.protect };
    let changed = here.differences(TreePair { from: before, to: &here.now }, paths)?;
    let (new, changed): (Vec<PathChange>, Vec<PathChange>) = changed
        .into_iter()
        .filter(|change| !change.is_of_repository() && !here.work_tree.has_mode_already(change))
        .filter(|change| !edited.contains(&change.path))
        .partition(PathChange::is_new);
    let mut messages = Vec::new();
    if !new.is_empty() {
        messages
            .push(format!("new files beside protected ones stay: {}", named(new.iter().map(|it| &it.path))));
    }
    if changed.is_empty() {
        slot.write_once(PROTECTED, b"")?;
        return Ok(Restored { put_back: Vec::new(), messages });
    }
    let wanted: Vec<PathChange> = changed.into_iter().map(PathChange::reversed).collect();
    let what = "the protected files as they were before the attempt";
    let (point, stay) = rollback.put_back(&here, &wanted, slot, PutBackKind::ForGood, what, at)?;
    // Before the note goes: what is changed from here on must not be taken for the agent's.
    slot.write_once(PROTECTED, b"")?;
    PutBack::forget(slot)?;
    if !stay.is_empty() {
        messages.push(format!(
            "protected files stay as they are, as somebody edits them: {}\nhint: `{RALPH} restore --undo {}` \
             brings back what was found",
            named(&stay),
            point.number
        ));
    }
    let is_back = |change: &&PathChange| !stay.contains(&change.path);
    Ok(Restored { put_back: names(wanted.iter().filter(is_back).map(|change| &change.path)), messages })
}

fn named<'a>(paths: impl IntoIterator<Item = &'a RawPath>) -> String {
    join_files(&names(paths), MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}")
}
