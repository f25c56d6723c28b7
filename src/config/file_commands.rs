//! What of the project's file can run or redirect something. The file can arrive with a clone, so this needs the user's
//! approval.

use serde_json::Value as Json;

use super::agents::AgentSettings;
use super::file::Contents;
use super::origin::Origin;
use super::sides::{Side, side};
use super::value::Value;
use super::values::Setting;

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

/// Returns true if a setting needs an approval, apart from those of agents.
fn is_command(Setting { key, value, .. }: &Setting) -> bool {
    let is_own_way = key == "history.summarize" && *value == Value::Text("local".to_owned());
    !key.starts_with("agents.") && side(key) == Side::Approved && !is_own_way && *value != Value::Unset
}
