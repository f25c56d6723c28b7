//! `specify ralph`: an autonomous coding loop over a spec-kit feature whose whole history is in git.
//!
//! Data flows one way, and `tests/architecture.rs` keeps it so: `cli` reads what the user wants, `session` runs
//! the loop, the rooms below it each do one thing, `store` writes what happened, and `record` is the vocabulary
//! that all of them speak.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test reads best in one piece"))]

pub mod agent;
pub mod cli;
pub mod clock;
pub mod config;
pub mod feature;
pub mod history;
pub mod hooks;
pub mod judge;
pub mod process;
pub mod progress;
pub mod project_files;
pub mod prompt;
pub mod record;
pub mod repository;
pub mod session;
pub mod store;
pub mod summary;
pub mod tasks;
pub mod validate;
pub mod view;
pub mod worktree;
