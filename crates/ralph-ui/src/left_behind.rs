//! What an attempt left behind beside its work, in words: the same on every screen.

use ralph_core::record::{
    GoneHow, Iteration, LOST, MAX_LISTED_FILES, OwnCommand, RALPH, SessionId, UserFileChange, join_files,
    lost_files, restore_command, undone_command, work_of_command,
};

/// `! your uncommitted work is gone: a.js reverted; specify ralph restore 0 a.js brings it back`
pub fn lost(what: &str, command: Option<&str>) -> String {
    let how = command.map_or_else(
        || "; no snapshot has it".to_owned(),
        |command| format!("; {command} brings {} back", if what.contains(", ") { "them" } else { "it" }),
    );
    format!("! {LOST}: {what}{how}")
}

/// `specify ralph restore 2 src/app.py brings back what it undid`; `None` if it undid nothing, or no snapshot has it.
pub fn undone(iteration: &Iteration, session: Option<&SessionId>) -> Option<String> {
    let command = undone_command(RALPH, &iteration.undone, session)?;
    Some(format!("{command} brings back what it undid"))
}

/// Returns the commands that bring back what an iteration undid, and work of the user's that is gone with it. They name `session`, or
/// mean the latest one.
pub fn commands(program: OwnCommand, iteration: &Iteration, session: Option<&SessionId>) -> Vec<String> {
    let undone = undone_command(program, &iteration.undone, session);
    // What is gone is among what it undid, but for what went before it.
    let gone = iteration.gone.iter().filter(|gone| gone.how == GoneHow::Between);
    let feature = session.map(|_| iteration.feature.as_str());
    let gone = gone.map(|gone| work_of_command(program, feature, &gone.task));
    undone.into_iter().chain(gone).chain(restore_command(program, &iteration.user_files, session)).collect()
}

/// Returns a line for each thing that an iteration left behind, or did to files of the user's.
pub fn lines(iteration: &Iteration) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for state in &iteration.git_state {
        let hint = state.hint().map_or(String::new(), |hint| format!(": {hint}"));
        lines.push(format!("{}{}{hint}", state.text, since(iteration, state.since)));
    }
    let files = &iteration.user_files;
    if let Some(what) = lost_files(files) {
        let first = files.iter().filter(|file| file.is_gone()).map(|file| file.since).min();
        let since = first.map_or(String::new(), |first| since(iteration, first));
        let is_kept = files.iter().any(|file| file.is_gone() && file.kept_in.is_some());
        let nowhere = if is_kept { "" } else { "; no snapshot has it" };
        lines.push(format!("! {LOST}: {what}{nowhere}{since}"));
    }
    let edited = files.iter().filter(|file| file.change == UserFileChange::Edited);
    let edited: Vec<&str> = edited.map(|file| file.path.as_str()).collect();
    if !edited.is_empty() {
        lines.push(format!(
            "edited beside your uncommitted changes: {}",
            join_files(&edited, MAX_LISTED_FILES)
        ));
    }
    for file in files.iter().filter(|file| file.change == UserFileChange::Committed) {
        let commit = file.commit.as_ref().map_or(String::new(), |commit| format!("{} ", commit.short()));
        lines.push(format!("commit {commit}took in uncommitted work of yours: {}", file.path));
    }
    lines
}

/// `(since #3)`, where it is not from this iteration.
fn since(iteration: &Iteration, first: u32) -> String {
    if first == iteration.iteration { String::new() } else { format!(" (since #{first})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::samples::iteration;
    use ralph_core::record::{GitState, GitStateKind, Outcome, UndoneTask, UserFile};

    #[test]
    fn what_is_left_behind_has_a_line_each() {
        let mut record = iteration(Outcome::Success);
        assert!(lines(&record).is_empty());
        record.git_state = vec![GitState {
            kind: GitStateKind::Operation,
            text: "a merge is in progress".to_owned(),
            finish: Some("git merge --continue".to_owned()),
            command: Some("git merge --abort".to_owned()),
            since: 2,
        }];
        let file = |path: &str, change, since| UserFile {
            path: path.to_owned(),
            change,
            since,
            kept_in: Some("0".to_owned()),
            commit: (change == UserFileChange::Committed).then(|| "1".repeat(40).parse().unwrap()),
        };
        record.user_files = vec![
            file("a.js", UserFileChange::Reverted, 3),
            file("b.txt", UserFileChange::Deleted, 3),
            file("c", UserFileChange::Edited, 3),
            file("d", UserFileChange::Committed, 3),
        ];
        record.undone = vec![UndoneTask {
            task: "T001".to_owned(),
            files: vec!["e".to_owned()],
            reopened: false,
            kept_in: Some("2".to_owned()),
        }];
        let session = &record.session;
        assert_eq!(
            lines(&record),
            [
                "a merge is in progress (since #2): finish it (`git merge --continue`) or end it (`git merge --abort`)"
                    .to_owned(),
                "! your uncommitted work is gone: a.js reverted, b.txt deleted".to_owned(),
                "edited beside your uncommitted changes: c".to_owned(),
                "commit 1111111111 took in uncommitted work of yours: d".to_owned(),
            ]
        );
        assert_eq!(
            commands(RALPH, &record, Some(session)),
            ["2 e", "0 a.js b.txt"].map(|words| format!("specify ralph restore {session}:{words}"))
        );
        assert_eq!(commands(RALPH, &record, None)[0], "specify ralph restore 2 e");
        record.user_files.truncate(1);
        record.user_files[0].kept_in = None;
        assert!(lines(&record)[1].ends_with("a.js reverted; no snapshot has it"));
    }
}
