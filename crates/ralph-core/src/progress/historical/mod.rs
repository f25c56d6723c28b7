//! Historical context: what older iterations teach about the task at hand, within a budget of tokens.
//!
//! Everything is computed from the records of one feature; nothing is kept beside them that could go stale.

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
use crate::progress::{Selection, tokens};
use crate::record::{Iteration, Task};

use budget::{IMPORTANT, within};
use pieces::Writer;

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

    /// Returns true if it has all that there is to say of an iteration.
    pub fn describes(&self, iteration: &Iteration) -> bool {
        let key = (iteration.session.clone(), iteration.iteration);
        let mut of_it = self.pieces.iter().filter(|piece| piece.iterations.contains(&key)).peekable();
        of_it.peek().is_some() && of_it.all(|piece| piece.is_included && piece.is_whole)
    }
}

/// Returns what the iterations of a selection have to say about its task that it has nowhere else. Sessions that the text `before`
/// names are not named again.
pub fn context(selection: &Selection<'_>, settings: &HistorySettings, before: &str) -> HistoricalContext {
    let past = selection.past;
    let Some(task) = selection.task.filter(|_| settings.mode != Mode::Off && !past.is_empty()) else {
        return HistoricalContext::default();
    };
    let described = (0..past.len()).rev().filter(|&place| selection.is_described(place));
    let described = described.filter_map(|place| Some((place, FailureKey::of(&past[place])?))).collect();
    let writer = Writer { selection, past, task, settings, proven: proven(past), described };
    let is_new = |place, kind| !writer.pieces(&[(place, kind)]).is_empty();
    let found = select::select(selection, task, settings, is_new);
    let mut pieces = writer.pieces(&found.chosen);
    let all: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
    let head = head(found.chosen.len()) + &selection.names.heading(&all, before);
    let text = within(&head, &mut pieces, &writer, settings.budget);
    for piece in &mut pieces {
        piece.tokens = tokens(&piece.text);
        if !piece.is_included {
            piece.why.push(NO_ROOM.to_owned());
        }
    }
    HistoricalContext { text, scanned: found.chosen.len(), pieces, left_out: writer.left_out(found.left_out) }
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
pub fn summarized(mut context: HistoricalContext, answer: &str, budget: usize) -> HistoricalContext {
    // How much of the pieces is in the words of another is not known.
    context.pieces.iter_mut().for_each(|piece| piece.is_whole = false);
    let head = head(context.scanned);
    let answer = clean(answer);
    // As a quotation, so that no heading and no fence of it reaches beyond it.
    let lines: Vec<String> = answer.trim().lines().map(|line| format!("> {line}\n")).collect();
    let mut texts =
        (1..=lines.len()).rev().map(|count| format!("{head}{}\n{IMPORTANT}", lines[..count].concat()));
    let text = texts.find(|text| tokens(text) <= budget).unwrap_or_default();
    HistoricalContext { text, ..context }
}
