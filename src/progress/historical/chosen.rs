//! Which older iterations have to do with the task.

use std::collections::BTreeSet;

use crate::record::{Iteration, Outcome, Task};

use super::likeness::{self, Likeness, Problem};
use super::settings::{HistorySettings, Mode};

/// Places in the list of iterations, each with its likeness.
pub(super) type Places = Vec<(usize, Likeness)>;

/// The iterations that have something to say, newest first or most relevant first.
pub(super) struct ChosenIterations {
    pub recent: Vec<usize>,
    pub own: Vec<usize>,
    pub similar: Places,
    pub successes: Places,
}

impl ChosenIterations {
    pub fn of(past: &[Iteration], task: &Task, settings: &HistorySettings) -> Self {
        let most = settings.lookback.unwrap_or(usize::MAX);
        let is_full = settings.mode == Mode::Full;
        let problem = Problem::new(task, past);
        let newest = || (0..past.len()).rev();
        let recent: Vec<usize> =
            newest().filter(|&place| past[place].outcome != Outcome::Skipped).take(most).collect();
        let oldest_recent = recent.last().copied().unwrap_or_default();
        let own = newest().filter(|&place| likeness::is_failure_of(&past[place], &task.name));
        let is_relevant = |place: &usize, likeness: &Likeness| {
            if is_full { *place >= oldest_recent } else { likeness.score >= settings.threshold }
        };
        let best = |mut places: Places| {
            // Sorting keeps the newer before the older where they are as relevant.
            places.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
            places.truncate(most);
            places
        };
        let similar = newest()
            .filter(|&place| past[place].outcome == Outcome::Failure)
            .filter(|&place| past[place].task.as_ref() != Some(&task.name))
            .map(|place| (place, problem.failure(&past[place])))
            .filter(|(place, likeness)| is_relevant(place, likeness));
        let successes = newest()
            .filter(|&place| past[place].outcome == Outcome::Success)
            .map(|place| (place, problem.success(&past[place], place >= oldest_recent)))
            .filter(|(place, likeness)| is_relevant(place, likeness));
        Self {
            own: own.take(most).collect(),
            similar: best(similar.collect()),
            successes: best(successes.collect()),
            recent,
        }
    }

    /// Returns all of them, oldest first.
    pub fn all(&self) -> BTreeSet<usize> {
        let scored = self.similar.iter().chain(&self.successes).map(|(place, _)| *place);
        self.recent.iter().chain(&self.own).copied().chain(scored).collect()
    }
}
