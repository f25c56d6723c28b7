//! An iteration in a report.

use serde::Serialize;

use ralph_core::record::{Iteration, ObjectId};

use super::part::{Diff, Text};

/// An iteration.
#[derive(Debug, Clone, Serialize)]
pub struct ReportIteration {
    /// As `show` and `diff` take it.
    pub name: String,
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
