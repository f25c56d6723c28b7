//! The command line: `grammar.rs` parses it, `dispatch.rs` runs the command, each in a file of its own below `start`, `read`, `repair`
//! and `share`.

mod args;
mod completions;
mod config;
mod context;
mod dispatch;
mod echo;
mod environment;
mod exit_code;
mod forward;
mod grammar;
mod help;
mod help_topic;
mod man;
mod misplaced_feature;
mod output;
mod overview;
mod own_command;
mod pager;
mod play_script;
mod read;
mod refusals;
mod repair;
mod settings;
mod share;
mod start;
mod unknown_command;

use std::ffi::OsString;

pub use exit_code::ExitCode;

// What most commands are made of.
use context::{Context, Project, refusal, refuse};
use environment::Environment;
use output::{Json, emit, note, print, say, stdout, warn};
use ralph_core::config::Flags;
use read::sessions::SessionChoice;

/// Runs the program. `arguments` begin with the name by which it was called.
pub fn main(arguments: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    dispatch::main(&arguments.collect::<Vec<_>>()).into()
}
