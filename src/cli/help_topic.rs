//! `specify ralph help`: of a command its help, of a topic its page.

use std::io::Write;

use anyhow::{Result, anyhow};
use clap::Command;

use ralph_core::record::{RALPH, did_you_mean};

use crate::cli::own_command::with_command;
use crate::cli::{ExitCode, print};

/// What there is to know beside the commands.
const TOPICS: [(&str, &str); 4] = [
    ("configuration", include_str!("../../docs/configuration.md")),
    ("format", include_str!("../../docs/format.md")),
    ("names", include_str!("../../docs/names.md")),
    ("stopping", include_str!("../../docs/stopping.md")),
];

/// Returns the parser for the name of one of `commands` or of a topic.
pub fn parser(commands: Vec<String>) -> impl Fn(&str) -> Result<String> + Clone + Send + Sync + 'static {
    move |name| {
        let topics = TOPICS.map(|(topic, _)| topic);
        let known: Vec<&str> = topics.into_iter().chain(commands.iter().map(String::as_str)).collect();
        if known.contains(&name) {
            return Ok(name.to_owned());
        }
        Err(match did_you_mean(name, known.iter().copied()) {
            Some(near) => anyhow!("there is no command or topic `{name}`, did you mean `{near}`?"),
            None => anyhow!("there is no command or topic `{name}`; topics are {}", topics.join(", ")),
        })
    }
}

pub fn run(named: Option<&str>, mut grammar: Command) -> Result<ExitCode> {
    grammar.build();
    let page = TOPICS
        .into_iter()
        .find(|(topic, _)| named == Some(topic))
        .map(|(_, text)| with_command(text, RALPH.as_str()));
    let text = page.unwrap_or_else(|| {
        let command = named.and_then(|name| grammar.find_subcommand(name).cloned());
        command.unwrap_or(grammar).render_help().to_string()
    });
    print(|out| out.write_all(text.as_bytes()))
}
