//! Protected files: what an agent changed of them is put back before anything is validated.

use anyhow::Result;
use camino::Utf8Path;

use ralph_core::record::{Event, ObjectId, RALPH, Timestamp, join_files};
use ralph_git::worktree::{PathChange, RawPath};
use ralph_store::names::PROTECTED;
use ralph_store::{Begin, PutBack, PutBackKind, Slot};

use crate::loop_inputs::LoopInputs;
use crate::recorder::Recorder;
use crate::restoring::put_back::names;
use crate::restoring::rollback::Rollback;
use crate::restoring::scratch_work_tree::ScratchWorkTree;
use crate::shown::warn as warn_of;

/// Maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 5;

/// What became of protected files.
#[derive(Default)]
pub(crate) struct Restored {
    pub put_back: Vec<String>,
    /// New files beside them.
    pub new: Vec<String>,
    /// Why some could not be put back: then nothing that the validation says counts.
    pub failure: Option<String>,
}

/// Puts protected files back that the agent changed or deleted.
pub(super) fn put_protected_back(
    inputs: &LoopInputs<'_>,
    recorder: &mut Recorder<'_>,
    say: &mut dyn FnMut(&Event),
    slot: &Slot,
    begin: &Begin,
) -> Restored {
    let place = recorder.place().clone();
    let Some(before) = begin.tips.snapshot.as_ref().filter(|_| !place.protect.is_empty()) else {
        return Restored::default();
    };
    let rollback = Rollback { store: inputs.store, work_tree: inputs.work_tree, place: &place };
    let now = inputs.clock.now();
    let restored = restore_protected(rollback, slot, before, now, &[], &mut |message| warn_of(say, message));
    recorder.note_change();
    restored.unwrap_or_else(|error| {
        let failure = format!("protected files could not be put back: {error:#}");
        warn_of(say, failure.clone());
        Restored { failure: Some(failure), ..Restored::default() }
    })
}

/// Makes protected files again what they were in the snapshot `before`, but for `edited`, which a person is known to edit. New
/// files that match stay, and are named. What is changed after it is a person's: a mark in `slot` says so to a recovery.
pub(crate) fn restore_protected(
    rollback: Rollback<'_>,
    slot: &Slot,
    before: &ObjectId,
    at: Timestamp,
    edited: &[RawPath],
    warn: &mut dyn FnMut(String),
) -> Result<Restored> {
    let here = rollback.read()?;
    let top: &Utf8Path = here.work_tree.top();
    let paths = (top, rollback.place.protect.as_slice());
    let changed = here.work_tree.differences(here.private_index(), before, &here.now, Some(paths))?;
    let (new, changed): (Vec<PathChange>, Vec<PathChange>) = changed
        .into_iter()
        .filter(|change| !change.is_of_repository() && !here.work_tree.has_mode_already(change))
        .filter(|change| !edited.contains(&change.path))
        .partition(PathChange::is_new);
    let (mut restored, mut stays) = (Restored::default(), None);
    if !changed.is_empty() {
        let wanted: Vec<PathChange> = changed.into_iter().map(PathChange::reversed).collect();
        let in_the_way = in_the_way(&here, before, &wanted)?;
        // What is removed makes room. A link is only removed itself, whatever it leads to.
        let all: Vec<PathChange> = in_the_way.into_iter().chain(wanted.iter().cloned()).collect();
        wanted.iter().try_for_each(|change| here.work_tree.unlink_above(&change.path))?;
        let what = "the protected files as they were before the attempt";
        let (point, stay) = rollback.put_back(&here, &all, slot, PutBackKind::ForGood, what, at)?;
        restored.put_back =
            names(wanted.iter().map(|change| &change.path).filter(|path| !stay.contains(path)));
        let (edited, stuck): (Vec<&RawPath>, Vec<&RawPath>) =
            stay.iter().partition(|path| here.work_tree.is_plain_file(path));
        restored.failure = (!stuck.is_empty())
            .then(|| format!("protected files could not be put back: {}", named(stuck.iter().copied())));
        stays = (!edited.is_empty()).then(|| {
            format!(
                "protected files stay as they are, as somebody edits them: {}\nhint: `{RALPH} restore --undo {}` \
                 brings back what was found",
                named(edited),
                point.number
            )
        });
    }
    // Before the note goes: what is changed from here on must not be taken for the agent's.
    slot.write_once(PROTECTED, b"")?;
    PutBack::forget(slot)?;
    if !restored.put_back.is_empty() {
        let is = if restored.put_back.len() == 1 { "is" } else { "are" };
        let names = join_files(&restored.put_back, MAX_NAMED_FILES);
        warn(format!("put back {names}, which {is} protected"));
    }
    if !new.is_empty() {
        warn(format!("new files beside protected ones stay: {}", named(new.iter().map(|it| &it.path))));
    }
    restored.new = names(new.iter().map(|change| &change.path));
    restored.failure.iter().cloned().chain(stays).for_each(warn);
    Ok(restored)
}

/// Returns what removes new files that are where the folders of `wanted` ones were, or below their paths.
fn in_the_way(
    here: &ScratchWorkTree<'_>,
    before: &ObjectId,
    wanted: &[PathChange],
) -> Result<Vec<PathChange>> {
    let is_below =
        |path: &[u8], folder: &[u8]| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"));
    let mut changes = here.differences(before, &here.now)?;
    changes.retain(|change| {
        change.is_new()
            && !change.is_of_repository()
            && wanted.iter().any(|it| is_below(&it.path, &change.path) || is_below(&change.path, &it.path))
    });
    Ok(changes.into_iter().map(PathChange::reversed).collect())
}

fn named<'a>(paths: impl IntoIterator<Item = &'a RawPath>) -> String {
    join_files(&names(paths), MAX_NAMED_FILES).replace(char::is_control, "\u{fffd}")
}
