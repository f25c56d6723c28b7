//! A check in a clean checkout: `evidence.clean` of a record without an agent.

use failure_excerpt::Tally;
use serde::{Deserialize, Serialize};

use super::{CleanReason, CleanVerdict, ObjectId, TaskName};

/// A check. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CleanCheck {
    pub why: CleanReason,
    /// What was tried: a tree, or a commit of one.
    pub tree: ObjectId,
    pub verdict: CleanVerdict,
    /// Why it fails or says nothing, on one line. `None` if it holds.
    #[serde(default)]
    pub cause: Option<String>,
    /// `lanes.setup`; `None` if there is none.
    pub setup: Option<SetupRun>,
    /// Of the validation; `None` if it did not run.
    pub exit: Option<i32>,
    pub tests: Option<Tally>,
    /// How many tests ran in place, if more than there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place: Option<u64>,
    pub control: Option<Control>,
    /// How often setup and validation ran.
    pub runs: u32,
    pub first_failing: Option<FirstFailing>,
    pub duration_ms: u64,
}

/// How the setup of a checkout ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupRun {
    pub exit: i32,
    pub duration_ms: u64,
}

/// The tree that a failure was held against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    pub tree: ObjectId,
    pub verdict: CleanVerdict,
}

/// The change after which it fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstFailing {
    /// The iteration that made it, or after which people did.
    pub iteration: u32,
    /// The tasks that are opened again; none if people made it.
    pub tasks: Vec<TaskName>,
}

impl CleanCheck {
    /// Returns its verdict, with the cause of one that does not hold.
    pub fn story(&self) -> String {
        match (&self.verdict, &self.cause) {
            (CleanVerdict::Holds, _) => "holds in a clean checkout".to_owned(),
            (verdict, Some(cause)) => format!("clean checkout {verdict}: {cause}"),
            (verdict, None) => format!("clean checkout {verdict}"),
        }
    }

    /// Returns the line that screens have of it: what a headline says, or why it does not hold.
    pub fn line(&self) -> String {
        self.words().unwrap_or_else(|| self.story())
    }

    /// Returns what a headline says after how many tasks are done; `None` unless it holds.
    pub fn words(&self) -> Option<String> {
        if self.verdict != CleanVerdict::Holds {
            return None;
        }
        let tests = self.tests.as_ref().and_then(Tally::executed).filter(|count| *count > 0);
        let tests = tests.map_or(String::new(), |count| {
            let word = if count == 1 && self.in_place.is_none() { "test" } else { "tests" };
            let of = self.in_place.map_or(String::new(), |in_place| format!(" of {in_place}"));
            format!(" ({count}{of} {word})")
        });
        Some(format!("also in a clean checkout{tests}"))
    }
}
