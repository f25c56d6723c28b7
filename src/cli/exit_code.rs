//! The numbers that we exit with.

/// How a command ended, for shells and scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// Done: all tasks are done, or what was asked for was shown.
    Done = 0,
    /// Not done: a limit, stuck, the agent is unusable, a check found a difference, or we failed.
    NotDone = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Nothing was begun, because something is missing or in the way.
    CannotStart = 3,
    /// Ended by SIGHUP, after the running iteration was recorded.
    HungUp = 129,
    /// Ended by Ctrl-C, after the running iteration was recorded.
    Interrupted = 130,
    /// Ended by SIGTERM, after the running iteration was recorded.
    Terminated = 143,
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}
