//! What people see: events and records in, text out. Runs nothing.

pub mod live;
pub mod log;
pub mod restore;
pub mod show;
pub mod status;
pub mod style;
pub mod sync;
pub mod tasks;
