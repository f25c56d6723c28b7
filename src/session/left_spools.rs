//! What sessions of this work tree left in their spools.

use anyhow::Result;

use crate::process::{self, Marker};
use crate::record::{RecordKind, SessionId};
use crate::repository::Repository;
use crate::store::{SessionRefs, Spool, SpoolMeta, Store};

/// Returns true if all sessions of this work tree have their end in the record. What the spool of one that has still holds
/// concerns progress.txt alone.
pub fn all_are_recorded(store: &Store) -> Result<bool> {
    let repository = store.repository();
    for (spool, place) in of_this_work_tree(repository)? {
        let log = store.session(&SessionRefs::new(&place.feature, place.session.clone()))?;
        let has_end = log.is_some_and(|log| log.tip().kind == RecordKind::End);
        if !has_end || !spool.slots()?.is_empty() {
            return Ok(false);
        }
    }
    Ok(!Spool::is_any_passing(repository))
}

/// Returns true if no session of this work tree left anything in the spool.
pub fn nothing_is_left(repository: &Repository) -> Result<bool> {
    Ok(!Spool::is_any_passing(repository) && of_this_work_tree(repository)?.is_empty())
}

pub(super) fn of_this_work_tree(repository: &Repository) -> Result<Vec<(Spool, SpoolMeta)>> {
    let mut spools = Vec::new();
    for spool in Spool::all(repository)? {
        let place = spool.place(repository)?;
        if let Some(place) = place.filter(|place| place.work_tree == repository.work_tree_name()) {
            spools.push((spool, place));
        }
    }
    Ok(spools)
}

/// Returns the processes, with their programs, that a dead session of this work tree left running. Nothing is stopped.
pub fn left_running(repository: &Repository, session: &SessionId) -> Result<Vec<(i32, String)>> {
    let left = of_this_work_tree(repository)?;
    let Some((spool, _)) = left.iter().find(|(_, place)| place.session == *session) else {
        return Ok(Vec::new());
    };
    let marker = Marker::new(session).in_work_tree(repository.work_tree()?).noted_in(spool.child_note());
    Ok(process::left_running(&marker))
}
