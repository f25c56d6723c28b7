//! How often iterations ended in which way.

use std::fmt;

use serde::Serialize;

use crate::style::grouped;
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

impl Outcomes {
    /// What is most worth a look comes first.
    pub fn named(&self) -> [(Outcome, &'static str, usize); 4] {
        [
            (Outcome::Failure, "failed", self.failure),
            (Outcome::Success, "succeeded", self.success),
            (Outcome::Skipped, "skipped", self.skipped),
            (Outcome::Interrupted, "interrupted", self.interrupted),
        ]
    }
}

impl fmt::Display for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.named().into_iter().filter(|(_, _, count)| *count > 0);
        let words: Vec<String> =
            there.map(|(_, name, count)| format!("{} {name}", grouped(count as u64))).collect();
        f.write_str(&words.join(", "))
    }
}
