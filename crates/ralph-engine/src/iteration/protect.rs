//! Protected files: what an agent changed of them is put back before anything is validated.

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::record::{Event, ObjectId, RALPH, Timestamp, join_files};
use ralph_git::worktree::{PathChange, RawPath};
use ralph_store::names::PROTECTED;
use ralph_store::{Begin, PutBack, PutBackKind, Slot};

use super::super::restoring::put_back::names;
use super::super::restoring::rollback::Rollback;
use super::super::running::Running;

/// Maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 5;

impl Running<'_> {
    /// Puts protected files back that the agent changed or deleted. Returns their names.
    pub(super) fn put_protected_back(&mut self, slot: &Slot, begin: &Begin) -> Result<Vec<String>> {
        let place = self.recorder.place().clone();
        let Some(before) = begin.tips.snapshot.as_ref().filter(|_| !place.protect.is_empty()) else {
            return Ok(Vec::new());
        };
        let rollback = Rollback { store: self.plan.store, work_tree: self.plan.work_tree, place: &place };
        let now = self.plan.clock.now();
        restore_protected(rollback, slot, before, now, &[], &mut |message| {
            (self.say)(&Event::Warning { message });
        })
    }
}

/// Makes protected files again what they were in the snapshot `before`, but for `edited`, which a person is known to edit. New
/// files that match stay, and are named. What is changed after it is a person's: a mark in `slot` says so to a recovery.
/// Returns the names of those put back.
pub(crate) fn restore_protected(
    rollback: Rollback<'_>,
    slot: &Slot,
    before: &ObjectId,
    at: Timestamp,
    edited: &[RawPath],
    warn: &mut dyn FnMut(String),
) -> Result<Vec<String>> {
    let here = rollback.read()?;
    let top: &Utf8Path = here.work_tree.top();
    let paths = (top, rollback.place.protect.as_slice());
    let changed = here.work_tree.differences(here.private_index(), before, &here.now, Some(paths))?;
    let (new, changed): (Vec<PathChange>, Vec<PathChange>) = changed
        .into_iter()
        .filter(|change| !change.is_of_repository() && !here.work_tree.has_mode_already(change))
        .filter(|change| !edited.contains(&change.path))
        .partition(PathChange::is_new);
    let (mut put_back, mut stays) = (Vec::new(), None);
    if !changed.is_empty() {
        let wanted: Vec<PathChange> = changed.into_iter().map(PathChange::reversed).collect();
        let what = "the protected files as they were before the attempt";
        let (point, stay) = rollback.put_back(&here, &wanted, slot, PutBackKind::ForGood, what, at)?;
        put_back = names(wanted.iter().map(|change| &change.path).filter(|path| !stay.contains(path)));
        stays = Some(stay).filter(|stay| !stay.is_empty()).map(|stay| {
            format!(
                "protected files stay as they are, as somebody edits them: {}\nhint: `{RALPH} restore --undo {}` \
                 brings back what was found",
                named(&stay),
                point.number
            )
        });
    }
    // Before the note goes: what is changed from here on must not be taken for the agent's.
    slot.write_once(PROTECTED, b"")?;
    PutBack::forget(slot)?;
    if !put_back.is_empty() {
        let is = if put_back.len() == 1 { "is" } else { "are" };
        warn(format!("put back {}, which {is} protected", join_files(&put_back, MAX_NAMED_FILES)));
    }
    if !new.is_empty() {
        warn(format!("new files beside protected ones stay: {}", named(new.iter().map(|it| &it.path))));
    }
    stays.into_iter().for_each(warn);
    Ok(put_back)
}

fn named<'a>(paths: impl IntoIterator<Item = &'a RawPath>) -> String {
    join_files(&names(paths), MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}")
}
