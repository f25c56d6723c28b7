//! What several commands take.

use anyhow::{Result, anyhow, bail};
use camino::Utf8PathBuf;
use clap::Args;

use crate::config::{self, FlagInput};
use crate::record::Scope;

use super::{Flags, Json, SessionChoice};

/// Where the tasks are.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE", conflicts_with = "tasks")]
    pub feature: Option<String>,
    /// Use any other Markdown file with a task list
    #[arg(long, value_name = "FILE")]
    pub tasks: Option<Utf8PathBuf>,
}

/// The part of the task list to work on. A task is in it if any of these names it.
#[derive(Debug, Args)]
pub struct ScopeArgs {
    /// Only these tasks: T001,T004-T009 (can be repeated)
    #[arg(long, value_name = "IDS")]
    pub task: Vec<String>,
    /// Only this phase, by number, heading or a part of it (can be repeated)
    #[arg(long, value_name = "PHASE")]
    pub phase: Vec<String>,
    /// Only this story: US1 (can be repeated)
    #[arg(long, value_name = "STORY")]
    pub story: Vec<String>,
}

impl ScopeArgs {
    pub fn scope(&self) -> Scope {
        Scope { tasks: self.task.clone(), phases: self.phase.clone(), stories: self.story.clone() }
    }
}

/// The flags that are settings; [`SettingArgs::flags`] turns them into a layer of the configuration.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingArgs {
    /// Stop after N agent runs [default: 10]
    #[arg(short = 'n', long, value_name = "N", value_parser = setting("max-iterations"))]
    pub max_iterations: Option<String>,
    /// Model for the agent to use
    #[arg(short, long, value_name = "MODEL", value_parser = setting("model"))]
    pub model: Option<String>,
    /// Agent to run; a second one takes over if the quota of the first is used up (can be repeated) [default:
    /// spec-kit's, or the only one installed]
    #[arg(long, visible_alias = "agent-cli", value_name = "NAME", value_parser = setting("agent"))]
    pub agent: Vec<String>,
    /// Command to run as the agent, with the prompt on its stdin
    #[arg(long, value_name = "CMD", conflicts_with = "agent", value_parser = command_line)]
    pub agent_command: Option<String>,
    /// Command that must pass before a task counts as done
    #[arg(long, value_name = "CMD", value_parser = setting("validation.command"))]
    pub validate: Option<String>,
    /// Do not run the validation before the first iteration
    #[arg(long)]
    pub no_baseline: bool,
    /// Maximum time of one agent run [default: 60m]
    #[arg(long, value_name = "TIME", value_parser = setting("timeout"))]
    pub timeout: Option<String>,
    /// Maximum time without output from the agent [default: 15m]
    #[arg(long, value_name = "TIME", value_parser = setting("idle-timeout"))]
    pub idle_timeout: Option<String>,
    /// Skip a task after N failures in a row [default: 3]
    #[arg(long, value_name = "N", value_parser = setting("skip-after"))]
    pub skip_after: Option<String>,
    /// Work for one iteration: auto, task, story or phase [default: auto]
    #[arg(long, value_name = "UNIT", value_parser = setting("unit"))]
    pub unit: Option<String>,
    /// End the session when its phase or story is done: phase or story
    #[arg(long, value_name = "UNIT", value_parser = setting("stop-at"))]
    pub stop_at: Option<String>,
    /// Stop after N tokens
    #[arg(long, value_name = "N", value_parser = setting("max-tokens"))]
    pub max_tokens: Option<String>,
    /// Stop after this many US dollars
    #[arg(long, value_name = "USD", value_parser = setting("max-cost"))]
    pub max_cost: Option<String>,
    /// Start no further iteration after this time
    #[arg(long, value_name = "TIME", value_parser = setting("max-duration"))]
    pub max_duration: Option<String>,
    /// Maximum wait for an agent that reached its usage limit [default: 6h]
    #[arg(long, value_name = "TIME", value_parser = setting("max-wait"))]
    pub max_wait: Option<String>,
    /// Approve the commands in .specify/ralph.toml for this call
    #[arg(long)]
    pub trust: bool,
    #[command(flatten)]
    pub memory: MemorySettingArgs,
}

/// Those of the flags that say what a prompt has of earlier iterations.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct MemorySettingArgs {
    /// Include relevant earlier iterations in the prompt
    #[arg(long)]
    pub with_history: bool,
    /// Never include older iterations in the prompt, even if a task fails repeatedly
    #[arg(long, conflicts_with_all = ["with_history", "history_mode"])]
    pub no_history: bool,
    /// How much of older iterations the prompt contains: off, smart or full [default: off, and smart for a task that failed twice
    /// in a row]
    #[arg(long, value_name = "MODE", value_parser = setting("history.mode"))]
    pub history_mode: Option<String>,
    /// Iterations to look back [default: 5, or all of them for the mode full]
    #[arg(long, value_name = "N", value_parser = setting("history.lookback"))]
    pub history_lookback: Option<String>,
    /// Any setting, as `config` lists them (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
}

impl MemorySettingArgs {
    /// Returns the layer of the configuration that the flags are. A flag of its own wins over `--set`.
    pub fn flags(&self) -> Flags {
        let set = self.set.iter().map(|(key, value)| FlagInput::new("--set", key, value));
        let named = [
            ("--with-history", "history.mode", self.with_history.then_some("smart")),
            ("--no-history", "history.mode", self.no_history.then_some("off")),
            ("--history-mode", "history.mode", self.history_mode.as_deref()),
            ("--history-lookback", "history.lookback", self.history_lookback.as_deref()),
        ];
        let named = named.into_iter().filter_map(|(flag, key, value)| Some(FlagInput::new(flag, key, value?)));
        Flags { settings: set.chain(named).collect(), ..Flags::default() }
    }
}

impl SettingArgs {
    /// Returns the layer of the configuration that the flags are.
    pub fn flags(&self) -> Flags {
        // Two flags are a list, as one flag with a comma is.
        let agents = (!self.agent.is_empty()).then(|| self.agent.join(","));
        let named = [
            ("--max-iterations", "max-iterations", &self.max_iterations),
            ("--model", "model", &self.model),
            ("--agent", "agent", &agents),
            ("--max-wait", "max-wait", &self.max_wait),
            ("--validate", "validation.command", &self.validate),
            ("--no-baseline", "validation.baseline", &self.no_baseline.then(|| "false".to_owned())),
            ("--timeout", "timeout", &self.timeout),
            ("--idle-timeout", "idle-timeout", &self.idle_timeout),
            ("--skip-after", "skip-after", &self.skip_after),
            ("--unit", "unit", &self.unit),
            ("--stop-at", "stop-at", &self.stop_at),
            ("--max-tokens", "max-tokens", &self.max_tokens),
            ("--max-cost", "max-cost", &self.max_cost),
            ("--max-duration", "max-duration", &self.max_duration),
            ("--trust", "trust", &self.trust.then(|| "always".to_owned())),
        ];
        let named = named
            .into_iter()
            .filter_map(|(flag, key, value)| Some(FlagInput::new(flag, key, value.as_ref()?)));
        let Flags { mut settings, .. } = self.memory.flags();
        settings.extend(named);
        Flags { settings, agent_command: self.agent_command.clone(), loop_type: None }
    }
}

/// What every reading command takes.
#[derive(Debug, Clone, Args)]
pub struct ReadArgs {
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub choice: SessionChoice,
}

/// Returns a parser for the value of a flag that is the setting `key`.
fn setting(key: &'static str) -> impl Fn(&str) -> Result<String> + Clone + Send + Sync + 'static {
    move |text| config::check(key, text).map(|()| text.to_owned())
}

/// Returns the parser for `--agent-command`.
fn command_line(text: &str) -> Result<String> {
    if text.trim().is_empty() || text.contains('\0') {
        bail!("expected a command line");
    }
    Ok(text.to_owned())
}

/// Returns the parser for `--set`.
fn pair(text: &str) -> Result<(String, String)> {
    let (key, value) = text.split_once('=').ok_or_else(|| anyhow!("expected KEY=VALUE"))?;
    config::check(key.trim(), value)?;
    Ok((key.trim().to_owned(), value.to_owned()))
}
