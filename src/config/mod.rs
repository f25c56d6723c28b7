//! Every effective setting, and where each came from. Pure: the layers are handed in as text.

use crate::record::Permissions;

mod agents;
mod commands;
mod duration;
mod file;
mod key;
mod layers;
mod loops;
mod mistake;
mod origin;
mod sample;
mod setting;
mod spelling;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

pub use agents::{AgentCommand, AgentSettings};
pub use commands::{Command, is_command};
pub use duration::{display_duration, display_size, parse_duration, parse_size};
pub use file::HIDDEN;
pub use key::{KEYS, Key, Kind, STRATEGIES};
pub use layers::{FileInput, FlagInput, GitInput, Inputs, check};
pub use loops::{IMPLEMENT, LoopSettings, LoopType, Until};
pub use origin::Origin;
pub use sample::sample;
pub use setting::Setting;
pub use spelling::{ALLOW_LINKS, GIT_PREFIX, VARIABLE_PREFIX, git_name, variable_name};
pub use value::Value;

/// What ends the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// No open task, and a validation that passes.
    Verified,
    /// The agent's promise is enough.
    Promise,
}

/// When to stop, apart from being done. None means no such limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    pub max_iterations: u32,
    pub skip_after: Option<u32>,
    pub stuck_after: Option<u32>,
    pub max_tokens: Option<u64>,
    pub max_cost: Option<f64>,
    pub max_duration: Option<Duration>,
    /// None means that the loop does not wait at all.
    pub max_wait: Option<Duration>,
}

/// What the validation is and how long it may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationSettings {
    pub command: Option<String>,
    pub timeout: Option<Duration>,
}

/// How much of earlier iterations a prompt tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressSettings {
    /// A name of [`STRATEGIES`].
    pub strategy: String,
    /// Asked by strategies that sum up.
    pub command: Option<String>,
    /// Of each command that sums up.
    pub timeout: Option<Duration>,
    pub max_entries: usize,
    pub max_chars: usize,
    pub tail: bool,
}

/// How older iterations are told.
#[derive(Debug, Clone, PartialEq)]
pub struct HistorySettings {
    pub mode: String,
    pub budget: usize,
    pub lookback: usize,
    pub threshold: f64,
    pub failures: bool,
    pub decisions: bool,
    pub approaches: bool,
    pub summarize: Option<String>,
}

/// Whether snapshots are taken, and what they leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotSettings {
    pub enabled: bool,
    pub max_file: Option<u64>,
}

/// Regular expressions, all of them known to be sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactionSettings {
    pub rules: Vec<String>,
    pub allow: Vec<String>,
    /// Whether what is shown while a loop runs is redacted like its record.
    pub terminal: bool,
}

/// Whether the loop commits on the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    Off,
    /// Each iteration that is a success.
    OfTasks,
}

/// The effective configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The agents to run, the first preferred; none means the one that is detected.
    pub agent: Vec<String>,
    pub agents: BTreeMap<String, AgentSettings>,
    pub model: Option<String>,
    pub permissions: Permissions,
    pub limits: Limits,
    pub completion: Completion,
    pub untick: bool,
    pub commit: Commits,
    pub timeout: Option<Duration>,
    /// As set, or the default for agents that speak while they work. See [`Config::silence_of_commands`].
    pub idle_timeout: Option<Duration>,
    pub max_output: Option<u64>,
    pub validation: ValidationSettings,
    pub progress: ProgressSettings,
    pub history: HistorySettings,
    /// In tokens.
    pub prompt_budget: Option<usize>,
    /// What to note down of outputs: names, and regular expressions known to be sound.
    pub capture: BTreeMap<String, String>,
    pub snapshots: SnapshotSettings,
    /// Where records go; none means the only remote there is.
    pub remote: Option<String>,
    pub redaction: RedactionSettings,
    pub loops: BTreeMap<String, LoopSettings>,
    /// The type that is run.
    pub loop_type: LoopType,
    /// The command for the end of a session.
    pub on_finish: Option<String>,
    /// What the user should know that stops nothing.
    pub warnings: Vec<String>,
    /// Everything above by name, with origins; no secrets.
    pub settings: Vec<Setting>,
}

/// A setting as `specify ralph config` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub value: String,
    pub origin: String,
}

impl Config {
    /// Whether the user set `key` in any layer.
    pub fn is_set(&self, key: &str) -> bool {
        self.settings.iter().any(|setting| setting.key == key && setting.origin != Origin::Default)
    }

    /// The idle timeout for agents that are plain commands: a silent script is normal, so only one that was set.
    pub fn silence_of_commands(&self) -> Option<Duration> {
        self.idle_timeout.filter(|_| self.is_set("idle-timeout"))
    }

    /// Where `key` was set, if that is the project's file, which may have come with a clone.
    pub fn set_by_file(&self, key: &str) -> Option<&Origin> {
        let found = self.settings.iter().find(|setting| setting.key == key)?;
        matches!(found.origin, Origin::File { .. }).then_some(&found.origin)
    }

    pub fn entries(&self) -> Vec<Entry> {
        let value = |setting: &Setting| match (&setting.value, key::find(&setting.key)) {
            (Value::Unset, Some(key)) => key.unset.to_owned(),
            (value, _) => value.to_string(),
        };
        let entry = |setting: &Setting| Entry {
            key: setting.key.clone(),
            value: value(setting),
            origin: setting.origin.to_string(),
        };
        self.settings.iter().map(entry).collect()
    }

    /// `{"key": {"value": ..., "origin": ...}}`
    pub fn entries_to_json(&self) -> Json {
        let entry = |setting: &Setting| {
            let value = json!({"value": setting.value.to_json(), "origin": setting.origin.to_string()});
            (setting.key.clone(), value)
        };
        Json::Object(self.settings.iter().map(entry).collect())
    }

    /// `{"key": value}`, for session.json. No secrets.
    pub fn to_json(&self) -> Json {
        let values: Map<_, _> =
            self.settings.iter().map(|setting| (setting.key.clone(), setting.value.to_json())).collect();
        Json::Object(values)
    }
}
