//! How past iterations become text: for the next prompt, and for progress.txt. Pure: values in, text out.

mod attempts;
pub mod capture;
pub mod cause;
mod choosing;
pub mod historical;
mod learnings;
mod markdown;
mod names;
pub mod nothing_done;
pub mod progress_txt;
#[cfg(test)]
mod samples;
mod selection;
mod strategy;
mod wording;

use failure_excerpt::{Cut, Examination, Output, blind_tail, examine, tails};

use crate::record::{Exit, Outcome, SessionId, Summarized, TaskName};

pub use attempts::last_attempt;
pub use choosing::SelectionSettings;
pub use markdown::fenced;
pub use names::Names;
pub use selection::Selection;
pub use strategy::{Progress, question};
pub use wording::{first_sentence, statements};

/// The facts of an iteration under the names of the structured log.
pub type Entry = serde_json::Map<String, serde_json::Value>;

/// Returns how many tokens a text takes in a prompt: four characters each, as no agent says how its model counts.
pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

/// Which part of an output an entry shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExcerptMode {
    /// The excerpt of both streams.
    #[default]
    Excerpt,
    /// The end of stdout, or of stderr where stdout is empty.
    BlindTail,
}

/// What a strategy learns of an iteration that is over. Many fields: strategies read nothing themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationContext {
    /// Its session, if that is not the one whose prompt this is for.
    pub session: Option<SessionId>,
    /// Numbered from 1.
    pub iteration: u32,
    pub task: Option<TaskName>,
    /// Which run at this task it was; `None` in older records.
    pub attempt: Option<u32>,
    pub outcome: Outcome,
    /// True if it did other tasks, and left its own open.
    pub is_left_open: bool,
    pub cause: Option<String>,
    /// `None` if no validation ran. Exit and duration are the agent's then, stdout is its final text, and stderr what it
    /// wrote there if it failed.
    pub validation_command: Option<String>,
    pub exit: Exit,
    /// How the agent failed and why, where its work was validated anyway, or its streams hold no words.
    pub agent_failure: Option<String>,
    /// The end of what it wrote, or all of it.
    pub stdout: String,
    pub stderr: String,
    /// Which of the two is only the end.
    pub cut: Cut,
    /// The folder it ran in; paths are shown as seen from there.
    pub directory: String,
    pub duration_ms: u64,
    pub files_changed: Vec<String>,
    /// The end of what the agent said last.
    pub final_message: String,
    /// The summary that a command of the user's made of it, if one is configured.
    pub summary: Option<Summarized>,
}

impl IterationContext {
    /// Returns the part of its output that an entry shows.
    ///
    /// Where the validation passed or none ran, the agent's words are in for it: they count from their end, with the end of its
    /// stderr if it failed.
    pub fn summarize_output(&self, choice: ExcerptMode, max_chars: usize) -> String {
        self.summarize_examined(self.examined().as_ref(), choice, max_chars)
    }

    /// Returns the examined output, or `None` if there is only an agent's final text.
    pub fn examined(&self) -> Option<Examination> {
        self.validation_command.as_ref()?;
        Some(examine(&Output {
            stdout: &self.stdout,
            stderr: &self.stderr,
            exit_code: Some(self.exit.code),
            cwd: Some(&self.directory),
            ..Output::default()
        }))
    }

    /// As [`Self::summarize_output`], of an output that was examined before.
    pub fn summarize_examined(
        &self,
        examined: Option<&Examination>,
        choice: ExcerptMode,
        max_chars: usize,
    ) -> String {
        match (examined.filter(|_| !self.passed()), choice) {
            (Some(examined), ExcerptMode::Excerpt) => examined.excerpt(max_chars),
            (Some(_), ExcerptMode::BlindTail) => blind_tail(&self.stdout, &self.stderr, self.cut, max_chars),
            (None, _) => {
                let (words, stderr) = self.words(max_chars);
                let parts: Vec<String> =
                    [words, stderr].into_iter().filter(|part| !part.is_empty()).collect();
                parts.join("\n")
            }
        }
    }

    /// Returns the fingerprint of its failure, of an output that was examined before. `None` if no validation failed.
    pub fn fingerprint(&self, examined: Option<&Examination>) -> Option<String> {
        Some(examined.filter(|_| self.exit.code != 0)?.fingerprint()?.strict)
    }

    /// Returns true if a validation ran and found nothing: its output says nothing of a failure.
    fn passed(&self) -> bool {
        self.validation_command.is_some() && self.exit.is_success()
    }

    /// Returns what an agent said last, and what a failing one wrote to stderr.
    fn words(&self, max_chars: usize) -> (String, String) {
        if self.validation_command.is_some() {
            return tails(&self.final_message, "", Cut::default(), max_chars);
        }
        tails(&self.stdout, &self.stderr, self.cut, max_chars)
    }
}
