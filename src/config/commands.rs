//! What of the project's file a run would use.

use super::effective::Config;
use super::file_commands::Command;

impl Config {
    /// Returns the commands of the project's file that a run would use: neither overridden, nor of another agent or
    /// type of loop.
    pub fn commands_from_file(&self) -> impl Iterator<Item = &Command> {
        let agents = &self.settings.agent;
        let is_of =
            |rest: &str, name: &str| rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        self.file_commands.all().iter().filter(move |command| {
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
