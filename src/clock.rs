//! What time it is, and how long things take. The one place that asks the operating system.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::record::Timestamp;

/// Gives the time: the system's, or a fixed one that steps a second with every question.
///
/// With the stepping clock two runs of the same story give the same commit ids.
#[derive(Debug)]
pub enum Clock {
    System,
    Stepping { next: AtomicI64 },
}

impl Clock {
    /// Names the variable that starts a stepping clock at the time it holds (`2026-01-31T12:00:00Z`).
    pub const VARIABLE: &str = "RALPH_TEST_CLOCK";

    /// The stepping clock if `start` is given (the value of [`Clock::VARIABLE`]), else the system's.
    pub fn new(start: Option<&str>) -> Result<Self> {
        match start {
            None => Ok(Self::System),
            Some(text) => {
                let start: Timestamp = text.parse().with_context(|| format!("read {}", Self::VARIABLE))?;
                Ok(Self::Stepping { next: AtomicI64::new(start.seconds()) })
            }
        }
    }

    pub fn is_stepping(&self) -> bool {
        matches!(self, Self::Stepping { .. })
    }

    pub fn now(&self) -> Timestamp {
        match self {
            #[expect(clippy::disallowed_methods, reason = "this is the place that asks the system")]
            Self::System => Timestamp::from_seconds(time::OffsetDateTime::now_utc().unix_timestamp()),
            Self::Stepping { next } => Timestamp::from_seconds(next.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Lets time pass in no time, where that is in our hands. Gives whether it is.
    pub fn skip(&self, time: Duration) -> bool {
        match self {
            Self::System => false,
            Self::Stepping { next } => {
                next.fetch_add(i64::try_from(time.as_secs()).unwrap_or(i64::MAX), Ordering::Relaxed);
                true
            }
        }
    }

    /// Starts to measure a duration.
    pub fn stopwatch(&self) -> Stopwatch {
        Stopwatch { started: Instant::now(), is_stepping: self.is_stepping() }
    }
}

/// A duration that is being measured.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    started: Instant,
    is_stepping: bool,
}

impl Stopwatch {
    /// Milliseconds since the start; always 1000 beside a stepping clock, so that records come out equal.
    pub fn elapsed_ms(&self) -> u64 {
        if self.is_stepping {
            return 1000;
        }
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// How long it has been, whatever the clock of the story says.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stepping_clock_gains_a_second_with_every_question() {
        let clock = Clock::new(Some("2026-01-31T23:59:59Z")).unwrap();
        assert_eq!(clock.now().to_string(), "2026-01-31T23:59:59Z");
        assert_eq!(clock.now().to_string(), "2026-02-01T00:00:00Z");
    }

    #[test]
    fn only_the_stepping_clock_lets_time_be_skipped() {
        let clock = Clock::new(Some("2026-01-31T23:59:59Z")).unwrap();
        assert!(clock.skip(Duration::from_secs(60)));
        assert_eq!(clock.now().to_string(), "2026-02-01T00:00:59Z");
        assert!(!Clock::System.skip(Duration::from_secs(60)));
    }

    #[test]
    fn a_start_that_is_no_time_is_an_error_that_names_the_variable() {
        let error = Clock::new(Some("yesterday")).unwrap_err();
        assert!(format!("{error:#}").contains("RALPH_TEST_CLOCK"), "{error:#}");
    }
}
