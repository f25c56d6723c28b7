//! What an attempt left behind beside its work: states of git that nobody ended, and work of the user that is gone.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{
    Flag, FlagCode, GitStateKind, GoneHow, MAX_LISTED_FILES, ObjectId, OwnCommand, SessionId, TaskName,
    UserFileChange, join_files, join_truncated, quoted_for_shell,
};

/// Something of git's that an attempt left behind, as it is after an attempt. `git_state` in `iteration.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitState {
    pub kind: GitStateKind,
    /// `a merge is in progress`
    pub text: String,
    /// The command that finishes it: `git merge --continue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// The command that takes it back: `git merge --abort`. `None` if nothing is left to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The iteration that left it.
    pub since: u32,
}

impl GitState {
    /// Returns what to do about it; `None` if nothing is left to do.
    pub fn hint(&self) -> Option<String> {
        let command = self.command.as_ref()?;
        Some(match (&self.finish, self.kind) {
            (Some(apply), GitStateKind::Elsewhere) => {
                format!("to bring it here: `{command}`, or beside uncommitted changes: `{apply}`")
            }
            (Some(finish), _) => format!("finish it (`{finish}`) or end it (`{command}`)"),
            (None, GitStateKind::Operation) => format!("end it with `{command}`"),
            (None, GitStateKind::Lock) => format!("if no git runs there, remove it: {command}"),
            (None, GitStateKind::Configuration) => format!("to undo it: {command}"),
            (None, GitStateKind::Elsewhere) => format!("to bring it here: {command}"),
            (None, GitStateKind::List) => format!("`{command}` brings the list back"),
            (None, GitStateKind::Branch | GitStateKind::Later(_)) => format!("to go back: {command}"),
        })
    }

    /// Returns true if a person has to look at it: the loop does not end it.
    pub fn needs_you(&self) -> bool {
        use GitStateKind::{Configuration, List, Lock, Operation};
        self.command.is_some() && matches!(self.kind, Operation | Lock | Configuration | List)
    }
}

/// A file with work of the user that was not committed at the start. `user_files` in `iteration.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserFile {
    /// From the repository's root.
    pub path: String,
    pub change: UserFileChange,
    /// The iteration that did it.
    pub since: u32,
    /// What `restore` calls the state that has the user's work: `0`, or a snapshot. `None` if none has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
    /// The commit that took it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<ObjectId>,
}

impl UserFile {
    /// Returns true if the user's work is not in the file any more.
    pub fn is_gone(&self) -> bool {
        use UserFileChange::{Deleted, Overwritten, Reverted};
        matches!(self.change, Deleted | Reverted | Overwritten)
    }
}

/// A task that was done and of whose work an attempt took something back. `undone` in `iteration.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoneTask {
    pub task: TaskName,
    /// The files that are what they were before the task, or gone, from the repository's root; at most
    /// [`MAX_RECORDED_FILES`].
    pub files: Vec<String>,
    /// True if its box is open again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reopened: bool,
    /// What `restore` calls the state that has the work: the number of an iteration, or a snapshot. `None` if none has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
}

/// A task that is done and whose work went, as every file of it outside of tests is gone or what it was before, or came
/// back. `gone` in `iteration.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoneTask {
    pub task: TaskName,
    pub how: GoneHow,
    /// The files of its work, from the repository's root; at most [`MAX_RECORDED_FILES`]. None if it came back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The snapshot that has the work. `None` if none has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<ObjectId>,
}

/// Maximum number of files that a record names of one task.
pub const MAX_RECORDED_FILES: usize = 1000;

/// Returns the files of undone tasks, each once.
fn undone_files(undone: &[UndoneTask]) -> Vec<&str> {
    let files: BTreeSet<&str> = undone.iter().flat_map(|task| &task.files).map(String::as_str).collect();
    files.into_iter().collect()
}

/// Returns the flag of an attempt that undid tasks: `this attempt undid T001 and T002 (src/app.py): T001 open again`.
/// `who` is the attempt.
pub fn undid_flag(who: &str, undone: &[UndoneTask]) -> Flag {
    let all: Vec<&str> = undone.iter().map(|task| task.task.as_str()).collect();
    let open: Vec<&str> = undone.iter().filter(|task| task.reopened).map(|task| task.task.as_str()).collect();
    let open = match open.len() {
        0 => String::new(),
        count if count < all.len() => format!(": {} open again", enumerated(&open)),
        1 => ": open again".to_owned(),
        2 => ": both open again".to_owned(),
        _ => ": all open again".to_owned(),
    };
    let files = undone_files(undone);
    let listed = join_files(&files, MAX_LISTED_FILES);
    Flag {
        code: FlagCode::Undid,
        text: format!("{who} undid {} ({listed}){open}", enumerated(&all)),
        paths: files.into_iter().take(MAX_RECORDED_FILES).map(str::to_owned).collect(),
    }
}

fn enumerated(tasks: &[&str]) -> String {
    match tasks {
        [first @ .., last] if !first.is_empty() => {
            format!("{} and {last}", join_truncated(first, MAX_LISTED_FILES))
        }
        tasks => tasks.concat(),
    }
}

/// Returns the command that brings back what was undone; `None` if no snapshot has it. It names `session`, or means the
/// latest one.
pub fn undone_command(
    program: OwnCommand,
    undone: &[UndoneTask],
    session: Option<&SessionId>,
) -> Option<String> {
    let (state, files) = undone_state(undone, session)?;
    Some(format!("{program} restore {state} {}", paths_for_shell(&files)))
}

/// Returns the same in parts: what `restore` calls the state that has the files, and the files.
pub fn undone_state<'a>(
    undone: &'a [UndoneTask],
    session: Option<&SessionId>,
) -> Option<(String, Vec<&'a str>)> {
    let state = undone.iter().find_map(|task| task.kept_in.clone())?;
    // A snapshot has a name of its own.
    let is_number = state.len() < 7 && state.bytes().all(|byte| byte.is_ascii_digit());
    let session = session.filter(|_| is_number).map_or(String::new(), |session| format!("{session}:"));
    Some((format!("{session}{state}"), undone_files(undone)))
}

/// Returns the first of some paths as the last arguments of a command.
fn paths_for_shell(paths: &[&str]) -> String {
    let paths = &paths[..paths.len().min(MAX_LISTED_FILES)];
    // None is taken for a flag.
    let end_of_flags = paths.iter().any(|path| path.starts_with('-')).then_some("--".into());
    let quoted = paths.iter().map(|path| quoted_for_shell(path));
    end_of_flags.into_iter().chain(quoted).collect::<Vec<Cow<'_, str>>>().join(" ")
}

/// What the newest attempt of a feature left behind and nobody ended or brought back yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    pub session: SessionId,
    pub iteration: u32,
    pub git_state: Vec<GitState>,
    pub user_files: Vec<UserFile>,
}

/// What is said of work that is gone, before the files.
pub const LOST: &str = "your uncommitted work is gone";

/// Returns the files whose work is gone: `src/store.js reverted, precious.txt deleted`; `None` if none is.
pub fn lost_files<'a>(files: impl IntoIterator<Item = &'a UserFile>) -> Option<String> {
    let gone = files.into_iter().filter(|file| file.is_gone());
    let named: Vec<String> = gone.map(|file| format!("{} {}", file.path, file.change)).collect();
    (!named.is_empty()).then(|| join_files(&named, MAX_LISTED_FILES))
}

/// Returns the command that brings back what is gone; `None` if no snapshot has any of it. It names `session`, or means the
/// latest one.
pub fn restore_command<'a>(
    program: OwnCommand,
    files: impl IntoIterator<Item = &'a UserFile>,
    session: Option<&SessionId>,
) -> Option<String> {
    let mut kept = files.into_iter().filter(|file| file.is_gone() && file.kept_in.is_some()).peekable();
    let state = kept.peek()?.kept_in.clone()?;
    let session = session.filter(|_| state == "0").map_or(String::new(), |session| format!("{session}:"));
    let paths: Vec<&str> = kept.map(|file| file.path.as_str()).collect();
    Some(format!("{program} restore {session}{state} {}", paths_for_shell(&paths)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RALPH, Timestamp};

    fn file(path: &str, change: UserFileChange, kept_in: Option<&str>) -> UserFile {
        UserFile {
            path: path.to_owned(),
            change,
            since: 2,
            kept_in: kept_in.map(str::to_owned),
            commit: None,
        }
    }

    #[test]
    fn files_that_are_gone_have_a_line_and_a_command_that_brings_them_back() {
        use UserFileChange::{Committed, Deleted, Edited, Reverted};
        let files = [
            file("src/store.js", Reverted, Some("0")),
            file("kept.txt", Edited, Some("0")),
            file("my notes.txt", Deleted, Some("0")),
            file("in.txt", Committed, Some("0")),
            file(".env", Deleted, None),
        ];
        assert_eq!(
            lost_files(&files).as_deref(),
            Some("src/store.js reverted, my notes.txt deleted, .env deleted")
        );
        assert_eq!(
            restore_command(RALPH, &files, None).as_deref(),
            Some("specify ralph restore 0 src/store.js 'my notes.txt'")
        );
        let session = SessionId::new(Timestamp::from_seconds(0), 1);
        let of_session = restore_command(RALPH, &files[..1], Some(&session)).unwrap();
        assert_eq!(of_session, format!("specify ralph restore {session}:0 src/store.js"));
        let like_a_flag = [file("-n", Deleted, Some("0")), file("b", Deleted, Some("0"))];
        assert_eq!(
            restore_command(RALPH, &like_a_flag, None).as_deref(),
            Some("specify ralph restore 0 -- -n b")
        );
        let resumed = [file("a", Deleted, Some("1f2e3d4c"))];
        assert_eq!(
            restore_command(RALPH, &resumed, Some(&session)).as_deref(),
            Some("specify ralph restore 1f2e3d4c a")
        );
        assert_eq!((lost_files(&files[1..2]), restore_command(RALPH, &files[4..], None)), (None, None));
    }

    #[test]
    fn undone_tasks_have_a_flag_and_a_command_that_brings_their_work_back() {
        let task = |name: &str, files: &[&str], reopened| UndoneTask {
            task: name.to_owned(),
            files: files.iter().map(|&file| file.to_owned()).collect(),
            reopened,
            kept_in: Some("2".to_owned()),
        };
        let app = || task("T001", &["src/app.py", "tests/one.sh"], false);
        for (undone, expected) in [
            (vec![app()], "T001 (src/app.py, tests/one.sh)"),
            (vec![app(), task("T002", &["src/app.py"], false)], "T001 and T002 (src/app.py, tests/one.sh)"),
            (vec![task("T001", &["a b"], true)], "T001 (a b): open again"),
            (
                vec![app(), task("T002", &[], true)],
                "T001 and T002 (src/app.py, tests/one.sh): T002 open again",
            ),
            (vec![task("T1", &["a"], true), task("T2", &["a"], true)], "T1 and T2 (a): both open again"),
            (
                vec![task("T1", &["a"], true), task("T2", &["a"], true), task("T3", &[], true)],
                "T1, T2 and T3 (a): all open again",
            ),
        ] {
            assert_eq!(undid_flag("#3", &undone).text, format!("#3 undid {expected}"));
        }
        let session = SessionId::new(Timestamp::from_seconds(0), 1);
        let undone = [task("T1", &["b's", "a"], true), task("T2", &["a"], false)];
        let quoted = quoted_for_shell("b's");
        for (session, state, expected) in [
            (None, Some("2"), Some(format!("specify ralph restore 2 a {quoted}"))),
            (Some(&session), Some("2"), Some(format!("specify ralph restore {session}:2 a {quoted}"))),
            (Some(&session), Some("1f2e3d4c"), Some(format!("specify ralph restore 1f2e3d4c a {quoted}"))),
            (Some(&session), Some("12345678"), Some(format!("specify ralph restore 12345678 a {quoted}"))),
            (None, None, None),
        ] {
            let undone = undone.clone().map(|task| UndoneTask { kept_in: state.map(str::to_owned), ..task });
            assert_eq!(undone_command(RALPH, &undone, session), expected);
        }
    }

    #[test]
    fn a_state_says_what_ends_it() {
        let state = |kind, finish: Option<&str>, command: Option<&str>| GitState {
            kind,
            text: String::new(),
            finish: finish.map(str::to_owned),
            command: command.map(str::to_owned),
            since: 1,
        };
        for (state, hint, needs_you) in [
            (
                state(GitStateKind::Operation, Some("git merge --continue"), Some("git merge --abort")),
                Some("finish it (`git merge --continue`) or end it (`git merge --abort`)"),
                true,
            ),
            (
                state(GitStateKind::Operation, None, Some("git bisect reset")),
                Some("end it with `git bisect reset`"),
                true,
            ),
            (
                state(GitStateKind::Lock, None, Some("rm .git/HEAD.lock")),
                Some("if no git runs there, remove it: rm .git/HEAD.lock"),
                true,
            ),
            (state(GitStateKind::Lock, None, None), None, false),
            (
                state(GitStateKind::Configuration, None, Some("git config core.bare false")),
                Some("to undo it: git config core.bare false"),
                true,
            ),
            (state(GitStateKind::Configuration, None, None), None, false),
            (
                state(GitStateKind::Elsewhere, None, Some("git stash pop")),
                Some("to bring it here: git stash pop"),
                false,
            ),
            (
                state(GitStateKind::Elsewhere, Some("git diff HEAD...b | git apply"), Some("git merge b")),
                Some(
                    "to bring it here: `git merge b`, or beside uncommitted changes: `git diff HEAD...b | git apply`",
                ),
                false,
            ),
            (
                state(GitStateKind::List, None, Some("specify ralph restore 1 --tasks")),
                Some("`specify ralph restore 1 --tasks` brings the list back"),
                true,
            ),
            (
                state(GitStateKind::Branch, None, Some("git switch main")),
                Some("to go back: git switch main"),
                false,
            ),
        ] {
            assert_eq!((state.hint().as_deref(), state.needs_you()), (hint, needs_you));
        }
    }
}
