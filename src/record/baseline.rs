//! How the validation went before the first iteration of a start.

use serde::{Deserialize, Serialize};

use super::{Exit, ExitReason};

/// The run of the validation before the first iteration. `baseline` in the session.json of a start or resume record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    pub exit: i32,
    /// Set if it did not end by itself.
    #[serde(default)]
    pub exit_reason: Option<ExitReason>,
    pub duration_ms: u64,
    /// Why it failed, in one line. `None` if it passed.
    pub cause: Option<String>,
}

impl Baseline {
    pub fn passed(&self) -> bool {
        Exit { code: self.exit, reason: self.exit_reason }.is_success()
    }

    /// Returns why it failed, if it did.
    pub fn failure(&self) -> Option<&str> {
        if self.passed() { None } else { Some(self.cause.as_deref().unwrap_or("it failed")) }
    }
}
