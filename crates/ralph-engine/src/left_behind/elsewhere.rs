//! Work of an attempt that is in the repository, but not in what is checked out. Pure.

use ralph_core::record::{GitState, GitStateKind, ObjectId, join_truncated, quoted_for_shell};
use ralph_git::worktree::{CommitPlace, CommitsElsewhere};

/// Maximum number of commits that a text names.
const MAX_NAMED_COMMITS: usize = 3;

/// Returns where work is, and the commands that bring it.
pub(super) fn state(found: &CommitsElsewhere, iteration: u32) -> GitState {
    let CommitsElsewhere { place, work_tree, commits } = found;
    let names: Vec<&str> = commits.iter().map(ObjectId::short).collect();
    let tip = names.last().copied().unwrap_or_default();
    let are = if names.len() == 1 { "1 commit".to_owned() } else { format!("{} commits", names.len()) };
    let listed = format!("({are}: {})", join_truncated(&names, MAX_NAMED_COMMITS));
    let at = work_tree.as_ref().map_or(String::new(), |path| format!(", in the work tree {path}"));
    let (place, from) = match place {
        CommitPlace::Branch(branch) => {
            (format!("on the branch `{branch}` {listed}{at}"), Some(branch.as_str()))
        }
        CommitPlace::Detached => (format!("on no branch {listed}{at}"), Some(tip)),
        CommitPlace::Stash => (format!("in the stash ({tip})"), None),
    };
    let from = from.map(quoted_for_shell);
    let apply = from.as_ref().map(|from| format!("git diff HEAD...{from} | git apply"));
    let command = from.map_or_else(|| "git stash pop".to_owned(), |from| format!("git merge {from}"));
    GitState {
        kind: GitStateKind::Elsewhere,
        text: format!("the work is {place}, not here"),
        finish: apply,
        command: Some(command),
        since: iteration,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_elsewhere_is_named_with_its_commits_and_the_command_that_brings_it() {
        let commit = |digit: &str| digit.repeat(40).parse::<ObjectId>().unwrap();
        let branch = |name: &str| CommitPlace::Branch(name.to_owned());
        let short = |digit: &str| commit(digit).short().to_owned();
        let (one, two) = (short("1"), short("2"));
        for (place, work_tree, commits, text, command) in [
            (
                branch("agent-1"),
                Some(".claude/worktrees/a"),
                vec![commit("1")],
                format!(
                    "the work is on the branch `agent-1` (1 commit: {one}), in the work tree .claude/worktrees/a, not here"
                ),
                "git merge agent-1".to_owned(),
            ),
            (
                branch("a b"),
                None,
                vec![commit("1"), commit("2")],
                format!("the work is on the branch `a b` (2 commits: {one}, {two}), not here"),
                "git merge 'a b'".to_owned(),
            ),
            (
                CommitPlace::Detached,
                Some("/x"),
                vec![commit("2")],
                format!("the work is on no branch (1 commit: {two}), in the work tree /x, not here"),
                format!("git merge {two}"),
            ),
            (
                CommitPlace::Stash,
                None,
                vec![commit("1")],
                format!("the work is in the stash ({one}), not here"),
                "git stash pop".to_owned(),
            ),
        ] {
            let work_tree = work_tree.map(str::to_owned);
            let state = state(&CommitsElsewhere { place, work_tree, commits }, 2);
            assert_eq!((state.text, state.command), (text, Some(command)));
        }
    }
}
