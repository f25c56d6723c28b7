//! Requests from other terminals to a running session: to stop and to pause.

use std::time::Duration;

use crate::record::{Event, StopReason};
use crate::store::ControlRequests;

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
}
