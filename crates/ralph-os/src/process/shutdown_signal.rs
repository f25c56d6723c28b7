//! The signals that ask a program to end that runs no session and has a terminal to clean up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};

use super::interrupt::ending_signals;
use crate::platform::{SIGINT, note_signals};

/// The last signal that asked us to go.
#[derive(Debug, Clone, Default)]
pub struct ShutdownSignal(Arc<AtomicUsize>);

impl ShutdownSignal {
    /// Listens to all signals that would end this process. To be called once.
    pub fn install() -> Result<Self> {
        let shutdown_signal = Self::default();
        note_signals(ending_signals(), &shutdown_signal.0).context("listen to signals")?;
        Ok(shutdown_signal)
    }

    /// Returns the last signal that came since the last call.
    pub fn take(&self) -> Option<i32> {
        match self.0.swap(0, Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }

    /// Forgets a Ctrl-C that was meant for a program in the foreground.
    pub fn forget_interrupt(&self) {
        let interrupt = usize::try_from(SIGINT).unwrap_or_default();
        let _other = self.0.compare_exchange(interrupt, 0, Ordering::SeqCst, Ordering::SeqCst).is_err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_signal_is_reported_once() {
        let shutdown_signal = ShutdownSignal::default();
        assert_eq!(shutdown_signal.take(), None);
        shutdown_signal.0.store(15, Ordering::SeqCst);
        shutdown_signal.forget_interrupt();
        assert_eq!((shutdown_signal.take(), shutdown_signal.take()), (Some(15), None));
        shutdown_signal.0.store(2, Ordering::SeqCst);
        shutdown_signal.forget_interrupt();
        assert_eq!(shutdown_signal.take(), None);
    }
}
