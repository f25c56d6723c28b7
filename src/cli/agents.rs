//! `specify ralph agents`: every known agent, whether it is installed, and what is missing.

use std::io::Write;

use anyhow::{Context, Result};
use camino::Utf8Path;
use clap::Args;

use crate::agent::{self, AgentListing, Surroundings};
use crate::config::Config;
use crate::record::PromptVia;
use crate::view::json::write_pretty;

use super::agent_settings::agent_settings;
use super::args::Json;
use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::stdout;
use super::settings::{Flags, load_here};
use super::setup::variable;

#[derive(Debug, Args)]
pub struct AgentsArgs {
    #[command(flatten)]
    pub json: Json,
}

pub fn run(args: &AgentsArgs, caller: &Caller) -> Result<ExitCode> {
    let (project, config) = load_here(caller, Flags::default())?;
    let listed = listed(&config, &project.root, caller);
    let mut out = stdout();
    match args.json {
        Json { json: true } => write_json(&listed, &mut out),
        Json { json: false } => write_table(&listed, &mut out),
    }
    .context("write the agents")?;
    Ok(ExitCode::Done)
}

/// Returns the known agents, as `config` sets them up.
pub(super) fn listed(config: &Config, root: &Utf8Path, caller: &Caller) -> Vec<AgentListing> {
    let lookup = |name: &str| variable(caller, name);
    let surroundings = Surroundings { directory: root, lookup: &lookup };
    agent::list(&|name| agent_settings(config, name), &surroundings)
}

fn write_json(listed: &[AgentListing], out: &mut impl Write) -> Result<()> {
    write_pretty(out, &listed)?;
    Ok(out.flush()?)
}

fn write_table(listed: &[AgentListing], out: &mut impl Write) -> Result<()> {
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
    Ok(out.flush()?)
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
