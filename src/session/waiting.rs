//! Who works next, and the time in which nobody can.

use std::time::Duration;

use crate::record::{AgentRun, Event, Limit, RALPH, Timestamp, Waiting};

use super::roster::{Cut, Next, Out};
use super::running::{Ending, NextStep, Running};

/// Between two looks at the clock while the loop waits: a machine may sleep meanwhile.
const LOOK: Duration = Duration::from_millis(250);

impl Running<'_> {
    /// Finds out who works next; waits where nobody can.
    pub(super) fn before_turn(&mut self) -> NextStep {
        if self.roster.is_first_in() {
            self.change_agent(0);
            return NextStep::Turn;
        }
        let now = self.plan.clock.now();
        let (time, waiting) = match self.roster.next(now) {
            Next::Go(place) => {
                self.change_agent(place);
                return NextStep::Turn;
            }
            Next::TooLong(place, out) => return NextStep::Stop(self.too_long(place, out)),
            Next::Wait(place, out) => {
                let waiting = self.waiting(place, out);
                (self.roster.wait(now, place), waiting)
            }
        };
        if let Some(ending) = self.beyond_its_time(time) {
            return NextStep::Stop(ending);
        }
        self.wait(now, time, &waiting);
        NextStep::Again
    }

    /// Notes how a run went, for the choice of the next.
    pub(super) fn ran(&mut self, run: &AgentRun) {
        match run.failure_class.filter(|_| run.is_cut()) {
            Some(class) => {
                let now = self.plan.clock.now();
                let cut = Cut { class, told: run.resets_at, message: run.error.clone() };
                self.roster.cut(self.current, cut, now);
            }
            None => self.roster.ran(self.current),
        }
    }

    fn change_agent(&mut self, place: usize) {
        if place == self.current {
            return;
        }
        let name = |place: usize| self.plan.agents[place].agent.name().to_owned();
        let event = Event::AgentChanged {
            session: self.session.id.clone(),
            from: name(self.current),
            to: name(place),
            failure_class: self
                .roster
                .out(self.current)
                .filter(|_| place > self.current)
                .map(|out| out.class),
        };
        self.current = place;
        (self.say)(&event);
    }

    fn waiting(&self, place: usize, out: &Out) -> Waiting {
        let redactor = self.recorder.redactor();
        Waiting {
            agent: self.plan.agents[place].agent.name().to_owned(),
            class: out.class,
            until: out.until,
            message: out.message.as_ref().map(|message| redactor.redact_text(message).0),
        }
    }

    fn too_long(&self, place: usize, out: &Out) -> Ending {
        let Waiting { agent, class, until, message } = self.waiting(place, out);
        let words = message.map_or(String::new(), |words| format!(": {words}"));
        Ending {
            why: Some(format!("{agent} cannot be used before {until} ({class}{words})")),
            hint: Some(format!(
                "take the session up again then with `{RALPH} resume`, wait longer with --max-wait, or name \
                 a second agent: --agent claude,codex"
            )),
            ..Ending::limit(Limit::Wait)
        }
    }

    /// Where the session would be over before the wait is, there is nothing to wait for.
    fn beyond_its_time(&self, time: Duration) -> Option<Ending> {
        let most = self.plan.config.settings.max_duration?;
        (self.started.elapsed().saturating_add(time) >= most).then(|| Ending::limit(Limit::Duration))
    }

    fn wait(&mut self, now: Timestamp, time: Duration, waiting: &Waiting) {
        self.was_idle = true;
        (self.say)(&Event::Waiting {
            session: self.session.id.clone(),
            waiting: waiting.clone(),
            seconds: time.as_secs(),
        });
        if self.plan.clock.skip(time) {
            return;
        }
        if let Err(error) = self.control.publish_waiting(waiting) {
            self.warn(format!("others cannot see that the loop waits: {error:#}"));
        }
        let end = now.plus(time);
        while !self.is_to_stop() && self.plan.clock.now() < end {
            self.plan.interrupt.pause(LOOK);
        }
        if let Err(error) = self.control.clear_waiting() {
            self.warn(format!("{error:#}"));
        }
    }
}
