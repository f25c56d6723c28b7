//! Operations of git's and branches, as an attempt found them and as it left them. Pure.

use ralph_core::record::{GitState, GitStateKind};
use ralph_git::worktree::Operation;

/// Returns the operations that are in progress now and were not at the start, each with the iteration that began it.
pub(super) fn operations(
    at_start: &[Operation],
    now: &[Operation],
    known: &[GitState],
    iteration: u32,
) -> Vec<GitState> {
    let new = now.iter().filter(|operation| !at_start.contains(operation));
    new.map(|operation| {
        let text = format!("{} is in progress", operation.name);
        let since = known.iter().find(|state| state.text == text).map_or(iteration, |state| state.since);
        let finish = (operation.finish != operation.abort).then(|| operation.finish.to_owned());
        let command = Some(operation.abort.to_owned());
        GitState { kind: GitStateKind::Operation, text, finish, command, since }
    })
    .collect()
}

/// The branch on which a session works.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// `None` for a detached HEAD.
    pub expected: Option<String>,
    /// What was checked out at the last look, if it was another, and the iteration that left it so.
    other: Option<(Option<String>, u32)>,
}

impl Branch {
    pub fn expected(branch: Option<String>) -> Self {
        Self { expected: branch, other: None }
    }

    /// Notes the branch before an attempt. One that was changed since the last attempt is where the user wants to be.
    pub fn begin_attempt(&mut self, branch: Option<&str>) {
        let last = self.other.as_ref().map_or(&self.expected, |(other, _)| other);
        if last.as_deref() != branch {
            *self = Self::expected(branch.map(str::to_owned));
        }
    }

    /// Returns the state that an attempt left. `is_there` says whether the branch that is expected still exists.
    pub fn look(&mut self, now: Option<&str>, is_there: bool, iteration: u32) -> Option<GitState> {
        if now == self.expected.as_deref() {
            self.other = None;
            return None;
        }
        let known = self.other.take().filter(|(other, _)| other.as_deref() == now);
        let since = known.map_or(iteration, |(_, since)| since);
        self.other = Some((now.map(str::to_owned), since));
        let (text, command) = match (self.expected.as_deref(), now) {
            (Some(old), Some(new)) if !is_there => {
                (format!("`{old}` is called `{new}` now"), Some(format!("git branch -m {new} {old}")))
            }
            (Some(old), Some(new)) => {
                (format!("`{new}` is checked out instead of `{old}`"), Some(format!("git switch {old}")))
            }
            (Some(old), None) => {
                let command = is_there.then(|| format!("git switch {old}"));
                (format!("HEAD is detached instead of on `{old}`"), command)
            }
            (None, new) => {
                let new = new.unwrap_or_default();
                (format!("`{new}` is checked out, HEAD was detached"), None)
            }
        };
        Some(GitState { kind: GitStateKind::Branch, text, finish: None, command, since })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_git::worktree::OPERATIONS;

    fn named(names: &[&str]) -> Vec<Operation> {
        OPERATIONS.iter().filter(|operation| names.contains(&operation.name)).copied().collect()
    }

    #[test]
    fn an_operation_counts_if_it_was_not_there_at_the_start() {
        for (at_start, now, expected) in [
            (&[][..], &[][..], ""),
            (&[], &["a merge"], "a merge is in progress, #4: git merge --continue or git merge --abort"),
            (&["a merge"], &["a merge"], ""),
            (&["a merge"], &["a bisection"], "a bisection is in progress, #2: git bisect reset"),
            (&["a merge"], &[], ""),
        ] {
            let mut known = operations(&[], &named(&["a bisection"]), &[], 2);
            known.extend(operations(&[], &[], &[], 1));
            let states = operations(&named(at_start), &named(now), &known, 4);
            let lines: Vec<String> = states
                .iter()
                .map(|state| {
                    let commands: Vec<&str> =
                        state.finish.iter().chain(&state.command).map(String::as_str).collect();
                    format!("{}, #{}: {}", state.text, state.since, commands.join(" or "))
                })
                .collect();
            assert_eq!(lines.join("; "), expected, "{at_start:?} {now:?}");
        }
    }

    #[test]
    fn a_branch_that_an_attempt_left_is_said_until_it_is_back() {
        // Each look: what is checked out, and whether `main` exists.
        for (looks, expected) in [
            (&[(Some("main"), true)][..], ""),
            (&[(Some("topic"), true)], "`topic` is checked out instead of `main`, #1: git switch main"),
            (&[(Some("trunk"), false)], "`main` is called `trunk` now, #1: git branch -m trunk main"),
            (&[(None, true)], "HEAD is detached instead of on `main`, #1: git switch main"),
            (&[(None, false)], "HEAD is detached instead of on `main`, #1: "),
            (
                &[(Some("topic"), true), (Some("topic"), true)],
                "`topic` is checked out instead of `main`, #1: git switch main",
            ),
            (
                &[(Some("topic"), true), (None, true)],
                "HEAD is detached instead of on `main`, #2: git switch main",
            ),
            (&[(Some("topic"), true), (Some("main"), true)], ""),
        ] {
            let mut branch = Branch::expected(Some("main".to_owned()));
            let mut last = None;
            for ((now, is_there), iteration) in looks.iter().zip(1..) {
                last = branch.look(*now, *is_there, iteration);
                branch.begin_attempt(*now);
            }
            let line = last.map_or(String::new(), |state| {
                format!("{}, #{}: {}", state.text, state.since, state.command.unwrap_or_default())
            });
            assert_eq!(line, expected, "{looks:?}");
        }
    }

    #[test]
    fn a_branch_that_the_user_chose_between_two_attempts_is_the_one_expected() {
        let mut branch = Branch::expected(Some("main".to_owned()));
        branch.begin_attempt(Some("topic"));
        assert_eq!(branch.look(Some("topic"), true, 2), None);
        assert!(branch.look(Some("main"), true, 3).is_some());
    }
}
