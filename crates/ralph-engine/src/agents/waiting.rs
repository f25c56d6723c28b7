//! Chooses the agent that runs next, and waits while none can.

use std::time::Duration;

use tasklist::TaskList;

use ralph_core::progress::nothing_done::{PRINTED_NOTHING, nothing_done};
use ralph_core::record::{
    AgentRun, Event, FailureClass, Limit, NeedKind, RALPH, StopReason, Task, TaskName, Timestamp, Waiting,
};
use ralph_store::{Control, Slot};

use super::pool::{Backoff, Interruption, Next};
use crate::running::{NextStep, Running};
use crate::stop::Ending;

/// Time between two checks of the clock while the loop waits: a machine may be suspended meanwhile.
const CLOCK_POLL_INTERVAL: Duration = Duration::from_millis(250);

impl Running<'_> {
    /// Chooses the agent that runs next, for `task`. Waits if none can run.
    pub(crate) fn before_turn(&mut self, task: &TaskName) -> NextStep {
        self.take_in_limits();
        if let Some(index) = self.not_refused(task) {
            self.change_agent(index, Some(FailureClass::Policy));
            return NextStep::Iterate;
        }
        if self.agents.is_first_available() {
            self.change_agent(0, None);
            return NextStep::Iterate;
        }
        let now = self.inputs.clock.now();
        let (time, waiting) = match self.agents.next(now) {
            Next::Go(index) => {
                let active = self.agents.backoff(self.agents.active);
                let class = active.filter(|_| index > self.agents.active).map(|backoff| backoff.class);
                self.change_agent(index, class);
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

    /// Returns how an agent did nothing in its run, in words, and makes an interruption of that: it says nothing of the task.
    pub(crate) fn nothing_done(
        &mut self,
        run: &mut AgentRun,
        slot: &Slot,
        task: &Task,
        list: &[u8],
    ) -> Option<String> {
        // A plain command may well say nothing. One that worked before and ends well is believed to have worked.
        let is_believed = run.exit.is_success()
            && run.failure_class.is_none()
            && run.was_silent
            && self.agents.has_worked(self.agents.active);
        if run.was_cut_short || is_believed {
            return None;
        }
        let words =
            nothing_done(run, || self.is_unchanged(slot, list) && !self.has_unseen_work(slot, task, run))?;
        (run.was_cut_short, run.succeeded) = (true, false);
        run.failure_class = Some(FailureClass::Other);
        run.error = Some(words.clone());
        Some(words)
    }

    /// Returns true if neither task list nor work tree changed since the attempt began, as far as that is known.
    fn is_unchanged(&mut self, slot: &Slot, list: &[u8]) -> bool {
        if self.read_task_list_bytes().map_or(true, |now| now != list) {
            return false;
        }
        let is_known = self.recorder.last_contents().0.is_some();
        is_known && self.recorder.peek(slot).is_ok_and(|(_, changed)| changed.is_empty())
    }

    /// Returns true if the agent moved refs, or changed what no snapshot shows.
    fn has_unseen_work(&mut self, slot: &Slot, task: &Task, run: &AgentRun) -> bool {
        let has_moved_refs = slot.refs_before().ok() != self.inputs.store.refs().tips_of_others().ok();
        let watch = &mut self.judging.unseen;
        has_moved_refs
            || watch
                .unseen(self.inputs, &self.recorder, &task.name, &run.tool_calls)
                .is_ok_and(|found| found.is_some())
    }

    /// Takes that the provider refused the task, if it did. The second task in a row says that it is not the task.
    pub(crate) fn note_refusal(&mut self, run: &mut AgentRun, task: &TaskName) {
        if run.failure_class == Some(FailureClass::Policy) && !run.was_cut_short {
            let has_worked = !run.tool_calls.is_empty();
            run.was_cut_short = self.agents.refuse(self.agents.active, task, has_worked);
        }
    }

    /// Updates the pool with how an agent run ended. `is_idle` says that it did nothing at all.
    pub(crate) fn ran(&mut self, run: &AgentRun, is_idle: bool) {
        let index = self.agents.active;
        if run.failure_class == Some(FailureClass::Policy) && !run.was_cut_short {
            return;
        }
        let Some(class) = run.failure_class.filter(|_| run.was_cut_short) else {
            self.agents.ran(index);
            return;
        };
        if class == FailureClass::Auth && run.login_was_renewed {
            // The next attempt begins with the new one.
            return;
        }
        let now = self.inputs.clock.now();
        let interruption = Interruption {
            class,
            resets_at: run.resets_at,
            message: run.error.clone(),
            has_worked: !is_idle && run.has_worked(),
            is_idle,
        };
        // A person can renew a login while it is tried again; what else keeps an agent may pass.
        let is_login = matches!(class, FailureClass::Auth | FailureClass::Billing);
        let is_new = self.agents.backoff(index).is_none_or(|backoff| backoff.class != class);
        self.agents.interrupt(index, interruption, now);
        if self.inputs.group.is_some() && is_usage_limit(class) {
            let limits: Vec<Waiting> = (0..self.inputs.agents.len())
                .filter_map(|index| Some(self.waiting(index, self.agents.backoff(index)?)))
                .filter(|limit| is_usage_limit(limit.class))
                .collect();
            if let Err(error) = self.control.publish_limits(&limits) {
                self.warn(format!("other loops cannot see the usage limit: {error:#}"));
            }
        }
        let needs_person = if is_login { is_new } else { self.agents.failure(index).is_some() };
        if needs_person {
            let (name, hint) = (self.inputs.agents[index].agent.name(), self.hint_of(index, class));
            let words = run.error.as_ref().map_or(String::new(), |words| format!(": {words}"));
            self.need(NeedKind::Agent, format!("{name} cannot be used ({class}{words}); {hint}"));
        }
        let others = (0..self.inputs.agents.len()).filter(|other| self.agents.failure(*other).is_none());
        if self.agents.failure(index).is_some() && others.count() > 0 {
            let why = self.why_unusable(index);
            let hint = self.hint_of(index, class);
            self.warn(format!("{why}, and is not tried again in this session\nhint: {hint}"));
        }
    }

    /// Takes in the usage limits that other loops of the group met: they are those of an account.
    fn take_in_limits(&mut self) {
        if self.inputs.group.is_none() {
            return;
        }
        let now = self.inputs.clock.now();
        for session in self.others.seen.keys() {
            for limit in Control::of(self.inputs.store.repository(), session).limits() {
                let mut agents = self.inputs.agents.iter();
                if let Some(index) = agents.position(|candidate| candidate.agent.name() == limit.agent) {
                    self.agents.hold(index, limit, now);
                }
            }
        }
    }

    /// Returns the ending of a session none of whose agents is used any more.
    fn unusable(&self) -> Ending {
        let why: Vec<String> = (0..self.inputs.agents.len()).map(|index| self.why_unusable(index)).collect();
        Ending {
            why: Some(why.join("; ")),
            hint: self.agents.failure(0).map(|failure| self.hint_of(0, failure.class)),
            ..Ending::of(StopReason::AgentUnusable)
        }
    }

    fn why_unusable(&self, index: usize) -> String {
        let agent = self.inputs.agents[index].agent.name();
        let Some(Waiting { class, message, .. }) =
            self.agents.failure(index).map(|failure| self.waiting(index, failure))
        else {
            return agent.to_owned();
        };
        let times = self.agents.failure(index).map_or(0, |failure| failure.idle_times);
        match message {
            Some(words) if times > 0 => idle_words(agent, &words, times),
            Some(words) => format!("{agent} cannot be used ({class}: {words})"),
            None => format!("{agent} cannot be used ({class})"),
        }
    }

    /// Returns what to do about the failure of an agent.
    fn hint_of(&self, index: usize, class: FailureClass) -> String {
        let agent = &self.inputs.agents[index].agent;
        let idle = self.agents.failure(index).filter(|failure| failure.idle_times > 0);
        if let Some(words) = idle.and_then(|failure| failure.message.as_ref()) {
            return if words.contains("denied") {
                format!(
                    "the permission settings of {} itself, of this project or of your organization deny its tools; \
                     `permissions = \"full\"` asks for all of them",
                    agent.name()
                )
            } else {
                format!("start {} once by hand in this folder: it shows what keeps it", agent.name())
            };
        }
        let hint = agent.hint(class);
        match &self.state.prompt_filler {
            Some(part) if class == FailureClass::Context => format!("{hint}; {part}"),
            _ => hint,
        }
    }

    /// Returns an agent that can run and whose provider did not refuse the task, if another agent's did.
    pub(crate) fn not_refused(&self, task: &str) -> Option<usize> {
        let refused = self.past.history.refused_by(task);
        if refused.is_empty() {
            return None;
        }
        let now = self.inputs.clock.now();
        self.agents.available(now, |index| !refused.contains(&self.inputs.agents[index].agent.name()))
    }

    /// Returns the tasks that the provider of an agent refused, and that another agent can try now.
    pub(crate) fn for_others(&self, tasks: &TaskList) -> Vec<TaskName> {
        if self.inputs.agents.len() < 2 {
            return Vec::new();
        }
        let names = tasks.tasks().filter(|item| !item.done).map(|item| item.name.clone());
        names.filter(|name| self.not_refused(name).is_some()).collect()
    }

    fn change_agent(&mut self, index: usize, failure_class: Option<FailureClass>) {
        if index == self.agents.active {
            return;
        }
        let [from, to] =
            [self.agents.active, index].map(|index| self.inputs.agents[index].agent.name().to_owned());
        let event = Event::AgentChanged { session: self.session.id.clone(), from, to, failure_class };
        self.agents.active = index;
        (self.say)(&event);
    }

    fn waiting(&self, index: usize, backoff: &Backoff) -> Waiting {
        let redactor = self.recorder.redactor();
        Waiting {
            agent: self.inputs.agents[index].agent.name().to_owned(),
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
        let most = self.inputs.config.settings.max_duration?;
        (self.state.started.elapsed().saturating_add(time) >= most).then(|| Ending::limit(Limit::Duration))
    }

    fn wait(&mut self, now: Timestamp, time: Duration, waiting: &Waiting) {
        self.state.was_idle = true;
        (self.say)(&Event::Waiting {
            session: self.session.id.clone(),
            waiting: waiting.clone(),
            seconds: time.as_secs(),
        });
        if self.inputs.clock.skip(time) {
            return;
        }
        if let Err(error) = self.control.publish_waiting(waiting) {
            self.warn(format!("others cannot see that the loop waits: {error:#}"));
        }
        let end = now.plus(time);
        while !self.is_to_stop() && self.inputs.clock.now() < end {
            self.inputs.interrupt.pause(CLOCK_POLL_INTERVAL);
        }
        if let Err(error) = self.control.clear_waiting() {
            self.warn(format!("{error:#}"));
        }
    }
}

fn is_usage_limit(class: FailureClass) -> bool {
    matches!(class, FailureClass::Quota | FailureClass::RateLimit)
}

/// `claude printed nothing, twice`
fn idle_words(agent: &str, words: &str, times: usize) -> String {
    let times = if times == 2 { "twice".to_owned() } else { format!("{times} times") };
    match words.strip_prefix(PRINTED_NOTHING) {
        Some(rest) => format!("{agent} {PRINTED_NOTHING}, {times}{rest}"),
        None => format!("{agent}: {words}"),
    }
}
