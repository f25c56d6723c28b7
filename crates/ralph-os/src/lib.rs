//! What the system gives: processes and their trees, limits, signals, the fence around commands, the terminal, and the clock;
//! and in `platform` what differs between systems.

pub mod clock;
pub mod if_there;
pub mod platform;
pub mod process;
pub mod sandbox;
#[cfg_attr(windows, path = "terminal_windows.rs")]
pub mod terminal;
