//! What the configuration says of an agent, in the words of those who run it.

use crate::agent::{AgentSettings, Parser, Permissions, PromptVia};
use crate::config::{self, AgentCommand, Config, PromptMode};

/// How the agent of that name is set up.
pub fn agent_settings(config: &Config, name: &str) -> AgentSettings {
    let mut settings = AgentSettings::named(name);
    if let Some(configured) = config.agents.get(name) {
        settings.command = configured.command.as_ref().map(|command| match command {
            AgentCommand::Line(line) if name == "scripted" => vec![line.clone()],
            AgentCommand::Line(line) => ["sh", "-c", line].map(str::to_owned).into(),
            AgentCommand::Words(words) => words.clone(),
        });
        settings.prompt = match configured.prompt {
            None | Some(PromptMode::Stdin) => PromptVia::Stdin,
            Some(PromptMode::File) => PromptVia::File,
            Some(PromptMode::Arg) => PromptVia::Arg,
        };
        settings.parser = parser(configured.parser.unwrap_or_default());
        settings.env = configured.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    }
    // A model is one agent's own: those behind the first know other ones.
    let is_first = config.agent.first().is_none_or(|first| first == name);
    let own = config.agents.get(name).and_then(|configured| configured.model.clone());
    settings.model = own.or_else(|| config.model.clone().filter(|_| is_first));
    settings.permissions = match config.permissions {
        config::Permissions::Full => Permissions::Full,
        config::Permissions::Default => Permissions::Default,
        config::Permissions::ReadOnly => Permissions::ReadOnly,
    };
    settings
}

fn parser(configured: config::Parser) -> Parser {
    match configured {
        config::Parser::Text => Parser::Text,
        config::Parser::Claude => Parser::Claude,
        config::Parser::Qwen => Parser::Qwen,
        config::Parser::Codex => Parser::Codex,
        config::Parser::Copilot => Parser::Copilot,
        config::Parser::Gemini => Parser::Gemini,
        config::Parser::Opencode => Parser::Opencode,
        config::Parser::Pi => Parser::Pi,
        config::Parser::Droid => Parser::Droid,
        config::Parser::Cline => Parser::Cline,
        config::Parser::Aider => Parser::Aider,
    }
}
