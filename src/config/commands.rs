//! The settings that run something, redirect something, or decide what counts as done: a session keeps those that it
//! began with.

use serde_json::Value as Json;

use super::effective::Config;
use super::file_commands::{Command, can_run};
use super::loops::LoopSettings;
use super::value::Value;

/// Such settings beside those that can run something, and apart from those of agents and loop types.
const NAMES: &[&str] = &["agent", "permissions", "completion", "untick", "allow-links"];

/// Fields of `[agents.<name>]` that are such settings.
const AGENT_FIELDS: &[&str] = &["command", "prompt", "parser", "limit-pattern", "env"];

/// Returns true if `key` is such a setting, in a session of this loop type in which these agents work.
pub fn is_command(key: &str, agents: &[String], loop_type: &str) -> bool {
    if let Some(rest) = key.strip_prefix("agents.") {
        return agents.iter().any(|agent| {
            let field = rest.strip_prefix(agent.as_str()).and_then(|rest| rest.strip_prefix('.'));
            let field = field.map(|field| field.split('.').next().unwrap_or_default());
            field.is_some_and(|field| AGENT_FIELDS.contains(&field))
        });
    }
    if let Some(rest) = key.strip_prefix("loop.") {
        // Other settings of the type are in force under their own names.
        let field = rest.strip_prefix(loop_type).and_then(|rest| rest.strip_prefix('.'));
        return field.is_some_and(|field| LoopSettings::FIELDS.contains(&field));
    }
    NAMES.contains(&key) || can_run(key)
}

impl Config {
    /// These settings, but for those that have no value. `agents` are those that work, also where they were detected.
    pub fn commands(&self, agents: &[String]) -> Vec<Command> {
        let mut commands = Vec::new();
        for setting in &self.values {
            if !is_command(&setting.key, agents, &self.loop_type.name) {
                continue;
            }
            let (value, shown) = match (setting.key.as_str(), &setting.value) {
                ("agent", _) => (agents.join("\n"), Json::from(agents)),
                (_, Value::Unset) => continue,
                (key, value) => {
                    let shown = value.to_json();
                    (self.variable(key).unwrap_or_else(|| shown.to_string()), shown)
                }
            };
            let (key, origin) = (setting.key.clone(), setting.origin.clone());
            commands.push(Command { key, value, shown, origin });
        }
        commands
    }

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

    /// Returns the value of a variable that an agent gets.
    fn variable(&self, key: &str) -> Option<String> {
        let rest = key.strip_prefix("agents.")?;
        let found = self.agents.iter().find_map(|(name, agent)| {
            agent.env.get(rest.strip_prefix(name.as_str())?.strip_prefix(".env.")?)
        });
        found.cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_run_redirect_or_judge_are_kept_by_a_session() {
        let agents = ["fake".to_owned(), "a.b".to_owned()];
        for key in [
            "agent",
            "permissions",
            "completion",
            "untick",
            "validation.command",
            "progress.command",
            "history.summarize",
            "hooks.on-finish",
            "redaction.rules",
            "redaction.allow",
            "agents.fake.command",
            "agents.fake.prompt",
            "agents.fake.parser",
            "agents.fake.limit-pattern",
            "agents.fake.env.PATH",
            "agents.a.b.env.X.Y",
            "loop.review.template",
            "loop.review.artifact",
            "loop.review.until",
        ] {
            assert!(is_command(key, &agents, "review"), "{key}");
        }
        for key in [
            "model",
            "max-iterations",
            "skip-after",
            "timeout",
            "validation.timeout",
            "progress.strategy",
            "capture.port",
            "remote",
            "agents.fake.model",
            "agents.fakes.command",
            "agents.other.command",
            "loop.review.validation.command",
            "loop.plan.template",
        ] {
            assert!(!is_command(key, &agents, "review"), "{key}");
        }
    }

    #[test]
    fn every_setting_that_holds_a_command_is_one_of_them() {
        let commands = super::super::KEYS.iter().filter(|key| {
            let doc = key.doc.to_ascii_lowercase();
            key.name.ends_with("command") || doc.contains("command to run") || doc.contains("or a command")
        });
        let commands: Vec<_> = commands.map(|key| key.name).collect();
        assert!(commands.len() >= 4, "{commands:?}");
        for key in commands {
            assert!(is_command(key, &[], "implement"), "{key}");
        }
    }
}
