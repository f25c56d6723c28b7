//! What is recorded of files that no snapshot shows: never what they hold, nor a hash of that.

use serde::{Deserialize, Serialize};

/// Maximum number of changed paths, and of folders of dependencies, that a record names.
pub const MAX_IGNORED_NAMES: usize = 50;

/// The files that no snapshot shows, without builds, caches and logs. `ignored` in `iteration.json` and `session.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoredState {
    /// How many there are outside of folders of dependencies.
    pub count: usize,
    /// Of their paths, modes and sizes, keyed with the key of the clone.
    pub digest: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<DependencyState>,
    /// Paths that the agent changed, of at most [`MAX_IGNORED_NAMES`], those outside of dependencies first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by_agent: Vec<String>,
    /// The same of the validation after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_by_validation: Vec<String>,
}

/// A folder of dependencies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyState {
    pub path: String,
    /// How many files it has, without caches.
    pub count: usize,
    pub digest: String,
}
