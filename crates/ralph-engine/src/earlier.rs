//! What a prompt says of earlier iterations, and what of it goes first where the prompt is too long.

use std::collections::HashSet;

use anyhow::{Context, Result};

use ralph_core::config::Config;
use ralph_core::progress::historical::{self, Mode};
use ralph_core::progress::{Entry, Selection, tokens};
use ralph_core::record::{GitStateKind, Iteration, ObjectId, SessionId, undid_flag};
use ralph_os::if_there::IfThere;
use ralph_project::project_files::{MAX_DOCUMENT_BYTES, ProjectFiles};
use ralph_store::{RecordReader, Store};

use super::memory::{Reason, RecalledHistory, history_settings};

/// What a prompt says of earlier iterations.
pub(super) struct Earlier<'a> {
    /// Which iterations are in which part.
    pub selection: Selection<'a>,
    /// What to do about what the last attempt asked.
    pub question: String,
    /// What the last attempt of the session left behind.
    pub left_behind: Vec<String>,
    /// The last attempt at the task, without those before it.
    pub attempt: String,
    pub learnings: Vec<String>,
    pub progress: String,
    /// The iterations of `progress`.
    pub entries: Vec<Entry>,
    /// `None` if history is off.
    pub history: Option<RecalledHistory>,
}

impl Earlier<'_> {
    /// Returns the last attempt at the task, and those before it that neither progress nor history describes.
    pub fn last_attempt(&self) -> String {
        if self.attempt.is_empty() {
            return String::new();
        }
        let history = self.history.as_ref().map(|history| &history.context);
        self.attempt.clone() + &self.selection.other_attempts(history)
    }

    /// Chooses as much history as a budget in tokens has room for, from what the other parts do not have.
    pub fn recall(&mut self, config: &Config, mode: Option<(Mode, Reason)>, budget: usize) {
        self.history = mode.map(|(mode, why)| {
            let settings = history_settings(config, mode, why, budget);
            let before = format!("{}{}", self.attempt, self.progress);
            RecalledHistory { context: historical::context(&self.selection, &settings, &before), mode, why }
        });
    }

    /// Returns the tokens of all parts but the history.
    pub fn tokens(&self) -> usize {
        let texts = [&self.last_attempt(), &self.progress, &self.learnings.join("\n")];
        texts.iter().map(|text| tokens(text)).sum()
    }

    /// Leaves out the part that is needed least. Returns false if there is none.
    pub fn leave_out_least(&mut self) -> bool {
        // What a list has, the record has too: it goes before a section does.
        let without_lists = without_file_lists(&self.progress);
        if without_lists != self.progress {
            self.progress = without_lists;
        } else if !self.progress.is_empty() {
            self.progress.clear();
            self.entries.clear();
        } else if !self.learnings.is_empty() {
            self.learnings.clear();
        } else if !self.attempt.is_empty() {
            self.attempt.clear();
        } else {
            return false;
        }
        true
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
