//! An iteration in a report, and its big texts, as far as a report has them.

use serde::Serialize;

use ralph_core::record::{AttemptId, Iteration, ObjectId};

/// An iteration.
#[derive(Debug, Clone, Serialize)]
pub struct ReportIteration {
    /// As `show` and `diff` take it.
    pub name: String,
    /// In its own session. Of a group, `record.iteration` is its place among those of all sessions.
    #[serde(skip)]
    pub id: AttemptId,
    /// As a person reads it: `14`, or in a group with the lane `2:14`.
    #[serde(skip)]
    pub label: String,
    pub commit: ObjectId,
    /// Which try of its task this is in the session, from 1.
    pub attempt: u32,
    /// The first iteration that failed in the same way.
    pub repeated: Option<u32>,
    /// What happened, in a few words.
    pub story: String,
    pub record: Iteration,
    pub prompt: Option<Text>,
    pub answer: Option<Text>,
    pub validation: Option<Text>,
    pub diff: Diff,
}

/// A text, or one end of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Text {
    pub text: String,
    /// Of the whole text.
    pub bytes: u64,
    /// True if the end or the begin is left out.
    pub is_cut: bool,
}

impl Text {
    /// One end of a text that has so many bytes in all.
    pub fn of(bytes: &[u8], length: u64) -> Self {
        // The cut may have gone through a character.
        let text = String::from_utf8_lossy(bytes);
        let text = if (bytes.len() as u64) < length { text.trim_matches('\u{fffd}') } else { &text };
        Self { text: text.to_owned(), bytes: length, is_cut: (bytes.len() as u64) < length }
    }

    /// Returns true if more than blanks at an end is left out.
    pub fn is_left_out(&self) -> bool {
        const BLANKS: u64 = 4;
        self.is_cut && self.bytes > self.text.len() as u64 + BLANKS
    }

    pub fn whole(text: String) -> Self {
        Self { bytes: text.len() as u64, text, is_cut: false }
    }
}

/// What an iteration changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Diff {
    /// As git prints it.
    Patch(Text),
    /// Nothing was changed.
    Nothing,
    /// It is not known, for this reason.
    Missing(&'static str),
}

impl Diff {
    /// The snapshots of a session are shared apart from its log.
    pub const NOT_HERE: &str = "The snapshot is not here";
    pub const NONE_KEPT: &str = "No snapshot was kept";
}
