//! `specify ralph trust`, and the question before a run: commands that may have arrived with a clone run only if the user
//! approved them.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use ralph_core::config::{Command, Config, FILE, Trust};
use ralph_core::record::{RALPH, Refusal};
use ralph_ui::style::{inert, one_line, picture};

use crate::cli::pager::write_folded;
use crate::cli::settings::{load_in, load_without_file};
use crate::cli::start::approvals::{Approvals, Approved};
use crate::cli::start::confirm;
use crate::cli::{Context, ExitCode, Flags, Json, emit, say};

#[derive(Debug, Args)]
pub struct TrustArgs {
    /// Print the commands and whether they are approved, and exit
    #[arg(long)]
    pub show: bool,
    /// Revoke all approvals in this repository
    #[arg(long, conflicts_with = "show")]
    pub revoke: bool,
    #[command(flatten)]
    pub json: Json,
}

pub fn run(args: &TrustArgs, context: &Context) -> Result<ExitCode> {
    let approvals = Approvals::of(context)?;
    if args.revoke {
        let line = if approvals.revoke()? {
            "no command of the project's file is approved in this repository any more"
        } else {
            "nothing was approved in this repository"
        };
        return say(line);
    }
    let config = load_in(context, Flags::default())?;
    let commands = &config.file_commands;
    if !args.show && !commands.is_empty() {
        approvals.approve(Approved::Commands(commands))?;
    }
    let is_approved = commands.is_empty() || approvals.hold(Approved::Commands(commands))?;
    let rows: Vec<_> = commands.iter().map(|command| json!({"key": command.key, "value": shown(command), "origin": command.origin.to_string()})).collect();
    emit(args.json, &json!({"is_approved": is_approved, "commands": rows}), |out| {
        if commands.is_empty() {
            return writeln!(out, "{FILE} names no command: there is nothing to approve");
        }
        let not = if is_approved { "" } else { "not " };
        let text = format!("{}\n{not}approved in this repository\n", listing(commands));
        write_folded(out, text.as_bytes(), context)
    })?;
    Ok(if is_approved { ExitCode::Done } else { ExitCode::NotDone })
}

/// Refuses to run commands of the project's file that the user did not approve. On a terminal the user is asked.
pub fn require(config: &Config, context: &Context) -> Result<()> {
    let Some(used) = unapproved(config, context)? else { return Ok(()) };
    let question = format!("{FILE} names commands:\n{used}\nApprove them for this repository?");
    match confirm::ask(&question)? {
        Some(true) => Approvals::of(context)?.approve(Approved::Commands(&config.file_commands)),
        Some(false) => Err(Refusal::new("the commands were not approved, and nothing was run").into()),
        None => Err(refuse(&used).into()),
    }
}

/// Returns what prevents a run, if anything does. Asks nothing.
pub fn refusal(config: &Config, context: &Context) -> Result<Option<Refusal>> {
    Ok(unapproved(config, context)?.map(|used| refuse(&used)))
}

/// Returns the commands of the file, a line each, if a run would use one without an approval.
fn unapproved(config: &Config, context: &Context) -> Result<Option<String>> {
    let is_needed = config.settings.trust != Trust::Always && config.commands_from_file().next().is_some();
    if !is_needed || Approvals::of(context)?.hold(Approved::Commands(&config.file_commands))? {
        return Ok(None);
    }
    // An approval is of all of them, those of other agents and types of loop too.
    Ok(Some(listing(&config.file_commands)))
}

fn refuse(used: &str) -> Refusal {
    let message = format!("{FILE} names commands that you have not approved in this repository:\n{used}");
    let hint = format!(
        "read them, then `{RALPH} trust` approves them, also if the file is your own; `--trust` does so for one call"
    );
    Refusal::new(message).with_hint(hint)
}

/// Returns a line for each, whole: what is cut off could be what matters.
fn listing(commands: &[Command]) -> String {
    commands
        .iter()
        .map(|command| {
            let replaces = command.key.strip_prefix("agents.").and_then(|rest| rest.split('.').next());
            let note = match replaces.filter(|name| ralph_agent::is_known(name)) {
                Some(name) => format!(", changes the known agent {name}"),
                None => String::new(),
            };
            format!("  {} = {}  ({}{note})", one_line(&command.key), shown(command), command.origin)
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the configuration for a command that only reads. What the project's file says of redaction counts in it only if
/// the user approved it: it decides which secrets are shown.
pub fn load_to_read(context: &Context) -> Result<Config> {
    let config = load_in(context, Flags::default())?;
    let is_of_file = config.commands_from_file().any(|command| command.key.starts_with("redaction."));
    // Without a folder for approvals there is none.
    let is_approved = !is_of_file || matches!(unapproved(&config, context), Ok(None));
    if is_approved { Ok(config) } else { load_without_file(context) }
}

/// Returns the value as it is approved, on one line: whole, as text that is left out could be what runs. Secrets are not
/// taken out: what looks like one can be code.
fn shown(command: &Command) -> String {
    inert(&command.value).chars().map(|c| picture(c).unwrap_or(c)).collect()
}

#[cfg(test)]
mod tests {
    use ralph_core::config::Inputs;

    use super::*;

    #[test]
    fn all_that_is_approved_is_shown_whole() {
        let text = r#"
            validation.command = "TOKEN=`touch x` true"
            [loop.plan]
            validation.command = "echo -----BEGIN RSA PRIVATE KEY-----;touch y;echo -----END RSA PRIVATE KEY-----"
            [agents.claude.env]
            API_KEY = "sk-ant-api03-aaaaaaaaaaaaaaaaaaaa\n\u001b[8mz"
        "#;
        let file = Some(text.to_owned());
        let config = Config::read(&Inputs { file, ..Inputs::default() }).unwrap();
        let listed = listing(&config.file_commands);
        assert_eq!(listed.lines().count(), 3, "{listed}");
        for whole in ["`touch x`", ";touch y;", "sk-ant-api03-aaaaaaaaaaaaaaaaaaaa␊␛[8mz", "loop.plan."] {
            assert!(listed.contains(whole), "{listed}");
        }
    }
}
