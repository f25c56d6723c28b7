//! For tests about signals, wherever the tests are started.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};

use super::system;

/// Gives what this process starts the default action for each signal, also where it was started as a shell starts a job
/// in the background, with some signals ignored: those get a handler, which does nothing, and exec resets handlers.
pub(super) fn give_children_default_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = system::ignored_signals();
        for signal in [SIGHUP, SIGINT, SIGQUIT].into_iter().filter(|signal| ignored.contains(signal)) {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).unwrap();
        }
    });
}
