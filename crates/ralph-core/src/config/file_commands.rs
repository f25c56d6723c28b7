//! What of the project's file can run or redirect something. The file can arrive with a clone, so this needs the user's
//! approval.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::agents::AgentSettings;
use super::file::Contents;
use super::key::Side;
use super::origin::Origin;
use super::origin::Setting;
use super::sides::side;

/// A setting that runs or redirects something, or decides what counts as done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
        let Setting { key, value, origin } = setting.clone();
        Self { key, value: value.to_string(), shown: value, origin }
    }
}

/// Returns all of one file, in the order of their keys.
pub(super) fn commands_of(contents: &Contents<'_>) -> Vec<Command> {
    let plain = contents.settings.iter().filter(|setting| is_command(setting));
    let mut commands: Vec<Command> = plain.map(Command::of).collect();
    for (name, (_, settings)) in &contents.loops {
        let own = settings.iter().filter(|setting| is_command(setting));
        commands.extend(
            own.map(|setting| Command {
                key: format!("loop.{name}.{}", setting.key),
                ..Command::of(setting)
            }),
        );
    }
    for (name, AgentSettings { env, .. }) in &contents.agents {
        for field in ["command", "state", "credentials"] {
            commands.extend(find(contents, &format!("agents.{name}.{field}")).map(Command::of));
        }
        for (variable, value) in env {
            let set = find(contents, &format!("agents.{name}.env.{variable}"));
            commands.extend(set.map(|setting| Command { value: value.clone(), ..Command::of(setting) }));
        }
    }
    commands.sort_by(|a, b| a.key.cmp(&b.key));
    commands
}

fn find<'c>(contents: &'c Contents<'_>, key: &str) -> Option<&'c Setting> {
    contents.settings.iter().find(|setting| setting.key == key)
}

/// Returns true if a setting needs an approval, apart from those of agents.
fn is_command(Setting { key, value, .. }: &Setting) -> bool {
    let is_own_way = key == "history.summarize" && value == "local";
    !key.starts_with("agents.") && side(key) == Side::Approved && !is_own_way && !value.is_null()
}
