//! What other terminals wish of a running session: to stop, to pause, and what the next prompt should say.

use std::time::Duration;

use crate::record::{Event, Iteration, StopReason};
use crate::store::Wishes;

use super::hints::Hints;
use super::running::{Ending, NextStep, Running};

/// Between two looks at the wishes.
const LOOK: Duration = Duration::from_millis(200);

impl Running<'_> {
    /// Does what is wished before a turn; none where nothing keeps us from it.
    pub(super) fn heed_wishes(&mut self) -> Option<NextStep> {
        let wishes = match self.control.look() {
            Ok(wishes) => wishes,
            Err(error) => {
                self.warn(format!("what is wished of this loop cannot be read: {error:#}"));
                Wishes::default()
            }
        };
        self.hints.new = wishes.hints;
        if wishes.stop.is_some() {
            return Some(NextStep::Stop(Ending::of(StopReason::Interrupted)));
        }
        if wishes.is_paused {
            self.pause();
            return Some(NextStep::Again);
        }
        None
    }

    fn pause(&mut self) {
        self.was_idle = true;
        let session = self.session.id.clone();
        (self.say)(&Event::Paused { session: session.clone() });
        while self.plan.interrupt.signal().is_none() && self.is_held() {
            self.plan.interrupt.pause(LOOK);
        }
        (self.say)(&Event::Continued { session });
    }

    fn is_held(&self) -> bool {
        self.control.look().is_ok_and(|wishes| wishes.is_paused && wishes.stop.is_none())
    }

    /// Whether somebody wishes that it stops, now or after the iteration.
    pub(super) fn is_to_stop(&self) -> bool {
        self.plan.interrupt.signal().is_some()
            || self.control.look().is_ok_and(|wishes| wishes.stop.is_some())
    }

    /// The hints for the next prompt.
    pub(super) fn hints(&mut self) -> Vec<String> {
        let mut texts = self.hints.kept.clone();
        let mut complaints = Vec::new();
        for path in &self.hints.new {
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

    /// Takes the files of hints away that are in the spool by now.
    pub(super) fn hints_are_taken(&mut self) {
        for path in std::mem::take(&mut self.hints.new) {
            if let Err(error) = self.control.take_away(&path) {
                self.warn(format!("a hint may come twice: {error:#}"));
            }
        }
    }

    /// What no agent heard to its end is said again.
    pub(super) fn hints_were_in(&mut self, iteration: &Iteration) {
        self.hints = Hints::of_last(iteration);
    }

    /// The hints that no prompt took, at the end of a session.
    pub(super) fn left_hints(&mut self) -> Vec<String> {
        let new = self.control.look().map(|wishes| wishes.hints).unwrap_or_default();
        self.hints = Hints { kept: Vec::new(), new };
        self.hints()
    }
}
