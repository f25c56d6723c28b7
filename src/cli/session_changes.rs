//! What a session changed and what it leaves to somebody, counted alike for every screen.

use anyhow::Result;

use crate::process::Tool;
use crate::record::{DiffStat, NotDone, ObjectId};
use crate::store::{Row, SessionRows, Store};
use crate::tasks::{Attempt, not_done, parse};
use crate::worktree::{ChangedFile, changed_between};

use super::iterations::{FeatureFiles, files_of};

/// Returns the files in which two snapshots differ, without what the loop itself writes; `None` if they are not here.
pub fn changed_files(
    store: &Store,
    own: &FeatureFiles,
    snapshots: (Option<ObjectId>, Option<ObjectId>),
) -> Result<Option<Vec<ChangedFile>>> {
    let (Some(first), Some(last)) = snapshots else { return Ok(None) };
    if !store.has(&first)? || !store.has(&last)? {
        return Ok(None);
    }
    let git = Tool::git(store.repository().work_tree()?);
    let mut files = changed_between(git, &first, &last)?;
    files.retain(|file| [&own.tasks, &own.progress].iter().all(|own| own.as_bytes() != file.path));
    Ok(Some(files))
}

/// Returns how much the session of `rows` changed, from its first snapshot to its last; `None` without snapshots.
pub fn changes(store: &Store, session: &SessionRows<'_>, rows: &[Row<'_>]) -> Result<Option<DiffStat>> {
    let first = rows.first().filter(|first| !first.is_iteration()).map(Row::entry).transpose()?;
    let Some(first) = first else { return Ok(None) };
    let snapshot = |row: &Row<'_>| row.snapshot().filter(|_| row.is_iteration());
    let Some(oldest) = rows.iter().find_map(snapshot) else { return Ok(None) };
    let last = rows.iter().rev().find_map(snapshot);
    let snapshots = (store.first_snapshot_of(session.refs, Some(oldest))?, last);
    let files = changed_files(store, &files_of(store, session.feature, Some(&first)), snapshots)?;
    Ok(files.map(|files| DiffStat::of(files.iter().map(|file| (file.added, file.removed)))))
}

/// Returns the open tasks of a session that were tried, and the iterations of false claims.
pub fn needs(store: &Store, rows: &[Row<'_>]) -> (Vec<NotDone>, Vec<u32>) {
    let claims = rows.iter().filter(|row| row.has_false_claim()).map(|row| row.iteration).collect();
    let list = rows.iter().rev().find_map(|row| {
        // Where the newest cannot be read, an older one says more than none.
        store.file(&row.commit.parse().ok()?, "tasks.md").ok()?
    });
    let Some(list) = list.and_then(|bytes| parse(&bytes).ok()) else { return (Vec::new(), claims) };
    (not_done(rows.iter().filter_map(attempt), &list), claims)
}

fn attempt<'a>(row: &Row<'a>) -> Option<Attempt<'a>> {
    let task = row.task()?;
    row.is_iteration().then(|| Attempt {
        task,
        iteration: row.iteration,
        outcome: row.outcome,
        is_run: row.is_run(),
        cost: row.cost(),
        cause: row.cause(),
    })
}
