//! What was captured of an iteration for those that come after it: bounded, versioned, and readable by later versions.

use std::collections::BTreeMap;

use failure_excerpt::Fingerprint;
use serde::{Deserialize, Serialize};

/// The shape that this version writes. A reader takes what it knows of any shape and passes over the rest.
pub const FACTS_VERSION: u32 = 1;

/// What went on in an iteration, in short. What is missing in an older record is empty here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    pub version: u32,
    /// The decisive part of the output that failed, or of the agent's last words if no validation ran.
    pub excerpt: String,
    /// The causes of the failure one by one, worth most first.
    pub errors: Vec<Failing>,
    pub warnings: Vec<String>,
    /// The failure at three distances; the closest is the fingerprint of the iteration.
    pub levels: Option<Fingerprint>,
    pub tools: Vec<ToolUse>,
    pub files_read: Vec<String>,
    pub commands: Vec<CommandRun>,
    /// The end of what the agent said last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub final_message: String,
    /// What it says that it tried and decided, as far as its words have a result or a reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
    /// The files that changed most, with how much of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// What the user's own rules found, by the names of the rules.
    pub captured: BTreeMap<String, Vec<String>>,
    /// What a command of the user's made of the iteration; `None` also if a later version has another form for it.
    #[serde(deserialize_with = "known")]
    pub summarized: Option<Summarized>,
    /// How many things were left out to stay within the limit.
    pub left_out: usize,
}

fn known<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Summarized>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

/// One cause of a failure, as its tool reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failing {
    /// The tool that speaks, as far as it is known.
    pub tool: String,
    /// The name of the test; empty if it is none.
    pub id: String,
    pub code: String,
    pub message: String,
    /// What was expected and what came.
    pub values: Vec<String>,
    pub file: String,
}

/// Something that an agent tried or decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Statement {
    /// Without result and reason.
    pub what: String,
    /// `worked` or `failed`; `None` for a decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How often a tool of the agent was used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolUse {
    pub tool_name: String,
    pub calls: usize,
    pub errors: usize,
}

/// A command that the agent ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandRun {
    pub command: String,
    pub is_error: bool,
    /// Of a command that failed, if the agent reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The last line of a command that failed, as in a tool call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_line: String,
}

/// A file that changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileChange {
    /// From the repository's root.
    pub path: String,
    /// Lines; `None` for a binary file.
    pub added: Option<u64>,
    pub removed: Option<u64>,
    #[serde(skip_serializing_if = "FileStatus::is_modified")]
    pub status: FileStatus,
    /// The lines of a short change, with the signs of a diff; empty if the task was done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub diff: String,
}

/// What became of a file that changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileStatus {
    Added,
    Deleted,
    /// Also for what a later version calls by another name.
    #[default]
    #[serde(other)]
    Modified,
}

impl FileStatus {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
    fn is_modified(&self) -> bool {
        *self == Self::Modified
    }
}

/// What came of asking the user's command for a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summarized {
    Text(String),
    /// There is none, for this reason; the excerpt is in for it.
    Failed(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_older_and_newer_versions_are_read_as_far_as_they_are_known() {
        for (json, version, excerpt) in [
            ("{}", 0, ""),
            (r#"{"version": 1, "excerpt": "x"}"#, 1, "x"),
            (
                r#"{"version": 9, "excerpt": "y", "moods": ["fine"], "commands": [{"command": "ls", "pid": 3}]}"#,
                9,
                "y",
            ),
        ] {
            let facts: Facts = serde_json::from_str(json).unwrap();
            assert_eq!((facts.version, facts.excerpt.as_str()), (version, excerpt));
        }
    }

    #[test]
    fn facts_are_read_as_they_were_written() {
        let facts = Facts {
            version: FACTS_VERSION,
            excerpt: "FAILED".into(),
            errors: vec![Failing { id: "t1".into(), values: vec!["left: 1".into()], ..Failing::default() }],
            commands: vec![CommandRun {
                command: "cargo test".into(),
                is_error: true,
                exit_code: Some(101),
                last_line: "2 failed".into(),
            }],
            captured: [("port".to_owned(), vec!["8080".to_owned()])].into(),
            summarized: Some(Summarized::Failed("timed out".into())),
            ..Facts::default()
        };
        let json = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&json).unwrap(), facts);
    }
}
