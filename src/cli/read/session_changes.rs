//! What a session changed, counted alike for every screen.

use anyhow::Result;
use redact_stream::Redactor;

use ralph_core::record::{Changes, DiffStat, FileChange, ObjectId};
use ralph_git::worktree::ChangedFile;
use ralph_store::{FeatureFiles, SessionLog, Store};
use ralph_ui::review::Review;

use crate::cli::Context;
use crate::cli::start::lane;

/// Returns files as records have them. Their names come from the snapshots, which have them as they are: a secret may be in
/// one.
pub fn redacted(files: &[ChangedFile], redactor: &Redactor) -> Vec<FileChange> {
    let records = files.iter().map(ChangedFile::to_record);
    records.map(|file| FileChange { path: redactor.redact_text(&file.path).0, ..file }).collect()
}

/// Returns how much a session changed, by its records.
pub fn of_log(store: &Store, log: &SessionLog) -> Result<Option<DiffStat>> {
    Ok(store.changed_files(&store.files_of(log), ends(store, log)?)?.as_deref().map(ChangedFile::stat))
}

/// Returns the snapshots before the first attempt and of what is left of all.
pub fn ends(store: &Store, log: &SessionLog) -> Result<(Option<ObjectId>, Option<ObjectId>)> {
    let is_in_lane = store.first_readable_session(log).is_some_and(|begun| begun.lane.is_some());
    let first = store.first_snapshot(log)?;
    let last = log.last_snapshot(is_in_lane).or_else(|| first.clone().filter(|_| is_in_lane));
    Ok((first, last))
}

/// Returns how much a session changed, how many of these files are not in the commit of the branch, and what is looked at first;
/// `None` without snapshots.
pub fn with_commits(context: &Context, log: &SessionLog) -> Result<Option<(Changes, Review)>> {
    let store = context.store()?;
    let own = store.files_of(log);
    let (first, last) = ends(store, log)?;
    let Some(changed) = store.changed_files(&own, (first, last.clone()))? else {
        return Ok(None);
    };
    let uncommitted_files = uncommitted(context, log, last, &own, &changed)?;
    let files: Vec<_> = changed.iter().map(ChangedFile::to_record).collect();
    Ok(Some((Changes { stat: ChangedFile::stat(&changed), uncommitted_files }, Review::of(files.iter()))))
}

/// Returns how many of the files that a session changed are not in the commit of the branch as its `last` snapshot has them.
pub fn uncommitted(
    context: &Context,
    log: &SessionLog,
    last: Option<ObjectId>,
    own: &FeatureFiles,
    changed: &[ChangedFile],
) -> Result<usize> {
    let store = context.store()?;
    let head = match lane::tip_of(store, log)? {
        Some(tip) => Some(tip),
        None => context.work_tree()?.head()?,
    };
    let differing = store.changed_files(own, (head, last))?;
    let uncommitted = changed.iter().filter(|file| {
        differing.as_ref().is_none_or(|differing| differing.iter().any(|other| other.path == file.path))
    });
    Ok(uncommitted.count())
}
