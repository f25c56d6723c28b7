//! Whether other terminals ask the session to stop.

use ralph_store::Control;

use super::stop_watcher::StopWatcher;

/// Requests to the session, and what it has done about them.
pub(crate) struct Steering {
    pub control: Control,
    /// Set after a wait, in which a person may have worked.
    pub was_idle: bool,
    /// Ends with the session.
    pub _stop_watcher: StopWatcher,
}

impl Steering {
    /// Returns true if a stop was requested, at once or after the iteration.
    pub fn is_stop_requested(&self) -> bool {
        self.control.look().is_ok_and(|stop| stop.is_some())
    }
}
