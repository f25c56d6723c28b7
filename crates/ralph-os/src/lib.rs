//! What the system gives: processes and their trees, limits, signals, the fence around commands, the terminal, and the clock.

pub mod clock;
pub mod process;
pub mod sandbox;
pub mod terminal;
