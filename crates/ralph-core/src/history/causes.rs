//! Which causes of failures are solved.

use std::collections::HashMap;

use crate::record::{Iteration, IterationFacts, Outcome, TaskName};

use super::failure_key::FailureKey;

/// The cause of a failure, by which failures are one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cause {
    Known(FailureKey),
    /// Where neither agent nor validation says how it failed, the same words mean the same only for the same task.
    Words(String, Option<TaskName>),
}

impl Cause {
    /// Returns its fingerprint, if validation or question gave one.
    pub fn fingerprint(&self) -> Option<&str> {
        match self {
            Self::Known(key) => key.fingerprint(),
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
    /// True if its task was given up.
    pub is_skip: bool,
    /// True if the validation passed on what it left.
    pub has_passed: bool,
    /// The validation, where the record names it.
    pub validation: Option<&'a str>,
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
            is_skip: record.outcome == Outcome::Skipped,
            has_passed: record.exit.validation == Some(0) && record.validation_exit_reason().is_none(),
            validation: record.validation_command.as_deref(),
        }
    }

    /// Returns the same from what is counted of a record.
    pub fn of_facts(facts: &'a IterationFacts<'_>) -> Self {
        let IterationFacts { outcome, fingerprint, exit, failure_class, cause, .. } = facts;
        let (task, cause) = (facts.task.as_deref(), cause.as_deref());
        let known = FailureKey::new(*outcome, fingerprint.as_deref(), *exit, *failure_class, cause);
        Self {
            task,
            closed: facts.closed.iter().map(AsRef::as_ref).collect(),
            cause: (*outcome == Outcome::Failure).then(|| {
                known.map_or_else(
                    || Cause::Words(cause.unwrap_or_default().to_owned(), task.map(str::to_owned)),
                    Cause::Known,
                )
            }),
            is_skip: *outcome == Outcome::Skipped,
            has_passed: exit.validation == Some(0),
            validation: None,
        }
    }
}

/// Returns the causes in `records`, which are in the order in which they ran and so are these, each with the places of its failures
/// and of the record that solved it; `None` if it still fails.
///
/// A cause is solved if a later state of the tree passed the same validation, or if the tasks that met it were done
/// later. It still fails if it is why a task was given up: the changes that met it are no longer in the tree.
pub fn solutions<'r>(records: &'r [CauseRecord<'_>]) -> Vec<(&'r Cause, Vec<usize>, Option<usize>)> {
    // The place of the last record by which each task was closed, failed or was skipped.
    let [mut closed, mut failed, mut skipped]: [HashMap<&str, usize>; 3] = Default::default();
    let mut failures: HashMap<&Cause, Vec<usize>> = HashMap::new();
    for (place, record) in records.iter().enumerate() {
        for task in &record.closed {
            closed.insert(task, place);
        }
        if let Some(task) = record.task {
            if record.cause.is_some() {
                failed.insert(task, place);
            }
            if record.is_skip {
                skipped.insert(task, place);
            }
        }
        if let Some(cause) = &record.cause {
            failures.entry(cause).or_default().push(place);
        }
    }
    let found = failures.into_iter().map(|(cause, places)| {
        let mut met = places.iter().filter_map(|place| Some((place, records[*place].task?)));
        let is_given_up = met.any(|(place, task)| {
            let given_up = skipped.get(task);
            failed.get(task) == Some(place) && given_up > Some(place) && given_up > closed.get(task)
        });
        let done = places.iter().map(|place| closed.get(records[*place].task?).filter(|at| *at >= place));
        let done: Option<Vec<&usize>> = done.collect();
        let done = done.and_then(|done| done.into_iter().max().copied());
        let solved = if is_given_up { None } else { earliest(done, passed_after(cause, &places, records)) };
        (cause, places, solved)
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(_, places, _)| places.first().copied());
    found
}

/// Returns the tasks of the records at these places, each once.
pub fn tasks_at(records: &[CauseRecord<'_>], places: &[usize]) -> Vec<TaskName> {
    let mut tasks: Vec<TaskName> = Vec::new();
    for task in places.iter().filter_map(|place| records[*place].task) {
        if !tasks.iter().any(|known| known == task) {
            tasks.push(task.to_owned());
        }
    }
    tasks
}

/// Returns the first record after the last failure of a validation on whose state the same validation passed.
fn passed_after(cause: &Cause, places: &[usize], records: &[CauseRecord<'_>]) -> Option<usize> {
    let &last = places.last().filter(|_| matches!(cause, Cause::Known(FailureKey::Validation(_))))?;
    let failed = records[last].validation;
    let later = records.iter().enumerate().skip(last + 1);
    let mut passed = later.filter(|(_, record)| record.has_passed && !record.is_skip);
    let same = passed
        .find(|(_, record)| failed.is_none() || record.validation.is_none() || record.validation == failed);
    same.map(|(place, _)| place)
}

fn earliest(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    [one, other].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `T1-a`: T1 failed with the fingerprint `a`, `T1-` without one; `T1-~`: the validation passed, and the box stayed
    /// open; `T1+`: it was done, `T1!`: it was given up.
    fn record(word: &'static str) -> CauseRecord<'static> {
        let (task, rest) = word.split_at(2);
        let cause = match rest {
            "+" | "!" => None,
            "-" | "-~" => Some(Cause::Words("open".to_owned(), Some(task.to_owned()))),
            _ => Some(Cause::Known(FailureKey::Validation(rest[1..].to_owned()))),
        };
        CauseRecord {
            task: Some(task),
            closed: if rest == "+" { vec![task] } else { Vec::new() },
            cause,
            is_skip: rest == "!",
            has_passed: matches!(rest, "+" | "-~" | "!"),
            validation: None,
        }
    }

    #[test]
    fn a_cause_is_solved_when_the_validation_passes_later_or_its_tasks_are_done() {
        for (words, expected) in [
            ("T1-a", "still"),
            ("T1-a T1+", "1"),
            ("T1-a T2+", "1"),
            ("T1-a T1-b", "still still"),
            ("T1-a T1-~", "1 still"),
            // What made it fail was taken back: that others pass says nothing of it.
            ("T1-a T1-a T1! T2+", "still"),
            ("T1-a T1-b T1! T2+", "3 still"),
            ("T1-a T1! T1+", "2"),
            ("T1-a T1+ T1-a", "still"),
            ("T1- T2+", "still"),
            ("T1- T1+", "1"),
            // Without a fingerprint the same words of two tasks are two causes.
            ("T1- T2- T1+ T2+", "2 3"),
        ] {
            let records: Vec<_> = words.split_whitespace().map(record).collect();
            let found = solutions(&records).into_iter();
            let shown = found.map(|(.., place)| place.map_or("still".to_owned(), |place| place.to_string()));
            assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{words}");
        }
    }

    #[test]
    fn another_validation_that_passes_solves_nothing() {
        let with = |word, command| CauseRecord { validation: Some(command), ..record(word) };
        for (passed, is_solved) in [("make check", true), ("true", false)] {
            let records = [with("T1-a", "make check"), with("T2+", passed)];
            assert_eq!(solutions(&records)[0].2.is_some(), is_solved, "{passed}");
        }
    }
}
