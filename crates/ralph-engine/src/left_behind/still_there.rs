//! What of the things that an attempt left behind is still so.

use ralph_core::record::{
    GitState, GitStateKind, GoneWork, LogEntry, MAX_LISTED_FILES, Remains, Summary, TaskName, UserFile,
    UserFileChange,
};
use ralph_git::worktree::{Operation, WorkTree};
use ralph_project::project_files::MAX_TASK_LIST_BYTES;
use ralph_store::{SessionRefs, Store, git_locks, lock_name};
use tasklist::TaskList;

use super::configuration;
use super::gone::MAX_COMPARED_BYTES;
use super::rewritten_list::RewrittenList;

/// Returns what the newest agent run of a feature left behind, as far as it is still so.
pub fn remains(store: &Store, work_tree: Option<&WorkTree>, newest: Option<&LogEntry>) -> Option<Remains> {
    let iteration = store.readable_iteration(newest?)?;
    let feature = iteration.feature;
    let mut remains = Remains {
        session: iteration.session,
        iteration: iteration.iteration,
        git_state: iteration.git_state,
        user_files: iteration.user_files,
    };
    if let Some(work_tree) = work_tree {
        still_there(store, work_tree, &feature, &mut remains);
    }
    Some(remains)
}

/// Returns the tasks whose work the records say is gone, and some of it is in the work tree again.
pub fn brought_back(store: &Store, work_tree: Option<&WorkTree>, summary: &Summary) -> Vec<TaskName> {
    let Some(work_tree) = work_tree else { return Vec::new() };
    let is_back = |gone: &&GoneWork| is_any_there(store, work_tree, &summary.feature, gone).unwrap_or(false);
    summary.work_gone.iter().filter(is_back).map(|gone| gone.task.clone()).collect()
}

/// Returns true if one of the files is as it was with the work. `None` if that is not known.
fn is_any_there(store: &Store, work_tree: &WorkTree, feature: &str, gone: &GoneWork) -> Option<bool> {
    let log = store.session(&SessionRefs::new(feature, gone.session.clone())).ok()??;
    let record = store.readable_iteration(log.iteration(gone.iteration)?)?;
    let lost = record.gone.into_iter().find(|lost| lost.task == gone.task)?;
    let kept_in = lost.kept_in?;
    let files = work_tree.project_files().ok()?;
    let is_there = |path: &&String| {
        let now = files.read(&work_tree.top().join(path), MAX_COMPARED_BYTES).ok();
        now.is_some_and(|now| {
            let kept = work_tree.committed_file(&kept_in, path).ok().flatten();
            kept.is_some_and(|kept| kept.bytes == now)
        })
    };
    Some(lost.files.iter().take(MAX_LISTED_FILES).any(|path| is_there(&path)))
}

/// Drops from `remains` what a person or another program ended or brought back since.
pub(super) fn still_there(store: &Store, work_tree: &WorkTree, feature: &str, remains: &mut Remains) {
    if !remains.git_state.is_empty() {
        let operations = work_tree.operations();
        let locks: Vec<String> =
            git_locks(work_tree).iter().map(|lock| format!("`{}`", lock_name(work_tree, lock))).collect();
        // What cannot be read is said as it was.
        let settings = work_tree.watched_settings().ok();
        let refs = SessionRefs::new(feature, remains.session.clone());
        remains.git_state.retain(|state| match (state.kind, &settings) {
            (GitStateKind::Configuration, Some(settings)) => configuration::is_so(state, settings),
            (GitStateKind::List, _) => is_another_list(store, work_tree, &refs, state.since).unwrap_or(true),
            _ => is_so(state, &operations, &locks),
        });
    }
    remains.user_files.retain(|file| file.is_gone() && is_gone(work_tree, file));
}

/// Returns true if the list is still another one than before an attempt of a session. `None` if that is not known.
fn is_another_list(store: &Store, work_tree: &WorkTree, refs: &SessionRefs, since: u32) -> Option<bool> {
    let log = store.session(refs).ok()??;
    let attempt = log.entries.iter().position(|entry| entry.iteration() == Some(since))?;
    let before = store.file(&log.entries.get(attempt.checked_sub(1)?)?.commit(), "tasks.md").ok()??;
    let path = work_tree.top().join(store.first_readable_session(&log)?.artifact.path);
    let now = work_tree.project_files().ok()?.read(&path, MAX_TASK_LIST_BYTES).ok()?;
    let [before, now] = [before, now].map(|bytes| TaskList::parse(&bytes).ok());
    Some(RewrittenList::is_another(&before?, &now?))
}

fn is_so(state: &GitState, operations: &[Operation], locks: &[String]) -> bool {
    match state.kind {
        GitStateKind::Operation => {
            operations.iter().any(|operation| Some(operation.abort) == state.command.as_deref())
        }
        GitStateKind::Lock => locks.iter().any(|lock| state.text.contains(lock)),
        GitStateKind::Branch
        | GitStateKind::Configuration
        | GitStateKind::Elsewhere
        | GitStateKind::List
        | GitStateKind::Later(_) => true,
    }
}

/// A file that was deleted is back if it is there, and one that was reverted if it is not what the last commit has. Of
/// others only the next attempt tells.
fn is_gone(work_tree: &WorkTree, file: &UserFile) -> bool {
    match file.change {
        UserFileChange::Deleted => work_tree.top().join(&file.path).symlink_metadata().is_err(),
        UserFileChange::Reverted => work_tree.is_as_committed(&file.path),
        _ => true,
    }
}
