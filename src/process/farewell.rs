//! The wish that a screen goes away: for programs that run no session and have a terminal to clean up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::SIGINT;

use super::interrupt::ending_signals;

/// The last signal that asked us to go.
#[derive(Debug, Clone, Default)]
pub struct Farewell(Arc<AtomicUsize>);

impl Farewell {
    /// Listens to all signals that would end this process. To be called once.
    pub fn install() -> Result<Self> {
        let farewell = Self::default();
        for signal in ending_signals() {
            let number = usize::try_from(signal).context("number a signal")?;
            signal_hook::flag::register_usize(signal, Arc::clone(&farewell.0), number)
                .context("listen to signals")?;
        }
        Ok(farewell)
    }

    /// The signal that came; the next question is answered by the next signal.
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
    fn each_signal_is_told_once() {
        let farewell = Farewell::default();
        assert_eq!(farewell.take(), None);
        farewell.0.store(15, Ordering::SeqCst);
        farewell.forget_interrupt();
        assert_eq!((farewell.take(), farewell.take()), (Some(15), None));
        farewell.0.store(2, Ordering::SeqCst);
        farewell.forget_interrupt();
        assert_eq!(farewell.take(), None);
    }
}
