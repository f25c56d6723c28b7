//! How far a running child may go.

use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::bounded::RunningTime;
use crate::record::ExitReason;

/// Time between two checks for orphans that ended while their child goes on, and two signs of life for the note of it.
const ORPHANS: Duration = Duration::from_secs(10);

/// How far a child may go before it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From its start to its end.
    pub wall: Duration,
    /// Without a byte in either stream.
    pub idle: Option<Duration>,
    /// Bytes in each stream.
    pub output: u64,
}

/// What is known of a running child beyond its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulse {
    /// Nothing: long silence is not normal.
    Alive,
    /// It waits for a child of its own: silence is normal.
    Busy,
    /// It makes no progress, and is stopped for this reason.
    Lost(ExitReason),
}

/// Keeps the time and the streams of a running child in view.
pub(super) struct Watch {
    limits: Limits,
    pub streams: [File; 2],
    time: RunningTime,
    /// When the last growth was seen, by that time, and to which size.
    grown: (Duration, u64),
    orphans: Instant,
}

impl Watch {
    pub(super) fn new(limits: Limits, streams: [File; 2]) -> Self {
        Self {
            limits,
            streams,
            time: RunningTime::start(),
            grown: (Duration::ZERO, 0),
            orphans: Instant::now(),
        }
    }

    pub(super) fn exceeded(&mut self, pulse: Pulse) -> Result<Option<ExitReason>> {
        if let Pulse::Lost(reason) = pulse {
            return Ok(Some(reason));
        }
        let mut sizes = [0; 2];
        for (size, stream) in sizes.iter_mut().zip(&self.streams) {
            *size = stream.metadata().context("look at the child's output")?.len();
        }
        let total = sizes[0].saturating_add(sizes[1]);
        let passed = self.time.passed();
        if total != self.grown.1 || pulse == Pulse::Busy {
            self.grown = (passed, total);
        }
        let is_idle = self.limits.idle.is_some_and(|idle| passed.saturating_sub(self.grown.0) >= idle);
        Ok(if sizes.iter().any(|size| *size > self.limits.output) {
            Some(ExitReason::OutputLimit)
        } else if passed >= self.limits.wall {
            Some(ExitReason::Timeout)
        } else if is_idle {
            Some(ExitReason::IdleTimeout)
        } else {
            None
        })
    }

    /// Takes away what was written between the limit and the end: a child can write a gigabyte in a moment.
    pub(super) fn cut_streams(&self) -> Result<()> {
        for stream in &self.streams {
            if stream.metadata().context("look at the child's output")?.len() > self.limits.output {
                stream.set_len(self.limits.output).context("cut the child's output")?;
            }
        }
        Ok(())
    }

    pub(super) fn is_time_for_orphans(&mut self) -> bool {
        let is_time = self.orphans.elapsed() >= ORPHANS;
        if is_time {
            self.orphans = Instant::now();
        }
        is_time
    }
}
