//! What the evidence of an attempt comes to: its changes and its tests against those of the trusted state. Pure.

mod ordered;
mod own_files;
mod paths;
mod shell;

pub use ordered::{is_verification, nothing_to_change, orders_own_file_change, orders_removal, orders_skip};
pub use own_files::{Lookup, OwnFiles, selects_by_change};
pub use paths::is_test_file;
