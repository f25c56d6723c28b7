//! What the configuration says of an agent, in the words of those who run it.

use crate::agent::AgentSettings;
use crate::config::{AgentCommand, Config};

/// Returns how the agent of that name is set up.
pub fn agent_settings(config: &Config, name: &str) -> AgentSettings {
    let mut settings = AgentSettings::named(name);
    if let Some(configured) = config.agents.get(name) {
        settings.command = configured.command.as_ref().map(|command| match command {
            AgentCommand::Line(line) if name == "scripted" => vec![line.clone()],
            AgentCommand::Line(line) => ["sh", "-c", line].map(str::to_owned).into(),
            AgentCommand::Words(words) => words.clone(),
        });
        settings.prompt = configured.prompt.unwrap_or_default();
        settings.parser = configured.parser.unwrap_or_default();
        settings.env = configured.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    }
    // A model is one agent's own: those after the first know other ones.
    let is_first = config.settings.agent.first().is_none_or(|first| first == name);
    let own = config.agents.get(name).and_then(|configured| configured.model.clone());
    settings.model = own.or_else(|| config.settings.model.clone().filter(|_| is_first));
    settings.permissions = config.settings.permissions;
    settings
}
