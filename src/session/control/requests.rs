//! What other terminals ask of the session: to stop, to pause, and what the next prompt should say.

use camino::Utf8PathBuf;

use crate::record::{Iteration, Outcome};
use crate::store::Control;

use super::stop_watcher::StopWatcher;

/// Hints for the next prompt.
#[derive(Debug, Default)]
pub struct Hints {
    /// In a prompt before, of which no agent heard the end.
    pub kept: Vec<String>,
    /// Files of those that came since.
    pub new: Vec<Utf8PathBuf>,
}

impl Hints {
    /// Those of the last iteration, where it was interrupted.
    pub fn of_last(iteration: &Iteration) -> Self {
        let is_unheard = iteration.outcome == Outcome::Interrupted;
        Self { kept: if is_unheard { iteration.hints.clone() } else { Vec::new() }, new: Vec::new() }
    }
}

/// Requests to the session, and what it has done about them.
pub(in crate::session) struct Steering {
    pub control: Control,
    pub hints: Hints,
    /// Set after a pause or a wait, in which a person may have worked.
    pub was_idle: bool,
    /// Ends with the session.
    pub _stop_watcher: StopWatcher,
}

impl Steering {
    /// Returns true if a stop was requested, at once or after the iteration.
    pub fn is_stop_requested(&self) -> bool {
        self.control.look().is_ok_and(|requests| requests.stop.is_some())
    }

    /// Returns true while the session is to pause.
    pub fn is_held(&self) -> bool {
        self.control.look().is_ok_and(|requests| requests.is_paused && requests.stop.is_none())
    }
}
