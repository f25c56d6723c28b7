//! How an agent is set up: the way of its prompt, the form of its output, what it may do.

use serde::{Deserialize, Serialize};

/// The way of a prompt to an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromptVia {
    #[default]
    Stdin,
    /// The file's path, in place of `{prompt_file}`.
    File,
    /// The text, in place of `{prompt}`.
    Arg,
}

impl PromptVia {
    pub const ALL: &[(&str, Self)] = &[("stdin", Self::Stdin), ("file", Self::File), ("arg", Self::Arg)];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdin => "stdin",
            Self::File => "file",
            Self::Arg => "arg",
        }
    }
}

/// How to read what an agent prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    pub const ALL: &[(&str, Self)] = &[
        ("text", Self::Text),
        ("claude", Self::Claude),
        ("qwen", Self::Qwen),
        ("codex", Self::Codex),
        ("copilot", Self::Copilot),
        ("gemini", Self::Gemini),
        ("opencode", Self::Opencode),
        ("pi", Self::Pi),
        ("droid", Self::Droid),
        ("cline", Self::Cline),
        ("aider", Self::Aider),
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Claude => "claude",
            Self::Qwen => "qwen",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
            Self::Droid => "droid",
            Self::Cline => "cline",
            Self::Aider => "aider",
        }
    }
}

/// What an agent may do without asking. Nobody is there to answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    #[default]
    Full,
    /// Whatever its own settings allow.
    Default,
    ReadOnly,
}
