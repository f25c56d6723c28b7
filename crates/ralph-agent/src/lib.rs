//! Agents: the outside programs that get a prompt and may change the work tree.

mod adapter;
pub mod answer;
mod command;
mod detect;
pub mod final_message;
mod hint;
mod interface;
mod known;
mod launch;
mod lines;
mod programs;
pub mod question;
mod rollout;
pub mod script;
mod scripted;
mod settings;
mod stream;
mod watchdog;

use anyhow::{Result, bail};
use camino::Utf8Path;
use redact_stream::Redactor;
use strum::IntoEnumIterator;

use ralph_core::record::{AgentEvent, Parser, did_you_mean};

use adapter::Adapter;
use command::Command;
use known::SCRIPTED;
use scripted::Scripted;
use stream::StreamReader;

pub use detect::{AgentListing, detect, list, passed_over};
pub use interface::{Agent, AgentInput, Lookup};
pub use settings::AgentSettings;

/// Returns what an agent did, by what it printed, or `None` if that is text for people already. The output may begin and
/// end anywhere.
pub fn parse_transcript(parser: Parser, output: &[u8]) -> Option<Vec<AgentEvent>> {
    if parser == Parser::Text {
        return None;
    }
    let mut events = Vec::new();
    StreamReader::new(parser, &Redactor::default()).lines(output, &mut |event| events.push(event));
    Some(events)
}

/// Reads a whole output in every form that we know, for fuzzing alone.
#[doc(hidden)]
pub fn read_streams(output: &[u8]) {
    for parser in Parser::iter() {
        let mut stream = StreamReader::new(parser, &Redactor::default());
        stream.lines(output, &mut |_| ());
        drop(stream.finish(0, Utf8Path::new("/nowhere")));
    }
}

/// Makes the agent that the settings describe. `own_program` is how we are called, up to our own sub-commands:
/// `specify ralph`, or `git-ralph`.
pub fn build(settings: &AgentSettings, own_program: &[String], lookup: Lookup<'_>) -> Result<Box<dyn Agent>> {
    Ok(match (&settings.command, settings.name.as_str()) {
        (script, SCRIPTED) => {
            Box::new(Scripted::new(script.as_deref().unwrap_or_default(), own_program, settings)?)
        }
        (Some(command), _) => Box::new(Command::new(command, settings)?),
        (None, name) => {
            if let Some(known) = known::find(name) {
                Box::new(Adapter::new(known, settings, lookup))
            } else {
                let near = did_you_mean(name, names())
                    .map_or(String::new(), |near| format!("did you mean `{near}`? "));
                bail!(
                    "unknown agent `{name}`\nhint: {near}known agents are {} and scripted; for any other program, \
                 set `command` in [agents.{name}] of .specify/ralph.toml, or use --agent-command CMD",
                    known::names().collect::<Vec<_>>().join(", ")
                )
            }
        }
    })
}

/// Returns the names of all known agents.
pub fn names() -> impl Iterator<Item = &'static str> {
    known::names().chain([SCRIPTED])
}

/// Returns the files with logins of all known agents, from the home folder.
pub fn credentials() -> impl Iterator<Item = &'static str> {
    known::KNOWN.iter().flat_map(|known| known.credentials.iter().copied())
}

/// Returns true if `name` needs no command in the configuration.
pub fn is_known(name: &str) -> bool {
    known::find(name).is_some()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn own_program() -> Vec<String> {
        vec!["/bin/specify".to_owned(), "ralph".to_owned()]
    }

    fn complaint(settings: &AgentSettings) -> String {
        build(settings, &own_program(), &|_| None).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn an_unknown_agent_is_refused_with_the_known_ones() {
        let text = complaint(&AgentSettings::named("cluade"));
        assert!(
            text.starts_with(
                "unknown agent `cluade`\nhint: did you mean `claude`? known agents are claude, "
            ),
            "{text}"
        );
    }

    #[test]
    fn a_command_may_have_any_name_even_a_known_one() {
        for name in ["fake", "claude"] {
            let settings =
                AgentSettings { command: Some(vec!["true".to_owned()]), ..AgentSettings::named(name) };
            assert_eq!(build(&settings, &own_program(), &|_| None).unwrap().name(), name);
            assert_eq!(settings.idle_by_default(), None);
        }
        for (name, minutes) in
            [("claude", 15), ("scripted", 15), ("opencode", 30), ("kilo", 30), ("aider", 30)]
        {
            let idle = AgentSettings::named(name).idle_by_default();
            assert_eq!(idle, Some(Duration::from_secs(minutes * 60)), "{name}");
        }
    }
}
