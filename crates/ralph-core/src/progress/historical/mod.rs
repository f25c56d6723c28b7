//! Historical context: what older iterations teach about the task at hand, within a budget of tokens.
//!
//! Everything is computed from the records of one feature; nothing is kept beside them that could go stale.

mod already_told;
mod budget;
mod piece;
mod pieces;
mod select;
mod settings;
#[cfg(test)]
mod tests;

use failure_excerpt::clean;

use crate::progress::tokens;
use crate::record::{Iteration, SessionId, Task};

use budget::{IMPORTANT, within};
use pieces::Writer;

pub use already_told::AlreadyTold;
pub use piece::{Piece, Section};
pub use settings::{HistorySettings, Mode};

/// What a prompt contains about older iterations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoricalContext {
    /// Empty if no iteration is relevant.
    pub text: String,
    /// Iterations that it was taken from.
    pub scanned: usize,
    /// Everything that was considered, included or not, most important first.
    pub pieces: Vec<Piece>,
}

impl HistoricalContext {
    pub fn tokens(&self) -> usize {
        tokens(&self.text)
    }

    /// Returns true if it tells what happened in an iteration.
    pub fn tells(&self, iteration: &(SessionId, u32)) -> bool {
        self.pieces.iter().any(|piece| piece.is_included && piece.iterations.contains(iteration))
    }
}

/// Returns what `past`, the iterations of a feature from the oldest to the newest, has to say about `task`.
///
/// Iterations of `session` are called by their number alone. What the prompt has in `told` is left out.
pub fn context(
    past: &[Iteration],
    task: &Task,
    session: Option<&SessionId>,
    settings: &HistorySettings,
    told: &AlreadyTold,
) -> HistoricalContext {
    if settings.mode == Mode::Off || past.is_empty() {
        return HistoricalContext::default();
    }
    let chosen = select::select(past, task, settings);
    let writer = Writer { past, task, session, settings, told };
    let mut pieces = writer.pieces(&chosen);
    let text = within(&head(chosen.len()), &mut pieces, &writer, settings.budget);
    HistoricalContext { text, scanned: chosen.len(), pieces }
}

/// Returns what a context begins with.
fn head(scanned: usize) -> String {
    let plural = if scanned == 1 { "" } else { "s" };
    format!("### Previous Iteration Insights ({scanned} iteration{plural} scanned)\n\n")
}

/// Returns the input of the user's command that summarizes a context.
pub fn question(context: &HistoricalContext, task: &Task, budget: usize) -> String {
    format!(
        "Analyze these iteration logs and extract actionable insights for a new iteration.\n\n\
         Current task: {} - {}\n\nFocus on:\n\
         1. Failed approaches for this or similar tasks (what NOT to do)\n\
         2. Successful patterns that could apply\n3. Key decisions with reasoning\n\
         4. Warnings and gotchas discovered\n\nKeep total output under {budget} tokens.\n\nLogs:\n{}",
        task.name, task.text, context.text
    )
}

/// Returns the context with the words of the user's command in place of ours; as much of them as the budget has room
/// for.
pub fn summarized(context: HistoricalContext, answer: &str, budget: usize) -> HistoricalContext {
    let head = head(context.scanned);
    let answer = clean(answer);
    // As a quotation, so that no heading and no fence of it reaches beyond it.
    let lines: Vec<String> = answer.trim().lines().map(|line| format!("> {line}\n")).collect();
    let mut texts =
        (1..=lines.len()).rev().map(|count| format!("{head}{}\n{IMPORTANT}", lines[..count].concat()));
    let text = texts.find(|text| tokens(text) <= budget).unwrap_or_default();
    HistoricalContext { text, ..context }
}
