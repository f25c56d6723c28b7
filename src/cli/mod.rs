//! The command line: its grammar, and one file for each command.

mod agent_settings;
mod agents;
mod args;
mod bisect;
mod caller;
mod changed_commands;
mod clean;
mod completions;
mod config;
mod demo;
mod diff;
mod doctor;
mod excerpt;
mod exit_code;
mod filter;
mod forward;
mod fsck;
mod help;
mod help_topic;
mod history;
mod hooks;
mod init;
mod iterations;
mod log;
mod man;
mod notes;
mod on_finish;
mod output;
mod own_command;
mod pack;
mod patches;
mod place;
mod play_script;
mod progress;
mod ready;
mod rebuild;
mod remotes;
mod replay;
mod report;
mod report_file;
mod restore;
mod run;
mod sessions;
mod settings;
mod show;
mod start;
mod stats;
mod status;
mod steer;
mod sync;
mod tasks;
mod tui;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use args::{Everywhere, ReadArgs};

pub use exit_code::ExitCode;

/// The `specify` program: `ralph` is ours, everything else is spec-kit's.
pub fn specify(args: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    start::specify(&args.collect::<Vec<_>>()).into()
}

/// The `git-ralph` program.
pub fn git_ralph(args: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    start::git_ralph(&args.collect::<Vec<_>>()).into()
}

/// Run coding agents over the tasks of a spec-kit feature, and keep the whole record in git
#[derive(Debug, Parser)]
#[command(name = "specify-ralph", version, after_help = help::RALPH, max_term_width = 110, disable_help_subcommand = true)]
struct Ralph {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(flatten)]
    run: run::RunArgs,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run the loop until the tasks are done (the default)
    Run(Box<run::RunArgs>),
    /// Take up a session again that did not complete
    Resume(Box<run::ResumeArgs>),
    /// Stop the running loop after its iteration
    Stop(steer::StopArgs),
    /// Say something in the next prompt of the running loop
    Hint(steer::HintArgs),
    /// Pause the running loop after its iteration
    Pause(steer::PauseArgs),
    /// Let a paused loop go on
    Continue(steer::PauseArgs),
    /// Show where the feature and its latest session stand
    Status(status::StatusArgs),
    /// Show the task list as the loop reads it
    Tasks(tasks::TasksArgs),
    /// List the iterations of all sessions
    #[command(after_help = help::LOG)]
    Log(log::LogArgs),
    /// Show one iteration
    #[command(after_help = help::SHOW)]
    Show(show::ShowArgs),
    /// Browse sessions on a screen, and watch the one that runs
    #[command(after_help = help::TUI)]
    Tui(tui::TuiArgs),
    /// Show what the next prompt is told of older iterations, and why
    #[command(after_help = help::HISTORY)]
    History(Box<history::HistoryArgs>),
    /// Show the code between two iterations, or between one and the work tree
    #[command(after_help = help::DIFF)]
    Diff(diff::DiffArgs),
    /// Find the first iteration after which a command fails
    #[command(after_help = help::BISECT)]
    Bisect(bisect::BisectArgs),
    /// Bring the work tree back to what it was after an iteration
    #[command(after_help = help::RESTORE)]
    Restore(restore::RestoreArgs),
    /// Show the prompts that other settings would have given
    #[command(after_help = help::REPLAY)]
    Replay(Box<replay::ReplayArgs>),
    /// Count iterations, repeated failures, tokens and time
    Stats(ReadArgs),
    /// Make a page of a session that can be sent to anybody, or a summary for a pull request
    #[command(after_help = help::REPORT)]
    Report(report::ReportArgs),
    /// Print what the next prompt is told of the newest iterations
    #[command(after_help = help::PROGRESS)]
    Progress(Box<progress::ProgressArgs>),
    /// Write progress.txt anew from the record
    #[command(after_help = help::REBUILD)]
    Rebuild(rebuild::RebuildArgs),
    /// Put what is loose of the record into a git pack
    Pack(pack::PackArgs),
    /// Bring the records here and those of a remote together
    #[command(after_help = help::SYNC)]
    Sync(sync::SyncArgs),
    /// Write records into a file, for people without a remote
    Bundle(sync::BundleArgs),
    /// Take in the records of a bundle
    Unbundle(sync::UnbundleArgs),
    /// Hold every record against itself, and progress.txt against the record
    #[command(after_help = help::FSCK)]
    Fsck(fsck::FsckArgs),
    /// Remove old snapshots, or old sessions
    #[command(after_help = help::CLEAN)]
    Clean(clean::CleanArgs),
    /// Take a session away for good, here and at the remote
    #[command(after_help = help::PURGE)]
    Purge(clean::PurgeArgs),
    /// Make the notes on commits again from the record
    Notes(notes::NotesArgs),
    /// Put our part into the repository's git hooks, or take it out
    #[command(after_help = help::HOOKS)]
    Hooks(hooks::HooksArgs),
    /// Show every setting and where it comes from
    #[command(after_help = help::CONFIG)]
    Config(config::ConfigArgs),
    /// List the known agents: which are here, and what the others need
    Agents(agents::AgentsArgs),
    /// Show what the next prompt would get of an output, and the fingerprint of its failure
    #[command(after_help = help::EXCERPT)]
    Excerpt(excerpt::ExcerptArgs),
    /// Run the real loop on a throw-away project with a scripted agent
    Demo(demo::DemoArgs),
    /// Say whether a loop could run here, and what would mend it where not
    Doctor(doctor::DoctorArgs),
    /// Write a file of settings for this project, with every key commented
    Init(init::InitArgs),
    /// Print a script that completes command lines
    #[command(after_help = completions::examples())]
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write all of them
    Man(man::ManArgs),
    /// Print the help of a command, or a page on a topic: format, names, stopping
    Help(help_topic::HelpArgs),
    /// Play a script as an agent
    #[command(hide = true)]
    PlayScript(play_script::PlayScriptArgs),
}
