//! The configuration that is in force.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::agents::AgentSettings;
use super::file_commands::Command;
use super::loops::LoopType;
use super::origin::Origin;
use super::origin::Setting;
use super::settings::{self, Settings};
use super::value;

/// The configuration: what each layer sets, and the effective values. A session keeps the former for its resumption.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// What is set, from the weakest layer to the strongest. A layer has a key once.
    pub layers: Vec<Setting>,
    /// Those of the project's file. May have secrets.
    pub agents: BTreeMap<String, AgentSettings>,
    /// The type that is run.
    pub loop_type: LoopType,
    /// What of the project's file needs the user's approval before a run.
    pub file_commands: Vec<Command>,
    /// Where links in the work tree may lead beyond it, as git's configuration says.
    pub allowed_links: Vec<String>,
    #[serde(skip)]
    pub settings: Settings,
    /// What the user should know that stops nothing.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// All effective values by name, with origins; no secrets.
    #[serde(skip)]
    pub values: Vec<Setting>,
}

impl Config {
    /// Returns true if the user set `key` in any layer.
    pub fn is_set(&self, key: &str) -> bool {
        self.values.iter().any(|setting| setting.key == key && setting.origin != Origin::Default)
    }

    /// Returns the value of a setting as it is, secrets included: never to be shown or recorded.
    pub fn exact(&self, key: &str) -> Option<Json> {
        let rest = key.strip_prefix("agents.").unwrap_or_default();
        let variable = self.agents.iter().find_map(|(name, agent)| {
            agent.env.get(rest.strip_prefix(name.as_str())?.strip_prefix(".env.")?)
        });
        variable
            .map(|text| text.as_str().into())
            .or_else(|| Some(self.values.iter().find(|setting| setting.key == key)?.value.clone()))
    }

    /// Returns the idle timeout for agents that are plain commands: a silent script is normal, so only one that was
    /// set.
    pub fn silence_of_commands(&self) -> Option<Duration> {
        self.settings.idle_timeout.filter(|_| self.is_set("idle-timeout"))
    }

    /// Returns where `key` was set, if that is the project's file, which may have come with a clone.
    pub fn set_by_file(&self, key: &str) -> Option<&Origin> {
        let found = self.values.iter().find(|setting| setting.key == key)?;
        found.origin.is_file().then_some(&found.origin)
    }

    /// `{"key": {"value": ..., "origin": ...}}`
    pub fn entries_to_json(&self) -> Json {
        Json::Object(
            self.values
                .iter()
                .map(|setting| {
                    let value = json!({"value": setting.value, "origin": setting.origin.to_string()});
                    (setting.key.clone(), value)
                })
                .collect(),
        )
    }

    /// `{"key": value}`, for session.json. No secrets.
    pub fn to_json(&self) -> Json {
        Json::Object(self.values.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect())
    }

    /// Returns the commands of the project's file that a run would use: neither overridden, nor of another agent or
    /// type of loop.
    pub fn commands_from_file(&self) -> impl Iterator<Item = &Command> {
        let agents = &self.settings.agent;
        let is_of =
            |rest: &str, name: &str| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        self.file_commands.iter().filter(move |command| {
            let key = command.key.as_str();
            match (key.strip_prefix("agents."), key.strip_prefix("loop.")) {
                (Some(rest), _) => agents.is_empty() || agents.iter().any(|agent| is_of(rest, agent)),
                (_, Some(rest)) => {
                    let own = rest.strip_prefix(self.loop_type.name.as_str());
                    own.and_then(|rest| rest.strip_prefix('.'))
                        .is_some_and(|key| self.set_by_file(key).is_some())
                }
                (None, None) => self.set_by_file(key).is_some(),
            }
        })
    }
}

impl Setting {
    /// Returns the value as people read it.
    pub fn text(&self) -> String {
        match settings::find(&self.key) {
            Some(key) if self.value.is_null() => key.unset.to_owned(),
            _ => value::text(&self.value),
        }
    }
}
