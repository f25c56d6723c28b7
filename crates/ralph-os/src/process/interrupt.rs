//! The request to stop: by a signal, or by another command that asks for it.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::platform::{self, SIGINT, SIGTSTP, Signal};
use crate::terminal::{give_back, give_back_while};

use super::{registry, system};

/// The one that was installed.
static INSTALLED: OnceLock<Interrupt> = OnceLock::new();

/// What a terminal sends when it goes, and for Ctrl-C.
pub const TERMINAL_CLOSED: i32 = platform::SIGHUP;
pub const CTRL_C: i32 = SIGINT;

/// Returns the name of a signal in lower case, without its `SIG`; `None` if it has none.
pub fn signal_name(signal: i32) -> Option<String> {
    let name = platform::signal_name(signal)?;
    Some(name.trim_start_matches("SIG").to_ascii_lowercase())
}

/// Returns the signals that end a program, and those of them that only this system has.
pub(super) fn ending_signals() -> Vec<i32> {
    platform::ENDING_SIGNALS.iter().copied().chain(system::more_ending_signals()).collect()
}

/// Whether a stop of the session was requested, and how fast. All clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    state: Arc<InterruptState>,
}

#[derive(Debug, Default)]
struct InterruptState {
    /// The first signal that came; 0 while none has.
    signal: AtomicI32,
    is_urgent: AtomicBool,
    is_asked: AtomicBool,
    /// How many signals and requests came.
    count: AtomicUsize,
    pauses: Mutex<()>,
    raised: Condvar,
}

impl Interrupt {
    /// Listens to all signals that would end this process, and to Ctrl-Z. To be called once. A signal that is ignored
    /// at the start stays ignored: `nohup` means the loop to stay when the terminal goes, and a shell means a background
    /// job not to be stopped by a Ctrl-C for another program.
    pub fn install() -> Result<Self> {
        let interrupt = Self::none();
        let mut listened = ending_signals();
        listened.push(SIGTSTP);
        let ignored = system::ignored_signals();
        listened.retain(|signal| !ignored.contains(signal));
        let shared = interrupt.clone();
        platform::end_children_with_us();
        platform::listen(listened, move |signal| shared.receive(signal)).context("listen to signals")?;
        Ok(INSTALLED.get_or_init(|| interrupt).clone())
    }

    fn receive(&self, signal: i32) {
        if signal == SIGTSTP {
            return suspend();
        }
        if signal == SIGINT && self.is_urgent() {
            // Whatever hangs now, the user wants out; the next start finishes the spool.
            give_back();
            platform::exit_now(128 + SIGINT);
        }
        self.raise(signal);
    }

    /// Returns the one that was installed, if this process listens to signals.
    pub(super) fn installed() -> Option<&'static Self> {
        INSTALLED.get()
    }

    /// Returns an interrupt that no signal reaches, and that nothing has raised yet.
    pub fn none() -> Self {
        Self::default()
    }

    /// Requests a stop, as if `signal` had come. A Ctrl-C after that makes it urgent.
    pub fn raise(&self, signal: i32) {
        let first = self.state.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        // Not so a second TERM or HUP: service managers send both at once and mean one calm stop.
        if first.is_err() && signal == SIGINT {
            self.state.is_urgent.store(true, Ordering::SeqCst);
        }
        self.state.count.fetch_add(1, Ordering::SeqCst);
        let _pauses = self.state.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.raised.notify_all();
    }

    /// Requests a stop on behalf of a command, as gently as one Ctrl-C does.
    pub fn ask(&self) {
        if self.signal().is_none() {
            self.state.is_asked.store(true, Ordering::SeqCst);
            self.raise(SIGINT);
        }
    }

    /// Returns true if it was a command that asked first, and no signal.
    pub fn is_asked(&self) -> bool {
        self.state.is_asked.load(Ordering::SeqCst)
    }

    /// Requests an immediate stop, as two Ctrl-C do.
    #[cfg(test)]
    pub fn raise_urgent(&self) {
        self.raise(SIGINT);
        self.raise(SIGINT);
    }

    /// Returns the signal that stops the session.
    pub fn signal(&self) -> Option<i32> {
        match self.state.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(signal),
        }
    }

    /// Returns how many signals and requests came so far.
    pub fn count(&self) -> usize {
        self.state.count.load(Ordering::SeqCst)
    }

    /// Returns true if there is no time left for anybody to end in peace.
    pub fn is_urgent(&self) -> bool {
        self.state.is_urgent.load(Ordering::SeqCst)
    }

    /// Waits that long, or until a stop is requested or the request becomes urgent.
    pub fn pause(&self, limit: Duration) {
        let before = (self.signal(), self.is_urgent());
        let pauses = self.state.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.state
                .raised
                .wait_timeout_while(pauses, limit, |()| (self.signal(), self.is_urgent()) == before),
        );
    }

    /// Waits until a stop is requested.
    pub fn wait(&self) {
        let pauses = self.state.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.state.raised.wait_while(pauses, |()| self.signal().is_none()));
    }

    /// Returns what to send to a child first: what came to us, if it was a request to stop.
    pub(super) fn first_signal(&self) -> Signal {
        match self.signal() {
            Some(SIGINT) => Signal::INT,
            _ => Signal::TERM,
        }
    }
}

/// Stops our children and then ourselves, as Ctrl-Z does with a program whose children share its process group; goes
/// on with both when we are continued.
fn suspend() {
    registry::signal_running(Signal::STOP);
    give_back_while(|| {
        // It comes back when we are continued.
        platform::default_action(SIGTSTP);
    });
    registry::signal_running(Signal::CONT);
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use crate::platform::{SIGHUP, SIGTERM};

    use super::*;
    use crate::process::give_children_default_signals;

    #[test]
    fn the_first_signal_stays_and_a_second_ctrl_c_makes_it_urgent() {
        let interrupt = Interrupt::none();
        assert_eq!(interrupt.signal(), None);
        interrupt.raise(SIGTERM);
        interrupt.raise(SIGHUP);
        interrupt.raise(SIGTERM);
        assert_eq!((interrupt.signal(), interrupt.is_urgent()), (Some(SIGTERM), false));
        interrupt.clone().raise(SIGINT);
        assert_eq!((interrupt.signal(), interrupt.is_urgent()), (Some(SIGTERM), true));
    }

    #[test]
    fn ctrl_c_stops_then_hurries_then_ends_us() {
        // Signals hit the whole process, so this test needs one of its own.
        if std::env::vars_os().all(|(name, _)| name != "RALPH_TEST_ALONE") {
            give_children_default_signals();
            let name = "process::interrupt::tests::ctrl_c_stops_then_hurries_then_ends_us";
            let alone = duct::cmd(std::env::current_exe().unwrap(), ["--exact", name, "--nocapture"])
                .env("RALPH_TEST_ALONE", "1")
                .stdout_capture()
                .stderr_to_stdout()
                .unchecked()
                .run()
                .unwrap();
            let said = String::from_utf8_lossy(&alone.stdout);
            assert_eq!(alone.status.code(), Some(130), "{said}");
            assert!(said.contains("calm, then urgent"), "{said}");
            return;
        }
        let interrupt = Interrupt::install().unwrap();
        let send = || platform::signal_process(platform::own_pid(), Signal::INT);
        send();
        while interrupt.signal().is_none() {
            interrupt.pause(Duration::from_millis(10));
        }
        assert_eq!((interrupt.signal(), interrupt.is_urgent()), (Some(SIGINT), false));
        send();
        while !interrupt.is_urgent() {
            interrupt.pause(Duration::from_millis(10));
        }
        println!("calm, then urgent");
        send();
        loop {
            interrupt.pause(Duration::from_secs(1));
        }
    }

    #[test]
    fn a_request_by_a_command_is_not_a_signal() {
        let asked = Interrupt::none();
        asked.ask();
        asked.raise(SIGTERM);
        assert_eq!((asked.signal(), asked.is_asked()), (Some(SIGINT), true));
        let raised = Interrupt::none();
        raised.raise(SIGTERM);
        raised.ask();
        assert_eq!((raised.signal(), raised.is_asked(), raised.is_urgent()), (Some(SIGTERM), false, false));
    }

    #[test]
    fn an_urgent_request_needs_no_earlier_one() {
        let interrupt = Interrupt::none();
        interrupt.raise_urgent();
        assert_eq!((interrupt.signal(), interrupt.is_urgent()), (Some(SIGINT), true));
    }

    #[test]
    fn a_request_to_stop_ends_a_pause() {
        let interrupt = Interrupt::none();
        let started = Instant::now();
        std::thread::scope(|scope| {
            let other = interrupt.clone();
            scope.spawn(move || other.raise(SIGINT));
            while interrupt.signal().is_none() {
                interrupt.pause(Duration::from_mins(1));
            }
        });
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
