//! One effective setting, and where its value came from.

use std::fmt;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The layer of a value, and the place in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    Default,
    File {
        path: Utf8PathBuf,
        line: usize,
        column: usize,
    },
    /// The scope is git's: `system`, `global`, `local`, `worktree` or `command`.
    Git {
        key: String,
        scope: Option<String>,
    },
    Environment {
        variable: String,
    },
    Flag {
        flag: String,
    },
}

impl Origin {
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    pub fn is_flag(&self) -> bool {
        matches!(self, Self::Flag { .. })
    }

    /// As [`Display`](fmt::Display), with the column for a message about a mistake.
    pub(super) fn place(&self) -> String {
        match self {
            Self::File { column, .. } => format!("{self}:{column}"),
            Self::Default | Self::Git { .. } | Self::Environment { .. } | Self::Flag { .. } => {
                self.to_string()
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, .. } => write!(f, "{path}:{line}"),
            Self::Git { key, scope: None } => write!(f, "git config {key}"),
            Self::Git { key, scope: Some(scope) } => write!(f, "git config {key} ({scope})"),
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}

/// A key with its effective value and where that came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// In the file's spelling.
    pub key: String,
    /// Null if it is absent; durations and sizes as text.
    pub value: Value,
    pub origin: Origin,
}
