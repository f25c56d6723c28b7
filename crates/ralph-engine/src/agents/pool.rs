//! Which agent runs next, and how long the loop backs off if none can run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ralph_agent::Agent;
use ralph_core::record::{FailureClass, TaskName, Timestamp, Waiting};

/// The first pause if the agent reports no reset time. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(30);

/// The same where a limit of the account is used up, which takes longer.
const FIRST_QUOTA_PAUSE: Duration = Duration::from_mins(5);

/// The upper bound of these pauses.
const MAX_PAUSE: Duration = Duration::from_mins(30);

/// The first and the longest pause after a reset time that did not hold.
const FIRST_BROKEN_PAUSE: Duration = Duration::from_mins(1);
const MAX_BROKEN_PAUSE: Duration = Duration::from_hours(1);

/// Added to a reset time that an agent reported: its clock is not ours.
const CLOCK_SKEW_MARGIN: Duration = Duration::from_secs(2);

/// Pauses after failures in a row that do not pass by themselves, in seconds. After the last of them the agent is out.
const RETRIES: &[u64] = &[5, 30, 120];

/// The same for a program that vanished: its update takes two minutes at most.
const RETRIES_OF_PROGRAM: &[u64] = &[5, 30, 85];

/// The same for an agent that never worked in this session, and for a prompt that is too long for it.
const ONE_RETRY: &[u64] = &[5];

/// The agents in the user's order of preference, by their index in that order.
#[derive(Debug)]
pub struct AgentPool {
    agents: Vec<AgentState>,
    /// The one whose turn it is.
    pub active: usize,
    /// Versions of the agents after the first, once they were asked.
    versions: BTreeMap<usize, Option<String>>,
    /// Agents that ended a run well, so that it is known what they report.
    reported: BTreeSet<usize>,
    /// Time waited since an agent last ran without being interrupted. A limit of each wait would let waits follow one another
    /// without any work.
    waited: Duration,
    /// The limit of `waited`. `None` if the loop is not to wait at all.
    max_wait: Option<Duration>,
}

#[derive(Debug, Clone, Default)]
struct AgentState {
    backoff: Option<Backoff>,
    /// How often in a row it was interrupted by what passes.
    interruptions: u32,
    /// How often since it last ran it was still out after the reset time that it reported.
    broken_times: u32,
    /// How often in a row it failed with what does not pass by itself.
    failures: usize,
    /// True if it did anything in this session.
    has_worked: bool,
    /// The task that its provider refused last, if it did no work since.
    refused_task: Option<TaskName>,
}

/// Why an agent cannot run, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    pub until: Timestamp,
    pub class: FailureClass,
    pub message: Option<String>,
    /// How often in a row it did nothing at all; 0 if it failed in another way.
    pub idle_times: usize,
    end: BackoffEnd,
}

impl Backoff {
    /// Returns true if its agent cannot run yet, or any more.
    fn lasts(&self, now: Timestamp) -> bool {
        self.end == BackoffEnd::Never || self.until > now
    }

    /// Returns true if the agent reported no time at which its limit ends.
    pub fn is_guessed(&self) -> bool {
        self.end != BackoffEnd::Reported
    }
}

/// Where the end of a backoff comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BackoffEnd {
    /// The agent reported it.
    Reported,
    /// It is a pause of ours, counted as waited when it begins: a loop whose runs take longer than what is left of
    /// `max_wait` has to end as well.
    Guessed,
    /// Nothing of `max_wait` was left.
    Exhausted,
    /// A short pause before another look at a failure that may be permanent. It is not counted.
    Retry,
    /// It failed too often: it is not used any more.
    Never,
}

/// A limit or an error that ended an agent run early.
#[derive(Debug, Clone)]
pub struct Interruption {
    pub class: FailureClass,
    /// When the limit resets, as reported by the agent.
    pub resets_at: Option<Timestamp>,
    pub message: Option<String>,
    /// True if the agent did anything before.
    pub has_worked: bool,
    /// True if it did nothing at all, and reported no error.
    pub is_idle: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// This one runs.
    Go(usize),
    /// This one can run soonest.
    Wait(usize, &'a Backoff),
    /// The same, but later than `max_wait` allows.
    TooLong(usize, &'a Backoff),
    /// None is used any more.
    Never,
}

impl AgentPool {
    pub fn new(agents: usize, max_wait: Option<Duration>) -> Self {
        Self {
            agents: vec![AgentState::default(); agents],
            active: 0,
            versions: BTreeMap::new(),
            reported: BTreeSet::new(),
            waited: Duration::ZERO,
            max_wait,
        }
    }

    /// Returns the version of `agent`, which is the active one. The version of the first agent is known from the start.
    pub fn version(&mut self, agent: &dyn Agent, first: Option<&String>) -> Option<String> {
        match self.active {
            0 => first.cloned(),
            index => self.versions.entry(index).or_insert_with(|| agent.version()).clone(),
        }
    }

    /// Returns true if this is the first report of the active agent.
    pub fn is_first_report(&mut self) -> bool {
        self.reported.insert(self.active)
    }

    /// Returns true if the first agent is not backing off, so that there is no need to ask for the time.
    pub fn is_first_available(&self) -> bool {
        self.agents.first().is_none_or(|first| first.backoff.is_none())
    }

    /// Returns the first agent that can run. Whatever keeps one, the next one takes over.
    pub fn next(&self, now: Timestamp) -> Next<'_> {
        let mut soonest: Option<(usize, &Backoff)> = None;
        for (index, AgentState { backoff, .. }) in self.agents.iter().enumerate() {
            let Some(backoff) = backoff.as_ref().filter(|backoff| backoff.lasts(now)) else {
                return Next::Go(index);
            };
            let is_sooner = soonest.is_none_or(|(_, found)| backoff.until < found.until);
            if backoff.end != BackoffEnd::Never && is_sooner {
                soonest = Some((index, backoff));
            }
        }
        let Some((index, backoff)) = soonest else {
            return if self.agents.is_empty() { Next::Go(0) } else { Next::Never };
        };
        let is_short = match backoff.end {
            BackoffEnd::Reported => span(now, backoff.until) <= self.rest(),
            BackoffEnd::Guessed | BackoffEnd::Retry => true,
            BackoffEnd::Exhausted | BackoffEnd::Never => false,
        };
        if is_short { Next::Wait(index, backoff) } else { Next::TooLong(index, backoff) }
    }

    /// Returns how long to wait for the agent that [`Self::next`] returned.
    pub fn wait(&mut self, now: Timestamp, index: usize) -> Duration {
        let Some(backoff) = self.backoff(index) else { return Duration::ZERO };
        let wait = span(now, backoff.until);
        if backoff.end == BackoffEnd::Reported {
            self.waited = self.waited.saturating_add(wait);
        }
        wait
    }

    /// Returns what is left of `max_wait`.
    fn rest(&self) -> Duration {
        self.max_wait.map_or(Duration::ZERO, |most| most.saturating_sub(self.waited))
    }

    /// Returns the backoff of an agent, if it has one.
    pub fn backoff(&self, index: usize) -> Option<&Backoff> {
        self.agents.get(index)?.backoff.as_ref()
    }

    /// Returns why an agent is not used any more; `None` of one that is.
    pub fn failure(&self, index: usize) -> Option<&Backoff> {
        self.backoff(index).filter(|backoff| backoff.end == BackoffEnd::Never)
    }

    /// Records that an agent run ended early.
    pub fn interrupt(&mut self, index: usize, interruption: Interruption, now: Timestamp) {
        let rest = self.rest();
        let Some(agent) = self.agents.get_mut(index) else { return };
        agent.has_worked |= interruption.has_worked;
        if !interruption.class.is_transient() {
            agent.fail(interruption, now);
            return;
        }
        let Interruption { class, resets_at, message, .. } = interruption;
        let was_reported = agent.backoff.as_ref().is_some_and(|backoff| backoff.end == BackoffEnd::Reported);
        if was_reported || agent.broken_times > 0 {
            agent.broken_times = agent.broken_times.saturating_add(1);
        }
        let broken = match agent.broken_times.checked_sub(1) {
            Some(times) => FIRST_BROKEN_PAUSE.saturating_mul(1 << times.min(10)).min(MAX_BROKEN_PAUSE),
            None => Duration::ZERO,
        };
        let first = if class == FailureClass::Quota { FIRST_QUOTA_PAUSE } else { FIRST_PAUSE };
        let pause = first.saturating_mul(1 << agent.interruptions.min(10)).min(MAX_PAUSE);
        let pause = if broken.is_zero() { pause } else { broken };
        agent.interruptions = agent.interruptions.saturating_add(1);
        agent.failures = 0;
        // A time that is past by our clock says nothing.
        let (until, end) = match resets_at.filter(|resets_at| *resets_at > now) {
            Some(resets_at) => {
                (resets_at.plus(CLOCK_SKEW_MARGIN).max(now.plus(broken)), BackoffEnd::Reported)
            }
            None if rest.is_zero() => (now.plus(pause), BackoffEnd::Exhausted),
            None => {
                // The last pause may be shorter; one more run follows it.
                let pause = pause.min(rest);
                self.waited = self.waited.saturating_add(pause);
                (now.plus(pause), BackoffEnd::Guessed)
            }
        };
        agent.backoff = Some(Backoff { until, class, message, idle_times: 0, end });
    }

    /// Takes in a limit that another loop met with the same agent.
    pub fn hold(&mut self, index: usize, limit: Waiting, now: Timestamp) {
        let Some(agent) = self.agents.get_mut(index) else { return };
        if limit.until <= now || agent.backoff.as_ref().is_some_and(|own| own.lasts(now)) {
            return;
        }
        // A pause that was guessed counts as waited for who met the limit.
        let end = if limit.is_guessed { BackoffEnd::Retry } else { BackoffEnd::Reported };
        let Waiting { until, class, message, .. } = limit;
        agent.backoff = Some(Backoff { until, class, message, idle_times: 0, end });
    }

    /// Returns true if an agent did anything in this session.
    pub fn has_worked(&self, index: usize) -> bool {
        self.agents.get(index).is_some_and(|agent| agent.has_worked)
    }

    /// Records that the provider of an agent refused a task. Returns true if it refused another one before, and the agent did no work
    /// between: then it is not the task.
    pub fn refuse(&mut self, index: usize, task: &TaskName, has_worked: bool) -> bool {
        let Some(agent) = self.agents.get_mut(index) else { return false };
        let is_second = !has_worked && agent.refused_task.as_ref().is_some_and(|before| before != task);
        if !is_second {
            agent.refused_task = Some(task.clone());
        }
        is_second
    }

    /// Returns the first agent of those that can run now for which `is_wanted` is true.
    pub fn available(&self, now: Timestamp, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let is_free = |agent: &AgentState| !agent.backoff.as_ref().is_some_and(|backoff| backoff.lasts(now));
        (0..self.agents.len()).find(|&index| is_free(&self.agents[index]) && is_wanted(index))
    }

    /// Records that an agent ran to its end, whatever the outcome.
    pub fn ran(&mut self, index: usize) {
        self.waited = Duration::ZERO;
        if let Some(index) = self.agents.get_mut(index) {
            *index = AgentState { has_worked: true, ..AgentState::default() };
        }
    }
}

impl AgentState {
    /// Records a failure that does not pass by itself. Seen once, it may yet: a login is renewed, a program is updated.
    fn fail(&mut self, interruption: Interruption, now: Timestamp) {
        let Interruption { class, message, is_idle, .. } = interruption;
        let retries = match class {
            FailureClass::Context => ONE_RETRY,
            _ if !self.has_worked => ONE_RETRY,
            FailureClass::NotInstalled => RETRIES_OF_PROGRAM,
            _ => RETRIES,
        };
        let (until, end) = match retries.get(self.failures) {
            Some(seconds) => (now.plus(Duration::from_secs(*seconds)), BackoffEnd::Retry),
            None => (now, BackoffEnd::Never),
        };
        self.failures += 1;
        let idle_times = if is_idle { self.failures } else { 0 };
        self.backoff = Some(Backoff { until, class, message, idle_times, end });
    }
}

fn span(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_millis(from.ms_until(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn pool(agents: usize, max_wait: u64) -> AgentPool {
        AgentPool::new(agents, Some(Duration::from_secs(max_wait)))
    }

    fn interruption(class: FailureClass, resets_at: Option<Timestamp>) -> Interruption {
        Interruption { class, resets_at, message: None, has_worked: false, is_idle: false }
    }

    /// Index of the agent and end of a wait.
    #[track_caller]
    fn wait(pool: &AgentPool, now: i64) -> (usize, i64) {
        match pool.next(at(now)) {
            Next::Wait(index, backoff) => (index, backoff.until.seconds()),
            other @ (Next::Go(_) | Next::TooLong(..) | Next::Never) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_reported_reset_time_is_waited_for_and_then_the_agent_runs_again() {
        let mut pool = pool(1, HOUR);
        assert!(pool.is_first_available());
        pool.interrupt(0, interruption(FailureClass::Quota, Some(at(500))), at(100));
        assert!(!pool.is_first_available());
        assert_eq!(wait(&pool, 100), (0, 502));
        assert_eq!(pool.next(at(502)), Next::Go(0));
    }

    #[test]
    fn a_limit_that_another_loop_met_is_waited_for_until_it_is_over() {
        let mut pool = pool(2, HOUR);
        let limit = |until, is_guessed| Waiting {
            agent: "claude".to_owned(),
            class: FailureClass::Quota,
            until: at(until),
            is_guessed,
            message: None,
        };
        pool.hold(0, limit(100, false), at(100));
        assert_eq!(pool.next(at(100)), Next::Go(0), "it is over");
        pool.hold(0, limit(500, false), at(100));
        assert_eq!(pool.next(at(100)), Next::Go(1));
        pool.hold(1, limit(300, true), at(100));
        pool.hold(1, limit(900, false), at(100));
        assert_eq!(wait(&pool, 100), (1, 300), "what it waits for already stays");
        assert_eq!(pool.next(at(300)), Next::Go(1));
        pool.hold(0, limit(100 + 2 * 3600, false), at(500));
        pool.hold(1, limit(100 + 2 * 3600, false), at(500));
        assert!(matches!(pool.next(at(500)), Next::TooLong(0, _)), "as long as the user wants");
    }

    #[test]
    fn an_agent_whose_limit_is_over_takes_what_another_ones_provider_refuses() {
        let mut pool = pool(2, HOUR);
        let other = |pool: &AgentPool, now| pool.available(at(now), |index| index != 0);
        assert_eq!(other(&pool, 100), Some(1));
        pool.interrupt(1, interruption(FailureClass::Quota, Some(at(500))), at(100));
        assert_eq!((other(&pool, 400), other(&pool, 502)), (None, Some(1)));
        for _ in 0..9 {
            pool.interrupt(1, interruption(FailureClass::Auth, None), at(600));
        }
        assert_eq!(other(&pool, 9000), None);
    }

    #[test]
    fn pauses_grow_to_half_an_hour_and_begin_anew_after_a_turn() {
        let mut pool = pool(1, 100 * HOUR);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            pool.interrupt(0, interruption(FailureClass::Overloaded, None), at(0));
            pauses.push(wait(&pool, 0).1);
        }
        assert_eq!(pauses, [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]);
        pool.ran(0);
        pool.interrupt(0, interruption(FailureClass::Network, None), at(0));
        assert_eq!(wait(&pool, 0), (0, 30));
    }

    #[test]
    fn a_reset_time_in_the_past_is_ignored() {
        let mut pool = pool(1, HOUR);
        pool.interrupt(0, interruption(FailureClass::RateLimit, Some(at(90))), at(100));
        assert_eq!(wait(&pool, 100), (0, 130));
        pool.ran(0);
        pool.interrupt(0, interruption(FailureClass::Quota, None), at(100));
        assert_eq!(wait(&pool, 100), (0, 400), "a limit of an account takes longer");
    }

    #[test]
    fn two_tasks_that_are_refused_without_work_between_are_a_fault_of_the_agent() {
        let steps = |steps: &[(&str, bool)]| {
            let mut pool = pool(1, HOUR);
            let steps = steps.iter().map(|(task, has_worked)| match *task {
                "ran" => {
                    pool.ran(0);
                    false
                }
                task => pool.refuse(0, &task.to_owned(), *has_worked),
            });
            steps.last()
        };
        assert_eq!(steps(&[("T1", false)]), Some(false));
        assert_eq!(steps(&[("T1", false), ("T1", false)]), Some(false));
        assert_eq!(steps(&[("T1", false), ("T2", false)]), Some(true));
        assert_eq!(steps(&[("T1", false), ("T2", false), ("T2", false)]), Some(true), "tried once more");
        assert_eq!(steps(&[("T1", false), ("ran", true), ("T2", false)]), Some(false));
        assert_eq!(steps(&[("T1", false), ("T2", true)]), Some(false), "it worked before it was refused");
    }

    #[test]
    fn after_a_reset_time_that_did_not_hold_the_pauses_double_up_to_an_hour() {
        let mut pool = pool(1, 100 * HOUR);
        let mut now = 0;
        let mut pauses = Vec::new();
        for _ in 0..9 {
            pool.interrupt(0, interruption(FailureClass::Quota, Some(at(now + 8))), at(now));
            let (_, until) = wait(&pool, now);
            pauses.push(until - now);
            now = until;
        }
        assert_eq!(pauses, [10, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        pool.interrupt(0, interruption(FailureClass::Quota, Some(at(now + 9000))), at(now));
        assert_eq!(wait(&pool, now), (0, now + 9002), "a later time counts");
        pool.interrupt(0, interruption(FailureClass::Quota, None), at(now));
        assert_eq!(wait(&pool, now), (0, now + 3600));
        pool.ran(0);
        pool.interrupt(0, interruption(FailureClass::Quota, Some(at(now + 8))), at(now));
        assert_eq!(wait(&pool, now), (0, now + 10));
    }

    /// Lengths of the pauses before an agent is out.
    fn retries(class: FailureClass, has_worked: bool) -> Vec<i64> {
        let mut pool = pool(1, 0);
        if has_worked {
            pool.ran(0);
        }
        let mut pauses = Vec::new();
        for now in (0..).step_by(1000) {
            pool.interrupt(0, interruption(class, None), at(now));
            match pool.next(at(now)) {
                Next::Wait(_, backoff) => pauses.push(backoff.until.seconds() - now),
                Next::Never => break,
                other @ (Next::Go(_) | Next::TooLong(..)) => panic!("{other:?}"),
            }
        }
        assert!(pool.failure(0).is_some_and(|backoff| backoff.class == class));
        pauses
    }

    #[test]
    fn nothing_is_permanent_after_one_failure() {
        for class in [FailureClass::Auth, FailureClass::Billing, FailureClass::Other] {
            assert_eq!(retries(class, true), [5, 30, 120], "{class}");
            assert_eq!(retries(class, false), [5], "{class}");
        }
        assert_eq!(retries(FailureClass::NotInstalled, true).iter().sum::<i64>(), 120);
        assert_eq!(retries(FailureClass::NotInstalled, false), [5]);
        assert_eq!(retries(FailureClass::Context, true), [5], "two first requests in a row");
    }

    #[test]
    fn a_run_in_between_begins_the_retries_anew_and_who_is_out_stays_out() {
        let mut pool = pool(2, HOUR);
        pool.ran(0);
        for _ in 0..4 {
            pool.interrupt(0, interruption(FailureClass::Auth, None), at(0));
            assert_eq!(pool.next(at(0)), Next::Go(1));
            assert_eq!(pool.next(at(5)), Next::Go(0));
            pool.ran(0);
        }
        for now in [0, 5, 35, 155] {
            pool.interrupt(0, interruption(FailureClass::Auth, None), at(now));
        }
        assert_eq!(pool.next(at(9000)), Next::Go(1));
        pool.interrupt(1, interruption(FailureClass::Network, None), at(9000));
        assert_eq!(wait(&pool, 9000), (1, 9030));
        for now in [9030, 9060] {
            pool.interrupt(1, interruption(FailureClass::Billing, None), at(now));
        }
        assert_eq!(pool.next(at(9999)), Next::Never);
    }

    #[test]
    fn the_next_takes_over_on_quota_until_the_first_is_back() {
        let mut pool = pool(3, HOUR);
        pool.interrupt(0, interruption(FailureClass::Quota, Some(at(500))), at(0));
        assert_eq!(pool.next(at(0)), Next::Go(1));
        pool.interrupt(1, interruption(FailureClass::Quota, Some(at(300))), at(10));
        assert_eq!(pool.next(at(10)), Next::Go(2));
        pool.interrupt(2, interruption(FailureClass::Quota, Some(at(400))), at(20));
        assert_eq!(wait(&pool, 20), (1, 302), "for who is back soonest");
        assert_eq!(pool.next(at(302)), Next::Go(1));
        assert_eq!(pool.next(at(502)), Next::Go(0));
    }

    #[test]
    fn the_next_takes_over_whatever_keeps_the_first() {
        for class in FailureClass::ALL.iter().filter(|class| !class.is_question()) {
            let mut pool = pool(2, HOUR);
            pool.interrupt(0, interruption(*class, None), at(0));
            assert_eq!(pool.next(at(0)), Next::Go(1), "{class}");
            assert_eq!(pool.next(at(400)), Next::Go(0), "{class}");
            pool.interrupt(1, interruption(FailureClass::Network, None), at(0));
            assert!(matches!(pool.next(at(0)), Next::Wait(..)), "{class}");
        }
    }

    #[test]
    fn waits_in_a_row_are_bounded_together() {
        let mut pool = pool(1, 100);
        pool.interrupt(0, interruption(FailureClass::Quota, Some(at(1000))), at(0));
        assert!(matches!(pool.next(at(0)), Next::TooLong(0, _)), "in vain from the start");
        pool.interrupt(0, interruption(FailureClass::Quota, Some(at(58))), at(0));
        assert_eq!(wait(&pool, 0), (0, 60));
        assert_eq!(pool.wait(at(0), 0), Duration::from_mins(1));
        pool.ran(0);
        let mut ends = Vec::new();
        for _ in 0..3 {
            pool.interrupt(0, interruption(FailureClass::Overloaded, None), at(0));
            ends.push(wait(&pool, 0).1);
        }
        assert_eq!(ends, [30, 60, 10], "the last is what is left");
        pool.interrupt(0, interruption(FailureClass::Overloaded, None), at(0));
        assert!(matches!(pool.next(at(0)), Next::TooLong(0, _)));
        pool.ran(0);
        pool.interrupt(0, interruption(FailureClass::Overloaded, None), at(0));
        assert_eq!(wait(&pool, 0), (0, 30), "a turn begins it anew");
    }

    #[test]
    fn after_a_short_last_pause_comes_one_more_try() {
        let mut pool = pool(1, 4);
        pool.interrupt(0, interruption(FailureClass::Network, None), at(0));
        assert_eq!(wait(&pool, 0), (0, 4));
        assert_eq!(pool.next(at(4)), Next::Go(0));
        pool.interrupt(0, interruption(FailureClass::Network, None), at(5));
        assert!(matches!(pool.next(at(5)), Next::TooLong(0, _)));
    }

    #[test]
    fn runs_that_take_longer_than_the_pause_come_to_an_end_too() {
        let mut pool = pool(1, 35);
        for now in [0, 50] {
            pool.interrupt(0, interruption(FailureClass::Network, None), at(now));
            assert_eq!(pool.next(at(now + 50)), Next::Go(0));
        }
        pool.interrupt(0, interruption(FailureClass::Network, None), at(100));
        assert!(matches!(pool.next(at(100)), Next::TooLong(0, _)));
    }

    #[test]
    fn who_does_not_want_to_wait_never_waits() {
        let mut pool = AgentPool::new(2, None);
        pool.interrupt(0, interruption(FailureClass::Quota, None), at(0));
        assert_eq!(pool.next(at(0)), Next::Go(1));
        pool.interrupt(1, interruption(FailureClass::Network, None), at(0));
        assert!(matches!(pool.next(at(0)), Next::TooLong(..)));
    }
}
