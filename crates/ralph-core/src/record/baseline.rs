//! How the validation went before the first iteration of a start.

use failure_excerpt::Tally;
use serde::{Deserialize, Serialize};

use super::{Exit, ExitReason, ObjectId};

/// The run of the validation before the first iteration. `baseline` in the session.json of a start or resume record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    pub exit: i32,
    /// Set if it did not end by itself.
    #[serde(default)]
    pub exit_reason: Option<ExitReason>,
    pub duration_ms: u64,
    /// Why it failed, in one line. `None` if it passed.
    pub cause: Option<String>,
    /// True if it ended because there is nothing to run yet, which counts as passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_tests: bool,
    /// Equal for failures of the same cause. `None` if it passed, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// What it printed of its tests. `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Box<Tally>>,
}

impl Baseline {
    pub fn passed(&self) -> bool {
        self.no_tests || Exit { code: self.exit, reason: self.exit_reason }.is_success()
    }

    /// Returns true if it failed, and nothing stopped it or kept it from running.
    pub fn failed_by_itself(&self) -> bool {
        !self.passed() && Exit { code: self.exit, reason: self.exit_reason }.ended_by_itself()
    }

    /// See [`super::Event::for_each_text`].
    pub(super) fn for_each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        // The names of its tests have no secrets any more.
        let Self { exit: _, exit_reason: _, duration_ms: _, no_tests: _, fingerprint: _, cause, tests: _ } =
            self;
        cause.iter_mut().for_each(visit);
    }

    /// Returns why it failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        if self.passed() { None } else { Some(self.cause.as_deref().unwrap_or("it failed")) }
    }
}

/// A state of the work tree that attempts are held against. `trusted` in the session.json of a start or resume record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrustedState {
    /// The snapshot of a success, or of the start with its baseline.
    pub snapshot: ObjectId,
    /// What the validation printed of its tests there.
    pub tests: Option<Box<Tally>>,
    /// True if the validation passed there.
    pub passed: bool,
    /// Snapshots between which people edited since, before and after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited: Vec<[ObjectId; 2]>,
}
