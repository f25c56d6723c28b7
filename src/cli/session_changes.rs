//! What a session changed, counted alike for every screen.

use anyhow::Result;
use redact_stream::Redactor;

use ralph_core::record::{Changes, DiffStat, FileChange, LogEntry, ObjectId};
use ralph_git::worktree::{ChangedFile, WorkTree, changed_between};
use ralph_os::process::Tool;
use ralph_store::{ListedSession, SessionLog, SessionRefs, Store};

use ralph_ui::review::Review;

use super::iterations::{FeatureFiles, files, files_of};
use super::{Context, lane};

/// Returns the files in which two snapshots differ, without what the loop itself writes; `None` if they are not here,
/// or too large to compare.
pub fn changed_files(
    store: &Store,
    own: &FeatureFiles,
    snapshots: (Option<ObjectId>, Option<ObjectId>),
) -> Result<Option<Vec<ChangedFile>>> {
    let (Some(first), Some(last)) = snapshots else { return Ok(None) };
    if !store.has(&first)? || !store.has(&last)? || !store.is_comparable(&first, &last)? {
        return Ok(None);
    }
    let git = Tool::git(&store.repository().directory);
    let mut files = changed_between(git, &first, &last)?;
    files.retain(|file| [&own.tasks, &own.progress].iter().all(|own| own.as_bytes() != file.path));
    Ok(Some(files))
}

/// Returns files as records have them. Their names come from the snapshots, which have them as they are: a secret may be in
/// one.
pub fn redacted(files: &[ChangedFile], redactor: &Redactor) -> Vec<FileChange> {
    let records = files.iter().map(ChangedFile::to_record);
    records.map(|file| FileChange { path: redactor.redact_text(&file.path).0, ..file }).collect()
}

/// Most files that are compared with the work tree.
pub const MAX_COMPARED: usize = 200;

/// Returns those of the first files that the work tree has as they were after the change.
pub fn in_tree<'f>(work_tree: &WorkTree, files: &'f [ChangedFile]) -> Result<Vec<&'f ChangedFile>> {
    let named = files.iter().filter_map(|file| Some((file, std::str::from_utf8(&file.path).ok()?)));
    let (here, gone): (Vec<_>, Vec<_>) =
        named.take(MAX_COMPARED).partition(|(_, path)| work_tree.has_file(path));
    // What a link leads to is not what was recorded.
    let here: Vec<_> = here
        .into_iter()
        .filter(|(_, path)| work_tree.top().join(path).symlink_metadata().is_ok_and(|it| it.is_file()))
        .collect();
    let ids = work_tree.ids_of(&here.iter().map(|(_, path)| *path).collect::<Vec<_>>())?;
    // Where only a filter knows, it is taken as it was.
    let is_same =
        |file: &ChangedFile, id: &str| file.after.as_ref().is_some_and(|after| after.as_str() == id);
    let same = here.iter().zip(&ids).filter(|((file, _), id)| id.as_ref().is_none_or(|id| is_same(file, id)));
    let gone = gone.into_iter().filter(|(file, _)| file.after.is_none());
    Ok(same.map(|((file, _), _)| *file).chain(gone.map(|(file, _)| file)).collect())
}

/// Returns how much a session changed, from its first snapshot to its last; `None` without snapshots.
pub fn changes(store: &Store, session: &ListedSession) -> Result<Option<DiffStat>> {
    let view = session.view();
    let first = view.entries.first().filter(|first| !first.is_iteration());
    let Some(first) = first else { return Ok(None) };
    let snapshots = [
        view.iterations().find_map(LogEntry::snapshot),
        view.iterations().rev().find_map(LogEntry::snapshot),
    ];
    Ok(files_between(store, &session.refs, first, snapshots)?.as_deref().map(stat))
}

/// Returns the files of a session that differ, by its first record, and the oldest and the newest snapshot of its iterations.
pub fn files_between(
    store: &Store,
    refs: &SessionRefs,
    first: &LogEntry,
    [oldest, last]: [Option<ObjectId>; 2],
) -> Result<Option<Vec<ChangedFile>>> {
    if oldest.is_none() {
        return Ok(None);
    }
    let snapshots = (store.first_snapshot_of(refs, oldest)?, last);
    let own = files_of(store, first.feature(), Some(first));
    changed_files(store, &own, snapshots)
}

/// Returns how much a session changed, by its records.
pub fn of_log(store: &Store, log: &SessionLog) -> Result<Option<DiffStat>> {
    Ok(changed_files(store, &files(store, log), ends(store, log)?)?.as_deref().map(stat))
}

/// Returns the snapshots before the first attempt and of what is left of all.
pub fn ends(store: &Store, log: &SessionLog) -> Result<(Option<ObjectId>, Option<ObjectId>)> {
    let is_in_lane = store.first_readable_session(log).is_some_and(|begun| begun.lane.is_some());
    let first = store.first_snapshot(log)?;
    let last = log.last_snapshot(is_in_lane).or_else(|| first.clone().filter(|_| is_in_lane));
    Ok((first, last))
}

pub fn stat(files: &[ChangedFile]) -> DiffStat {
    DiffStat::of(files.iter().map(|file| (file.added, file.removed)))
}

/// Returns how much a session changed, how many of these files are not in the commit of the branch, and what is looked at first;
/// `None` without snapshots.
pub fn with_commits(context: &Context, log: &SessionLog) -> Result<Option<(Changes, Review)>> {
    let store = context.store()?;
    let own = files(store, log);
    let (first, last) = ends(store, log)?;
    let Some(changed) = changed_files(store, &own, (first, last.clone()))? else {
        return Ok(None);
    };
    let uncommitted_files = uncommitted(context, log, last, &own, &changed)?;
    let files: Vec<_> = changed.iter().map(ChangedFile::to_record).collect();
    Ok(Some((Changes { stat: stat(&changed), uncommitted_files }, Review::of(files.iter()))))
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
    let differing = changed_files(store, own, (head, last))?;
    let uncommitted = changed.iter().filter(|file| {
        differing.as_ref().is_none_or(|differing| differing.iter().any(|other| other.path == file.path))
    });
    Ok(uncommitted.count())
}
