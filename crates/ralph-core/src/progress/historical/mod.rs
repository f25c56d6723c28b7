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

use crate::history::failure_key::FailureKey;
use crate::progress::learnings::proven;
use crate::progress::names::Names;
use crate::progress::tokens;
use crate::record::{Iteration, SessionId, Task};

use budget::{IMPORTANT, within};
use pieces::Writer;

pub use already_told::AlreadyTold;
pub use piece::{Piece, Section};
pub use select::LeftOut;
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
    /// Iterations of which there is no piece and why, with their names; each reason once.
    pub left_out: Vec<(LeftOut, String)>,
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
/// Iterations of `session` are called by their number alone. What the prompt has in `told` is left out before anything is
/// chosen.
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
    let is_told = |place: usize| told.has(&past[place]);
    let told_failures = (0..past.len()).rev().filter(|&place| is_told(place));
    let told_failures =
        told_failures.filter_map(|place| Some((place, FailureKey::of(&past[place])?))).collect();
    let (names, proven) = (Names::new(past, session), proven(past));
    let writer = Writer { past, task, settings, told, names, proven, told_failures };
    let is_new = |place, kind| !writer.pieces(&[(place, kind)]).is_empty();
    let selection = select::select(past, task, settings, is_told, is_new);
    let chosen = &selection.chosen;
    let mut pieces = writer.pieces(chosen);
    let all: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    let head = head(chosen.len()) + &writer.names.heading(&all, told.text());
    let text = within(&head, &mut pieces, &writer, settings.budget);
    for piece in &mut pieces {
        piece.tokens = tokens(&piece.text);
        if !piece.is_included {
            piece.why.push(NO_ROOM.to_owned());
        }
    }
    HistoricalContext { text, scanned: chosen.len(), pieces, left_out: writer.left_out(selection.left_out) }
}

/// Why a piece is not in a prompt that has others.
const NO_ROOM: &str = "no room (`history.budget`)";

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
