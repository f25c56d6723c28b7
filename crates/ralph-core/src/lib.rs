//! The vocabulary of records and their wire format, settings, the judge, and what a prompt gets of earlier iterations.
//!
//! Pure: nothing here reads a file, a clock or the environment.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "a test reads best in one piece"))]

pub mod config;
pub mod history;
pub mod judge;
pub mod progress;
pub mod record;
pub mod view;
