//! `specify ralph agents`: every known agent, whether it is installed, and what is missing.

use std::io::{self, Write};

use anyhow::Result;
use camino::Utf8Path;

use crate::agent::{self, AgentListing, AgentSettings, Surroundings};
use crate::config::{AgentCommand, Config};
use crate::record::PromptVia;

use super::settings::load_here;
use super::{Context, ExitCode, Flags, Json, emit};

pub fn run(json: Json, context: &Context) -> Result<ExitCode> {
    let (project, config) = load_here(context, Flags::default())?;
    let listed = listed(&config, &project.root, context);
    emit(json, &listed, |out| write_table(&listed, out))
}

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
        settings.limit_pattern.clone_from(&configured.limit_pattern);
        settings.env = configured.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    }
    // A model is one agent's own: those after the first know other ones.
    let is_first = config.settings.agent.first().is_none_or(|first| first == name);
    let own = config.agents.get(name).and_then(|configured| configured.model.clone());
    settings.model = own.or_else(|| config.settings.model.clone().filter(|_| is_first));
    settings.permissions = config.settings.permissions;
    settings
}

/// Returns the known agents, as `config` sets them up.
pub(super) fn listed(config: &Config, root: &Utf8Path, context: &Context) -> Vec<AgentListing> {
    let lookup = context.lookup();
    let surroundings = Surroundings { directory: root, lookup: &lookup };
    agent::list(&|name| agent_settings(config, name), &surroundings)
}

fn write_table(listed: &[AgentListing], out: &mut impl Write) -> io::Result<()> {
    for agent in listed {
        let prompt = match agent.prompt {
            PromptVia::Stdin => "stdin",
            PromptVia::File => "file",
            PromptVia::Arg => "argument",
        };
        let version = agent.version.as_deref().unwrap_or("-");
        let path = match &agent.path {
            Some(path) => path.to_string(),
            None => format!("not installed: {}", agent.install),
        };
        writeln!(out, "{:9} {version:12} prompt by {prompt:9} {path}", agent.name)?;
        if let Some(missing) = agent.missing.as_deref().filter(|_| agent.path.is_some()) {
            for line in missing.lines() {
                writeln!(out, "          {line}")?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_is_here_and_cannot_be_used_says_why() {
        let agent = |name: &str, path: Option<&str>, missing: Option<&str>| AgentListing {
            name: name.to_owned(),
            is_installed: missing.is_none(),
            version: missing.is_none().then(|| "1.2.3".to_owned()),
            path: path.map(Into::into),
            prompt: PromptVia::Stdin,
            install: "npm install -g it",
            missing: missing.map(str::to_owned),
        };
        let listed = [
            agent("codex", Some("/bin/codex"), None),
            agent("claude", Some("/bin/claude"), Some("no root\nhint: be another")),
            agent("pi", None, Some("not installed")),
        ];
        let mut out = Vec::new();
        write_table(&listed, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "codex     1.2.3        prompt by stdin     /bin/codex\n\
             claude    -            prompt by stdin     /bin/claude\n          no root\n          hint: be another\n\
             pi        -            prompt by stdin     not installed: npm install -g it\n"
        );
    }
}
