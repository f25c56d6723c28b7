//! How an agent is set up: the way of its prompt, the form of its output, what it may do.

use serde::{Deserialize, Serialize};

/// Returns an enum the words by which settings name its values.
macro_rules! setting_words {
    ($name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            pub const ALL: &[(&str, Self)] = &[$(($word, Self::$variant)),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}

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

setting_words!(PromptVia { Stdin = "stdin", File = "file", Arg = "arg" });

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

setting_words!(Parser {
    Text = "text",
    Claude = "claude",
    Qwen = "qwen",
    Codex = "codex",
    Copilot = "copilot",
    Gemini = "gemini",
    Opencode = "opencode",
    Pi = "pi",
    Droid = "droid",
    Cline = "cline",
    Aider = "aider",
});

/// What an agent may do without asking, as there is no one to answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    #[default]
    Full,
    /// Whatever its own settings allow.
    Default,
    ReadOnly,
}

impl Permissions {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Default => "default",
            Self::ReadOnly => "read-only",
        }
    }
}
