//! Any program as an agent.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use camino::Utf8Path;

use super::interface::{Agent, AgentInput, Lookup};
use super::launch::Launch;
use super::programs::{check_program, on_path};
use super::settings::AgentSettings;
use ralph_core::record::{AgentEvent, AgentRun, PromptVia};
use ralph_os::platform::is_path;
use ralph_os::process::{Interrupt, Tool};
use ralph_os::sandbox::{AgentState, Sandbox};

/// How long a shell may take to say whether it knows a word.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// An agent that the user describes by its command.
#[derive(Debug)]
pub(super) struct Command {
    name: String,
    launch: Launch,
}

impl Command {
    pub(super) fn new(argv: &[String], settings: &AgentSettings) -> Result<Self> {
        let name = &settings.name;
        let [has_model, has_file, has_prompt] = ["{model}", "{prompt_file}", "{prompt}"]
            .map(|placeholder| argv.iter().any(|word| word.contains(placeholder)));
        if argv.first().is_none_or(String::is_empty) {
            bail!("agent `{name}`: its command is empty\nhint: set `command` in [agents.{name}]");
        }
        if has_model && settings.model.is_none() {
            bail!(
                "agent `{name}`: its command contains {{model}}, but no model is set\nhint: set one with --model, \
                 or set `model`"
            );
        }
        // A placeholder determines how the prompt is passed.
        let prompt = match (settings.prompt, has_file, has_prompt) {
            (PromptVia::Stdin, false, false) => PromptVia::Stdin,
            (PromptVia::Stdin | PromptVia::File, true, _) => PromptVia::File,
            (PromptVia::Stdin | PromptVia::Arg, _, true) => PromptVia::Arg,
            (PromptVia::File, false, _) => {
                bail!(
                    "agent `{name}`: prompt = \"file\" needs {{prompt_file}} in its command\nhint: write it where \
                     the path of the prompt belongs"
                )
            }
            (PromptVia::Arg, _, false) => {
                bail!(
                    "agent `{name}`: prompt = \"arg\" needs {{prompt}} in its command\nhint: write it where the \
                     prompt belongs"
                )
            }
        };
        let launch = Launch {
            argv: argv.to_vec(),
            environment: settings.env.clone(),
            defaults: Vec::new(),
            removed: Vec::new(),
            prompt,
            parser: settings.parser,
            model: settings.model.clone(),
            codex_home: None,
            limit_pattern: settings.limit_pattern(),
            state: settings.agent_state(),
        };
        Ok(Self { name: name.clone(), launch })
    }
}

/// Returns true for builtins and keywords of the shell, like `exec` and `:`.
fn is_word_of_the_shell(word: &str, directory: &Utf8Path, lookup: Lookup<'_>) -> bool {
    let path_variable = lookup("PATH").unwrap_or_default();
    if is_path(word) || on_path(word, &path_variable).is_some() {
        return false;
    }
    let tool = Tool::shell("command -v \"$0\"", directory).arg(word).limit(LOOKUP_TIMEOUT);
    tool.on_the_users_path().run().is_ok_and(|captured| captured.is_success())
}

/// Returns the program of a shell line, if the line runs only that and cannot create it.
fn only_program(line: &str) -> Option<&str> {
    let is_simple = !line.contains(['|', '&', ';', '\n', '(', ')', '`', '<', '>', '#']);
    let word = line.split_whitespace().next()?;
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:@".contains(c));
    (is_simple && is_plain).then_some(word)
}

impl Agent for Command {
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns `None`: an unknown program may do anything when it is asked for its version.
    fn version(&self) -> Option<String> {
        None
    }

    fn arguments(&self) -> Vec<String> {
        self.launch.arguments()
    }

    fn check(&self, directory: &Utf8Path, lookup: Lookup<'_>) -> Result<()> {
        let lookup = |name: &str| {
            let set = self.launch.environment.iter().rfind(|(set, _)| set == name);
            set.map(|(_, value)| value.clone()).or_else(|| lookup(name))
        };
        let program = self.launch.argv.first().map_or("", String::as_str);
        check_program(&self.name, program, directory, &lookup)?;
        match self.launch.script().and_then(only_program) {
            Some(program) if !is_word_of_the_shell(program, directory, &lookup) => {
                check_program(&self.name, program, directory, &lookup)
            }
            _ => Ok(()),
        }
    }

    fn check_inside(&self, sandbox: &Arc<Sandbox>, directory: &Utf8Path, lookup: Lookup<'_>) -> Result<()> {
        let program = self.launch.argv.first().map_or("", String::as_str);
        let program = self.launch.script().map_or(Some(program), only_program).unwrap_or("sh");
        // It may do anything when it is asked for its version. That it is there can be asked of a shell.
        let tool = Tool::shell("command -v \"$0\"", directory).arg(program).limit(LOOKUP_TIMEOUT);
        self.launch.check_inside(tool, program, sandbox, lookup)
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
        self.launch.run(turn, interrupt, say)
    }
}

#[cfg(test)]
mod tests;
