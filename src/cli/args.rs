//! What several commands take.

use std::io::{IsTerminal, stderr};
use std::str::FromStr;

use anyhow::{Result, anyhow, bail};
use camino::Utf8PathBuf;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use ralph_core::config::{self, FlagInput, KEYS, Key, ValueKind};
use ralph_core::record::{Refusal, SessionId};
use ralph_ui::live::{Detail, Moving};
use ralph_ui::style::Paint;

use crate::cli::{Environment, Flags, Json, SessionChoice};

/// Which loop of a group one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    First,
    /// One that joins the group that this session began.
    Of(SessionId),
    /// None: it only records what one left that died.
    After,
}

/// What one of several loops is started with: its place, and how wide that shows its lines, `first/80`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    pub place: Place,
    pub columns: Option<u16>,
}

impl FromStr for Membership {
    type Err = <SessionId as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (place, columns) = text.split_once('/').unwrap_or((text, ""));
        let place = match place {
            "first" => Place::First,
            "after" => Place::After,
            session => session.parse().map(Place::Of)?,
        };
        Ok(Self { place, columns: columns.parse().ok() })
    }
}

/// How a running loop speaks.
#[derive(Debug, Clone, Copy, Args)]
pub struct TalkArgs {
    /// Print more about what the agent does
    #[arg(short, long)]
    pub verbose: bool,
    /// Print only warnings and failures
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print events as JSON, one object per line
    #[arg(long, conflicts_with_all = ["verbose", "quiet"])]
    pub json: bool,
}

/// How a run speaks.
#[derive(Debug, Clone, Copy)]
pub struct Voice {
    pub is_json: bool,
    pub detail: Detail,
    pub paint: Paint,
}

impl TalkArgs {
    pub fn voice(self, paint: Paint) -> Voice {
        let detail = match self {
            Self { verbose: true, .. } => Detail::Verbose,
            Self { quiet: true, .. } => Detail::Quiet,
            Self { .. } => Detail::Normal,
        };
        Voice { is_json: self.json, detail, paint }
    }
}

impl Voice {
    /// Returns true if people are to see neither lines nor what moves.
    pub fn is_quiet(self) -> bool {
        self.is_json || self.detail == Detail::Quiet
    }

    /// Returns where a moving status line is shown: to people, on a terminal that supports it.
    pub fn moving(self, environment: &Environment) -> Moving {
        let is_dumb = environment.value("TERM").is_none_or(|term| term == "dumb");
        if self.is_quiet() || is_dumb || !stderr().is_terminal() { Moving::Nowhere } else { Moving::Stderr }
    }
}

/// What a lane is started with, beside settings.
#[derive(Debug, Clone, Default, Args)]
pub struct LaneArgs {
    /// In a lane: begin the branch with a commit of your uncommitted changes
    #[arg(long)]
    pub take_changes: bool,
    /// In a lane: bring its branch into the one that is checked out at the end, if that is a fast-forward
    #[arg(long)]
    pub land: bool,
    /// Work beside others on the branch, as the loop that starts them says
    #[arg(long, hide = true, value_name = "SESSION")]
    pub in_group: Option<Membership>,
}

impl LaneArgs {
    /// Returns true for a loop that others of its group came before.
    pub fn joins(&self) -> bool {
        self.in_group.as_ref().is_some_and(|of| of.place != Place::First)
    }

    /// Returns where one of several loops has its moving line shown.
    pub fn moving(&self) -> Option<Moving> {
        let of = self.in_group.as_ref()?;
        Some(Moving::Sent { columns: of.columns, joins: self.joins() })
    }

    /// Refuses flags that mean nothing where no lane is used.
    pub fn refuse_without_lane(&self) -> Result<()> {
        let flag = match self {
            Self { take_changes: true, .. } => "--take-changes",
            Self { land: true, .. } => "--land",
            Self { .. } => return Ok(()),
        };
        Err(Refusal::new(format!("`{flag}` is for a loop in a lane")).with_hint("add --lane").into())
    }
}

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

/// The flags that are settings; [`SettingArgs::flags`] turns them into a layer of the configuration.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingArgs {
    #[command(flatten)]
    keys: KeyFlags<false>,
    /// Command to run as the agent, with the prompt on its stdin
    #[arg(long, value_name = "CMD", conflicts_with = "agent", value_parser = command_line)]
    agent_command: Option<String>,
    /// Run the agent and all commands without a sandbox, and without the lane that it implies
    #[arg(long, conflicts_with = "sandbox")]
    no_sandbox: bool,
    /// Do not run the validation before the first iteration
    #[arg(long)]
    no_baseline: bool,
    /// Work in a lane: a work tree and a branch of the loop's own, away from your files [default: with --sandbox]
    #[arg(long)]
    lane: bool,
    /// Work in your files, with a sandbox too
    #[arg(long, conflicts_with = "lane")]
    no_lane: bool,
    /// Approve the commands in .specify/ralph.toml for this call
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    memory: MemorySettingArgs,
}

/// Those of the flags that say what a prompt has of earlier iterations.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub struct MemorySettingArgs {
    /// Include relevant earlier iterations in the prompt
    #[arg(long)]
    with_history: bool,
    /// Never include older iterations in the prompt, even if a task fails repeatedly
    #[arg(long, conflicts_with_all = ["with_history", "history-mode"])]
    no_history: bool,
    #[command(flatten)]
    keys: KeyFlags<true>,
    /// Any setting, as `config --all` lists them (can be repeated)
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
}

/// The flags that the table of keys names, as they are given: those of history, or all others.
#[derive(Debug)]
struct KeyFlags<const OF_HISTORY: bool>(Vec<FlagInput>);

impl<const OF_HISTORY: bool> KeyFlags<OF_HISTORY> {
    fn keys() -> impl Iterator<Item = (&'static Key, &'static str, &'static str)> {
        let keys = KEYS.iter().filter(|key| key.name.starts_with("history.") == OF_HISTORY);
        keys.filter_map(|key| key.flag.map(|(long, value_name)| (key, long, value_name)))
    }
}

impl<const OF_HISTORY: bool> Args for KeyFlags<OF_HISTORY> {
    fn augment_args(command: Command) -> Command {
        Self::keys().fold(command, |command, (key, long, value_name)| {
            let words = match key.kind {
                ValueKind::Word(words) => format!(" [possible values: {}]", words.join(", ")),
                _ => String::new(),
            };
            let default = match (key.default, key.unset) {
                ("none", "none") => String::new(),
                ("none", unset) => format!(" [default: {unset}]"),
                (default, _) => format!(" [default: {default}]"),
            };
            let argument = Arg::new(long)
                .long(long)
                .value_name(value_name)
                .value_parser(|text: &str| config::check(key.name, text).map(|()| text.to_owned()))
                .help(format!("{}{words}{default}", key.doc));
            command.arg(match key.name {
                "agent" => argument.action(ArgAction::Append).visible_alias("agent-cli"),
                "jobs" => argument.short('j'),
                "max-iterations" => argument.short('n'),
                "model" => argument.short('m'),
                "sandbox.mechanism" => argument.num_args(0..=1).default_missing_value("auto"),
                "commit" => argument.num_args(0..=1).default_missing_value("task"),
                _ => argument,
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const OF_HISTORY: bool> FromArgMatches for KeyFlags<OF_HISTORY> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = Self::keys().filter_map(|(key, long, _)| {
            // Two flags are a list, as one flag with a comma is.
            let values: Vec<&str> = matches.get_many::<String>(long)?.map(String::as_str).collect();
            Some(FlagInput::new(&format!("--{long}"), key.name, &values.join(",")))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl MemorySettingArgs {
    /// Returns the layer of the configuration that the flags are. A flag of its own wins over `--set`.
    pub fn flags(&self) -> Flags {
        let set = self.set.iter().map(|(key, value)| FlagInput::new("--set", key, value));
        let with = self.with_history.then(|| FlagInput::new("--with-history", "history.mode", "smart"));
        let without = self.no_history.then(|| FlagInput::new("--no-history", "history.mode", "off"));
        let settings = set.chain(with).chain(without).chain(self.keys.0.iter().cloned()).collect();
        Flags { settings, ..Flags::default() }
    }
}

impl SettingArgs {
    /// Returns the layer of the configuration that the flags are.
    pub fn flags(&self) -> Flags {
        let Flags { mut settings, .. } = self.memory.flags();
        settings.extend(self.keys.0.iter().cloned());
        settings.extend(
            self.no_baseline.then(|| FlagInput::new("--no-baseline", "validation.baseline", "false")),
        );
        settings.extend(self.lane.then(|| FlagInput::new("--lane", "lane", "true")));
        settings.extend(self.no_lane.then(|| FlagInput::new("--no-lane", "lane", "false")));
        settings.extend(self.no_sandbox.then(|| FlagInput::new("--no-sandbox", "sandbox.mechanism", "none")));
        settings.extend(self.trust.then(|| FlagInput::new("--trust", "trust", "always")));
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

/// Returns the parser for `--agent-command`.
fn command_line(text: &str) -> Result<String> {
    if text.trim().is_empty() || text.contains('\0') {
        bail!("expected a command line");
    }
    Ok(text.to_owned())
}

/// Returns the parser for `--set`.
pub fn pair(text: &str) -> Result<(String, String)> {
    let (key, value) = text.split_once('=').ok_or_else(|| anyhow!("expected KEY=VALUE"))?;
    config::check(key.trim(), value)?;
    Ok((key.trim().to_owned(), value.to_owned()))
}
