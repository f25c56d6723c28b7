//! How often iterations ended in which way.

use serde::Serialize;

use ralph_core::record::Outcome;

/// How iterations ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    pub success: usize,
    pub failure: usize,
    pub skipped: usize,
    pub interrupted: usize,
}

impl FromIterator<Outcome> for Outcomes {
    fn from_iter<I: IntoIterator<Item = Outcome>>(outcomes: I) -> Self {
        let mut counts = Self::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Success => counts.success += 1,
                Outcome::Failure => counts.failure += 1,
                Outcome::Skipped => counts.skipped += 1,
                Outcome::Interrupted => counts.interrupted += 1,
                Outcome::Later(_) => {}
            }
        }
        counts
    }
}
