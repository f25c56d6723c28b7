//! How far a running child may go.

use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::bounded::RunningTime;
use ralph_core::record::ExitReason;

/// Time between two checks for orphans that ended while their child goes on, and two signs of life for the note of it.
const ORPHANS: Duration = Duration::from_secs(10);

/// How long a child may take to exit after the last line of a finished stream: agents save their state in under 2 s.
const LINGER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a subagent may be silent after the result of its agent, where silence has no limit.
const SUBAGENT_TIMEOUT: Duration = Duration::from_mins(15);

/// How far a child may go before it is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From its start to its end.
    pub wall: Duration,
    /// Without a byte in either stream.
    pub idle: Option<Duration>,
    /// The same before the first byte in stdout, of a child that says at once that it is there.
    pub first_output: Option<Duration>,
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
    /// It came to its end, as its stream says after so many lines, and has to exit. While a subagent of its own works on, only silence
    /// ends it.
    Finished { lines: u64, waits_for_subagent: bool },
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
    /// When it was seen to be finished, by that time, and after how many lines.
    finished: Option<(Duration, u64)>,
    orphans: Instant,
}

impl Watch {
    pub(super) fn new(limits: Limits, streams: [File; 2]) -> Self {
        Self {
            limits,
            streams,
            time: RunningTime::start(),
            grown: (Duration::ZERO, 0),
            finished: None,
            orphans: Instant::now(),
        }
    }

    pub(super) fn exceeded(&mut self, pulse: Pulse) -> Result<Option<ExitReason>> {
        let mut sizes = [0; 2];
        for (size, stream) in sizes.iter_mut().zip(&self.streams) {
            *size = stream.metadata().context("look at the child's output")?.len();
        }
        let passed = self.time.passed();
        Ok(self.exceeded_at(passed, sizes, pulse))
    }

    fn exceeded_at(&mut self, passed: Duration, sizes: [u64; 2], pulse: Pulse) -> Option<ExitReason> {
        let total = sizes[0].saturating_add(sizes[1]);
        if total != self.grown.1 || pulse == Pulse::Busy {
            self.grown = (passed, total);
        }
        self.finished = match (pulse, self.finished) {
            (Pulse::Finished { lines, .. }, Some((since, seen))) if lines == seen => Some((since, seen)),
            (Pulse::Finished { lines, .. }, _) => Some((passed, lines)),
            _ => None,
        };
        let idle = match self.limits {
            Limits { first_output: Some(first), idle, .. } if sizes[0] == 0 => {
                Some(idle.map_or(first, |idle| idle.min(first)))
            }
            Limits { idle, .. } => idle,
        };
        let is_idle = idle.is_some_and(|idle| passed.saturating_sub(self.grown.0) >= idle);
        let waits = matches!(pulse, Pulse::Finished { waits_for_subagent: true, .. });
        let linger = if waits { idle.unwrap_or(SUBAGENT_TIMEOUT) } else { LINGER_TIMEOUT };
        let is_over = passed >= self.limits.wall;
        if let Pulse::Lost(reason) = pulse {
            Some(reason)
        } else if sizes.iter().any(|size| *size > self.limits.output) {
            Some(ExitReason::OutputLimit)
        } else if let Some((since, _)) = self.finished {
            // Whatever limit it meets now, its work is done.
            let has_lingered = passed.saturating_sub(since) >= linger;
            (has_lingered || is_over || is_idle).then_some(ExitReason::Lingered)
        } else if is_over {
            Some(ExitReason::Timeout)
        } else if is_idle {
            Some(ExitReason::IdleTimeout)
        } else {
            None
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_before_the_first_line_has_a_limit_of_its_own() {
        let seconds = Duration::from_secs;
        let idle = Some(ExitReason::IdleTimeout);
        // The limits before the first byte of stdout and later, in seconds, and each look: when, bytes of stdout and stderr.
        for (first, later, steps) in [
            (Some(300), Some(900), &[(299, 0, 0, None), (300, 0, 0, idle)][..]),
            (Some(300), Some(900), &[(240, 9, 0, None), (1139, 9, 0, None), (1140, 9, 0, idle)]),
            // A wrapper that reports what it does on stderr is no server that hangs.
            (Some(300), Some(900), &[(200, 0, 5, None), (499, 0, 5, None), (500, 0, 5, idle)]),
            (Some(300), None, &[(299, 0, 0, None), (300, 0, 0, idle)]),
            (Some(300), Some(60), &[(60, 0, 0, idle)]),
            (None, Some(900), &[(899, 0, 0, None), (900, 0, 0, idle)]),
        ] {
            let streams = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
            let limits = Limits {
                wall: seconds(9999),
                idle: later.map(seconds),
                first_output: first.map(seconds),
                output: 100,
            };
            let mut watch = Watch::new(limits, streams);
            for (passed, stdout, stderr, reason) in steps {
                let seen = watch.exceeded_at(seconds(*passed), [*stdout, *stderr], Pulse::Alive);
                assert_eq!(seen, *reason, "{first:?} {later:?} {passed}");
            }
        }
    }

    /// Two times in milliseconds, what was seen, and why the program is stopped then.
    type Look = (u64, u64, Pulse, Option<ExitReason>);

    #[test]
    fn a_finished_child_has_half_a_minute_without_a_line_to_exit() {
        let limit = |seconds| Limits {
            wall: Duration::from_secs(1000),
            idle: seconds,
            first_output: None,
            output: 100,
        };
        let finished = |lines| Pulse::Finished { lines, waits_for_subagent: false };
        let waits = |lines| Pulse::Finished { lines, waits_for_subagent: true };
        let lingered = Some(ExitReason::Lingered);
        // Steps of seconds passed, bytes in stderr, what is known of it, and why it is stopped.
        let table: &[(Option<u64>, &[Look])] = &[
            (None, &[(10, 0, finished(5), None), (39, 0, finished(5), None), (40, 0, finished(5), lingered)]),
            // Each line starts the time anew, noise on stderr does not.
            (
                None,
                &[
                    (10, 0, finished(5), None),
                    (39, 0, finished(6), None),
                    (68, 0, finished(6), None),
                    (69, 9, finished(6), lingered),
                ],
            ),
            // It went on.
            (
                None,
                &[
                    (10, 0, finished(5), None),
                    (39, 0, Pulse::Busy, None),
                    (50, 0, Pulse::Alive, None),
                    (60, 0, finished(9), None),
                ],
            ),
            // A shorter limit of the user's is kept, and the result too.
            (
                Some(3),
                &[(10, 1, finished(5), None), (12, 1, finished(5), None), (13, 1, finished(5), lingered)],
            ),
            (Some(3), &[(10, 1, Pulse::Alive, None), (13, 1, Pulse::Alive, Some(ExitReason::IdleTimeout))]),
            (None, &[(999, 0, finished(5), None), (1000, 0, finished(5), lingered)]),
            (None, &[(1000, 0, Pulse::Alive, Some(ExitReason::Timeout))]),
            (None, &[(10, 101, finished(5), Some(ExitReason::OutputLimit))]),
            // A subagent has the time that silence has.
            (Some(60), &[(10, 1, waits(5), None), (69, 1, waits(5), None), (70, 1, waits(5), lingered)]),
            (None, &[(10, 1, waits(5), None), (899, 1, waits(5), None), (929, 2, finished(6), None)]),
        ];
        for (idle, steps) in table {
            let streams = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
            let mut watch = Watch::new(limit(idle.map(Duration::from_secs)), streams);
            for (passed, stderr, pulse, reason) in *steps {
                let seen = watch.exceeded_at(Duration::from_secs(*passed), [0, *stderr], *pulse);
                assert_eq!(seen, *reason, "{idle:?} {passed} {pulse:?}");
            }
        }
    }
}
