//! The commands of a session that is resumed: flags of the first call need not be typed again, and other commands than
//! those that it began with are refused, unless the user says so.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use redact_stream::Redactor;
use serde_json::{Map, Value};

use crate::config::{Command, Config, FlagInput, HIDDEN, is_command};
use crate::record::{Refusal, Session};
use crate::session;
use crate::store::Identity;

use super::settings::load_in;
use super::{Context, Flags, warn};

/// The flag that accepts what is refused here.
pub const FLAG: &str = "--accept-changed-commands";

/// What is kept of a session, if nothing sets another.
const AGENT_COMMAND: &str = "agents.command.command";
const VALIDATION: &str = "validation.command";

/// How much of a value a message shows, in characters.
const MAX_VALUE_CHARS: usize = 160;

/// What a session began with, what is in force now, and what can be compared.
pub struct Comparison<'a> {
    /// As recorded when the session began, or was last resumed.
    begun: &'a Session,
    config: &'a Config,
    /// Those that work.
    agents: &'a [String],
    redactor: Redactor,
    /// `None` if the hashes in the record were made in another clone.
    identity: Option<&'a Identity>,
}

/// How a setting compares.
enum Compared {
    Equal,
    Changed,
    /// Only a hash could show it, and there is none or it is not ours.
    Unknown,
}

impl<'a> Comparison<'a> {
    pub fn new(
        begun: &'a Session,
        config: &'a Config,
        agents: &'a [String],
        identity: Option<&'a Identity>,
    ) -> Result<Self> {
        let identity =
            identity.filter(|own| begun.machine == Some(own.machine()) && !begun.commands.is_empty());
        let redactor = session::redactor(&config.settings)?;
        Ok(Self { begun, config, agents, redactor, identity })
    }

    /// Refuses if anything differs; what cannot be compared in a record of an older version is a warning.
    pub fn refuse_changes(&self) -> Result<()> {
        let now: BTreeMap<String, Command> = self
            .config
            .commands(self.agents)
            .into_iter()
            .map(|command| (command.key.clone(), command))
            .collect();
        let mut changes = Vec::new();
        for key in self.recorded_keys().into_iter().chain(now.keys().cloned()).collect::<BTreeSet<_>>() {
            let command = now.get(&key);
            match self.compare(&key, command)? {
                Compared::Equal => {}
                Compared::Unknown if self.begun.commands.is_empty() => {
                    warn(&format!("cannot determine whether `{key}` changed since the session began"));
                }
                Compared::Changed | Compared::Unknown => changes.push(self.line(&key, command)?),
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        let message = format!(
            "session {} began with other commands than those that are set now:\n  {}",
            self.begun.id,
            changes.join("\n  ")
        );
        let hint = format!("if these changes are yours, add `{FLAG}`; otherwise restore the old values");
        Err(Refusal::new(message).with_hint(hint).into())
    }

    fn recorded_keys(&self) -> Vec<String> {
        let configuration = self.begun.configuration.as_object().into_iter().flatten();
        let set = configuration.filter(|(_, value)| !value.is_null()).map(|(key, _)| key.clone());
        let agents = self.recorded_agents();
        let agents: Vec<String> = agents.into_iter().chain(self.agents.iter().cloned()).collect();
        set.filter(|key| is_command(key, &agents, &self.begun.loop_type)).collect()
    }

    /// Returns those that worked; of detected ones an older record names the first.
    fn recorded_agents(&self) -> Vec<String> {
        let listed = self.begun.configuration.get("agent").and_then(Value::as_array);
        let listed = listed.map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        listed.unwrap_or_else(|| vec![self.begun.agent.clone()])
    }

    fn compare(&self, key: &str, command: Option<&Command>) -> Result<Compared> {
        let recorded = self.recorded(key);
        let is_new_default = recorded.is_none()
            && self.begun.configuration.get(key).is_none()
            && command.is_some_and(Command::is_default);
        if is_new_default {
            // An older version had no such setting, and it is not set now.
            return Ok(Compared::Equal);
        }
        let Some(command) = command else {
            return Ok(if recorded.is_none() { Compared::Equal } else { Compared::Changed });
        };
        let hash = self.begun.commands.get(key);
        if let Some(identity) = self.identity {
            let is_same = hash == Some(&identity.fingerprint(key, &command.value));
            return Ok(if is_same { Compared::Equal } else { Compared::Changed });
        }
        Ok(if recorded != Some(self.redacted(command)?) {
            Compared::Changed
        } else if command.shown == HIDDEN {
            Compared::Unknown
        } else {
            Compared::Equal
        })
    }

    fn recorded(&self, key: &str) -> Option<Value> {
        if key == "agent" {
            return Some(self.recorded_agents().into());
        }
        self.begun.configuration.get(key).filter(|value| !value.is_null()).cloned()
    }

    /// Returns the value as a record of today has it: there a key, or an option before a word, makes a text a secret.
    fn redacted(&self, command: &Command) -> Result<Value> {
        let record = Map::from_iter([(command.key.clone(), command.shown.clone())]);
        let record = session::redacted(&self.redactor, &record)?;
        Ok(record.into_iter().next().map_or(Value::Null, |(_, value)| value))
    }

    /// `validation.command: "make test" -> "true" (.specify/ralph.toml:3)`
    fn line(&self, key: &str, command: Option<&Command>) -> Result<String> {
        let old = shown(self.recorded(key).as_ref());
        let Some(command) = command else { return Ok(format!("{key}: {old} -> none (no longer set)")) };
        let (new, origin) = (shown(Some(&self.redacted(command)?)), &command.origin);
        Ok(match self.identity {
            _ if old != new => format!("{key}: {old} -> {new} ({origin})"),
            Some(_) => format!("{key}: changed, the value is not shown ({origin})"),
            None => format!("{key}: the value is not recorded, and cannot be compared ({origin})"),
        })
    }
}

impl Flags {
    /// Adds the agent command and the validation that `begun` ran with, where nothing sets another now. Only a record that
    /// the key of this clone vouches for counts, and a value that was recorded whole.
    pub fn keep_commands(&mut self, begun: &Session, context: &Context) -> Result<()> {
        let Some(identity) =
            Identity::find(context.store()?.repository())?.filter(|own| begun.machine == Some(own.machine()))
        else {
            return Ok(());
        };
        let recorded = |key: &str| {
            let value = begun.configuration.get(key)?;
            let hash = identity.fingerprint(key, &value.to_string());
            value.as_str().filter(|_| begun.commands.get(key) == Some(&hash)).map(str::to_owned)
        };
        let (_, config) = load_in(context, self.clone())?;
        if !config.is_set("agent") {
            let ran_as_command = begun.configuration.get("agent").and_then(Value::as_array);
            let ran_as_command = ran_as_command.is_some_and(|agents| *agents == ["command"]);
            self.agent_command = recorded(AGENT_COMMAND).filter(|_| ran_as_command);
        }
        if !config.is_set(VALIDATION)
            && let Some(value) = recorded(VALIDATION)
        {
            self.settings.push(FlagInput::new("the session", VALIDATION, &value));
        }
        Ok(())
    }
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "none".to_owned(), Value::to_string);
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
