//! `specify ralph help`: of a command its help, of a topic its page.

use std::io::Write;

use anyhow::{Context, Result, anyhow};
use clap::{Args, Command};

use crate::record::{CANONICAL, RALPH, nearest, with_command};

use super::exit_code::ExitCode;
use super::output::stdout;
use super::start::grammar;

#[derive(Debug, Args)]
pub struct HelpArgs {
    /// Command, or topic: format, names, stopping
    #[arg(value_name = "TOPIC", value_parser = topic)]
    pub topic: Option<String>,
}

/// What there is to know beside the commands.
const TOPICS: [(&str, &str); 3] = [
    ("format", include_str!("../../docs/format.md")),
    ("names", include_str!("../../docs/names.md")),
    ("stopping", include_str!("../../docs/stopping.md")),
];

/// The parser of what help is asked for.
pub(super) fn topic(name: &str) -> Result<String> {
    let grammar = grammar(CANONICAL);
    let commands = grammar.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let known: Vec<&str> = TOPICS.iter().map(|(topic, _)| *topic).chain(commands).collect();
    if known.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(match nearest(name, known.iter().copied()) {
        Some(near) => anyhow!("there is no command or topic `{name}`, did you mean `{near}`?"),
        None => anyhow!(
            "there is no command or topic `{name}`; topics are {}",
            TOPICS.map(|(topic, _)| topic).join(", ")
        ),
    })
}

pub fn run(args: &HelpArgs) -> Result<ExitCode> {
    let mut grammar = grammar(RALPH.as_str());
    grammar.build();
    let named = args.topic.as_deref();
    let page = TOPICS
        .into_iter()
        .find(|(topic, _)| named == Some(topic))
        .map(|(_, text)| with_command(text, RALPH.as_str()));
    let text = page.unwrap_or_else(|| {
        let command = named.and_then(|name| grammar.find_subcommand(name).cloned());
        command.unwrap_or(grammar).render_help().to_string()
    });
    let mut out = stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("print the help")?;
    Ok(ExitCode::Done)
}
