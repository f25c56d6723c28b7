//! What other terminals ask of a running loop, in files: signals carry no text and do not reach another container, and a socket
//! dies with its process.

pub(super) mod hints;
pub(super) mod stop_watcher;
pub(super) mod waiting_hints;

use ralph_core::record::{EndedBy, Interrupter, Word};
use ralph_os::process::{CTRL_C, Interrupt, TERMINAL_CLOSED, signal_name};

/// Returns what interrupts a session: a signal, or a command.
pub(super) fn ended_by(interrupt: &Interrupt) -> EndedBy {
    let signal = interrupt.signal().filter(|_| !interrupt.is_asked());
    let by = match signal {
        None => Interrupter::Stop,
        Some(TERMINAL_CLOSED) => Interrupter::TerminalClosed,
        Some(CTRL_C) => Interrupter::CtrlC,
        Some(_) => Interrupter::Signal,
    };
    let name = signal.filter(|_| by == Interrupter::Signal).and_then(signal_name);
    EndedBy { by, signal: name.and_then(|name| Word::new(&name)) }
}
