//! The wish to stop: by a signal, or by another command that asks for it.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::system;

/// Whether the session shall stop, and how fast. All clones are the same wish.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    wish: Arc<Wish>,
}

#[derive(Debug, Default)]
struct Wish {
    /// The first signal that came; 0 while none has.
    signal: AtomicI32,
    is_urgent: AtomicBool,
    is_asked: AtomicBool,
    pauses: Mutex<()>,
    raised: Condvar,
}

impl Interrupt {
    /// Takes over Ctrl-C, TERM and HUP for the whole process. To be called once.
    pub fn install() -> Result<Self> {
        let interrupt = Self::none();
        // Under `nohup` the terminal may go; the loop is meant to stay.
        let taken = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| {
            let is_nohup = *signal == SIGHUP && system::is_ignored(SIGHUP);
            !is_nohup
        });
        let mut signals = Signals::new(taken).context("listen to signals")?;
        let shared = interrupt.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    if signal == SIGINT && shared.is_urgent() {
                        // Whatever hangs now, the user wants out; the next start finishes the spool.
                        signal_hook::low_level::exit(128 + SIGINT);
                    }
                    shared.raise(signal);
                }
            })
            .context("start the thread that listens to signals")?;
        Ok(interrupt)
    }

    /// A wish that nobody has yet.
    pub fn none() -> Self {
        Self::default()
    }

    /// Wishes to stop, as if `signal` had come. A Ctrl-C after that makes it urgent.
    pub fn raise(&self, signal: i32) {
        let first = self.wish.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
        // Not so a second TERM or HUP: service managers send both at once and mean one calm stop.
        if first.is_err() && signal == SIGINT {
            self.wish.is_urgent.store(true, Ordering::SeqCst);
        }
        let _pauses = self.wish.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        self.wish.raised.notify_all();
    }

    /// Wishes to stop because a command asks for it, as kindly as a Ctrl-C.
    pub fn ask(&self) {
        if self.signal().is_none() {
            self.wish.is_asked.store(true, Ordering::SeqCst);
            self.raise(SIGINT);
        }
    }

    /// Whether it was a command that asked first, and no signal.
    pub fn is_asked(&self) -> bool {
        self.wish.is_asked.load(Ordering::SeqCst)
    }

    /// Wishes to stop at once, as two Ctrl-C do.
    pub fn raise_urgent(&self) {
        self.raise(SIGINT);
        self.raise(SIGINT);
    }

    /// The signal by which the session shall stop.
    pub fn signal(&self) -> Option<i32> {
        match self.wish.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(signal),
        }
    }

    /// Whether there is no time left for anybody to end in peace.
    pub fn is_urgent(&self) -> bool {
        self.wish.is_urgent.load(Ordering::SeqCst)
    }

    /// Waits that long, or until the wish comes or becomes urgent.
    pub fn pause(&self, limit: Duration) {
        let before = (self.signal(), self.is_urgent());
        let pauses = self.wish.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |(): &mut ()| (self.signal(), self.is_urgent()) == before;
        drop(self.wish.raised.wait_timeout_while(pauses, limit, is_same));
    }

    /// What to send to a child first: what came to us, as far as it is a wish to stop.
    pub(super) fn first_signal(&self) -> Signal {
        match self.signal() {
            Some(SIGINT) => Signal::INT,
            _ => Signal::TERM,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::default_signals::give_children_default_signals;
    use super::*;

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
        let send = || rustix::process::kill_process(rustix::process::getpid(), Signal::INT).unwrap();
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
    fn a_command_that_asks_is_told_from_a_signal() {
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
    fn an_urgent_wish_needs_no_earlier_one() {
        let interrupt = Interrupt::none();
        interrupt.raise_urgent();
        assert_eq!((interrupt.signal(), interrupt.is_urgent()), (Some(SIGINT), true));
    }

    #[test]
    fn a_wish_ends_a_pause() {
        let interrupt = Interrupt::none();
        let started = Instant::now();
        std::thread::scope(|scope| {
            let other = interrupt.clone();
            scope.spawn(move || other.raise(SIGINT));
            while interrupt.signal().is_none() {
                interrupt.pause(Duration::from_secs(60));
            }
        });
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
