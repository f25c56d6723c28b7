//! What of the things that an attempt left behind is still so.

use ralph_core::record::{GitState, GitStateKind, LogEntry, Remains, UserFile, UserFileChange};
use ralph_git::worktree::{Operation, WorkTree};
use ralph_os::process::Tool;
use ralph_store::{Store, git_locks, lock_name};

/// Returns what the newest agent run of a feature left behind, as far as it is still so.
pub fn remains(store: &Store, work_tree: Option<&WorkTree>, newest: Option<&LogEntry>) -> Option<Remains> {
    let iteration = store.readable_iteration(newest?)?;
    let mut remains = Remains {
        session: iteration.session,
        iteration: iteration.iteration,
        git_state: iteration.git_state,
        user_files: iteration.user_files,
    };
    if let Some(work_tree) = work_tree {
        still_there(work_tree, &mut remains);
    }
    Some(remains)
}

/// Drops what was ended or brought back since.
pub(super) fn still_there(work_tree: &WorkTree, remains: &mut Remains) {
    if !remains.git_state.is_empty() {
        let operations = work_tree.operations();
        let locks: Vec<String> =
            git_locks(work_tree).iter().map(|lock| format!("`{}`", lock_name(work_tree, lock))).collect();
        remains.git_state.retain(|state| is_so(state, &operations, &locks));
    }
    remains.user_files.retain(|file| file.is_gone() && is_gone(work_tree, file));
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
fn is_gone(work_tree: &WorkTree, file: &UserFile) -> bool {
    let top = work_tree.top();
    match file.change {
        UserFileChange::Deleted => top.join(&file.path).symlink_metadata().is_err(),
        UserFileChange::Reverted => {
            let compared = Tool::git(top).args(["diff", "--quiet", "HEAD", "--", file.path.as_str()]).run();
            compared.is_ok_and(|compared| compared.is_success())
        }
        _ => true,
    }
}
