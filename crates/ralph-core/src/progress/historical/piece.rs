//! A part of the history in a prompt, in full and in shorter forms.

use std::fmt::Write as _;

use serde::Serialize;

use crate::progress::markdown::fenced;
use crate::progress::tokens;
use crate::record::SessionId;

/// The sections of a history, most important first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// What failed at the task itself.
    FailedApproaches,
    /// What failed at other tasks.
    SimilarFailures,
    SuccessfulPatterns,
    KeyDecisions,
}

/// A candidate for the memory in a prompt, and whether it is included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Piece {
    pub section: Section,
    pub session: SessionId,
    pub iteration: u32,
    pub task: Option<String>,
    /// The highest `history.threshold` that lets it in.
    pub score: f64,
    /// What it has in common with the task.
    pub why: Vec<String>,
    /// True if the budget had room for it.
    #[serde(rename = "is_told")]
    pub is_included: bool,
    /// Its length, estimated.
    pub tokens: usize,
    #[serde(skip)]
    pub(super) place: usize,
    /// What the prompt calls its iterations: `#1 to #3`.
    #[serde(rename = "iterations")]
    pub name: String,
    /// The iterations that it describes: their sessions and numbers.
    #[serde(skip)]
    pub iterations: Vec<(SessionId, u32)>,
    pub text: String,
    /// True if it has all that there is to say of them: nothing was shortened or turned off.
    #[serde(skip)]
    pub(super) is_whole: bool,
    #[serde(skip)]
    pub(super) shorter: Option<Shorter>,
}

/// A failure in fewer words: older tries go first, then all but one line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shorter {
    pub front: String,
    /// Newest first: in which iteration, as a label says it, and what.
    pub tries: Vec<(String, String)>,
    pub rest: String,
    pub line: String,
}

impl Piece {
    /// Shortens the text to its longest form of at most `room` tokens. Returns false if there is none.
    pub(super) fn fit(&mut self, room: usize) -> bool {
        if tokens(&self.text) <= room {
            return true;
        }
        let Some(shorter) = &self.shorter else { return false };
        let counts: Vec<usize> = (0..=shorter.tries.len()).collect();
        match counts.partition_point(|tries| tokens(&shorter.with(*tries)) <= room) {
            0 if tokens(&shorter.line) > room => return false,
            0 => self.text.clone_from(&shorter.line),
            fitting => self.text = shorter.with(fitting - 1),
        }
        self.is_whole = false;
        true
    }

    /// Returns the tokens of its shortest form.
    pub(super) fn least(&self) -> usize {
        let shorter = self.shorter.as_ref();
        shorter.map_or(tokens(&self.text), |shorter| tokens(&shorter.line).min(tokens(&shorter.with(0))))
    }
}

impl Shorter {
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
