//! `specify ralph util`: commands for shells, packagers and the curious.

use anyhow::Result;
use clap::{Command, Subcommand};

use super::{Context, ExitCode, completions, excerpt, help, man, replay};

#[derive(Debug, Subcommand)]
pub enum UtilAction {
    /// Print a completion script for a shell
    #[command(after_help = completions::examples())]
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write all of them
    Man(man::ManArgs),
    /// Show the excerpt of an output and the fingerprint of its failure
    #[command(after_help = help::EXCERPT)]
    Excerpt(excerpt::ExcerptArgs),
    /// Show the prompts that other settings would have produced
    #[command(after_help = help::REPLAY)]
    Replay(Box<replay::ReplayArgs>),
}

pub fn run(action: &UtilAction, context: &Context, grammar: fn(&'static str) -> Command) -> Result<ExitCode> {
    match action {
        UtilAction::Completions(args) => completions::run(args, &context.environment),
        UtilAction::Man(args) => man::run(args, grammar),
        UtilAction::Excerpt(args) => excerpt::run(args, context),
        UtilAction::Replay(args) => replay::run(args, context),
    }
}
