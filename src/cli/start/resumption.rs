//! The settings of a session that is resumed: those that it began with, unless flags of this call set others.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, anyhow};
use redact_stream::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use ralph_core::config::{Config, Flags, Inputs, Origin, Setting, Side, is_valid, side};
use ralph_core::record::Session;
use ralph_store::Identity;

use crate::cli::Context;
use crate::cli::start::approvals::Approvals;

/// Says so of the agents that were found at the start without a setting.
pub const DETECTED: &str = "detected at the start";

/// Says so of what a record has.
const RECORDED: &str = "the session";

/// The limit that belongs to one call, if a flag gave it.
const OWN_LIMIT: &str = "max-iterations";

/// How much of a value a message shows, in characters.
const MAX_VALUE_CHARS: usize = 160;

/// What wins over the settings that a session began with, beside the flags of this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Winner {
    Nothing,
    /// What was changed in the project's file since, and all that it says of these keys.
    File {
        about: &'static [&'static str],
    },
    /// Everything as it is set now. Flags that the session began with set what nothing else sets.
    Now,
}

/// What a session keeps for its resumption.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    #[serde(flatten)]
    pub config: Config,
    /// How many lines of approvals there were.
    pub approvals: usize,
}

impl Kept {
    /// Reads what this version or an earlier one kept.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        /// Earlier versions kept the layers as they were read.
        #[derive(Deserialize)]
        struct Earlier {
            layers: Inputs,
            approvals: usize,
        }
        if let Ok(Earlier { layers, approvals }) = serde_json::from_slice(bytes) {
            return Ok(Self { config: Config::read(&layers)?, approvals });
        }
        let Self { config, approvals } = serde_json::from_slice(bytes)?;
        Ok(Self { config: Config::of_kept(config)?, approvals })
    }
}

/// Returns what a session keeps of its configuration. `agents` are those that were found without a setting.
pub fn kept(config: &Config, agents: &[String], context: &Context) -> Result<Vec<u8>> {
    // Without a folder for approvals there is none.
    let approvals = Approvals::of(context).and_then(|approvals| approvals.count()).unwrap_or_default();
    let kept = Kept { config: kept_config(config, agents), approvals };
    serde_json::to_vec_pretty(&kept).context("serialize the settings")
}

fn kept_config(config: &Config, agents: &[String]) -> Config {
    let mut kept = config.clone();
    kept.drop_flags(|setting| setting.key == OWN_LIMIT);
    if !agents.is_empty() {
        kept.set(by_flag("agent", agents.into(), DETECTED));
    }
    kept
}

fn by_flag(key: &str, value: Value, flag: &str) -> Setting {
    Setting { key: key.to_owned(), value, origin: Origin::Flag { flag: flag.to_owned() } }
}

fn is_detected(setting: &Setting) -> bool {
    matches!(&setting.origin, Origin::Flag { flag } if flag == DETECTED)
}

/// Puts together what counts in a resumption: what was kept, what is set now, and the flags of this call.
pub fn resumed(kept: &Config, now: &Result<Config>, winner: Winner, call: &Flags) -> Result<Config> {
    let now = || now.as_ref().map_err(|error| anyhow!("{error:#}"));
    let mut config = kept.clone();
    match winner {
        Winner::Nothing => {}
        Winner::File { about } => take_file(&mut config, now()?, about),
        Winner::Now => {
            let now = now()?;
            config.drop_flags(|setting| now.is_set(&setting.key) || is_detected(setting));
            config.layers.retain(|setting| setting.origin.is_flag());
            config.layers.splice(0..0, now.layers.iter().cloned());
            config = Config { layers: config.layers, ..now.clone() };
        }
    }
    if config.file_commands != kept.file_commands || !of_file(&config).eq(of_file(kept)) {
        // That approved the file as it was.
        config.drop_flags(|setting| setting.key == "trust");
    }
    config.drop_flags(|Setting { key, .. }| {
        call.agent_command.is_some() && key == "agent" || call.settings.iter().any(|input| input.key == *key)
    });
    config.set_flags(call)?;
    Ok(config.resolved())
}

/// Takes the project's file as it is now. What was changed there wins over other layers, and so does all that it says about these
/// keys.
fn take_file(config: &mut Config, now: &Config, about: &[&str]) {
    let wins: BTreeSet<&str> = of_file(now)
        .filter(|(key, value)| is_about(key, about) || !of_file(config).any(|old| old == (*key, *value)))
        .map(|(key, _)| key)
        .collect();
    config.drop_flags(|setting| {
        wins.contains(setting.key.as_str()) || is_about("agent", about) && is_detected(setting)
    });
    config.layers.retain(|Setting { key, origin, .. }| {
        origin.is_flag() || !origin.is_file() && !wins.contains(key.as_str())
    });
    let file = now.layers.iter().filter(|setting| setting.origin.is_file());
    config.layers.splice(0..0, file.cloned());
    config.agents.clone_from(&now.agents);
    config.loop_type.clone_from(&now.loop_type);
    config.file_commands.clone_from(&now.file_commands);
}

/// Returns what the project's file sets.
fn of_file(config: &Config) -> impl Iterator<Item = (&str, &Value)> {
    let set = config.layers.iter().filter(|setting| setting.origin.is_file());
    set.map(|setting| (setting.key.as_str(), &setting.value))
}

fn is_about(key: &str, about: &[&str]) -> bool {
    about.iter().any(|name| key == *name || name.ends_with('.') && key.starts_with(name))
}

fn is_below(key: &str, name: &str) -> bool {
    key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

/// Returns the configuration of now with what the record of a session has of its settings, where its exact settings are not kept.
/// What runs, judges or sends is taken only where the key of this clone vouches for it, as earlier versions recorded it.
pub fn of_record(begun: &Session, identity: Option<&Identity>, now: &Config) -> Result<Config> {
    let mut config = now.clone();
    let own = identity.filter(|own| begun.machine == Some(own.machine()) && !begun.commands.is_empty());
    let is_vouched = |key: &str, exact: &str| {
        own.is_some_and(|own| begun.commands.get(key) == Some(&own.fingerprint(key, exact)))
    };
    for (key, value) in begun.configuration.as_object().into_iter().flatten() {
        let is_known = match side(key) {
            Side::Plain => !value.to_string().contains("[redacted:"),
            Side::Approved | Side::Widens => {
                is_vouched(key, &value.to_string())
                    || value.is_null() && own.is_some() && !begun.commands.contains_key(key)
            }
        };
        // What is set so needs no flag: a flag would count as a wish of the user's.
        if is_known && key != OWN_LIMIT && now.exact(key).as_ref() != Some(value) && is_valid(key, value) {
            config.set(by_flag(key, value.clone(), RECORDED));
        }
    }
    let agents = recorded_agents(begun);
    let line = begun
        .configuration
        .get("agents.command.command")
        .filter(|line| agents == ["command"] && is_vouched("agents.command.command", &line.to_string()));
    let agent_command = line.and_then(Value::as_str).map(str::to_owned);
    let is_set = agent_command.is_some() || now.settings.agent == agents;
    if !is_set && is_vouched("agent", &agents.join("\n")) {
        config.set(by_flag("agent", agents.into(), RECORDED));
    }
    config.set_flags(&Flags { agent_command, ..Flags::default() })?;
    Ok(config.resolved())
}

/// Returns those that worked; of detected ones a record names the first.
fn recorded_agents(begun: &Session) -> Vec<String> {
    let listed = begun.configuration.get("agent").and_then(Value::as_array);
    let listed = listed.map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    listed.unwrap_or_else(|| vec![begun.agent.clone()])
}

/// Returns what runs, judges or sends and is set to something else than the record has, a line each.
pub fn unlike_record(begun: &Session, config: &Config, call: &Flags) -> Result<Vec<String>> {
    let redactor = ralph_engine::redactor(&config.settings)?;
    let mut recorded = begun.configuration.as_object().cloned().unwrap_or_default();
    recorded.insert("agent".to_owned(), recorded_agents(begun).into());
    let mut lines = Vec::new();
    for setting in config.values.iter().filter(|setting| side(&setting.key) != Side::Plain) {
        let Setting { key, value, origin } = setting;
        let is_new_default = !recorded.contains_key(key) && *origin == Origin::Default;
        let is_detected = key == "agent" && value.is_null();
        let is_of_call = is_of_call(key, call);
        if is_new_default || is_detected || is_of_call || key == "trust" || !is_in_use(key, config) {
            continue;
        }
        let old = recorded.get(key).cloned().unwrap_or_default();
        let now = ralph_engine::redacted(&redactor, &Map::from_iter([(key.clone(), value.clone())]))?;
        if now.get(key) != Some(&old) {
            let now = now.get(key).cloned().unwrap_or_default();
            lines.push(format!(
                "{key} is {} ({origin}); the session began with {}",
                shown(&now),
                shown(&old)
            ));
        }
    }
    Ok(lines)
}

/// Returns how the settings in force differ from those that are set now: what is set to something else, a line each, and what a
/// flag set at the start and nothing sets now.
pub fn unlike_now(config: &Config, now: &Config, call: &Flags) -> Result<(Vec<String>, Vec<String>)> {
    let (mut lines, mut kept) = (Vec::new(), Vec::new());
    for (key, ours, other) in differences(config, now, call)? {
        let origin = ours.as_ref().map(|(_, origin)| origin);
        let is_flag = matches!(origin, Some(Origin::Flag { .. }));
        let is_detected = matches!(origin, Some(Origin::Flag { flag }) if flag == DETECTED);
        let value = ours.as_ref().map_or("none", |(value, _)| value.as_str());
        let now = other.as_ref().filter(|(_, origin)| *origin != Origin::Default);
        match now {
            Some((new, origin)) if value == new => {
                lines.push(format!("{key} has another value in {} now: {FRESH} takes it", place(origin)));
            }
            Some((new, origin)) => {
                lines.push(format!("{key} is {value}; {} says {new} now: {FRESH} takes it", place(origin)));
            }
            None if is_detected => {}
            None if is_flag => kept.push(format!("{key} {value}")),
            None => lines.push(format!(
                "{key} is {value}; {} does not set it now: {FRESH} drops it",
                origin.map_or_else(String::new, place)
            )),
        }
    }
    Ok((lines, kept))
}

/// Returns what is in force and was set to something else at the start, a line each.
pub fn unlike_start(config: &Config, start: &Config, call: &Flags) -> Result<Vec<String>> {
    Ok(differences(config, start, call)?
        .into_iter()
        .map(|(key, ours, other)| {
            let [(new, origin), (old, _)] =
                [ours, other].map(|found| found.unwrap_or(("none".to_owned(), Origin::Default)));
            if new == old {
                format!("{key} was changed since the session began ({origin})")
            } else {
                format!("{key} is {new} now ({origin}); the session began with {old}")
            }
        })
        .collect())
}

/// Returns the settings that differ, but for those that flags of this call set.
fn differences(
    config: &Config,
    other: &Config,
    call: &Flags,
) -> Result<Vec<(String, ShownValue, ShownValue)>> {
    let redactor = ralph_engine::redactor(&config.settings)?;
    let ours = config.values.iter().map(|setting| setting.key.as_str());
    let others = other.values.iter().map(|setting| setting.key.as_str());
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for key in ours.chain(others).filter(|key| seen.insert(*key)) {
        if is_of_call(key, call) || !is_in_use(key, config) {
            continue;
        }
        if config.exact(key).unwrap_or_default() == other.exact(key).unwrap_or_default() {
            continue;
        }
        let ours = redacted_setting(key, config, &redactor)?;
        found.push((key.to_owned(), ours, redacted_setting(key, other, &redactor)?));
    }
    Ok(found)
}

/// A value as it may be shown, and where it comes from.
type ShownValue = Option<(String, Origin)>;

/// The flag that takes all settings as they are set now.
pub const FRESH: &str = "--fresh-settings";

/// Returns the value of `key` as it may be shown, and where it was set.
fn redacted_setting(key: &str, config: &Config, redactor: &Redactor) -> Result<ShownValue> {
    let Some(setting) = config.values.iter().find(|setting| setting.key == key) else {
        return Ok(None);
    };
    let map = Map::from_iter([(key.to_owned(), setting.value.clone())]);
    let map = ralph_engine::redacted(redactor, &map)?;
    let value = map.into_iter().next().map_or(Value::Null, |(_, value)| value);
    Ok(Some((shown(&value), setting.origin.clone())))
}

/// Returns true if a setting is of this type of loop, and of an agent that works in it.
fn is_in_use(key: &str, config: &Config) -> bool {
    match (key.strip_prefix("agents."), key.strip_prefix("loop.")) {
        (Some(rest), _) => config.settings.agent.iter().any(|agent| is_below(rest, agent)),
        // Other settings of the type are in force under their own names.
        (_, Some(rest)) => is_below(rest, &config.loop_type.name) && side(key) != Side::Plain,
        (None, None) => true,
    }
}

/// Returns true if a flag of this call sets it.
fn is_of_call(key: &str, call: &Flags) -> bool {
    let is_agent = key == "agent" || key.starts_with("agents.command.");
    call.agent_command.is_some() && is_agent || call.settings.iter().any(|input| input.key == key)
}

fn place(origin: &Origin) -> String {
    match origin {
        Origin::Default | Origin::File { .. } => "the file".to_owned(),
        Origin::Git { .. } | Origin::Environment { .. } | Origin::Flag { .. } => origin.to_string(),
    }
}

fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => "none".to_owned(),
        // 3.0 is not what was typed.
        Value::Number(number) => number.as_f64().map_or_else(String::new, |number| number.to_string()),
        value => value.to_string(),
    };
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
