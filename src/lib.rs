//! `specify ralph`: an autonomous coding loop over a spec-kit feature whose whole history is in git.
//!
//! This crate is the program: its grammar, and a file for each command. All else is in crates of its own below `crates/`,
//! whose order is in docs/dev/architecture.md.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test reads best in one piece"))]

pub mod cli;
pub mod hooks;
