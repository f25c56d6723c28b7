//! Historical context: what older iterations teach about the task at hand, within a budget of tokens.
//!
//! Everything is computed from the records of one feature; nothing is kept beside them that could go stale.

mod likeness;
mod pieces;
#[cfg(test)]
mod tests;
pub mod tokens;

use std::collections::BTreeSet;

use serde::Serialize;

use crate::progress::clean;
use crate::record::{Iteration, Outcome, SessionId, Task};

use likeness::{Likeness, Problem};
use pieces::{Headings, Shorter, Writer};

pub use likeness::Likeness as Relevance;

/// How much of older iterations is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    #[default]
    Off,
    /// What has to do with the task.
    Smart,
    /// Everything, as far as the budget allows.
    Full,
}

impl Mode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Smart => "smart",
            Self::Full => "full",
        }
    }
}

/// What becomes of failures that came more than once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Repeats {
    /// The newest is told in full, of the others what was tried.
    #[default]
    Merged,
    /// Each is told in full.
    Kept,
}

/// What the user wants told.
#[derive(Debug, Clone, PartialEq)]
pub struct HistorySettings {
    pub mode: Mode,
    /// In tokens.
    pub budget: usize,
    /// So many of the newest iterations, of the failures of the task, and of those like them; none for all.
    pub lookback: Option<usize>,
    /// Least relevance, from 0 to 1.
    pub threshold: f64,
    pub failures: bool,
    pub decisions: bool,
    pub approaches: bool,
    pub repeats: Repeats,
}

impl Default for HistorySettings {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            budget: 10_000,
            lookback: Some(5),
            threshold: 0.7,
            failures: true,
            decisions: true,
            approaches: true,
            repeats: Repeats::Merged,
        }
    }
}

/// The parts of a context, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What failed at the task itself.
    FailedApproaches,
    /// Failures of other tasks.
    SimilarFailures,
    /// Failures that came again and again.
    Clusters,
    SuccessfulPatterns,
    KeyDecisions,
    Warnings,
}

/// One thing that could be told, and whether it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Piece {
    pub section: Section,
    pub session: SessionId,
    pub iteration: u32,
    pub task: Option<String>,
    pub score: f64,
    /// Why it has that score.
    pub why: Vec<String>,
    /// Whether the budget had room for it.
    pub is_told: bool,
    #[serde(skip)]
    place: usize,
    pub text: String,
    /// How it can be told in little room.
    #[serde(skip)]
    shorter: Option<Shorter>,
}

impl Piece {
    /// Takes on the longest form that has so many tokens at most; false where none has.
    fn fit(&mut self, room: usize) -> bool {
        if tokens::fits(&self.text, room) {
            return true;
        }
        let Some(text) = self.shorter.as_ref().and_then(|shorter| shorter.within(room)) else { return false };
        self.text = text;
        true
    }

    /// What its shortest form takes.
    fn least(&self) -> usize {
        self.shorter.as_ref().map_or_else(|| tokens::count(&self.text), Shorter::least)
    }
}

/// What a prompt is told of older iterations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoricalContext {
    /// Empty where there is nothing to tell.
    pub text: String,
    /// Iterations that it was taken from.
    pub scanned: usize,
    /// Everything that was considered, told or not, most important first.
    pub pieces: Vec<Piece>,
}

impl HistoricalContext {
    pub fn tokens(&self) -> usize {
        tokens::count(&self.text)
    }
}

const IMPORTANT: &str = "**Important**: Use this context to avoid repeating failed approaches, but don't let it constrain \
    creative solutions. If all previous approaches failed, try something fundamentally different.\n";

/// What `past`, the iterations of a feature from the oldest to the newest, has to say about `task`.
///
/// Iterations of `session` are called by their number alone.
pub fn context(
    past: &[Iteration],
    task: &Task,
    session: Option<&SessionId>,
    settings: &HistorySettings,
) -> HistoricalContext {
    if settings.mode == Mode::Off || past.is_empty() {
        return HistoricalContext::default();
    }
    let chosen = Chosen::of(past, task, settings);
    let writer = Writer { past, task, session, settings };
    let mut pieces = writer.pieces(&chosen);
    if settings.mode == Mode::Full {
        for piece in &mut pieces {
            piece.score = piece.score.max(settings.threshold);
        }
    }
    let head = pieces::head(chosen.all().len());
    let text = within(&head, &mut pieces, &writer, settings.budget);
    HistoricalContext { text, scanned: chosen.all().len(), pieces }
}

/// What a command of the user's is asked that shall sum a context up.
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

/// The context with the words of the user's command in place of ours; as much of them as the budget has room for.
pub fn summed_up(context: HistoricalContext, answer: &str, budget: usize) -> HistoricalContext {
    let head = pieces::head(context.scanned);
    let answer = clean(answer);
    let mut lines: Vec<&str> = answer.trim().lines().collect();
    // As a quotation, so that no heading and no fence of it reaches beyond it.
    let whole = |lines: &[&str]| {
        let quoted: String = lines.iter().map(|line| format!("> {line}\n")).collect();
        format!("{head}{quoted}\n{IMPORTANT}")
    };
    while !lines.is_empty() && !tokens::fits(&whole(&lines), budget) {
        lines.pop();
    }
    let text = if lines.is_empty() { String::new() } else { whole(&lines) };
    HistoricalContext { text, ..context }
}

/// Places in the list of iterations, each with its likeness.
type Places = Vec<(usize, Likeness)>;

/// The iterations that have something to say, newest first or most relevant first.
struct Chosen {
    recent: Vec<usize>,
    own: Vec<usize>,
    similar: Places,
    successes: Places,
}

impl Chosen {
    fn of(past: &[Iteration], task: &Task, settings: &HistorySettings) -> Self {
        let most = settings.lookback.unwrap_or(usize::MAX);
        let is_full = settings.mode == Mode::Full;
        let problem = Problem::new(task, past);
        let newest = || (0..past.len()).rev();
        let recent: Vec<usize> =
            newest().filter(|&place| past[place].outcome != Outcome::Skipped).take(most).collect();
        let oldest_recent = recent.last().copied().unwrap_or_default();
        let own = newest().filter(|&place| likeness::is_failure_of(&past[place], &task.name));
        let is_relevant = |place: &usize, likeness: &Likeness| {
            if is_full { *place >= oldest_recent } else { likeness.score >= settings.threshold }
        };
        let best = |mut places: Places| {
            // Sorting keeps the newer before the older where they are as relevant.
            places.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
            places.truncate(most);
            places
        };
        let similar = newest()
            .filter(|&place| past[place].outcome == Outcome::Failure)
            .filter(|&place| past[place].task.as_ref() != Some(&task.name))
            .map(|place| (place, problem.failure(&past[place])))
            .filter(|(place, likeness)| is_relevant(place, likeness));
        let successes = newest()
            .filter(|&place| past[place].outcome == Outcome::Success)
            .map(|place| (place, problem.success(&past[place], place >= oldest_recent)))
            .filter(|(place, likeness)| is_relevant(place, likeness));
        Self {
            own: own.take(most).collect(),
            similar: best(similar.collect()),
            successes: best(successes.collect()),
            recent,
        }
    }

    /// All of them, oldest first.
    fn all(&self) -> BTreeSet<usize> {
        let scored = self.similar.iter().chain(&self.successes).map(|(place, _)| *place);
        self.recent.iter().chain(&self.own).copied().chain(scored).collect()
    }
}

/// Texts that are put together may come to a few tokens more than their parts.
const SEAMS: usize = 4;

/// The pieces that the budget has room for, between head and warning; nothing where there is room for none.
///
/// The failures of the task come first, in as few words as it takes; nothing else is told before all of them are.
fn within(head: &str, pieces: &mut [Piece], writer: &Writer<'_>, budget: usize) -> String {
    let whole = |pieces: &[Piece], headings| assembled(head, pieces, (writer, headings));
    for piece in &mut *pieces {
        piece.is_told = true;
    }
    let text = whole(pieces, Headings::Full);
    if tokens::fits(&text, budget) {
        return text;
    }
    let mut room = budget.saturating_sub(tokens::count(head) + tokens::count(IMPORTANT) + SEAMS);
    let is_own = |piece: &Piece| piece.section == Section::FailedApproaches;
    let mut reserved: usize = pieces.iter().filter(|piece| is_own(piece)).map(Piece::least).sum();
    let full = tokens::count(&writer.heading(Section::FailedApproaches, Headings::Full));
    let headings = if full + reserved <= room { Headings::Full } else { Headings::Bare };
    let mut open: BTreeSet<Section> = BTreeSet::new();
    let mut is_own_missing = false;
    for piece in pieces.iter_mut() {
        let is_new = !open.contains(&piece.section);
        let heading = if is_new { tokens::count(&writer.heading(piece.section, headings)) } else { 0 };
        let most = room.saturating_sub(heading);
        if is_own(piece) {
            reserved -= piece.least();
            // One of them in full is worth less than all of them in short.
            piece.is_told = piece.fit(most.saturating_sub(reserved)) || piece.fit(most);
            is_own_missing |= !piece.is_told;
        } else {
            piece.is_told = !is_own_missing && piece.fit(most);
        }
        if piece.is_told {
            room = most.saturating_sub(tokens::count(&piece.text));
            open.insert(piece.section);
        }
    }
    let mut text = whole(pieces, headings);
    while !tokens::fits(&text, budget) {
        let Some(last) = pieces.iter_mut().rev().find(|piece| piece.is_told) else { return String::new() };
        last.is_told = false;
        text = whole(pieces, headings);
    }
    text
}

fn assembled(head: &str, pieces: &[Piece], (writer, headings): (&Writer<'_>, Headings)) -> String {
    let mut told: Vec<&Piece> = pieces.iter().filter(|piece| piece.is_told).collect();
    if told.is_empty() {
        return String::new();
    }
    told.sort_by_key(|piece| (piece.section, piece.place));
    let mut text = head.to_owned();
    let mut section = None;
    for piece in told {
        if section != Some(piece.section) {
            if section.is_some_and(is_list) {
                text.push('\n');
            }
            text.push_str(&writer.heading(piece.section, headings));
            section = Some(piece.section);
        }
        text.push_str(&piece.text);
    }
    if section.is_some_and(is_list) {
        text.push('\n');
    }
    text.push_str(IMPORTANT);
    text
}

/// Whether the pieces of a section are lines of one list.
fn is_list(section: Section) -> bool {
    matches!(section, Section::Clusters | Section::KeyDecisions | Section::Warnings)
}
