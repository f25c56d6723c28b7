//! Which agent runs next, and how long the loop backs off if none can run. Pure.

use std::time::Duration;

use crate::record::{FailureClass, Timestamp};

/// The first pause if the agent reports no reset time. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(30);

/// The upper bound of these pauses.
const MAX_PAUSE: Duration = Duration::from_secs(30 * 60);

/// Added to a reset time that an agent reported: its clock is not ours.
const CLOCK_SKEW_MARGIN: Duration = Duration::from_secs(2);

/// The agents in the user's order of preference, by their index in that order.
#[derive(Debug)]
pub struct AgentPool {
    agents: Vec<AgentState>,
    /// Time waited since an agent last ran without being interrupted.
    waited: Duration,
    /// The limit of `waited`. `None` if the loop is not to wait at all.
    max_wait: Option<Duration>,
}

#[derive(Debug, Clone, Default)]
struct AgentState {
    backoff: Option<Backoff>,
    /// How often in a row it was interrupted.
    interruptions: u32,
}

/// Why an agent cannot run, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    pub until: Timestamp,
    pub class: FailureClass,
    pub message: Option<String>,
    end: BackoffEnd,
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
}

/// A limit or an error that ended an agent run early.
#[derive(Debug, Clone)]
pub struct Interruption {
    pub class: FailureClass,
    /// When the limit resets, as reported by the agent.
    pub resets_at: Option<Timestamp>,
    pub message: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// This one runs.
    Go(usize),
    /// This one can run soonest.
    Wait(usize, &'a Backoff),
    /// The same, but later than `max_wait` allows.
    TooLong(usize, &'a Backoff),
}

impl AgentPool {
    pub fn new(agents: usize, max_wait: Option<Duration>) -> Self {
        Self { agents: vec![AgentState::default(); agents], waited: Duration::ZERO, max_wait }
    }

    /// Returns true if the first agent is not backing off, so that there is no need to ask for the time.
    pub fn is_first_available(&self) -> bool {
        self.agents.first().is_none_or(|first| first.backoff.is_none())
    }

    /// Returns the first agent that can run. If its quota is used up, the next one takes over; the loop waits for
    /// anything that may be over in a minute.
    pub fn next(&self, now: Timestamp) -> Next<'_> {
        let mut soonest: Option<(usize, &Backoff)> = None;
        for (index, AgentState { backoff, .. }) in self.agents.iter().enumerate() {
            let Some(backoff) = backoff.as_ref().filter(|backoff| backoff.until > now) else {
                return Next::Go(index);
            };
            if soonest.is_none_or(|(_, found)| backoff.until < found.until) {
                soonest = Some((index, backoff));
            }
            if backoff.class != FailureClass::Quota {
                break;
            }
        }
        let Some((index, backoff)) = soonest else { return Next::Go(0) };
        let is_short = match backoff.end {
            BackoffEnd::Reported => span(now, backoff.until) <= self.rest(),
            BackoffEnd::Guessed => true,
            BackoffEnd::Exhausted => false,
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

    /// Records that an agent run ended early.
    pub fn interrupt(&mut self, index: usize, interruption: Interruption, now: Timestamp) {
        let rest = self.rest();
        let Some(index) = self.agents.get_mut(index) else { return };
        let Interruption { class, resets_at, message } = interruption;
        let pause = FIRST_PAUSE.saturating_mul(1 << index.interruptions.min(10)).min(MAX_PAUSE);
        index.interruptions = index.interruptions.saturating_add(1);
        // A time that is past by our clock says nothing.
        let (until, end) = match resets_at.filter(|resets_at| *resets_at > now) {
            Some(resets_at) => (resets_at.plus(CLOCK_SKEW_MARGIN), BackoffEnd::Reported),
            None if rest.is_zero() => (now.plus(pause), BackoffEnd::Exhausted),
            None => {
                // The last pause may be shorter; one more run follows it.
                let pause = pause.min(rest);
                self.waited = self.waited.saturating_add(pause);
                (now.plus(pause), BackoffEnd::Guessed)
            }
        };
        index.backoff = Some(Backoff { until, class, message, end });
    }

    /// Records that an agent ran to its end, whatever the outcome.
    pub fn ran(&mut self, index: usize) {
        self.waited = Duration::ZERO;
        if let Some(index) = self.agents.get_mut(index) {
            *index = AgentState::default();
        }
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
        Interruption { class, resets_at, message: None }
    }

    /// Index of the agent and end of a wait.
    #[track_caller]
    fn wait(pool: &AgentPool, now: i64) -> (usize, i64) {
        match pool.next(at(now)) {
            Next::Wait(index, backoff) => (index, backoff.until.seconds()),
            other @ (Next::Go(_) | Next::TooLong(..)) => panic!("{other:?}"),
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
        pool.interrupt(0, interruption(FailureClass::Quota, Some(at(90))), at(100));
        assert_eq!(wait(&pool, 100), (0, 130));
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
    fn nobody_takes_over_for_what_may_be_over_in_a_minute() {
        for class in [FailureClass::RateLimit, FailureClass::Overloaded, FailureClass::Network] {
            let mut pool = pool(2, HOUR);
            pool.interrupt(0, interruption(class, None), at(0));
            assert_eq!(wait(&pool, 0), (0, 30), "{class}");
        }
    }

    #[test]
    fn waits_in_a_row_are_bounded_together() {
        let mut pool = pool(1, 100);
        pool.interrupt(0, interruption(FailureClass::Quota, Some(at(1000))), at(0));
        assert!(matches!(pool.next(at(0)), Next::TooLong(0, _)), "in vain from the start");
        pool.interrupt(0, interruption(FailureClass::Quota, Some(at(58))), at(0));
        assert_eq!(wait(&pool, 0), (0, 60));
        assert_eq!(pool.wait(at(0), 0), Duration::from_secs(60));
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
