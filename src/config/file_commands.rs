//! What of the project's file can run or redirect something. The file can arrive with a clone, so this needs the user's
//! approval.

use serde_json::Value as Json;

use super::agents::AgentSettings;
use super::file::Contents;
use super::origin::Origin;
use super::value::Value;
use super::values::Setting;

/// Such settings, apart from those of agents.
const NAMES: &[&str] = &[
    "validation.command",
    "validation.pass",
    "validation.refuse",
    "validation.protect",
    "progress.command",
    "history.summarize",
];

/// What all such settings below a table begin with.
const TABLES: &[&str] = &["hooks.", "redaction."];

/// A setting that runs or redirects something, or decides what counts as done.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    pub key: String,
    /// What it is, exactly. May be a secret.
    pub value: String,
    /// What may be recorded and, after redaction, shown.
    pub shown: Json,
    pub origin: Origin,
}

impl Command {
    /// Returns true if it is not set in any layer.
    pub fn is_default(&self) -> bool {
        self.origin == Origin::Default
    }

    fn of(setting: &Setting) -> Self {
        let shown = setting.value.to_json();
        Self { key: setting.key.clone(), value: shown.to_string(), shown, origin: setting.origin.clone() }
    }
}

/// All of one file, in the order of their keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileCommands(Vec<Command>);

impl FileCommands {
    pub(super) fn of(contents: &Contents) -> Self {
        let find = |key: &str| contents.settings.iter().find(|setting| setting.key == key);
        let plain = contents.settings.iter().filter(|setting| is_command(setting));
        let mut commands: Vec<Command> = plain.map(Command::of).collect();
        for (name, table) in &contents.loops {
            let own = table.settings.iter().filter(|setting| is_command(setting));
            commands.extend(own.map(|setting| Command {
                key: format!("loop.{name}.{}", setting.key),
                ..Command::of(setting)
            }));
        }
        for (name, AgentSettings { env, .. }) in &contents.agents {
            commands.extend(find(&format!("agents.{name}.command")).map(Command::of));
            for (variable, value) in env {
                let set = find(&format!("agents.{name}.env.{variable}"));
                commands.extend(set.map(|setting| Command { value: value.clone(), ..Command::of(setting) }));
            }
        }
        commands.sort_by(|a, b| a.key.cmp(&b.key));
        Self(commands)
    }

    pub fn all(&self) -> &[Command] {
        &self.0
    }
}

/// Returns true if a setting can run or redirect something, apart from those of agents.
pub(super) fn can_run(key: &str) -> bool {
    NAMES.contains(&key) || TABLES.iter().any(|table| key.starts_with(table))
}

fn is_command(Setting { key, value, .. }: &Setting) -> bool {
    let is_own_way = key == "history.summarize" && *value == Value::Text("local".to_owned());
    can_run(key) && !is_own_way && *value != Value::Unset
}
