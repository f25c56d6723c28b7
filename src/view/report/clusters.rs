//! Failures of one cause, together.

use serde::Serialize;

use crate::record::{Iteration, Outcome, TaskName};

use super::Turn;

/// Most that are told.
const MOST: usize = 100;
/// Longest message, in characters.
const MESSAGE: usize = 240;

/// Failures that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// Null where no validation told the cause.
    pub fingerprint: Option<String>,
    pub message: String,
    pub times: usize,
    pub tasks: Vec<TaskName>,
    pub iterations: Vec<u32>,
    /// Whether a task that met it is still open.
    pub is_open: bool,
}

/// The causes of failures: those that are open first, then the most frequent.
pub fn of(turns: &[Turn]) -> Vec<Cluster> {
    let mut clusters: Vec<(String, Cluster)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for Turn { record, .. } in turns.iter().filter(|turn| turn.record.outcome == Outcome::Failure) {
        let key = match &record.fingerprint {
            Some(fingerprint) => format!("print {fingerprint}"),
            // Without one the same words mean the same only for the same task.
            None => format!("cause {} {}", record.cause(), record.task.as_deref().unwrap_or_default()),
        };
        let place = *places.entry(key.clone()).or_insert_with(|| {
            let fresh = Cluster {
                fingerprint: record.fingerprint.clone(),
                message: message(record),
                times: 0,
                tasks: Vec::new(),
                iterations: Vec::new(),
                is_open: false,
            };
            clusters.push((key, fresh));
            clusters.len() - 1
        });
        let (_, cluster) = &mut clusters[place];
        cluster.times += 1;
        cluster.iterations.push(record.iteration);
        if let Some(task) = record.task.as_ref().filter(|task| !cluster.tasks.contains(task)) {
            cluster.tasks.push(task.clone());
        }
    }
    let mut clusters: Vec<Cluster> = clusters.into_iter().map(|(_, cluster)| cluster).collect();
    for cluster in &mut clusters {
        cluster.is_open = cluster.tasks.iter().any(|task| !is_closed(turns, task));
    }
    clusters.sort_by_key(|cluster| {
        let last = cluster.iterations.last().copied();
        (!cluster.is_open, std::cmp::Reverse((cluster.times, last)))
    });
    clusters.truncate(MOST);
    clusters
}

fn is_closed(turns: &[Turn], task: &str) -> bool {
    turns.iter().any(|turn| turn.record.closed.iter().any(|closed| closed == task))
}

/// The first cause of a failure on one line: what failed, and what was said.
pub(super) fn message(record: &Iteration) -> String {
    let first = record.facts.errors.first();
    let words = first.map(|error| format!("{} {}", error.id, error.message)).unwrap_or_default();
    // The last line of an excerpt that says something mostly has the verdict.
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    let excerpt = || record.facts.excerpt.lines().rev().find(says).map(str::to_owned);
    let words = if words.trim().is_empty() && record.fingerprint.is_some() { excerpt() } else { Some(words) };
    let words = words.filter(|words| !words.trim().is_empty()).unwrap_or_else(|| record.cause());
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use super::super::samples::turns;
    use super::*;

    #[test]
    fn failures_of_one_cause_are_together_and_open_ones_come_first() {
        for (words, expected) in [
            ("T1-a T1-a T2-a", "3 T1,T2 open"),
            ("T1-a T1-b T1-b T1+", "2 T1 gone; 1 T1 gone"),
            ("T1-a T1-a T1+ T2-b", "1 T2 open; 2 T1 gone"),
            // Without a fingerprint the same words of two tasks are two causes.
            ("T1- T2- T2-", "2 T2 open; 1 T1 open"),
            ("T1? T1! T1+", ""),
        ] {
            let told: Vec<String> = of(&turns(words))
                .iter()
                .map(|cluster| {
                    let state = if cluster.is_open { "open" } else { "gone" };
                    format!("{} {} {state}", cluster.times, cluster.tasks.join(","))
                })
                .collect();
            assert_eq!(told.join("; "), expected, "{words}");
        }
    }

    #[test]
    fn a_cause_is_told_by_the_last_line_that_says_something_or_by_what_was_measured() {
        let messages =
            |words: &str| of(&turns(words)).iter().map(|it| it.message.clone()).collect::<Vec<_>>();
        assert_eq!(messages("T1-a"), ["FAILED a"]);
        assert_eq!(messages("T1-"), ["its box is still open"]);
    }
}
