//! Statistics of the records: attempts of each task, repeated failures, cost, success over time.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::failure_key::FailureKey;
use crate::record::{Cost, Durations, LogEntry, Outcome, SessionTotals, TaskName, Timestamp, Tokens};
use crate::view::FeatureView;

/// Maximum number of steps in which the course of a session is shown.
const STEPS: usize = 40;
/// Maximum number of causes of failures that are listed.
const CAUSES: usize = 10;

/// How often something ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutcomeCounts {
    /// Attempts.
    pub runs: usize,
    pub success: usize,
    pub failure: usize,
    pub skipped: usize,
    pub interrupted: usize,
    /// Failures of a cause that the feature had met before.
    pub repeated: usize,
}

impl OutcomeCounts {
    fn of(totals: &SessionTotals, repeated: usize) -> Self {
        Self {
            runs: totals.attempts,
            success: totals.succeeded,
            failure: totals.failed,
            skipped: totals.skipped,
            interrupted: totals.cut_short.len(),
            repeated,
        }
    }
}

/// A task, over all sessions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OfTask {
    pub feature: String,
    pub task: TaskName,
    #[serde(flatten)]
    pub counts: OutcomeCounts,
    pub is_done: bool,
    pub tokens: Tokens,
    #[serde(flatten)]
    pub cost: Cost,
    pub duration_ms: Durations,
}

/// What is known of a task so far.
#[derive(Default)]
struct TaskSoFar {
    totals: SessionTotals,
    repeated: usize,
    is_done: bool,
}

/// A cause of failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Null for a failure of the agent's own.
    pub fingerprint: Option<String>,
    /// In the words of the newest of them; null in records of before causes were recorded.
    pub cause: Option<String>,
    pub times: usize,
    pub tasks: Vec<TaskName>,
    pub last_at: Timestamp,
}

/// Some iterations in a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub from: Timestamp,
    pub to: Timestamp,
    pub runs: usize,
    pub success: usize,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    pub sessions: usize,
    /// All that the sessions come to.
    #[serde(skip)]
    pub totals: SessionTotals,
    #[serde(flatten)]
    pub counts: OutcomeCounts,
    /// Of attempts; null if there is none.
    pub success_rate: Option<f64>,
    /// Failures whose cause is known by a fingerprint or by the agent's own words.
    pub known_causes: usize,
    /// Of those; null if there is none.
    pub repeat_failure_rate: Option<f64>,
    pub tokens: Tokens,
    #[serde(flatten)]
    pub cost: Cost,
    pub duration_ms: Durations,
    pub tasks: Vec<OfTask>,
    /// Causes that came more than once, the most frequent first.
    pub causes: Vec<Cause>,
    /// How many successes had a flag, by its code.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub flags: BTreeMap<String, usize>,
    /// Second runs of validations; what they took is in `duration_ms.second`.
    #[serde(skip_serializing_if = "is_zero")]
    pub second_runs: usize,
    /// Oldest first.
    pub over_time: Vec<Step>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Stats {
    /// The numbers of sessions, of one feature or of several.
    pub fn of(view: &FeatureView<'_>) -> Self {
        let mut totals = SessionTotals::default();
        for session in view.sessions {
            totals.add(session.totals());
        }
        let mut tasks: BTreeMap<(&str, &str), TaskSoFar> = BTreeMap::new();
        let mut causes = Causes::new();
        let mut runs: Vec<&LogEntry> = Vec::new();
        let (mut with_cause, mut repeated) = (0, 0);
        let mut flags: BTreeMap<String, usize> = BTreeMap::new();
        let mut second_runs = 0;
        for &(session, entry) in &view.iterations {
            let noted = note_cause(&mut causes, entry);
            with_cause += usize::from(noted.is_some());
            let is_repeated = usize::from(noted == Some(true));
            repeated += is_repeated;
            for code in entry.flags() {
                *flags.entry(code.as_str().to_owned()).or_default() += 1;
            }
            second_runs += usize::from(entry.duration_ms().second.is_some());
            if entry.is_attempt() {
                runs.push(entry);
            }
            // What is tried again was opened again; what is closed beside another was done without an attempt of its own.
            let is_again = entry.task().filter(|_| entry.is_attempt());
            for name in is_again.into_iter().chain(entry.reopened()) {
                if let Some(of_task) = tasks.get_mut(&(entry.feature(), name)) {
                    of_task.is_done = false;
                }
            }
            for name in entry.closed() {
                tasks.entry((entry.feature(), name)).or_default().is_done = true;
            }
            if let Some(task) = entry.task() {
                let of_task = tasks.entry((entry.feature(), task)).or_default();
                of_task.totals.count(session, entry);
                of_task.repeated += is_repeated;
            }
        }
        let tasks =
            tasks.into_iter().map(|((feature, task), TaskSoFar { totals, repeated, is_done })| OfTask {
                feature: feature.to_owned(),
                task: task.to_owned(),
                counts: OutcomeCounts::of(&totals, repeated),
                is_done,
                tokens: totals.tokens,
                cost: totals.cost.total(),
                duration_ms: totals.took,
            });
        Self {
            sessions: view.sessions.iter().filter(|session| session.iterations().next().is_some()).count(),
            success_rate: rate(totals.succeeded, totals.attempts),
            known_causes: with_cause,
            repeat_failure_rate: rate(repeated, with_cause),
            counts: OutcomeCounts::of(&totals, repeated),
            tokens: totals.tokens,
            cost: totals.cost.total(),
            duration_ms: totals.took,
            tasks: tasks.collect(),
            causes: most_frequent(causes.into_values()),
            flags,
            second_runs,
            over_time: steps(&runs),
            totals,
        }
    }
}

/// Counts the cause of a failure; returns whether its feature had met it before, `None` if there is no cause.
fn note_cause<'a>(causes: &mut Causes<'a>, entry: &'a LogEntry) -> Option<bool> {
    let key = FailureKey::of_entry(entry)?;
    let fingerprint = key.fingerprint(entry.fingerprint());
    let cause = causes.entry((entry.feature(), key)).or_insert_with(|| Cause {
        fingerprint,
        cause: None,
        times: 0,
        tasks: Vec::new(),
        last_at: entry.ended_at(),
    });
    cause.times += 1;
    cause.last_at = entry.ended_at();
    cause.cause = entry.cause().map(str::to_owned);
    if let Some(task) = entry.task().filter(|task| !cause.tasks.iter().any(|known| known == task)) {
        cause.tasks.push(task.to_owned());
    }
    Some(cause.times > 1)
}

/// Causes of failures, by feature and key.
type Causes<'a> = HashMap<(&'a str, FailureKey), Cause>;

/// Returns the share of `part` in `all`.
pub fn rate(part: usize, all: usize) -> Option<f64> {
    let [part, all] = [part, all].map(|count| f64::from(u32::try_from(count).unwrap_or(u32::MAX)));
    (all > 0.0).then(|| part / all)
}

fn steps(runs: &[&LogEntry]) -> Vec<Step> {
    let size = runs.len().div_ceil(STEPS).max(1);
    runs.chunks(size)
        .filter_map(|chunk| {
            let (first, last) = (chunk.first()?, chunk.last()?);
            let success = chunk.iter().filter(|entry| entry.outcome() == Some(Outcome::Success)).count();
            Some(Step { from: first.ended_at(), to: last.ended_at(), runs: chunk.len(), success })
        })
        .collect()
}

/// Returns the causes that came more than once, the most frequent first.
fn most_frequent(causes: impl Iterator<Item = Cause>) -> Vec<Cause> {
    let mut causes: Vec<Cause> = causes.filter(|cause| cause.times > 1).collect();
    causes.sort_by(|one, other| {
        let by_times = other.times.cmp(&one.times).then(other.last_at.cmp(&one.last_at));
        by_times.then_with(|| (&one.fingerprint, &one.cause).cmp(&(&other.fingerprint, &other.cause)))
    });
    causes.truncate(CAUSES);
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Field;
    use crate::record::FlagCode;
    use crate::record::samples::log_entries as entries;
    use crate::view::SessionView;

    fn stats_of(records: Vec<LogEntry>) -> Stats {
        let id = entries("T1+")[0].session();
        Stats::of(&FeatureView::of(&[SessionView::of(&id, records)]))
    }

    #[test]
    fn failures_that_came_before_are_counted_as_repeated() {
        let stats = stats_of(entries("T1-a T1-a T2-a T2-b T2-"));
        assert_eq!((stats.counts.failure, stats.counts.repeated), (5, 2));
        assert_eq!((stats.known_causes, stats.repeat_failure_rate), (4, Some(0.5)));
        assert_eq!(stats.causes.len(), 1);
        assert_eq!(
            (stats.causes[0].times, &stats.causes[0].tasks[..]),
            (3, &["T1".to_owned(), "T2".to_owned()][..])
        );
    }

    #[test]
    fn flags_are_counted_by_their_codes() {
        let mut entries = entries("T1+ T2+ T3+");
        entries[0].set(Field::Flags, "fewer,judge");
        entries[2].set(Field::Flags, FlagCode::Fewer);
        let flags: Vec<_> = stats_of(entries).flags.into_iter().collect();
        assert_eq!(flags, [("fewer".to_owned(), 2), ("judge".to_owned(), 1)]);
    }

    #[test]
    fn tasks_are_told_apart_and_a_skip_is_no_run() {
        let stats = stats_of(entries("T1-a T1! T2+ T2+"));
        let tasks: Vec<_> =
            stats.tasks.iter().map(|task| (task.task.as_str(), task.counts.runs, task.is_done)).collect();
        assert_eq!(tasks, [("T1", 1, false), ("T2", 2, true)]);
        assert_eq!((stats.counts.runs, stats.success_rate), (3, Some(2.0 / 3.0)));
        assert_eq!(stats.tokens.total(), Some(20));
    }

    #[test]
    fn the_course_is_by_time_over_sessions_that_overlap() {
        let mut ids = entries("T1+ T1+").into_iter().map(|entry| entry.session());
        let sessions = [[1, 9], [3, 5]].map(|ended| {
            let mut records = entries("T1+ T2-a");
            for (entry, second) in records.iter_mut().zip(ended) {
                entry.set(Field::Ended, second * 1000);
            }
            SessionView::of(&ids.next().unwrap(), records)
        });
        let stats = Stats::of(&FeatureView::of(&sessions));
        let course: Vec<i64> = stats.over_time.iter().map(|step| step.to.seconds()).collect();
        assert_eq!(course, [1, 3, 5, 9]);
        assert_eq!((stats.sessions, stats.counts.runs, stats.counts.repeated), (2, 4, 1));
    }

    #[test]
    fn the_course_of_many_iterations_has_few_steps() {
        let stats = stats_of(entries(&"T1+ T1- ".repeat(500)));
        assert_eq!(stats.over_time.len(), 40);
        assert_eq!(stats.over_time.iter().map(|step| step.runs).sum::<usize>(), 1000);
        assert_eq!(stats_of(Vec::new()).success_rate, None);
    }
}
