//! The numbers that we exit with.

/// How a command ended, for shells and scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Done: all tasks are done, or what was asked for was shown.
    Done,
    /// Not done: a limit, stuck, the agent is unusable, a check found a difference, or we failed.
    NotDone,
    /// The command line is wrong.
    Usage,
    /// Nothing was begun, because something is missing or in the way.
    CannotStart,
    /// Ended by SIGHUP, after the running iteration was recorded.
    HungUp,
    /// Ended by Ctrl-C, after the running iteration was recorded.
    Interrupted,
    /// Ended by SIGTERM, after the running iteration was recorded.
    Terminated,
    /// Ended by this other signal, after the running iteration was recorded.
    Signalled(u8),
    /// What a script said to exit with.
    Played(i32),
    /// That of the loop that ran beside the screen.
    OfLoop(i32),
}

impl ExitCode {
    /// Of what ends by a signal that asks for it.
    pub fn of_signal(signal: i32) -> Self {
        match signal {
            1 => Self::HungUp,
            2 => Self::Interrupted,
            15 => Self::Terminated,
            other => Self::Signalled(u8::try_from(other).unwrap_or_default()),
        }
    }

    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NotDone => 1,
            Self::Usage => 2,
            Self::CannotStart => 3,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::Signalled(signal) => 128_u8.saturating_add(signal),
            Self::Played(code) | Self::OfLoop(code) => u8::try_from(code).unwrap_or(1),
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
