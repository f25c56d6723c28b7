//! What a time line of attempts shows, in the terminal UI and on the page.

use ralph_core::record::{FailureClass, Outcome};

/// How an attempt ended, as it is seen by now. What is worse is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    CutShort,
    Done,
    /// It failed, and that was solved later.
    Solved,
    /// It asked what is not answered.
    Asks,
    Fails,
}

impl Fate {
    /// Returns `None` for an iteration in which no agent ran.
    pub fn of(
        outcome: Option<Outcome>,
        failure_class: Option<FailureClass>,
        is_solved: bool,
    ) -> Option<Self> {
        Some(match outcome? {
            Outcome::Success => Self::Done,
            Outcome::Interrupted => Self::CutShort,
            Outcome::Failure if is_solved => Self::Solved,
            Outcome::Failure if failure_class.is_some_and(FailureClass::is_question) => Self::Asks,
            Outcome::Failure => Self::Fails,
            Outcome::Skipped
            | Outcome::Checked
            | Outcome::Reopened
            | Outcome::Integrated
            | Outcome::Later(_) => return None,
        })
    }
}

/// Shorter times without an attempt are not drawn: of waits, and of others, which agents and git need between attempts.
const MIN_WAIT_MS: u64 = 120_000;
const MIN_STOP_MS: u64 = 900_000;

/// Returns true if the time after an attempt that ended so is drawn.
pub fn is_gap(before: Option<Outcome>, ms: u64) -> bool {
    ms >= if before == Some(Outcome::Interrupted) { MIN_WAIT_MS } else { MIN_STOP_MS }
}

/// Returns the pieces in at most so many cells, each with as many as the others.
pub fn cells<T>(pieces: &[T], most: usize) -> std::slice::Chunks<'_, T> {
    pieces.chunks(pieces.len().div_ceil(most.max(1)).max(1))
}
