//! The end of tools that do not end by themselves: by a limit, by a stop, or because they want the terminal.

use std::fmt;
use std::io::{self, PipeWriter, Read};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Interrupt;
use super::started::ChildProcess;
use crate::platform::is_stopped_by_terminal;

/// Time between two checks of limits and stops; the end of the tool itself wakes us at once.
const TICK: Duration = Duration::from_millis(25);

/// How long git may continue after a stop was requested: what a record needs takes less.
const AFTER_STOP: Duration = Duration::from_secs(5);

/// The same after a second Ctrl-C.
const AFTER_URGENT_STOP: Duration = Duration::from_secs(2);

/// Bytes that a tool may print on each stream: a list of a million files is smaller, and [`Tool::stream`](super::Tool::stream) reads more.
const MAX_OUTPUT_BYTES: u64 = 256 << 20;

/// From TERM to KILL: git removes its lock files on TERM.
const GRACE: Duration = Duration::from_secs(1);

/// A longer time between two looks was spent stopped, by Ctrl-Z for instance.
const MAX_TICK: Duration = Duration::from_secs(5);

/// Why a tool was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutShort {
    TimedOut(Duration),
    Stopped,
    TooLong,
    WantsTerminal,
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(limit) if limit.subsec_millis() > 0 => {
                write!(f, "no answer within {} ms", limit.as_millis())
            }
            Self::TimedOut(limit) => write!(f, "no answer within {} s", limit.as_secs()),
            Self::TooLong => write!(f, "printed more than {} MiB", MAX_OUTPUT_BYTES >> 20),
            Self::Stopped => f.write_str("stopped on request"),
            Self::WantsTerminal => f.write_str("stopped because it waited for input from the terminal"),
        }
    }
}

impl std::error::Error for CutShort {}

/// Returns true if a tool failed because it was ended by us. To try it again would take as long again.
pub fn was_cut_short(error: &anyhow::Error) -> bool {
    error.chain().any(<dyn std::error::Error>::is::<CutShort>)
}

/// How a tool heeds a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heeds {
    /// It may end its work within some seconds, also where the stop came before it.
    Stop,
    /// It ends at once, but only by a stop that comes after its start: what runs at the end of a stopped session.
    LaterStop,
}

/// Time that passed while we ran.
#[derive(Debug)]
pub(super) struct RunningTime {
    seen: Instant,
    passed: Duration,
}

impl RunningTime {
    pub(super) fn start() -> Self {
        Self { seen: Instant::now(), passed: Duration::ZERO }
    }

    /// Counts the time since the last call, which is to be made often.
    pub(super) fn passed(&mut self) -> Duration {
        self.passed += self.seen.elapsed().min(MAX_TICK);
        self.seen = Instant::now();
        self.passed
    }
}

/// Runs a tool to its end, or ends it with all that it started. `leads_session`: it makes a session for itself.
pub(super) fn run(
    expression: &duct::Expression,
    leads_session: bool,
    limit: Duration,
    heeds: Heeds,
) -> Result<Output> {
    let interrupt = Interrupt::installed();
    // Before the start: a stop that comes while the tool starts is one that comes after it.
    let mut stop = interrupt.map(|interrupt| StopWatch::new(interrupt, heeds));
    // Where we listen to Ctrl-C it must not reach the tool by itself; if we do not, it shall.
    let is_too_long = Arc::new(AtomicBool::new(false));
    let (stdout, reads_stdout) = pipe(&is_too_long)?;
    let (stderr, reads_stderr) = pipe(&is_too_long)?;
    let expression = expression.stdout_file(stdout).stderr_file(stderr);
    let started = if leads_session {
        ChildProcess::start(&expression)
    } else if interrupt.is_some() {
        ChildProcess::start_in_own_group(&expression)
    } else {
        ChildProcess::start_in_our_group(&expression)
    }?;
    // With our own ends of the pipes: nothing would end them.
    drop(expression);
    let mut time = RunningTime::start();
    while !has_ended(&started, [&reads_stdout, &reads_stderr])? {
        let why = if is_too_long.load(Ordering::SeqCst) {
            CutShort::TooLong
        } else if time.passed() >= limit {
            CutShort::TimedOut(limit)
        } else if stop.as_mut().is_some_and(StopWatch::is_over) {
            CutShort::Stopped
        } else if interrupt.is_some() && is_stopped_by_terminal(started.pid()) {
            CutShort::WantsTerminal
        } else {
            continue;
        };
        started.end(GRACE);
        // Reaped where it goes at once; whatever else holds its pipes is not waited for.
        let _reaped = started.handle().wait_timeout(GRACE);
        return Err(why.into());
    }
    if is_too_long.load(Ordering::SeqCst) {
        return Err(CutShort::TooLong.into());
    }
    let status = started.into_output()?.status;
    Ok(Output { status, stdout: read(reads_stdout)?, stderr: read(reads_stderr)? })
}

type Reading = JoinHandle<io::Result<Vec<u8>>>;

/// Returns a pipe for the tool, and the thread that reads what it prints, up to [`MAX_OUTPUT_BYTES`].
fn pipe(is_too_long: &Arc<AtomicBool>) -> io::Result<(PipeWriter, Reading)> {
    let (mut reader, writer) = io::pipe()?;
    let is_too_long = Arc::clone(is_too_long);
    let waiting = thread::current();
    Ok((
        writer,
        thread::Builder::new().name("tool output".to_owned()).spawn(move || {
            let mut bytes = Vec::new();
            let read = reader.by_ref().take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut bytes);
            if bytes.len() as u64 > MAX_OUTPUT_BYTES {
                is_too_long.store(true, Ordering::SeqCst);
                bytes = Vec::new();
            }
            waiting.unpark();
            read.map(|_| bytes)
        })?,
    ))
}

fn read(reading: Reading) -> io::Result<Vec<u8>> {
    reading.join().unwrap_or_else(|_| Err(io::Error::other("the thread that reads the output panicked")))
}

/// Returns true once the tool has ended and all that it printed is read; waits a while for that.
fn has_ended(started: &ChildProcess, readings: [&Reading; 2]) -> io::Result<bool> {
    if started.handle().wait_timeout(TICK)?.is_none() {
        return Ok(false);
    }
    if !readings.iter().all(|reading| reading.is_finished()) {
        thread::park_timeout(TICK);
    }
    Ok(readings.iter().all(|reading| reading.is_finished()))
}

/// Whether a tool has had the time that a stop leaves it.
struct StopWatch<'a> {
    interrupt: &'a Interrupt,
    heeds: Heeds,
    count_before: usize,
    /// Since when it goes on in spite of a stop, and of an urgent one.
    stopped: Option<Instant>,
    urgent: Option<Instant>,
}

impl<'a> StopWatch<'a> {
    fn new(interrupt: &'a Interrupt, heeds: Heeds) -> Self {
        Self { interrupt, heeds, count_before: interrupt.count(), stopped: None, urgent: None }
    }

    fn is_over(&mut self) -> bool {
        if self.heeds == Heeds::LaterStop {
            return self.interrupt.count() > self.count_before;
        }
        let came = [
            (self.interrupt.is_urgent(), &mut self.urgent, AFTER_URGENT_STOP),
            (self.interrupt.signal().is_some(), &mut self.stopped, AFTER_STOP),
        ];
        came.into_iter()
            .any(|(came, since, grace)| came && since.get_or_insert_with(Instant::now).elapsed() >= grace)
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use crate::platform::{SIGINT, SIGTERM};

    use super::*;

    #[test]
    fn a_stop_gives_a_tool_time_and_a_second_ctrl_c_gives_less() {
        let interrupt = Interrupt::none();
        let mut watch = StopWatch::new(&interrupt, Heeds::Stop);
        assert!(!watch.is_over());
        interrupt.raise(SIGTERM);
        assert!(!watch.is_over());
        watch.stopped = Instant::now().checked_sub(AFTER_STOP);
        assert!(watch.is_over());
        let mut next = StopWatch::new(&interrupt, Heeds::Stop);
        assert!(!next.is_over(), "each gets its time");
        interrupt.raise(SIGINT);
        next.urgent = Instant::now().checked_sub(AFTER_URGENT_STOP);
        assert!(next.is_over());
    }

    #[test]
    fn what_runs_after_a_stop_heeds_the_next_one() {
        let interrupt = Interrupt::none();
        interrupt.raise(SIGTERM);
        let mut watch = StopWatch::new(&interrupt, Heeds::LaterStop);
        assert!(!watch.is_over());
        interrupt.raise(SIGTERM);
        assert!(watch.is_over());
    }

    #[test]
    fn a_tool_that_the_terminal_stopped_is_seen() {
        let stopped = |signal: &str| {
            let script = format!("kill -{signal} $$; exit 0");
            // The terminal does not stop processes of an orphaned process group.
            let shell = duct::cmd("sh", ["-c", &script]).unchecked();
            let started = ChildProcess::start_in_own_group(&shell).unwrap();
            let status = || {
                let options = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
                waitid(WaitId::Pid(Pid::from_raw(started.pid()).unwrap()), options).unwrap().unwrap()
            };
            assert!(status().stopped());
            let seen = is_stopped_by_terminal(started.pid());
            started.end(Duration::ZERO);
            seen
        };
        assert!(stopped("TTIN") && stopped("TTOU") && !stopped("STOP"));
    }

    #[test]
    fn time_that_was_spent_stopped_does_not_count() {
        let mut time = RunningTime::start();
        time.seen = Instant::now().checked_sub(Duration::from_hours(1)).unwrap();
        assert!(time.passed() < Duration::from_mins(1));
        assert!(time.passed() >= MAX_TICK);
    }
}
