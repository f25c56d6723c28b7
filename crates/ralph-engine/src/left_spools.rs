//! What sessions of this work tree left in their spools.

use anyhow::Result;

use ralph_core::record::{RecordKind, SessionId};
use ralph_git::worktree::WorkTree;
use ralph_os::process::{self, Marker};
use ralph_store::{SessionRefs, Spool, SpoolMeta, Store};

/// Returns true if all sessions of this work tree have their end in the record. What the spool of one that has still holds
/// concerns progress.txt alone.
pub fn all_are_recorded(store: &Store, work_tree: &WorkTree) -> Result<bool> {
    for (spool, place) in of_this_work_tree(work_tree)? {
        let log = store.session(&SessionRefs::new(&place.feature, place.session.clone()))?;
        let has_end = log.is_some_and(|log| log.tip().kind() == RecordKind::End);
        if !has_end || !spool.slots()?.is_empty() {
            return Ok(false);
        }
    }
    Ok(!Spool::is_any_passing(work_tree))
}

/// Returns true if no session of this work tree left anything in the spool.
pub fn nothing_is_left(work_tree: &WorkTree) -> Result<bool> {
    Ok(!Spool::is_any_passing(work_tree) && of_this_work_tree(work_tree)?.is_empty())
}

/// Returns the spools of this work tree, and what each is for, with absolute paths.
pub(super) fn of_this_work_tree(work_tree: &WorkTree) -> Result<Vec<(Spool, SpoolMeta)>> {
    let mut spools = Vec::new();
    for spool in Spool::all(work_tree.repository())? {
        if let Some(place) = spool.place()?.filter(|place| place.work_tree == work_tree.name()) {
            let (tasks_path, progress_path) =
                (work_tree.top().join(&place.tasks_path), work_tree.top().join(&place.progress_path));
            spools.push((spool, SpoolMeta { tasks_path, progress_path, ..place }));
        }
    }
    Ok(spools)
}

/// Returns the processes, with their programs, that a dead session of this work tree left running. Nothing is stopped.
pub fn left_running(work_tree: &WorkTree, session: &SessionId) -> Result<Vec<(i32, String)>> {
    let left = of_this_work_tree(work_tree)?;
    let Some((spool, _)) = left.iter().find(|(_, place)| place.session == *session) else {
        return Ok(Vec::new());
    };
    let marker = Marker::new(session).in_work_tree(work_tree.top()).noted_in(spool.child_note());
    Ok(process::left_running(&marker))
}
