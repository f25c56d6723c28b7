//! What an attempt was judged by: the tests that ran, what stands out in its changes, and the verdict on both.

use failure_excerpt::Tally;
use serde::{Deserialize, Serialize};

use super::{CleanCheck, FlagCode, Timestamp};

/// How the line of an entry in progress.txt begins that has the texts of its flags, right after that of the status.
pub const FLAGS_LINE: &str = "**Flags**: ";

/// What is between two flags in that line.
pub const FLAG_SEPARATOR: &str = "; ";

/// The evidence of an attempt. `evidence` in `iteration.json`; older records have none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// What the validation printed of its tests; `None` if none ran.
    pub tests: Option<Tally>,
    /// The tests of the trusted state that it is compared with; `None` if there is none, or its tests are not known.
    pub before: Option<Tally>,
    pub flags: Vec<Flag>,
    /// Why ticked boxes do not count although the validation passed.
    pub refused: Option<FlagCode>,
    pub second: Option<SecondRun>,
    /// True if the validation ended because there is nothing to run yet, which counts as passed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_tests: bool,
    /// Set on the record by which a person overruled a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Acceptance>,
    /// Set on the record by which a person opened a box again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reopened: Option<Acceptance>,
    /// What a check in a clean checkout came to; `None` if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clean: Option<Box<CleanCheck>>,
}

/// Something that a person should know of a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    pub code: FlagCode,
    /// One line: `2 tests removed: tests/a.test.js`.
    pub text: String,
    /// The files that it is about, from the repository's root.
    #[serde(default)]
    pub paths: Vec<String>,
}

impl Flag {
    /// Returns the flag of a validation that failed beside another, by the words for that.
    pub fn beside(words: Option<String>) -> Option<Self> {
        words.map(|text| Self { code: FlagCode::Beside, text, paths: Vec::new() })
    }
}

/// Another run of the validation in the same attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondRun {
    /// [`FlagCode::Judge`]: with its own files as they were; [`FlagCode::Flaky`]: to see which tests fail again.
    pub why: FlagCode,
    pub exit: i32,
    /// The files that were put back for it.
    pub paths: Option<Vec<String>>,
    /// The tests that failed in the first run and passed in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<String>,
}

/// Which person had the last word on a task, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    pub by: String,
    pub at: Timestamp,
    /// The number of the restoration that brought changes back, in the work tree where that was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restoration: Option<u32>,
}
