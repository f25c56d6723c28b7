//! Lock files of git's that an attempt left behind: every process of it was stopped, so nobody holds them.

use std::time::Duration;

use camino::Utf8PathBuf;

use ralph_core::record::{GitState, GitStateKind, quoted_for_shell};
use ralph_os::process;
use ralph_store::{git_locks, lock_name, remove_abandoned_lock};

use super::LeftBehind;
use crate::loop_inputs::LoopInputs;
use ralph_git::worktree::WorkTree;

/// How old a lock must be before it counts as left: a program that lives holds it for milliseconds.
const ABANDONED_AFTER: Duration = Duration::from_secs(2);

/// Returns what is said of locks that lie there since before the start: they are not ours to remove.
pub(crate) fn old_locks(work_tree: &WorkTree) -> Vec<String> {
    let is_old = |lock: &Utf8PathBuf| {
        let modified = lock.metadata().and_then(|metadata| metadata.modified()).ok();
        modified.and_then(|at| at.elapsed().ok()).is_some_and(|age| age >= ABANDONED_AFTER)
    };
    let words = |lock: Utf8PathBuf| {
        let name = lock_name(work_tree, &lock);
        let lock = quoted_for_shell(&name);
        format!(
            "`{name}` was there before the start, and keeps git from writing\nhint: if no git runs there, remove it: rm {lock}"
        )
    };
    git_locks(work_tree).into_iter().filter(is_old).map(words).collect()
}

impl LeftBehind {
    /// Removes the locks that appeared during the attempt, unless a git runs here that may hold them.
    pub(super) fn remove_locks(&self, inputs: &LoopInputs<'_>, iteration: u32) -> Vec<GitState> {
        let work_tree = inputs.work_tree;
        let locks = git_locks(work_tree).into_iter().map(|lock| {
            let name = lock_name(work_tree, &lock);
            let named = format!("`{name}`");
            let mut states = self.states.iter().filter(|state| state.command.is_some());
            let since = states.find(|state| state.text.contains(&named)).map(|state| state.since);
            (lock, name, since)
        });
        // What was there before is not the attempt's, unless an earlier one left it.
        let left: Vec<_> =
            locks.filter(|(lock, _, since)| since.is_some() || !self.locks.contains(lock)).collect();
        let mut states = Vec::new();
        for (lock, name, since) in left {
            let common_dir = &work_tree.repository().common_dir;
            let shared = common_dir.parent().unwrap_or(common_dir);
            let removed = remove_abandoned_lock(&lock, ABANDONED_AFTER, &|| {
                process::is_git_running(&[work_tree.top(), shared])
            });
            let (text, command) = match removed {
                // Whoever held it is through.
                Ok(None) => continue,
                Ok(Some(true)) => (format!("`{name}` was removed: no git held it"), None),
                Ok(Some(false)) => (
                    format!("`{name}` keeps git from writing"),
                    Some(format!("rm {}", quoted_for_shell(&name))),
                ),
                Err(error) => (
                    format!("`{name}` keeps git from writing, and cannot be removed: {error}"),
                    Some(format!("rm {}", quoted_for_shell(&name))),
                ),
            };
            let since = since.filter(|_| command.is_some()).unwrap_or(iteration);
            states.push(GitState { kind: GitStateKind::Lock, text, finish: None, command, since });
        }
        states
    }
}
