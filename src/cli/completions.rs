//! `specify ralph completions`: what a shell has to know to complete our command lines.

use std::io::Write;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::exit_code::ExitCode;
use super::help;
use super::output::stdout;
use crate::record::{CANONICAL, RALPH_ELSEWHERE};

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Returns what completes `specify ralph` goes where the shell looks for `specify`.
pub(super) fn examples() -> &'static str {
    if is_specify() { help::COMPLETIONS } else { help::COMPLETIONS_FOR_GIT }
}

/// Called as `git ralph`, we leave `specify` to spec-kit.
fn is_specify() -> bool {
    RALPH_ELSEWHERE.as_str() == CANONICAL
}

pub fn run(args: &CompletionsArgs, grammar: &Command) -> Result<ExitCode> {
    let mut script = Vec::new();
    let ralph = || grammar.clone().name("ralph");
    let mut specify = Command::new("specify").about("Spec-driven development").subcommand(ralph());
    if is_specify() {
        generate(args.shell, &mut specify, "specify", &mut script);
    }
    generate(args.shell, &mut ralph().name("git-ralph"), "git-ralph", &mut script);
    if args.shell == Shell::Bash {
        script.extend_from_slice(for_git(&ralph()).as_bytes());
    }
    let mut out = stdout();
    out.write_all(&script).and_then(|()| out.flush()).context("print the completions")?;
    Ok(ExitCode::Done)
}

/// `git ralph` is completed by git's own script, which asks a function of this name.
fn for_git(ralph: &Command) -> String {
    let commands = ralph.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let commands = commands.collect::<Vec<_>>().join(" ");
    format!("\n_git_ralph() {{\n    __gitcomp \"{commands}\"\n}}\n")
}
