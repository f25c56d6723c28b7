//! The command line: `grammar.rs` parses it, `dispatch.rs` runs the command, each in a file of its own.

mod accept;
mod approvals;
mod args;
mod bisect;
mod clean;
mod commits;
mod completions;
mod config;
mod confirm;
mod context;
mod control;
mod demo;
mod diff;
mod dispatch;
mod doctor;
mod echo;
mod environment;
mod excerpt;
mod exit_code;
mod filter;
mod forward;
mod fsck;
mod grammar;
mod grep;
mod help;
mod help_topic;
mod hint;
mod hooks;
mod init;
mod iterations;
mod lane;
mod log;
mod lost_list;
mod man;
mod memory;
mod misplaced_feature;
mod moment;
mod named_tests;
mod notes;
mod output;
mod overview;
mod own_command;
mod pager;
mod patches;
mod play_script;
mod proposal;
mod rebuild;
mod refusals;
mod remotes;
mod replay;
mod report;
mod report_file;
mod report_output;
mod report_sessions;
mod restore;
mod resume;
mod resumption;
mod run;
mod sandbox;
mod session_changes;
mod session_end;
mod sessions;
mod settings;
mod setup;
mod shim;
mod show;
mod stats;
mod status;
mod summary;
mod sync;
mod task_attempts;
mod tasks;
mod trust;
mod tui;
mod unknown_command;
mod verify;
mod web;
mod web_server;

use std::ffi::OsString;

pub use exit_code::ExitCode;

// What most commands are made of.
use context::{Context, Project, refusal, refuse};
use environment::Environment;
use output::{Json, emit, note, print, say, stdout, warn};
use ralph_core::config::Flags;
use sessions::SessionChoice;

/// Runs the program. `arguments` begin with the name by which it was called.
pub fn main(arguments: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    dispatch::main(&arguments.collect::<Vec<_>>()).into()
}
