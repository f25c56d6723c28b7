//! Requests from other terminals to a running session: to stop, to pause, and what the next prompt should say.

use std::time::Duration;

use crate::record::{Event, Iteration, StopReason};
use crate::store::ControlRequests;

use super::requests::Hints;
use crate::session::running::{Ending, NextStep, Running};

/// Time between two checks for requests.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

impl Running<'_> {
    /// Acts on requests that arrived since the last iteration. Returns `None` if the loop can go on.
    pub(in crate::session) fn poll_control(&mut self) -> Option<NextStep> {
        let requests = match self.steering.control.look() {
            Ok(requests) => requests,
            Err(error) => {
                self.warn(format!("cannot read requests to this loop: {error:#}"));
                ControlRequests::default()
            }
        };
        self.steering.hints.new = requests.hints;
        if requests.stop.is_some() {
            return Some(NextStep::Stop(Ending::of(StopReason::Interrupted)));
        }
        if requests.is_paused {
            self.pause();
            return Some(NextStep::Again);
        }
        None
    }

    fn pause(&mut self) {
        self.steering.was_idle = true;
        let session = self.session.id.clone();
        (self.say)(&Event::Paused { session: session.clone() });
        while self.plan.interrupt.signal().is_none() && self.steering.is_held() {
            self.plan.interrupt.pause(POLL_INTERVAL);
        }
        (self.say)(&Event::Continued { session });
    }

    /// Returns true if a stop was requested, at once or after the iteration.
    pub(in crate::session) fn is_to_stop(&self) -> bool {
        self.plan.interrupt.signal().is_some() || self.steering.is_stop_requested()
    }

    /// Returns the hints for the next prompt.
    pub(in crate::session) fn hints(&mut self) -> Vec<String> {
        let mut texts = self.steering.hints.kept.clone();
        let mut complaints = Vec::new();
        for path in &self.steering.hints.new {
            match std::fs::read(path) {
                Ok(bytes) => texts.push(String::from_utf8_lossy(&bytes).trim().to_owned()),
                Err(error) => complaints.push(format!("the hint in {path} cannot be read: {error}")),
            }
        }
        for complaint in complaints {
            self.warn(complaint);
        }
        texts
    }

    /// Removes the files of hints that are in the spool by now.
    pub(in crate::session) fn hints_are_taken(&mut self) {
        for path in std::mem::take(&mut self.steering.hints.new) {
            if let Err(error) = self.steering.control.take_away(&path) {
                self.warn(format!("a hint may come twice: {error:#}"));
            }
        }
    }

    /// Repeats the hints of an iteration whose agent did not finish.
    pub(in crate::session) fn hints_were_in(&mut self, iteration: &Iteration) {
        self.steering.hints = Hints::of_last(iteration);
    }

    /// Returns the hints that were in no prompt at the end of the session.
    pub(in crate::session) fn left_hints(&mut self) -> Vec<String> {
        let new = self.steering.control.look().map(|requests| requests.hints).unwrap_or_default();
        self.steering.hints = Hints { kept: Vec::new(), new };
        self.hints()
    }
}
