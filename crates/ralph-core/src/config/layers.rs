//! The layers, from the weakest to the strongest: defaults, file, git, environment, flags.

use std::collections::BTreeMap;
use std::mem::discriminant;

use anyhow::{Result, anyhow};
use camino::Utf8Path;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use strum::VariantNames as _;

use crate::record::{Strategy, did_you_mean};

use super::agents::{AgentCommand, AgentSettings};
use super::effective::Config;
use super::file;
use super::file_commands::commands_of;
use super::key::{Key, ValueKind};
use super::loops::{IMPLEMENT, LoopType};
use super::mistake;
use super::origin::{Origin, Setting};
use super::settings::{self, KEYS, Settings};
use super::spelling::{GIT_ONLY, GIT_PREFIX, VARIABLE_PREFIX, from_git, from_variable};
use super::value::Raw;

/// One line of `git config --list`, in git's order. Keys that are not ours are passed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitInput {
    pub key: String,
    /// None for a key without `=`, which git takes for true.
    pub value: Option<String>,
    pub scope: Option<String>,
}

/// One flag of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlagInput {
    /// As the user knows it: `--max-iterations`.
    pub flag: String,
    /// In the file's spelling.
    pub key: String,
    pub value: String,
}

impl GitInput {
    /// Returns the name of the setting that it is in the file's spelling; `None` if it is none.
    pub fn setting(&self) -> Option<String> {
        from_git(&self.key).map(|(name, _)| name)
    }
}

impl FlagInput {
    pub fn new(flag: &str, key: &str, value: &str) -> Self {
        Self { flag: flag.to_owned(), key: key.to_owned(), value: value.to_owned() }
    }

    /// Returns the flag that sets `key` to a recorded value; `None` if no flag can.
    pub fn of_record(flag: &str, key: &str, recorded: &Json) -> Option<Self> {
        let text = match (recorded, settings::find(key)?.kind) {
            (Json::Null, _) => "none".to_owned(),
            (Json::Array(list), kind) => {
                let texts: Vec<&str> = list.iter().map(Json::as_str).collect::<Option<_>>()?;
                texts.join(match kind {
                    ValueKind::Patterns => "\n",
                    ValueKind::Mechanism => " ",
                    _ => ",",
                })
            }
            (Json::String(text), _) => text.clone(),
            (other, _) => other.to_string(),
        };
        // A later version may know more words, and what was joined may come apart in other places.
        let read = settings::find(key)?.read(&Raw::Bare(text.clone())).ok()?;
        (read == *recorded).then(|| Self::new(flag, key, &text))
    }
}

/// Returns the name of the setting that a variable of the environment is in the file's spelling; `None` if it is none.
pub fn setting_of_variable(variable: &str) -> Option<String> {
    from_variable(variable).map(|(name, _)| name)
}

/// All layers.
#[derive(Debug, Clone, Default)]
pub struct Inputs<'a> {
    /// The path of `.specify/ralph.toml`, as messages should name it, and its bytes.
    pub file: Option<(&'a Utf8Path, &'a [u8])>,
    pub git: Vec<GitInput>,
    /// Names and values; variables that are not ours are passed over, and so are empty ones.
    pub environment: Vec<(String, String)>,
    pub flags: Vec<FlagInput>,
    /// The type of loop that is asked for.
    pub loop_type: Option<String>,
    /// The command of `--agent-command`, which makes the agent `command`.
    pub agent_command: Option<String>,
}

/// The agent that `--agent-command` makes.
const COMMAND_AGENT: &str = "command";

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

impl Config {
    /// Puts the layers together.
    pub fn read(inputs: &Inputs<'_>) -> Result<Self> {
        let mut values = Vec::new();
        for key in KEYS.iter().filter(|key| !key.name.contains('<')) {
            put(&mut values, key, key.name.to_owned(), key.default, Origin::Default)?;
        }
        let (path, bytes) = inputs.file.unwrap_or((Utf8Path::new(""), b""));
        let contents = file::parse(path, bytes)?;
        let file_commands = commands_of(&contents);
        let mut agents = contents.agents;
        for setting in contents.settings {
            set(&mut values, setting);
        }
        let loop_type = inputs.loop_type.as_deref().unwrap_or(IMPLEMENT);
        let loop_type = LoopType::find(loop_type, &contents.loops)?;
        for setting in contents.loops.get(&loop_type.name).iter().flat_map(|(_, settings)| settings) {
            set(&mut values, setting.clone());
        }
        put_git(&mut values, &inputs.git)?;
        put_environment(&mut values, &inputs.environment)?;
        put_flags(&mut values, &inputs.flags)?;
        if let Some(line) = &inputs.agent_command {
            put_agent_command(&mut values, line, &mut agents)?;
        }
        let warnings = without_unknown_strategy(&mut values).into_iter().collect();
        let settings = Settings::of(&values);
        Ok(Self { settings, agents, loop_type, file_commands, warnings, values })
    }
}

/// `values` are in the order of the table of keys.
fn set(values: &mut Vec<Setting>, setting: Setting) {
    match values.iter_mut().find(|known| known.key == setting.key) {
        Some(known) => *known = setting,
        None => values.push(setting),
    }
}

fn put(values: &mut Vec<Setting>, key: &Key, name: String, text: &str, origin: Origin) -> Result<()> {
    let raw = Raw::Bare(extended(values, key, &name, text, &origin));
    let value = key.read(&raw).map_err(|invalid| mistake::invalid_value(&origin, &name, &invalid))?;
    set(values, Setting { key: name, value, origin });
    Ok(())
}

/// Several values of a list add up within one layer; an empty one starts the list anew, as for git.
fn extended(values: &[Setting], key: &Key, name: &str, text: &str, origin: &Origin) -> String {
    let mut same_layer = values.iter().filter(|known| discriminant(&known.origin) == discriminant(origin));
    let known = same_layer.find(|known| known.key == name);
    match known.and_then(|known| known.value.as_array()) {
        Some(list) if key.kind == ValueKind::Patterns && !text.is_empty() => {
            list.iter().filter_map(Json::as_str).chain([text]).collect::<Vec<_>>().join("\n")
        }
        _ => text.to_owned(),
    }
}

fn put_git(values: &mut Vec<Setting>, pairs: &[GitInput]) -> Result<()> {
    for GitInput { key, value, scope } in pairs {
        let lower = key.to_ascii_lowercase();
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
        put(values, found, name, value.as_deref().unwrap_or("true"), origin)?;
    }
    Ok(())
}

fn put_environment(values: &mut Vec<Setting>, pairs: &[(String, String)]) -> Result<()> {
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
        put(values, key, name, value, origin)?;
    }
    Ok(())
}

fn put_flags(values: &mut Vec<Setting>, flags: &[FlagInput]) -> Result<()> {
    for FlagInput { flag, key: name, value } in flags {
        let origin = Origin::Flag { flag: flag.clone() };
        if name.starts_with("agents.") || name.starts_with("loop.") {
            return Err(mistake::file_only(&origin, name));
        }
        let Some(key) = settings::find(name) else {
            return Err(mistake::unknown(&origin, name, &[]));
        };
        put(values, key, settings::canonical(name).to_owned(), value, origin)?;
    }
    Ok(())
}

fn put_agent_command(
    values: &mut Vec<Setting>,
    line: &str,
    agents: &mut BTreeMap<String, AgentSettings>,
) -> Result<()> {
    let origin = Origin::Flag { flag: "--agent-command".to_owned() };
    let key = format!("agents.{COMMAND_AGENT}.command");
    let command = AgentCommand::new(&Raw::Bare(line.to_owned()))
        .map_err(|invalid| mistake::invalid_value(&origin, &key, &invalid))?;
    set(values, Setting { key, value: command.to_value(), origin: origin.clone() });
    agents.entry(COMMAND_AGENT.to_owned()).or_default().command = Some(command);
    set(values, Setting { key: "agent".to_owned(), value: [COMMAND_AGENT].as_slice().into(), origin });
    Ok(())
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
