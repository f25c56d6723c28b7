//! A candidate for the memory in a prompt, in full and in shorter forms.

use std::fmt::Write as _;

use serde::Serialize;

use crate::progress::markdown::fenced;
use crate::progress::tokens;
use crate::record::SessionId;

/// The parts of a context, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What failed at the task itself.
    FailedApproaches,
    /// Failures of other tasks.
    SimilarFailures,
    /// Failures that came repeatedly.
    Clusters,
    SuccessfulPatterns,
    KeyDecisions,
    Warnings,
}

/// A candidate for the memory in a prompt, and whether it is included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Piece {
    pub section: Section,
    pub session: SessionId,
    pub iteration: u32,
    pub task: Option<String>,
    pub score: f64,
    /// Why it has that score.
    pub why: Vec<String>,
    /// True if the budget had room for it.
    #[serde(rename = "is_told")]
    pub is_included: bool,
    #[serde(skip)]
    pub(super) place: usize,
    /// The iterations that it tells: their sessions and numbers.
    #[serde(skip)]
    pub iterations: Vec<(SessionId, u32)>,
    pub text: String,
    /// Its shorter forms.
    #[serde(skip)]
    pub(super) shorter: Option<Shorter>,
}

impl Piece {
    /// Shortens the text to its longest form of at most `room` tokens. Returns false if there is none.
    pub(super) fn fit(&mut self, room: usize) -> bool {
        if tokens(&self.text) <= room {
            return true;
        }
        let Some(text) = self.shorter.as_ref().and_then(|shorter| shorter.within(room)) else { return false };
        self.text = text;
        true
    }

    /// What its shortest form takes.
    pub(super) fn least(&self) -> usize {
        self.shorter.as_ref().map_or_else(|| tokens(&self.text), Shorter::least)
    }
}

/// A failure in less words: older tries go first, then all but one line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shorter {
    pub front: String,
    /// Newest first: in which iteration, as a label says it, and what.
    pub tries: Vec<(String, String)>,
    pub rest: String,
    pub line: String,
}

impl Shorter {
    /// Returns the longest form of at most a number of tokens, if there is one.
    pub(super) fn within(&self, room: usize) -> Option<String> {
        let bare = tokens(&self.with(0));
        if bare > room {
            return (tokens(&self.line) <= room).then(|| self.line.clone());
        }
        let mut left = room - bare;
        let fitting = self.tries.iter().take_while(|(_, what)| {
            let cost = tokens(what);
            let fits = cost <= left;
            left = left.saturating_sub(cost);
            fits
        });
        // Labels take room too.
        let most = fitting.count();
        (0..=most).rev().map(|tries| self.with(tries)).find(|text| tokens(text) <= room)
    }

    /// What the shortest form takes.
    pub(super) fn least(&self) -> usize {
        tokens(&self.line).min(tokens(&self.with(0)))
    }

    fn with(&self, tries: usize) -> String {
        format!("{}{}{}", self.front, tried(&self.tries[..tries]), self.rest)
    }
}

/// Returns a line for each iteration in which something was tried.
pub(super) fn tried(tries: &[(String, String)]) -> String {
    let mut lines = String::new();
    for of_one in tries.chunk_by(|(one, _), (other, _)| one == other) {
        let what: Vec<&str> = of_one.iter().map(|(_, what)| what.as_str()).collect();
        push(&mut lines, &format!("Tried{}: {}", of_one[0].0, what.join("; ")));
    }
    lines
}

pub(super) fn push(lines: &mut String, text: &str) {
    writeln!(lines, "- {text}").expect("writing to a String cannot fail");
}

/// Appends `text` between fences below a list item.
pub(super) fn push_indented(lines: &mut String, text: &str) {
    if !text.is_empty() {
        let fenced = fenced(text);
        fenced.lines().for_each(|line| writeln!(lines, "  {line}").expect("writing to a String cannot fail"));
    }
}
