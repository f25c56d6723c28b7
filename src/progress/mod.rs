//! How past iterations become text: for the next prompt, and for progress.txt. Pure: values in, text out.

mod excerpt;
pub mod journal;
mod markdown;
mod system_captured;

use crate::record::ExitReason;

pub use excerpt::{Cut, TRUNCATED, blind_tail, clean, excerpt, excerpt_of};
pub use markdown::fenced;
pub use system_captured::{Choice, SystemCapturedProgress};

/// What a strategy learns of an iteration that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationContext {
    /// Numbered from 1.
    pub iteration: u32,
    /// None where no validation ran. Exit and duration are the agent's then, and stdout is its final text.
    pub validation_command: Option<String>,
    pub exit_code: i32,
    /// Why it did not end by itself.
    pub exit_reason: Option<ExitReason>,
    /// The end of what it wrote, or all of it.
    pub stdout: String,
    pub stderr: String,
    /// Which of the two is only the end.
    pub cut: Cut,
    pub duration_ms: u64,
    pub files_changed: Vec<String>,
}

/// A way to carry what happened from iteration to iteration, for the `progress` of a prompt.
pub trait ProgressStrategy: Send + Sync {
    /// Takes an iteration in, whether it passed or failed, and returns its entry.
    fn record(&mut self, context: &IterationContext) -> String;

    /// The text for the prompt. Empty where nothing was recorded.
    fn progress(&self) -> String;

    /// Forgets everything.
    fn clear(&mut self);

    /// Number of iterations that it remembers.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How a child ended that did not end by itself.
fn in_words(reason: ExitReason) -> &'static str {
    match reason {
        ExitReason::Timeout => "timed out",
        ExitReason::IdleTimeout => "wrote nothing for too long",
        ExitReason::OutputLimit => "wrote too much",
        ExitReason::ErrorLoop => "met one error after the other",
        ExitReason::StartFailed => "could not start",
        ExitReason::Interrupted => "was interrupted",
    }
}
