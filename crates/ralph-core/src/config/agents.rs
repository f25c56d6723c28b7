//! `[agents.<name>]`: how to run an agent of the user's, or what to change of a known one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::{Parser, PromptVia};

use super::value::{InvalidValue, Raw};

/// A command as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AgentCommand {
    /// One line, for the shell.
    Line(String),
    /// Program and arguments; at least the program.
    Words(Vec<String>),
}

impl AgentCommand {
    pub(super) fn new(raw: &Raw) -> Result<Self, InvalidValue> {
        let line = raw.line().map(|line| Self::Line(line.to_owned()));
        line.or_else(|| {
            raw.list()
                .filter(|words| {
                    words.first().is_some_and(|program| !program.is_empty())
                        && words.iter().all(|word| !word.contains('\0'))
                })
                .map(|words| Self::Words(words.to_vec()))
        })
        .ok_or_else(|| InvalidValue::expected("a command line, or a list of program and arguments"))
    }

    pub(super) fn of_value(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Line(line) => line.as_str().into(),
            Self::Words(words) => words.as_slice().into(),
        }
    }
}

/// One `[agents.<name>]`. What is absent is the agent's own, or the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSettings {
    pub command: Option<AgentCommand>,
    pub prompt: Option<PromptVia>,
    pub parser: Option<Parser>,
    /// Model that this agent is asked to use, whatever `model` says.
    pub model: Option<String>,
    /// A regular expression that its output matches if it met a limit.
    pub limit_pattern: Option<String>,
    /// Files and folders of the home folder that it gets copies of in a sandbox, and those that are written back.
    pub state: Vec<String>,
    pub credentials: Vec<String>,
    /// May hold secrets: never to be shown or recorded.
    pub env: BTreeMap<String, String>,
}

impl AgentSettings {
    pub(super) const FIELDS: &[&str] =
        &["command", "prompt", "parser", "model", "limit-pattern", "state", "credentials", "env"];
}
