//! What of the things that an attempt left behind is still so.

use crate::process::Tool;
use crate::record::{GitState, GitStateKind, LogEntry, RecordKind, Remains, UserFile, UserFileChange};
use crate::repository::{Operation, Repository};
use crate::store::{Store, git_locks, lock_name};

/// Returns what the newest attempt among `sessions` of a feature left behind, as far as it is still so.
pub fn remains(store: &Store, sessions: &[Vec<LogEntry>]) -> Option<Remains> {
    let is_run = |entry: &&LogEntry| entry.kind == RecordKind::Iteration && entry.exit.agent.is_some();
    let entry = sessions.last()?.iter().rfind(is_run)?;
    let iteration = store.readable_iteration(entry)?;
    let mut remains = Remains {
        session: iteration.session,
        iteration: iteration.iteration,
        git_state: iteration.git_state,
        user_files: iteration.user_files,
    };
    still_there(store.repository(), &mut remains);
    Some(remains)
}

/// Drops what was ended or brought back since.
pub(super) fn still_there(repository: &Repository, remains: &mut Remains) {
    if !remains.git_state.is_empty() {
        let operations = repository.operations();
        let locks: Vec<String> =
            git_locks(repository).iter().map(|lock| format!("`{}`", lock_name(repository, lock))).collect();
        remains.git_state.retain(|state| is_so(state, &operations, &locks));
    }
    remains.user_files.retain(|file| file.is_gone() && is_gone(repository, file));
}

fn is_so(state: &GitState, operations: &[Operation], locks: &[String]) -> bool {
    match state.kind {
        GitStateKind::Operation => {
            operations.iter().any(|operation| Some(operation.abort) == state.command.as_deref())
        }
        GitStateKind::Lock => locks.iter().any(|lock| state.text.contains(lock)),
        GitStateKind::Branch | GitStateKind::Later(_) => true,
    }
}

/// A file that was deleted is back if it is there, and one that was reverted if it is not what the last commit has. Of
/// others only the next attempt tells.
fn is_gone(repository: &Repository, file: &UserFile) -> bool {
    let Some(top) = repository.top.as_deref() else { return true };
    match file.change {
        UserFileChange::Deleted => top.join(&file.path).symlink_metadata().is_err(),
        UserFileChange::Reverted => {
            let compared = Tool::git(top).args(["diff", "--quiet", "HEAD", "--", file.path.as_str()]).run();
            compared.is_ok_and(|compared| compared.is_success())
        }
        _ => true,
    }
}
