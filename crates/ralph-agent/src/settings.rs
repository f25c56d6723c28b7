//! How an agent is set up.

use std::time::Duration;

use regex::Regex;

use super::known::{self, SCRIPTED};
use ralph_core::record::{Parser, Permissions, PromptVia};
use ralph_os::sandbox::AgentState;

/// How an agent is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    pub name: String,
    /// The command to run instead of the known one. For `scripted`, the script file.
    pub command: Option<Vec<String>>,
    pub prompt: PromptVia,
    pub parser: Parser,
    /// Variables that are added to the inherited environment.
    pub env: Vec<(String, String)>,
    pub model: Option<String>,
    pub permissions: Permissions,
    /// A regular expression that its output matches if it met a limit. One that is valid: who sets it checks that.
    pub limit_pattern: Option<String>,
    /// What else it gets copies of in a sandbox, from the home folder.
    pub state: Vec<String>,
    pub credentials: Vec<String>,
}

/// How long an agent may be silent if its stream shows when it waits for a tool.
const IDLE_TIMEOUT: Duration = Duration::from_mins(15);

/// How long an agent may be silent if its stream does not show that.
const IDLE_TIMEOUT_OPAQUE: Duration = Duration::from_mins(30);

impl AgentSettings {
    /// Returns the agent of that name with default settings.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            command: None,
            prompt: PromptVia::default(),
            parser: Parser::default(),
            env: Vec::new(),
            model: None,
            permissions: Permissions::default(),
            limit_pattern: None,
            state: Vec::new(),
            credentials: Vec::new(),
        }
    }

    pub(super) fn limit_pattern(&self) -> Option<Regex> {
        self.limit_pattern.as_deref().and_then(|pattern| Regex::new(pattern).ok())
    }

    /// Returns what a program of the user's has of the home folder.
    pub(super) fn agent_state(&self) -> AgentState {
        AgentState {
            copies: self.state.iter().map(Into::into).collect(),
            credentials: self.credentials.iter().map(Into::into).collect(),
            ..AgentState::default()
        }
    }

    /// Returns an agent that is a shell command, as given by `--agent-command`.
    pub fn shell(command: &str) -> Self {
        let words = ["sh", "-c", command].map(str::to_owned);
        Self { command: Some(words.into()), ..Self::named("command") }
    }

    /// Returns true if its stream has a line before the model answers.
    pub fn begins_at_once(&self) -> bool {
        let parser = known::find(&self.name).filter(|_| self.command.is_none()).map(|known| known.parser);
        parser.unwrap_or(self.parser).begins_at_once()
    }

    /// Returns the default idle timeout: none for a user's own command, which may well be silent.
    pub fn idle_by_default(&self) -> Option<Duration> {
        let is_command = self.command.is_some() && self.name != SCRIPTED;
        let parser = known::find(&self.name).map_or(self.parser, |known| known.parser);
        let shows_tool_calls = !matches!(parser, Parser::Opencode | Parser::Aider);
        (!is_command).then_some(if shows_tool_calls { IDLE_TIMEOUT } else { IDLE_TIMEOUT_OPAQUE })
    }
}
