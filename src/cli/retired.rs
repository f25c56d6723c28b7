//! Commands and flags of earlier versions that are gone: what does their work now.

use anyhow::{Error, anyhow};
use clap::error::{ContextKind, ContextValue};

use ralph_core::record::RALPH;

/// Returns an error that says what to use instead, if clap does not know a word because its command is gone.
pub fn explain(error: &clap::Error) -> Option<Error> {
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
            format!("its commands go without it: `{RALPH} completions`, `man`, `excerpt`, `replay`, `tasks`")
        }
        "continue" => format!("`{RALPH} resume` goes on with a session that was stopped"),
        "pack" | "--pack" => {
            "a loop has git pack what is loose; `git maintenance run --task=loose-objects` does it now"
                .to_owned()
        }
        _ => return None,
    };
    Some(anyhow!("`{word}` is gone\nhint: {instead}"))
}
