//! The layers, from the weakest to the strongest: defaults, file, git, environment, flags.

use std::mem::discriminant;

use anyhow::{Result, anyhow};
use serde::Deserialize;
use serde_json::Value as Json;
use strum::VariantNames as _;

use crate::record::{Strategy, did_you_mean};

use super::agents::AgentCommand;
use super::effective::Config;
use super::file;
use super::file_commands::commands_of;
use super::key::{Key, ValueKind};
use super::loops::{IMPLEMENT, LoopType};
use super::mistake;
use super::origin::{Origin, Setting};
use super::settings::{self, KEYS, Settings, defaults};
use super::spelling::{ALLOW_LINKS, GIT_ONLY, GIT_PREFIX, VARIABLE_PREFIX, from_git, from_variable};
use super::value::Raw;

/// One line of `git config --list`, in git's order. Keys that are not ours are passed over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct GitInput {
    pub key: String,
    /// None for a key without `=`, which git takes for true.
    pub value: Option<String>,
    pub scope: Option<String>,
}

/// One flag of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FlagInput {
    /// As the user knows it: `--max-iterations`.
    pub flag: String,
    /// In the file's spelling.
    pub key: String,
    pub value: String,
}

impl FlagInput {
    pub fn new(flag: &str, key: &str, value: &str) -> Self {
        Self { flag: flag.to_owned(), key: key.to_owned(), value: value.to_owned() }
    }
}

/// The flags that are settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Flags {
    pub settings: Vec<FlagInput>,
    /// The command of `--agent-command`, which makes the agent `command`.
    pub agent_command: Option<String>,
    /// The type of loop that is asked for.
    pub loop_type: Option<String>,
}

/// What all layers say, as it is read. Sessions of earlier versions keep it so for their resumption.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Inputs {
    /// The text of [`FILE`](super::FILE).
    pub file: Option<String>,
    pub git: Vec<GitInput>,
    /// Names and values; variables that are not ours are passed over, and so are empty ones.
    pub environment: Vec<(String, String)>,
    pub flags: Flags,
}

/// The agent that `--agent-command` makes, and its command.
const COMMAND_AGENT: &str = "command";
const OWN_AGENT_COMMAND: &str = "agents.command.command";

/// Checks that `text` is a valid value for the setting `key`; fails with one line that says what is wrong.
pub fn check(key: &str, text: &str) -> Result<()> {
    let Some(found) = settings::find(key) else {
        return Err(match did_you_mean(key, KEYS.iter().map(|key| key.name)) {
            Some(known) => anyhow!("unknown key `{key}`, did you mean `{known}`?"),
            None if key.starts_with("agents.") || key.starts_with("loop.") => {
                anyhow!("`{key}` can only be set in .specify/ralph.toml")
            }
            None => anyhow!("unknown key `{key}`"),
        });
    };
    found.read(&Raw::Bare(text.to_owned())).map(drop).map_err(|invalid| {
        let detail = invalid.detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
        anyhow!("expected {}{detail}", invalid.expected)
    })
}

/// Returns true if a recorded value is one of the setting `key` for this version, which may know other words.
pub fn is_valid(key: &str, recorded: &Json) -> bool {
    settings::find(key).is_some_and(|key| key.check(recorded).is_ok())
}

impl Config {
    /// Puts the layers together.
    pub fn read(inputs: &Inputs) -> Result<Self> {
        let contents = file::parse(inputs.file.as_deref().unwrap_or_default())?;
        let file_commands = commands_of(&contents);
        let loop_type = inputs.flags.loop_type.as_deref().unwrap_or(IMPLEMENT);
        let loop_type = LoopType::find(loop_type, &contents.loops)?;
        let of_type = contents.loops.get(&loop_type.name).map(|(_, settings)| settings.clone());
        let mut config = Self { agents: contents.agents, loop_type, file_commands, ..Self::default() };
        for setting in contents.settings.into_iter().chain(of_type.into_iter().flatten()) {
            config.set(setting);
        }
        config.set_git(&inputs.git)?;
        config.set_environment(&inputs.environment)?;
        config.set_flags(&inputs.flags)?;
        Ok(config.resolved())
    }

    /// Returns what a session kept: the same, if this version reads each of its values in the same way.
    ///
    /// # Errors
    ///
    /// If it has no such setting, or reads the value as another.
    pub fn of_kept(kept: Self) -> Result<Self> {
        for Setting { key, value, origin } in &kept.layers {
            if key.starts_with("agents.") || key.starts_with("loop.") {
                continue;
            }
            let Some(known) = settings::find(key) else { return Err(mistake::unknown(origin, key, &[])) };
            known.check(value).map_err(|invalid| mistake::invalid_value(origin, key, &invalid))?;
        }
        Ok(kept.resolved())
    }

    /// Returns the same with what follows from the values of the layers.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        self.values = defaults();
        for setting in &self.layers {
            match self.values.iter_mut().find(|known| known.key == setting.key) {
                Some(known) => known.clone_from(setting),
                None => self.values.push(setting.clone()),
            }
        }
        if let Some(line) = self.values.iter().find(|setting| setting.key == OWN_AGENT_COMMAND) {
            let agent = self.agents.entry(COMMAND_AGENT.to_owned()).or_default();
            agent.command = AgentCommand::of_value(&line.value);
        }
        self.warnings = without_unknown_strategy(&mut self.values).into_iter().collect();
        self.settings = Settings::of(&self.values);
        self
    }

    /// Sets a value in the layer of its origin.
    pub fn set(&mut self, setting: Setting) {
        match self.in_layer(&setting.key, &setting.origin) {
            Some(at) => self.layers[at] = setting,
            None => self.layers.push(setting),
        }
    }

    fn in_layer(&self, key: &str, origin: &Origin) -> Option<usize> {
        let layer = discriminant(origin);
        self.layers.iter().position(|known| known.key == key && discriminant(&known.origin) == layer)
    }

    fn set_text(&mut self, key: &Key, name: String, text: &str, origin: Origin) -> Result<()> {
        let raw = Raw::Bare(self.extended(key, &name, text, &origin));
        let value = key.read(&raw).map_err(|invalid| mistake::invalid_value(&origin, &name, &invalid))?;
        self.set(Setting { key: name, value, origin });
        Ok(())
    }

    /// Several values of a list add up within one layer; an empty one starts the list anew, as for git.
    fn extended(&self, key: &Key, name: &str, text: &str, origin: &Origin) -> String {
        let known = self.in_layer(name, origin).and_then(|at| self.layers[at].value.as_array());
        match known {
            Some(list) if key.kind == ValueKind::Patterns && !text.is_empty() => {
                list.iter().filter_map(Json::as_str).chain([text]).collect::<Vec<_>>().join("\n")
            }
            _ => text.to_owned(),
        }
    }

    fn set_git(&mut self, pairs: &[GitInput]) -> Result<()> {
        for GitInput { key, value, scope } in pairs {
            let lower = key.to_ascii_lowercase();
            let value = value.as_deref().unwrap_or("true");
            if lower == ALLOW_LINKS {
                self.allowed_links.push(value.to_owned());
            }
            if !lower.starts_with(GIT_PREFIX) || GIT_ONLY.contains(&lower.as_str()) {
                continue;
            }
            let origin = Origin::Git { key: key.clone(), scope: scope.clone() };
            if lower.starts_with("ralph.agents.") || lower.starts_with("ralph.loop.") {
                return Err(mistake::file_only(&origin, key));
            }
            let Some((name, found)) = from_git(key) else {
                return Err(mistake::unknown(&origin, key, &[]));
            };
            let origin = Origin::Git { key: spelled_by_us(found, key), scope: scope.clone() };
            self.set_text(found, name, value, origin)?;
        }
        Ok(())
    }

    fn set_environment(&mut self, pairs: &[(String, String)]) -> Result<()> {
        for (variable, value) in pairs {
            if !variable.starts_with(VARIABLE_PREFIX) || value.is_empty() {
                continue;
            }
            let origin = Origin::Environment { variable: variable.clone() };
            let rest = &variable[VARIABLE_PREFIX.len()..];
            if rest.starts_with("AGENTS_") || rest.starts_with("LOOP_") {
                return Err(mistake::file_only(&origin, variable));
            }
            let Some((name, key)) = from_variable(variable) else {
                return Err(mistake::unknown(&origin, variable, &[]));
            };
            self.set_text(key, name, value, origin)?;
        }
        Ok(())
    }

    /// Sets what flags say; the type of the loop stays.
    pub fn set_flags(&mut self, flags: &Flags) -> Result<()> {
        for FlagInput { flag, key: name, value } in &flags.settings {
            let origin = Origin::Flag { flag: flag.clone() };
            if name.starts_with("agents.") || name.starts_with("loop.") {
                return Err(mistake::file_only(&origin, name));
            }
            let Some(key) = settings::find(name) else {
                return Err(mistake::unknown(&origin, name, &[]));
            };
            self.set_text(key, settings::canonical(name).to_owned(), value, origin)?;
        }
        if let Some(line) = &flags.agent_command {
            let origin = Origin::Flag { flag: "--agent-command".to_owned() };
            let command = AgentCommand::new(&Raw::Bare(line.clone()))
                .map_err(|invalid| mistake::invalid_value(&origin, OWN_AGENT_COMMAND, &invalid))?;
            let key = OWN_AGENT_COMMAND.to_owned();
            self.set(Setting { key, value: command.to_value(), origin: origin.clone() });
            self.set(Setting { key: "agent".to_owned(), value: [COMMAND_AGENT].as_slice().into(), origin });
        }
        Ok(())
    }

    /// Drops what flags say of some keys. Without the agent, `--agent-command` is dropped, too.
    pub fn drop_flags(&mut self, is_dropped: impl Fn(&Setting) -> bool) {
        let mut has_agent = true;
        self.layers.retain(|setting| {
            let is_own = setting.origin.is_flag() && setting.key != OWN_AGENT_COMMAND;
            let is_kept = !is_own || !is_dropped(setting);
            has_agent &= is_kept || setting.key != "agent";
            is_kept
        });
        if !has_agent {
            let is_line = |setting: &Setting| setting.key == OWN_AGENT_COMMAND && setting.origin.is_flag();
            if let Some(at) = self.layers.iter().position(is_line) {
                self.layers.remove(at);
                self.agents.entry(COMMAND_AGENT.to_owned()).or_default().command = None;
            }
        }
    }
}

/// Replaces an unknown strategy by the default; returns a warning then.
fn without_unknown_strategy(values: &mut [Setting]) -> Option<String> {
    let strategy = values.iter_mut().find(|setting| setting.key == "progress.strategy")?;
    let Setting { value, origin, .. } = strategy;
    let name = value.as_str().filter(|name| !Strategy::VARIANTS.contains(name))?;
    let default: &str = Strategy::default().into();
    let warning = format!("{origin}: unknown progress strategy `{name}`, using {default}");
    (*value, *origin) = (default.into(), Origin::Default);
    Some(warning)
}

/// `ralph.maxIterations` for git's `ralph.maxiterations`; a capture keeps what git prints.
fn spelled_by_us(key: &Key, printed: &str) -> String {
    if key.name.contains('<') { printed.to_owned() } else { super::git_name(key.name) }
}
