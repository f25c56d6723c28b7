//! Which causes of failures are solved.

use std::collections::HashMap;

use crate::record::{Iteration, LogEntry, Outcome, TaskName};

use super::failure_key::FailureKey;

/// The cause of a failure, by which failures are one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cause {
    Known(FailureKey),
    /// Where neither agent nor validation says how it failed, the same words mean the same only for the same task.
    Words(String, Option<TaskName>),
}

impl Cause {
    /// Returns the fingerprint that a record of this cause has, if validation or question gave one.
    pub fn fingerprint(&self, recorded: Option<&str>) -> Option<String> {
        match self {
            Self::Known(key) => key.fingerprint(recorded),
            Self::Words(..) => None,
        }
    }
}

/// What a record says of causes.
#[derive(Debug)]
pub struct CauseRecord<'a> {
    pub task: Option<&'a str>,
    pub closed: Vec<&'a str>,
    /// `None` unless it failed.
    pub cause: Option<Cause>,
    pub outcome: Outcome,
}

impl<'a> CauseRecord<'a> {
    pub fn of(record: &'a Iteration) -> Self {
        let is_failure = record.outcome == Outcome::Failure;
        Self {
            task: record.task.as_deref(),
            closed: record.closed.iter().map(String::as_str).collect(),
            cause: is_failure.then(|| {
                FailureKey::of(record).map_or_else(
                    || Cause::Words(record.cause().into_owned(), record.task.clone()),
                    Cause::Known,
                )
            }),
            outcome: record.outcome,
        }
    }

    /// Returns the same from what a listing says.
    pub fn of_entry(entry: &'a LogEntry) -> Option<Self> {
        let (outcome, task) = (entry.outcome()?, entry.task());
        let words = || Cause::Words(entry.cause().unwrap_or_default().to_owned(), task.map(str::to_owned));
        let cause = || FailureKey::of_entry(entry).map_or_else(words, Cause::Known);
        let closed = entry.closed();
        Some(Self { task, closed, cause: (outcome == Outcome::Failure).then(cause), outcome })
    }
}

/// The failures of one cause: their places, and for each that of the success which solved it.
pub type Failures = Vec<(usize, Option<usize>)>;

/// Returns the causes in `records`, which are in the order in which they ran and so are these, each with its failures.
///
/// A failure is solved by a later success of its own task, and by nothing else: that another task passes the same validation
/// may only mean that what failed was taken back. It is not solved while the task is open again.
pub fn solutions<'r>(records: &'r [CauseRecord<'_>]) -> Vec<(&'r Cause, Failures)> {
    // All places by which each task was closed, and the last one from which it was open. Loops without tasks have one of no name.
    let mut closed: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut opened: HashMap<&str, usize> = HashMap::new();
    let mut causes: HashMap<&Cause, Vec<usize>> = HashMap::new();
    for (place, record) in records.iter().enumerate() {
        let nameless = (record.task.is_none() && record.outcome == Outcome::Success).then_some("");
        for task in record.closed.iter().copied().chain(nameless) {
            closed.entry(task).or_default().push(place);
        }
        let opens = [Outcome::Failure, Outcome::Skipped, Outcome::Checked, Outcome::Reopened];
        if opens.contains(&record.outcome) {
            opened.insert(record.task.unwrap_or_default(), place);
        }
        if let Some(cause) = &record.cause {
            causes.entry(cause).or_default().push(place);
        }
    }
    let solved_in = |place: usize| {
        let task = records[place].task.unwrap_or_default();
        let closed = closed.get(task).filter(|closed| closed.last() >= opened.get(task))?;
        closed.iter().copied().find(|at| *at >= place)
    };
    let found = causes.into_iter();
    let found = found.map(|(cause, places)| (cause, places.iter().map(|at| (*at, solved_in(*at))).collect()));
    let mut found: Vec<(&Cause, Failures)> = found.collect();
    found.sort_by_key(|(_, failures)| failures.first().copied());
    found
}

/// Returns the place of the success with which the last of these failures was solved; `None` if one still fails.
pub fn all_solved(failures: &[(usize, Option<usize>)]) -> Option<usize> {
    failures.iter().map(|(_, solved)| *solved).collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Returns the tasks of the records at these places, each once.
pub fn tasks_at(records: &[CauseRecord<'_>], failures: &[(usize, Option<usize>)]) -> Vec<TaskName> {
    let mut tasks: Vec<TaskName> = Vec::new();
    for task in failures.iter().filter_map(|(place, _)| records[*place].task) {
        if !tasks.iter().any(|known| known == task) {
            tasks.push(task.to_owned());
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `T1-a`: T1 failed with the fingerprint `a`, `T1-` without one; `T1+`: it was done, `T1!`: it was given up, `T1*`: a check
    /// sent it back. `--` is a loop without tasks.
    fn record(word: &'static str) -> CauseRecord<'static> {
        let (task, rest) = word.split_at(2);
        let task = Some(task).filter(|task| *task != "--");
        let outcome = match rest {
            "+" => Outcome::Success,
            "!" => Outcome::Skipped,
            "*" => Outcome::Checked,
            _ => Outcome::Failure,
        };
        let known = || Cause::Known(FailureKey::Validation(rest[1..].to_owned()));
        let cause =
            if rest == "-" { Cause::Words("open".to_owned(), task.map(str::to_owned)) } else { known() };
        CauseRecord {
            task,
            closed: task.into_iter().filter(|_| outcome == Outcome::Success).collect(),
            cause: (outcome == Outcome::Failure).then_some(cause),
            outcome,
        }
    }

    #[test]
    fn a_failure_is_solved_by_a_later_success_of_its_own_task_and_by_nothing_else() {
        for (words, expected) in [
            ("T1-a", "-"),
            ("T1-a T1+", "1"),
            ("T1-a T1-b T1+", "2 2"),
            // Another one that passes says nothing of what it failed by: that may have been taken back.
            ("T1-a T2+", "-"),
            ("T1-a T1-a T1! T2+", "--"),
            ("T1-a T1-b", "- -"),
            ("T1-a T1! T1+", "2"),
            // Of one cause, each task has its own.
            ("T1-a T2-a T1+", "2-"),
            ("T1-a T2-a T1+ T2+", "23"),
            // It is open again.
            ("T1-a T1+ T1-a", "--"),
            ("T1-a T1+ T1-b T1+", "1 3"),
            ("T1-a T1+ T1*", "-"),
            ("T1-a T1+ T1* T1+", "1"),
            ("T1- T2+", "-"),
            ("T1- T1+", "1"),
            // Without a fingerprint the same words of two tasks are two causes.
            ("T1- T2- T1+ T2+", "2 3"),
            ("---a --+", "1"),
            ("---a T1+", "-"),
        ] {
            let records: Vec<_> = words.split_whitespace().map(record).collect();
            let place = |place: &Option<usize>| place.map_or("-".to_owned(), |place| place.to_string());
            let shown = solutions(&records)
                .into_iter()
                .map(|(_, failures)| failures.iter().map(|(_, solved)| place(solved)).collect::<String>());
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{words}");
        }
    }
}
