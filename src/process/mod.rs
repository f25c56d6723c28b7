//! Children: every program that we start is started, fed, watched and stopped here.

mod replace;
mod tool;

pub use replace::replace;
pub use tool::{Captured, LOCAL_GIT_VARIABLES, Tool};

/// The number by which records name the end of a child: its exit code, or 128+n for signal n.
fn code_of(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
}
