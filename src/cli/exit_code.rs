//! The numbers that we exit with.

use ralph_core::record::{Session, StopReason};
use ralph_os::process::Interrupt;

/// How a command ended, for shells and scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Done: all tasks are done, or what was asked for was shown.
    Done,
    /// Not done: a check found a difference, or we failed.
    NotDone,
    /// The command line is wrong.
    Usage,
    /// Nothing was begun, because something is missing or in the way.
    CannotStart,
    /// A session ended at a limit.
    Limit,
    /// No open task can be done, or no task is open and the validation fails.
    Stuck,
    /// An agent or a validation cannot be used.
    Unusable,
    /// Ended by this signal, after the running iteration was recorded.
    Signalled(u8),
    /// The exit code of another: the one that a script names, or that of the loop that ran beside the screen.
    Passed(i32),
}

impl ExitCode {
    /// Of a session that ended, which the user may have asked to stop by a signal.
    pub fn of_session(session: &Session, interrupt: &Interrupt) -> Self {
        let signal = interrupt.signal().filter(|_| !interrupt.is_asked());
        match session.stop_reason {
            Some(StopReason::Completed | StopReason::Checkpoint) => Self::Done,
            // Where a command asked for it to stop, it went as the user wanted.
            Some(StopReason::Interrupted) => signal.map_or(Self::Done, Self::of_signal),
            Some(StopReason::LimitReached) => Self::Limit,
            Some(StopReason::Stuck | StopReason::TargetRed) => Self::Stuck,
            Some(StopReason::AgentUnusable | StopReason::ValidationUnusable) => Self::Unusable,
            Some(StopReason::Later(_)) | None => Self::NotDone,
        }
    }

    /// Of what ends by a signal that asks for it.
    pub fn of_signal(signal: i32) -> Self {
        Self::Signalled(u8::try_from(signal).unwrap_or_default())
    }

    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NotDone => 1,
            Self::Usage => 2,
            Self::CannotStart => 3,
            Self::Limit => 4,
            Self::Stuck => 5,
            Self::Unusable => 6,
            Self::Signalled(signal) => 128_u8.saturating_add(signal),
            Self::Passed(code) => u8::try_from(code).unwrap_or(1),
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
