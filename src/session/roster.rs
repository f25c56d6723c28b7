//! Which of the agents works next, and how long the loop waits where none can. Pure.

use std::time::Duration;

use crate::record::{FailureClass, Timestamp};

/// The first pause where nobody says how long it takes; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(30);

/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(30 * 60);

/// Added to a time that an agent told: its clock is not ours.
const MARGIN: Duration = Duration::from_secs(2);

/// The agents in the order of the user's preference, by their places in that order.
#[derive(Debug)]
pub struct Roster {
    places: Vec<Place>,
    /// Waited since an agent had its whole turn.
    waited: Duration,
    /// The most of that; none where the loop shall not wait at all.
    max_wait: Option<Duration>,
}

#[derive(Debug, Clone, Default)]
struct Place {
    out: Option<Out>,
    /// Times that it was cut short in a row.
    cuts: u32,
}

/// Why an agent cannot work, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Out {
    pub until: Timestamp,
    pub class: FailureClass,
    pub message: Option<String>,
    end: End,
}

/// How it is known until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The agent told.
    Told,
    /// A pause of ours, counted as waited from its beginning: a loop whose runs take longer than what is left of the
    /// user's patience must come to its end as well.
    Guessed,
    /// Nothing of that patience was left.
    Beyond,
}

/// What an agent ran into.
#[derive(Debug, Clone)]
pub struct Cut {
    pub class: FailureClass,
    /// Until when, by its own words.
    pub told: Option<Timestamp>,
    pub message: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// This one works.
    Go(usize),
    /// This one can work soonest.
    Wait(usize, &'a Out),
    /// That is later than the user wants to wait.
    TooLong(usize, &'a Out),
}

impl Roster {
    pub fn new(agents: usize, max_wait: Option<Duration>) -> Self {
        Self { places: vec![Place::default(); agents], waited: Duration::ZERO, max_wait }
    }

    /// Whether the first can work, as far as is known: then nobody needs to know what time it is.
    pub fn is_first_in(&self) -> bool {
        self.places.first().is_none_or(|first| first.out.is_none())
    }

    /// The first that can work. One whose quota is used up gives way to those behind it; for anything that may be
    /// over in a minute the loop waits.
    pub fn next(&self, now: Timestamp) -> Next<'_> {
        let mut soonest: Option<(usize, &Out)> = None;
        for (place, Place { out, .. }) in self.places.iter().enumerate() {
            let Some(out) = out.as_ref().filter(|out| out.until > now) else { return Next::Go(place) };
            if soonest.is_none_or(|(_, found)| out.until < found.until) {
                soonest = Some((place, out));
            }
            if out.class != FailureClass::Quota {
                break;
            }
        }
        let Some((place, out)) = soonest else { return Next::Go(0) };
        let is_short = match out.end {
            End::Told => span(now, out.until) <= self.rest(),
            End::Guessed => true,
            End::Beyond => false,
        };
        if is_short { Next::Wait(place, out) } else { Next::TooLong(place, out) }
    }

    /// How long to wait for what [`Self::next`] gave.
    pub fn wait(&mut self, now: Timestamp, place: usize) -> Duration {
        let Some(out) = self.out(place) else { return Duration::ZERO };
        let wait = span(now, out.until);
        if out.end == End::Told {
            self.waited = self.waited.saturating_add(wait);
        }
        wait
    }

    /// How much longer the user wants to wait.
    fn rest(&self) -> Duration {
        self.max_wait.map_or(Duration::ZERO, |most| most.saturating_sub(self.waited))
    }

    /// Until when one is out.
    pub fn out(&self, place: usize) -> Option<&Out> {
        self.places.get(place)?.out.as_ref()
    }

    /// An agent was cut short.
    pub fn cut(&mut self, place: usize, cut: Cut, now: Timestamp) {
        let rest = self.rest();
        let Some(place) = self.places.get_mut(place) else { return };
        let Cut { class, told, message } = cut;
        let pause = FIRST_PAUSE.saturating_mul(1 << place.cuts.min(10)).min(LONGEST_PAUSE);
        place.cuts = place.cuts.saturating_add(1);
        // A time that is over by our clock says nothing.
        let (until, end) = match told.filter(|told| *told > now) {
            Some(told) => (told.plus(MARGIN), End::Told),
            None if rest.is_zero() => (now.plus(pause), End::Beyond),
            None => {
                // The last pause may be a short one, and after it comes one more try.
                let pause = pause.min(rest);
                self.waited = self.waited.saturating_add(pause);
                (now.plus(pause), End::Guessed)
            }
        };
        place.out = Some(Out { until, class, message, end });
    }

    /// An agent had its whole turn, whatever came of it.
    pub fn ran(&mut self, place: usize) {
        self.waited = Duration::ZERO;
        if let Some(place) = self.places.get_mut(place) {
            *place = Place::default();
        }
    }
}

fn span(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_secs(u64::try_from(to.seconds().saturating_sub(from.seconds())).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn roster(agents: usize, max_wait: u64) -> Roster {
        Roster::new(agents, Some(Duration::from_secs(max_wait)))
    }

    fn cut(class: FailureClass, told: Option<Timestamp>) -> Cut {
        Cut { class, told, message: None }
    }

    /// Place and time of a wait.
    #[track_caller]
    fn wait(roster: &Roster, now: i64) -> (usize, i64) {
        match roster.next(at(now)) {
            Next::Wait(place, out) => (place, out.until.seconds()),
            other @ (Next::Go(_) | Next::TooLong(..)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_told_time_is_waited_for_and_then_the_agent_works_again() {
        let mut roster = roster(1, HOUR);
        assert!(roster.is_first_in());
        roster.cut(0, cut(FailureClass::Quota, Some(at(500))), at(100));
        assert!(!roster.is_first_in());
        assert_eq!(wait(&roster, 100), (0, 502));
        assert_eq!(roster.next(at(502)), Next::Go(0));
    }

    #[test]
    fn pauses_grow_to_half_an_hour_and_begin_anew_after_a_turn() {
        let mut roster = roster(1, 100 * HOUR);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            roster.cut(0, cut(FailureClass::Overloaded, None), at(0));
            pauses.push(wait(&roster, 0).1);
        }
        assert_eq!(pauses, [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]);
        roster.ran(0);
        roster.cut(0, cut(FailureClass::Network, None), at(0));
        assert_eq!(wait(&roster, 0), (0, 30));
    }

    #[test]
    fn a_told_time_that_is_over_says_nothing() {
        let mut roster = roster(1, HOUR);
        roster.cut(0, cut(FailureClass::Quota, Some(at(90))), at(100));
        assert_eq!(wait(&roster, 100), (0, 130));
    }

    #[test]
    fn the_next_takes_over_on_quota_until_the_first_is_back() {
        let mut roster = roster(3, HOUR);
        roster.cut(0, cut(FailureClass::Quota, Some(at(500))), at(0));
        assert_eq!(roster.next(at(0)), Next::Go(1));
        roster.cut(1, cut(FailureClass::Quota, Some(at(300))), at(10));
        assert_eq!(roster.next(at(10)), Next::Go(2));
        roster.cut(2, cut(FailureClass::Quota, Some(at(400))), at(20));
        assert_eq!(wait(&roster, 20), (1, 302), "for who is back soonest");
        assert_eq!(roster.next(at(302)), Next::Go(1));
        assert_eq!(roster.next(at(502)), Next::Go(0));
    }

    #[test]
    fn nobody_takes_over_for_what_may_be_over_in_a_minute() {
        for class in [FailureClass::RateLimit, FailureClass::Overloaded, FailureClass::Network] {
            let mut roster = roster(2, HOUR);
            roster.cut(0, cut(class, None), at(0));
            assert_eq!(wait(&roster, 0), (0, 30), "{class}");
        }
    }

    #[test]
    fn waits_in_a_row_are_bounded_together() {
        let mut roster = roster(1, 100);
        roster.cut(0, cut(FailureClass::Quota, Some(at(1000))), at(0));
        assert!(matches!(roster.next(at(0)), Next::TooLong(0, _)), "in vain from the start");
        roster.cut(0, cut(FailureClass::Quota, Some(at(58))), at(0));
        assert_eq!(wait(&roster, 0), (0, 60));
        assert_eq!(roster.wait(at(0), 0), Duration::from_secs(60));
        roster.ran(0);
        let mut ends = Vec::new();
        for _ in 0..3 {
            roster.cut(0, cut(FailureClass::Overloaded, None), at(0));
            ends.push(wait(&roster, 0).1);
        }
        assert_eq!(ends, [30, 60, 10], "the last is what is left");
        roster.cut(0, cut(FailureClass::Overloaded, None), at(0));
        assert!(matches!(roster.next(at(0)), Next::TooLong(0, _)));
        roster.ran(0);
        roster.cut(0, cut(FailureClass::Overloaded, None), at(0));
        assert_eq!(wait(&roster, 0), (0, 30), "a turn begins it anew");
    }

    #[test]
    fn after_a_short_last_pause_comes_one_more_try() {
        let mut roster = roster(1, 4);
        roster.cut(0, cut(FailureClass::Network, None), at(0));
        assert_eq!(wait(&roster, 0), (0, 4));
        assert_eq!(roster.next(at(4)), Next::Go(0));
        roster.cut(0, cut(FailureClass::Network, None), at(5));
        assert!(matches!(roster.next(at(5)), Next::TooLong(0, _)));
    }

    #[test]
    fn runs_that_take_longer_than_the_pause_come_to_an_end_too() {
        let mut roster = roster(1, 35);
        for now in [0, 50] {
            roster.cut(0, cut(FailureClass::Network, None), at(now));
            assert_eq!(roster.next(at(now + 50)), Next::Go(0));
        }
        roster.cut(0, cut(FailureClass::Network, None), at(100));
        assert!(matches!(roster.next(at(100)), Next::TooLong(0, _)));
    }

    #[test]
    fn who_does_not_want_to_wait_never_waits() {
        let mut roster = Roster::new(2, None);
        roster.cut(0, cut(FailureClass::Quota, None), at(0));
        assert_eq!(roster.next(at(0)), Next::Go(1));
        roster.cut(1, cut(FailureClass::Network, None), at(0));
        assert!(matches!(roster.next(at(0)), Next::TooLong(..)));
    }
}
