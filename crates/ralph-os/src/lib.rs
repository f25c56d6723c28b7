//! What the system gives: processes and their trees, limits, signals, and the clock.

pub mod clock;
pub mod process;
