//! Commands of a session that `resume` takes over: flags of the first call need not be typed again.

use anyhow::Result;
use serde_json::Value;

use crate::config::FlagInput;
use crate::record::Session;

use super::settings::load_in;
use super::{Context, Flags};

const AGENT_COMMAND: &str = "agents.command.command";
const VALIDATION: &str = "validation.command";

impl Flags {
    /// Adds the agent command and the validation that `begun` ran with, where nothing sets another now. Only a record that
    /// the key of this clone vouches for counts, and a value that was recorded whole.
    pub fn keep_commands(&mut self, begun: &Session, context: &Context) -> Result<()> {
        let Some(identity) = context.store()?.identity()?.filter(|own| begun.machine == Some(own.machine()))
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
