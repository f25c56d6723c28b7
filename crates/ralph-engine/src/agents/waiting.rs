//! Chooses the agent that runs next, and waits while none can.

use std::time::Duration;

use ralph_core::record::{AgentRun, Event, FailureClass, Limit, RALPH, StopReason, Timestamp, Waiting};

use super::pool::{Backoff, Interruption, Next};
use crate::running::{Ending, NextStep, Running};

/// Time between two checks of the clock while the loop waits: a machine may be suspended meanwhile.
const CLOCK_POLL_INTERVAL: Duration = Duration::from_millis(250);

impl Running<'_> {
    /// Chooses the agent that runs next. Waits if none can run.
    pub(crate) fn before_turn(&mut self) -> NextStep {
        if self.agents.is_first_available() {
            self.change_agent(0);
            return NextStep::Iterate;
        }
        let now = self.plan.clock.now();
        let (time, waiting) = match self.agents.next(now) {
            Next::Go(index) => {
                self.change_agent(index);
                return NextStep::Iterate;
            }
            Next::TooLong(index, backoff) => return NextStep::Stop(self.too_long(index, backoff)),
            Next::Never => return NextStep::Stop(self.unusable()),
            Next::Wait(index, backoff) => {
                let waiting = self.waiting(index, backoff);
                (self.agents.wait(now, index), waiting)
            }
        };
        if let Some(ending) = self.beyond_its_time(time) {
            return NextStep::Stop(ending);
        }
        self.wait(now, time, &waiting);
        NextStep::Again
    }

    /// Updates the pool with how an agent run ended.
    pub(crate) fn ran(&mut self, run: &AgentRun) {
        let index = self.agents.active;
        let Some(class) = run.failure_class.filter(|_| run.was_cut_short) else {
            self.agents.ran(index);
            return;
        };
        let now = self.plan.clock.now();
        let interruption = Interruption {
            class,
            resets_at: run.resets_at,
            message: run.error.clone(),
            has_worked: run.has_worked(),
        };
        self.agents.interrupt(index, interruption, now);
        let others = (0..self.plan.agents.len()).filter(|other| self.agents.failure(*other).is_none());
        if self.agents.failure(index).is_some() && others.count() > 0 {
            let why = self.why_unusable(index);
            let hint = self.candidate().agent.hint(class);
            self.warn(format!("{why}, and is not tried again in this session\nhint: {hint}"));
        }
    }

    /// Returns the ending of a session none of whose agents is used any more.
    fn unusable(&self) -> Ending {
        let why: Vec<String> = (0..self.plan.agents.len()).map(|index| self.why_unusable(index)).collect();
        Ending {
            why: Some(why.join("; ")),
            hint: self.agents.failure(0).map(|failure| self.hint_for(failure.class)),
            ..Ending::of(StopReason::AgentUnusable)
        }
    }

    fn why_unusable(&self, index: usize) -> String {
        let agent = self.plan.agents[index].agent.name();
        let Some(Waiting { class, message, .. }) =
            self.agents.failure(index).map(|failure| self.waiting(index, failure))
        else {
            return agent.to_owned();
        };
        let words = message.map_or(String::new(), |words| format!(": {words}"));
        format!("{agent} cannot be used ({class}{words})")
    }

    /// Returns what to do about the failure of the first agent.
    fn hint_for(&self, class: FailureClass) -> String {
        let hint = self.plan.agents[0].agent.hint(class);
        match &self.state.prompt_filler {
            Some(part) if class == FailureClass::Context => format!("{hint}; {part}"),
            _ => hint,
        }
    }

    fn change_agent(&mut self, index: usize) {
        if index == self.agents.active {
            return;
        }
        let [from, to] =
            [self.agents.active, index].map(|index| self.plan.agents[index].agent.name().to_owned());
        let event = Event::AgentChanged {
            session: self.session.id.clone(),
            from,
            to,
            failure_class: self
                .agents
                .backoff(self.agents.active)
                .filter(|_| index > self.agents.active)
                .map(|backoff| backoff.class),
        };
        self.agents.active = index;
        (self.say)(&event);
    }

    fn waiting(&self, index: usize, backoff: &Backoff) -> Waiting {
        let redactor = self.recorder.redactor();
        Waiting {
            agent: self.plan.agents[index].agent.name().to_owned(),
            class: backoff.class,
            until: backoff.until,
            is_guessed: backoff.is_guessed(),
            message: backoff.message.as_ref().map(|message| redactor.redact_text(message).0),
        }
    }

    fn too_long(&self, index: usize, backoff: &Backoff) -> Ending {
        let Waiting { agent, class, until, message, .. } = self.waiting(index, backoff);
        let words = message.map_or(String::new(), |words| format!(": {words}"));
        Ending {
            why: Some(format!("{agent} cannot be used before {until} ({class}{words})")),
            hint: Some(format!(
                "resume the session then with `{RALPH} resume`, wait longer with --max-wait, or name a second \
                 agent: --agent claude,codex"
            )),
            ..Ending::limit(Limit::Wait)
        }
    }

    /// Returns the ending of a session whose time limit is reached before the wait is over.
    fn beyond_its_time(&self, time: Duration) -> Option<Ending> {
        let most = self.plan.config.settings.max_duration?;
        (self.state.started.elapsed().saturating_add(time) >= most).then(|| Ending::limit(Limit::Duration))
    }

    fn wait(&mut self, now: Timestamp, time: Duration, waiting: &Waiting) {
        self.state.was_idle = true;
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
            self.plan.interrupt.pause(CLOCK_POLL_INTERVAL);
        }
        if let Err(error) = self.control.clear_waiting() {
            self.warn(format!("{error:#}"));
        }
    }
}
