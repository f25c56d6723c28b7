//! What time it is, and how long things take. The one place that asks the operating system.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use ralph_core::record::Timestamp;

/// Where the time comes from: the system, or a test.
///
/// A stepping clock gains a second with every question, so two runs of the same story give the same commit ids. A fast
/// clock runs at a multiple of real time, so a night of work passes in a minute.
#[derive(Debug)]
pub enum Clock {
    System,
    Stepping { next: AtomicI64 },
    Fast { start: Timestamp, began: Instant, rate: u32 },
}

impl Clock {
    /// Names the variable that starts a stepping clock at the time it holds (`2026-01-31T12:00:00Z`), or a fast one if
    /// a rate follows (`2026-01-31T22:00:00Z x600`).
    pub const VARIABLE: &str = "RALPH_TEST_CLOCK";

    /// The clock that `start` describes (the value of [`Clock::VARIABLE`]), else the system's.
    pub fn new(start: Option<&str>) -> Result<Self> {
        match start {
            None => Ok(Self::System),
            Some(text) => {
                let (start, rate) =
                    text.split_once(" x").map_or((text, None), |(start, rate)| (start, Some(rate)));
                let start: Timestamp = start.parse().with_context(|| format!("read {}", Self::VARIABLE))?;
                if let Some(rate) = rate {
                    let rate =
                        rate.parse().with_context(|| format!("read the rate in {}", Self::VARIABLE))?;
                    return Ok(Self::Fast { start, began: Instant::now(), rate });
                }
                Ok(Self::Stepping { next: AtomicI64::new(start.ms()) })
            }
        }
    }

    pub fn is_stepping(&self) -> bool {
        matches!(self, Self::Stepping { .. })
    }

    pub fn now(&self) -> Timestamp {
        match self {
            #[expect(clippy::disallowed_methods, reason = "this is the place that asks the system")]
            Self::System => {
                let ms = time::OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
                Timestamp::from_ms(i64::try_from(ms).unwrap_or(i64::MAX))
            }
            Self::Stepping { next } => Timestamp::from_ms(next.fetch_add(1000, Ordering::Relaxed)),
            Self::Fast { start, began, rate } => start.plus(began.elapsed().saturating_mul(*rate)),
        }
    }

    /// Lets time pass in no time, where that is in our hands. Returns true if it is.
    pub fn skip(&self, time: Duration) -> bool {
        match self {
            Self::System | Self::Fast { .. } => false,
            Self::Stepping { next } => {
                next.fetch_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX), Ordering::Relaxed);
                true
            }
        }
    }

    /// Returns how long a time takes in reality.
    pub fn real(&self, time: Duration) -> Duration {
        match self {
            Self::System | Self::Stepping { .. } => time,
            Self::Fast { rate, .. } => time / (*rate).max(1),
        }
    }

    /// Starts to measure a duration.
    pub fn stopwatch(&self) -> Stopwatch {
        let rate = match self {
            Self::System => Some(1),
            Self::Stepping { .. } => None,
            Self::Fast { rate, .. } => Some(*rate),
        };
        Stopwatch { started: Instant::now(), rate }
    }
}

/// Returns how far local time is from UTC at a moment: `+01:00`.
pub fn utc_offset(at: Timestamp) -> Option<String> {
    let moment = jiff::Timestamp::from_second(at.seconds()).ok()?;
    Some(moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%:z").to_string())
}

/// A duration that is being measured.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    started: Instant,
    /// How much faster than real time the clock runs; `None` beside a stepping one.
    rate: Option<u32>,
}

impl Stopwatch {
    /// Milliseconds since the start; always 1000 beside a stepping clock, so that records come out equal.
    pub fn elapsed_ms(&self) -> u64 {
        let Some(rate) = self.rate else { return 1000 };
        u64::try_from(self.elapsed().saturating_mul(rate).as_millis()).unwrap_or(u64::MAX)
    }

    /// The real time since the start.
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
    fn a_fast_clock_runs_ahead_of_real_time() {
        let clock = Clock::new(Some("2026-01-31T12:00:00Z x1000000000")).unwrap();
        let (first, stopwatch) = (clock.now(), clock.stopwatch());
        while stopwatch.elapsed_ms() < 1_000_000 {
            std::hint::spin_loop();
        }
        assert!(clock.now() >= first.plus(Duration::from_secs(999)));
        assert!(Clock::new(Some("2026-01-31T12:00:00Z xfast")).is_err());
    }

    #[test]
    fn only_the_stepping_clock_lets_time_be_skipped() {
        let clock = Clock::new(Some("2026-01-31T23:59:59Z")).unwrap();
        assert!(clock.skip(Duration::from_mins(1)));
        assert_eq!(clock.now().to_string(), "2026-02-01T00:00:59Z");
        assert!(!Clock::System.skip(Duration::from_mins(1)));
    }

    #[test]
    fn a_start_that_is_no_time_is_an_error_that_names_the_variable() {
        let error = Clock::new(Some("yesterday")).unwrap_err();
        assert!(format!("{error:#}").contains("RALPH_TEST_CLOCK"), "{error:#}");
    }
}
