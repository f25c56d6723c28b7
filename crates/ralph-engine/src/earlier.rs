//! What a prompt says of earlier iterations, and what of it goes first where the prompt is too long.

use std::collections::HashSet;

use anyhow::{Context, Result};

use ralph_core::progress::historical::AlreadyTold;
use ralph_core::progress::{Entry, LastAttempt, tokens};
use ralph_core::record::{GitStateKind, IfThere, Iteration, ObjectId, SessionId, undid_flag};
use ralph_project::project_files::{MAX_DOCUMENT_BYTES, ProjectFiles};
use ralph_store::{RecordReader, Store};

use super::memory::RecalledHistory;

/// What a prompt says of earlier iterations, but for the history.
pub(super) struct Earlier {
    /// What to do about what the last attempt asked.
    pub question: String,
    /// What the last attempt of the session left behind.
    pub left_behind: Vec<String>,
    pub attempt: LastAttempt,
    pub learnings: Vec<String>,
    pub progress: String,
    /// The iterations of `progress`.
    pub entries: Vec<Entry>,
    /// The session that the prompt is of.
    pub session: Option<SessionId>,
}

impl Earlier {
    /// Returns the last attempts at the task, without those that progress or history tells.
    pub fn last_attempt(&self, recalled: Option<&RecalledHistory>) -> String {
        let history = recalled.map(|recalled| &recalled.context);
        let texts = [self.progress.as_str(), history.map_or("", |history| &history.text)];
        let told = AlreadyTold::new([], texts);
        let in_progress = self.in_progress();
        self.attempt.text(|iteration, approaches| {
            let is_there =
                in_progress.contains(iteration) || history.is_some_and(|history| history.tells(iteration));
            is_there && approaches.iter().all(|approach| told.says_tried(approach))
        })
    }

    /// Returns the iterations that the progress tells.
    pub fn in_progress(&self) -> Vec<(SessionId, u32)> {
        self.entries
            .iter()
            .filter(|_| !self.progress.is_empty())
            .filter_map(|entry| {
                let session = match entry.get("session").and_then(|session| session.as_str()) {
                    Some(session) => session.parse().ok()?,
                    None => self.session.clone()?,
                };
                Some((session, u32::try_from(entry.get("iteration")?.as_u64()?).ok()?))
            })
            .collect()
    }

    /// Returns what the history need not tell again.
    pub fn told(&self) -> AlreadyTold {
        let attempt = self.attempt.text(|_, _| false);
        let learnings = self.learnings.join("\n");
        let iterations = self.in_progress().into_iter().chain(self.attempt.iteration.clone());
        AlreadyTold::new(iterations, [attempt.as_str(), &learnings, &self.progress])
    }

    pub fn tokens(&self) -> usize {
        let texts = [&self.last_attempt(None), &self.progress, &self.learnings.join("\n")];
        texts.iter().map(|text| tokens(text)).sum()
    }

    /// What a list has, the record has too: it goes before a section does.
    pub fn without_file_lists(&mut self) {
        self.progress = without_file_lists(&self.progress);
    }

    pub fn without_progress(&mut self) {
        self.progress.clear();
        self.entries.clear();
    }

    pub fn without_learnings(&mut self) {
        self.learnings.clear();
    }

    pub fn without_attempt(&mut self) {
        self.attempt = LastAttempt::default();
    }
}

/// Returns the files that an iteration changed and that are not again as they were before it. What cannot be compared may
/// differ.
pub(super) fn still_changed(store: &Store, files: &ProjectFiles, iteration: &Iteration) -> HashSet<String> {
    let before = tree_before(store, iteration).ok();
    let changes = iteration.facts.changes.iter().map(|change| &change.path);
    let changed = iteration.files_changed.iter().chain(changes);
    changed
        .collect::<HashSet<_>>()
        .into_iter()
        .filter(|path| {
            let Some((reader, before)) = &before else { return true };
            // What cannot be read counts as changed.
            match files.read(&files.top().join(path), MAX_DOCUMENT_BYTES).if_there() {
                Ok(now) => !reader.file(before, path).is_ok_and(|file| file == now),
                Err(_) => true,
            }
        })
        .cloned()
        .collect()
}

/// Returns the snapshot before that of an iteration, with a reader for it.
fn tree_before<'s>(store: &'s Store, iteration: &Iteration) -> Result<(RecordReader<'s>, ObjectId)> {
    let reader = store.reader()?;
    let snapshot = iteration.snapshot.as_ref().context("no snapshot")?;
    let before = reader.snapshot_before(snapshot)?.context("it is the first")?;
    Ok((reader, before))
}

/// Returns the states of git that the last attempt of a session left, and what it undid, a line each.
pub(super) fn left_behind(past: &[Iteration], session: Option<&SessionId>) -> Vec<String> {
    let is_run =
        |iteration: &&Iteration| Some(&iteration.session) == session && iteration.exit.agent.is_some();
    let last = past.iter().rev().find(is_run);
    let states = last.into_iter().flat_map(|last| &last.git_state);
    let states = states.filter_map(|state| {
        let then = if state.kind == GitStateKind::Elsewhere {
            ". Bring it here, check it, and tick the box: do not do it again"
        } else {
            ""
        };
        Some(format!("{}: {}{then}", state.text, state.hint()?))
    });
    let undone = last.filter(|last| !last.undone.is_empty()).map(|last| {
        let undid = undid_flag("it", &last.undone).text;
        format!(
            "{undid}. Files hold the work of other tasks: never take a file or the tree back to start over"
        )
    });
    states.chain(undone).collect()
}

/// Returns the progress without the lines that list changed files.
fn without_file_lists(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("**Files changed:**")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_files_go_and_what_is_around_them_stays() {
        for (text, expected) in [
            ("**Exit code:** 1\n**Files changed:** a, b\nOutput\n", "**Exit code:** 1\nOutput\n"),
            ("- a\n", "- a\n"),
            ("", ""),
        ] {
            assert_eq!(without_file_lists(text), expected);
        }
    }
}
