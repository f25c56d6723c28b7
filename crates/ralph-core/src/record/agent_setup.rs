//! How an agent is set up: the way of its prompt, the form of its output, what it may do.

use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumString, IntoStaticStr, VariantNames};

/// The way of a prompt to an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum PromptVia {
    #[default]
    Stdin,
    /// The file's path, in place of `{prompt_file}`.
    File,
    /// The text, in place of `{prompt}`.
    Arg,
}

/// How to read what an agent prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(EnumIter, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Parser {
    /// Its end is the final message.
    #[default]
    Text,
    /// The event stream of that agent.
    Claude,
    Qwen,
    Codex,
    Copilot,
    Gemini,
    Opencode,
    Pi,
    Droid,
    Cline,
    /// The lines of aider.
    Aider,
}

impl Parser {
    /// Returns true if the stream has a line before the model answers: then silence at the start is no thinking.
    pub fn begins_at_once(self) -> bool {
        matches!(self, Self::Claude | Self::Codex | Self::Gemini | Self::Qwen)
    }
}

/// What an agent may do without asking, as there is no one to answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Permissions {
    #[default]
    Full,
    /// Whatever its own settings allow.
    Default,
    ReadOnly,
}

/// How past iterations become the progress text of a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Strategy {
    #[default]
    SystemCaptured,
    StructuredLog,
    LlmSummarized,
    Hybrid,
}

impl Strategy {
    /// Returns true if it wants the words of the user's command.
    pub fn is_summarized(self) -> bool {
        matches!(self, Self::LlmSummarized | Self::Hybrid)
    }
}
