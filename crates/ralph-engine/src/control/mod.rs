//! What other terminals ask of a running loop.

pub(super) mod hints;
pub(super) mod stop_watcher;
pub(super) mod waiting_hints;

use ralph_core::record::{EndedBy, Interrupter, Word};
use ralph_os::process::{CTRL_C, TERMINAL_CLOSED, signal_name};

use crate::running::Running;

impl Running<'_> {
    /// Returns what interrupts this session: a signal, or a command.
    pub(crate) fn ended_by(&self) -> EndedBy {
        let signal = self.plan.interrupt.signal().filter(|_| !self.plan.interrupt.is_asked());
        let by = match signal {
            None => Interrupter::Stop,
            Some(TERMINAL_CLOSED) => Interrupter::TerminalClosed,
            Some(CTRL_C) => Interrupter::CtrlC,
            Some(_) => Interrupter::Signal,
        };
        let name = signal.filter(|_| by == Interrupter::Signal).and_then(signal_name);
        EndedBy { by, signal: name.and_then(|name| Word::new(&name)) }
    }

    /// Returns true if a stop was requested, at once or after the iteration.
    pub(crate) fn is_to_stop(&self) -> bool {
        self.plan.interrupt.signal().is_some() || self.control.look().is_ok_and(|stop| stop.is_some())
    }
}
