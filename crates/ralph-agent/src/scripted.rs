//! The agent that comes with us: it plays a script file, as a child like any other.

use std::sync::Arc;

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

use super::interface::{Agent, AgentInput, Lookup};
use super::known::SCRIPTED;
use super::launch::Launch;
use super::script;
use super::settings::AgentSettings;
use ralph_core::record::{AgentEvent, AgentRun, PromptVia};
use ralph_os::process::Interrupt;
use ralph_os::sandbox::{AgentState, Sandbox};

/// Plays the script by our own hidden sub-command `play-script`.
#[derive(Debug)]
pub(super) struct Scripted {
    script: Utf8PathBuf,
    launch: Launch,
}

impl Scripted {
    /// `command` holds the script's path, from the project's root.
    pub(super) fn new(command: &[String], own_program: &[String], settings: &AgentSettings) -> Result<Self> {
        let [script] = command else {
            bail!(
                "agent `scripted` needs a script\nhint: name its file in .specify/ralph.toml: [agents.scripted] \
                 command = [\"script.toml\"]"
            );
        };
        let mut argv = own_program.to_vec();
        argv.extend(["play-script".to_owned(), script.clone()]);
        let launch = Launch {
            argv,
            environment: settings.env.clone(),
            defaults: Vec::new(),
            removed: Vec::new(),
            prompt: PromptVia::Stdin,
            parser: settings.parser,
            model: settings.model.clone(),
            codex_home: None,
            limit_pattern: settings.limit_pattern(),
            state: settings.agent_state(),
        };
        Ok(Self { script: Utf8Path::new(script).to_owned(), launch })
    }
}

impl Agent for Scripted {
    fn name(&self) -> &str {
        SCRIPTED
    }

    fn version(&self) -> Option<String> {
        Some(env!("CARGO_PKG_VERSION").to_owned())
    }

    fn arguments(&self) -> Vec<String> {
        self.launch.arguments()
    }

    fn check(&self, directory: &Utf8Path, _: Lookup<'_>) -> Result<()> {
        script::load(&directory.join(&self.script)).map(|_| ())
    }

    fn check_inside(&self, _: &Arc<Sandbox>, _: &Utf8Path, _: Lookup<'_>) -> Result<()> {
        Ok(())
    }

    fn state(&self) -> &AgentState {
        &self.launch.state
    }

    fn run(
        &self,
        turn: &AgentInput<'_>,
        interrupt: &Interrupt,
        say: &mut dyn FnMut(AgentEvent),
    ) -> Result<AgentRun> {
        let run = self.launch.run(turn, interrupt, say)?;
        // What its script leaves out is meant so.
        Ok(AgentRun { was_silent: false, ..run })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parser;

    #[test]
    fn the_script_is_played_by_ourselves() {
        let own_program = ["/bin/specify".to_owned(), "ralph".to_owned()];
        let settings = AgentSettings::named("scripted");
        let scripted = Scripted::new(&["a.toml".to_owned()], &own_program, &settings).unwrap();
        assert_eq!(scripted.launch.argv, ["/bin/specify", "ralph", "play-script", "a.toml"]);
        assert_eq!(scripted.launch.parser, Parser::Text);
        let error = Scripted::new(&[], &own_program, &settings).unwrap_err().to_string();
        assert!(error.starts_with("agent `scripted` needs a script\nhint: "), "{error}");
    }

    #[test]
    fn a_script_that_cannot_be_read_is_reported_before_the_start() {
        let scripted =
            Scripted::new(&["no.toml".to_owned()], &[], &AgentSettings::named("scripted")).unwrap();
        let error = scripted.check(Utf8Path::new("/nowhere"), &|_| None).unwrap_err();
        assert!(format!("{error:#}").starts_with("read the script /nowhere/no.toml"), "{error:#}");
    }
}
