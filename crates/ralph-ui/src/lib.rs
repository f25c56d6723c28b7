//! What people see: events and records in, text out. Knows no loop.

pub mod ending;
pub mod evidence;
pub mod history;
pub mod json;
pub mod left_behind;
pub mod live;
pub mod local_time;
pub mod log;
pub mod markdown;
pub mod needs;
pub mod replay;
pub mod report;
pub mod restore;
pub mod review;
pub mod session_table;
pub mod sgr;
pub mod show;
pub mod stats;
pub mod status;
pub mod style;
pub mod sync;
pub mod tasks;
mod time_line;
pub mod tui;
