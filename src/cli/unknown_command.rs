//! A word that is no command: what does the work of one that is gone, and which one was meant.

use anyhow::{Error, anyhow};
use clap::Command;
use clap::error::{ContextKind, ContextValue};

use ralph_core::record::{RALPH, did_you_mean, quoted_for_shell};
use ralph_ui::style::one_line;

/// What other programs call the work of a command.
const SYNONYMS: &[(&str, &str)] = &[
    ("abort", "stop"),
    ("answer", "hint"),
    ("cancel", "stop"),
    ("check", "doctor"),
    ("fetch", "sync"),
    ("html", "report"),
    ("kill", "stop"),
    ("list", "log"),
    ("ls", "log"),
    ("ps", "status"),
    ("pull", "sync"),
    ("push", "sync"),
    ("revert", "restore"),
    ("rm", "clean"),
    ("rollback", "restore"),
    ("settings", "config"),
    ("setup", "init"),
    ("st", "status"),
    ("start", "run"),
    ("ui", "tui"),
    ("undo", "restore"),
    ("watch", "tui"),
];

/// Programs that run tests: who names one means the validation.
const RUNNERS: &[&str] = &[
    "bun", "cargo", "deno", "dotnet", "go", "gradle", "jest", "just", "make", "mvn", "node", "npm", "npx",
    "pnpm", "pytest", "python", "python3", "rspec", "tox", "uv", "vitest", "yarn",
];

/// Returns an error with the command that was meant, if clap does not know a word; only one that help lists.
pub fn suggest(error: &clap::Error, grammar: &Command) -> Option<Error> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else { return None };
    if word.contains(char::is_whitespace) || RUNNERS.contains(&word.as_str()) {
        let word = one_line(word);
        let validate =
            if word.contains(' ') { quoted_for_shell(&word).into_owned() } else { format!("'{word} …'") };
        let hint = format!("`{RALPH} --validate {validate}` sets the command that checks each task");
        return Some(anyhow!("`{word}` is not a command\nhint: {hint}"));
    }
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == word).map(|(_, name)| *name);
    let commands = grammar.get_subcommands().filter(|command| !command.is_hide_set());
    let hint = match synonym.or_else(|| did_you_mean(word, commands.map(Command::get_name))) {
        Some(name) => format!("did you mean `{RALPH} {name}`?"),
        None => format!("`{RALPH} -h` lists the commands"),
    };
    Some(anyhow!("`{}` is not a command\nhint: {hint}", one_line(word)))
}

/// Returns an error that says what to use instead, if clap does not know a word because its command is gone.
pub fn retired(error: &clap::Error) -> Option<Error> {
    let word = error.get(ContextKind::InvalidSubcommand).or_else(|| error.get(ContextKind::InvalidArg))?;
    let ContextValue::String(word) = word else { return None };
    let instead = match word.as_str() {
        "bundle" => {
            "`git bundle create FILE --glob='refs/ralph*'` writes all records and snapshots to a file"
                .to_owned()
        }
        "unbundle" => format!("`{RALPH} sync --fetch-only FILE` reads what `git bundle` wrote"),
        "pause" => format!("`{RALPH} stop` ends the loop after its iteration, `{RALPH} resume` goes on"),
        "agents" => {
            format!("`{RALPH} doctor` lists the known agents, and `{RALPH} doctor --json` says all of each")
        }
        "util" | "debug" => {
            format!(
                "its commands go without it: `{RALPH} completions SHELL`, `man`, `excerpt`, `replay`, `tasks`"
            )
        }
        "--where" | "--format" | "--class" | "--repeats" => {
            format!(
                "`{RALPH} log --jsonl | jq 'select(.outcome == \"failure\")'` chooses and prints any field"
            )
        }
        "--history-budget" | "--history-threshold" => {
            format!("`--set history.{}=NUMBER` sets it", word.trim_start_matches("--history-"))
        }
        "--compare" | "--svg" => format!("`{RALPH} report --json` has the figures of each session"),
        "continue" => format!("`{RALPH} resume` goes on with a session that was stopped"),
        "pack" | "--pack" => {
            "a loop has git pack what is loose; `git maintenance run --task=loose-objects` does it now"
                .to_owned()
        }
        _ => return None,
    };
    Some(anyhow!("`{word}` is gone\nhint: {instead}"))
}
