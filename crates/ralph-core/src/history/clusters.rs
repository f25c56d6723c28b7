//! Failures of one cause, together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::record::{Iteration, TaskName};

use super::causes::{Cause, CauseRecord, all_solved, solutions, tasks_at};

/// Longest message, in characters.
const MESSAGE: usize = 240;

/// Failures that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// Null if no validation says the cause.
    pub fingerprint: Option<String>,
    /// True if agent or validation said how it failed, so that it is known again whatever the task is.
    #[serde(skip)]
    pub is_known: bool,
    pub message: String,
    pub times: usize,
    pub tasks: Vec<TaskName>,
    pub iterations: Vec<u32>,
    /// True if one of them is not solved; see [`solutions`].
    pub is_open: bool,
    /// The iteration that solved the last of them; null if it still fails.
    pub solved_in: Option<u32>,
    /// Those of the iterations that are solved, each with the success that did it.
    #[serde(skip)]
    pub solved: BTreeMap<u32, u32>,
}

/// Returns the causes of failures in `iterations`, which are in the order in which they ran: those that are open first,
/// then the most frequent.
pub fn clusters<'a>(iterations: impl IntoIterator<Item = &'a Iteration>) -> Vec<Cluster> {
    let iterations: Vec<&Iteration> = iterations.into_iter().collect();
    let records: Vec<CauseRecord<'_>> = iterations.iter().map(|record| CauseRecord::of(record)).collect();
    let found = solutions(&records).into_iter().map(|(cause, failures)| {
        let numbers = failures.iter().map(|(place, _)| iterations[*place].iteration);
        let solved = failures.iter().filter_map(|(place, solved)| Some((place, (*solved)?)));
        let first = iterations[failures[0].0];
        let last = all_solved(&failures);
        Cluster {
            fingerprint: cause.fingerprint(first.fingerprint.as_deref()),
            is_known: matches!(cause, Cause::Known(_)),
            message: message(first),
            times: failures.len(),
            tasks: tasks_at(&records, &failures),
            iterations: numbers.collect(),
            is_open: last.is_none(),
            solved_in: last.map(|place| iterations[place].iteration),
            solved: solved
                .map(|(place, solved)| (iterations[*place].iteration, iterations[solved].iteration))
                .collect(),
        }
    });
    let mut clusters: Vec<Cluster> = found.collect();
    sort(&mut clusters);
    clusters
}

/// Returns the same in fewer lines for people: what is solved, and has the same words without a fingerprint to
/// distinguish it, is one cause, whatever its task was.
pub fn folded(clusters: &[Cluster]) -> Vec<Cluster> {
    let mut folded: Vec<Cluster> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for cluster in clusters {
        if cluster.is_open || cluster.fingerprint.is_some() {
            folded.push(cluster.clone());
        } else if let Some(&place) = places.get(cluster.message.as_str()) {
            let into = &mut folded[place];
            into.times += cluster.times;
            into.solved_in = into.solved_in.max(cluster.solved_in);
            into.tasks.extend(
                cluster.tasks.iter().filter(|task| !into.tasks.contains(task)).cloned().collect::<Vec<_>>(),
            );
            into.iterations.extend_from_slice(&cluster.iterations);
            into.solved.extend(&cluster.solved);
        } else {
            places.insert(&cluster.message, folded.len());
            folded.push(cluster.clone());
        }
    }
    for cluster in &mut folded {
        cluster.iterations.sort_unstable();
        cluster.tasks.sort();
    }
    sort(&mut folded);
    folded
}

fn sort(clusters: &mut [Cluster]) {
    clusters.sort_by_key(|cluster| {
        let last = cluster.iterations.last().copied();
        (!cluster.is_open, Reverse((cluster.times, last)))
    });
}

/// Returns the cause of a failure on one line; for a record of before causes were recorded, what failed and what was
/// said.
pub fn message(record: &Iteration) -> String {
    // What an output says is no cause where the agent itself failed.
    let has_agent_failed = record.failure_class.is_some() || record.exit.agent.is_some_and(|code| code != 0);
    if record.cause.is_some() || has_agent_failed {
        return record.cause().into_owned();
    }
    let first = record.facts.errors.first();
    let words = first.map(|error| format!("{} {}", error.id, error.message)).unwrap_or_default();
    // The last line of an excerpt that says something mostly has the verdict.
    let words = if words.trim().is_empty() && record.fingerprint.is_some() {
        record
            .facts
            .excerpt
            .lines()
            .rev()
            .find(|line| line.contains(char::is_alphanumeric))
            .map(str::to_owned)
    } else {
        Some(words)
    };
    let words = words.filter(|words| !words.trim().is_empty()).unwrap_or_else(|| record.cause().into_owned());
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MESSAGE).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::state::CumulativeState;
    use super::*;

    /// `T1-a`: T1 failed with the fingerprint `a`, `T1-` without one; `T1+`: it was closed; `T1!`: it was skipped.
    fn iterations(words: &str) -> Vec<Iteration> {
        let iteration = |(place, word): (usize, &str)| {
            let (task, rest) = word.split_at(2);
            let (outcome, print) = match rest.split_at(1) {
                ("+", _) => ("success", None),
                ("!", _) => ("skipped", None),
                (_, "") => ("failure", None),
                (_, print) => ("failure", Some(print)),
            };
            serde_json::from_value(json!({
                "schema": 1, "id": "x", "session": "20260101-120000-00000001", "feature": "specs/001-login",
                "iteration": place + 1, "loop_type": "implement", "task": task, "outcome": outcome,
                "claims": {"promise": false, "ticked": []}, "false_claim": [],
                "closed": if outcome == "success" { vec![task] } else { Vec::new() },
                "started_at": "2026-01-01T12:00:00Z", "ended_at": "2026-01-01T12:00:10Z",
                "duration_ms": {"agent": 1, "validation": 1},
                "exit": {"agent": 0, "validation": i32::from(print.is_some())},
                "validation_command": "make check", "files_changed": [], "agent": "claude",
                "tokens": {"input": null, "cache_read": null, "cache_write": null, "output": null},
                "tool_calls": [], "learnings": [], "decisions": [], "approaches": [],
                "facts": {"excerpt": print.map(|print| format!("ok first\nFAILED {print}\n---")).unwrap_or_default()},
                "fingerprint": print, "commits": [], "left_out": [], "redactions": [], "hints": [],
                "tasks_done": 1, "tasks_open": 2,
            }))
            .unwrap()
        };
        words.split_whitespace().enumerate().map(iteration).collect()
    }

    fn described(clusters: &[Cluster]) -> String {
        let one = |cluster: &Cluster| {
            let state = if cluster.is_open { "open" } else { "gone" };
            format!("{} {} {state}", cluster.times, cluster.tasks.join(","))
        };
        clusters.iter().map(one).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn failures_of_one_cause_are_together_and_open_ones_come_first() {
        for (words, expected) in [
            ("T1-a T1-a T2-a", "3 T1,T2 open"),
            ("T1-a T1-b T1-b T1+", "2 T1 gone; 1 T1 gone"),
            ("T1-a T1-a T1! T2-b T2+", "2 T1 open; 1 T2 gone"),
            ("T1-a T1-a T1+ T2-b", "1 T2 open; 2 T1 gone"),
            // Without a fingerprint the same words of two tasks are two causes.
            ("T1- T2- T2-", "2 T2 open; 1 T1 open"),
            ("T1! T1+", ""),
            // Its box was opened again, and it fails as before.
            ("T1-a T1+ T1-a", "2 T1 open"),
        ] {
            assert_eq!(described(&clusters(&iterations(words))), expected, "{words}");
        }
    }

    #[test]
    fn however_many_causes_there_are_none_is_left_out() {
        let words: Vec<String> = (10..400).map(|number| format!("T1-{number}")).collect();
        assert_eq!(clusters(&iterations(&words.join(" "))).len(), 390);
    }

    #[test]
    fn what_is_solved_and_was_told_in_the_same_words_is_one_line() {
        for (words, expected) in [
            ("T1- T1+ T2- T2- T2+ T3- T3+", "4 T1,T2,T3 gone"),
            ("T1- T2- T2+ T3- T3+", "1 T1 open; 2 T2,T3 gone"),
            ("T1-a T1+ T2-b T2+", "1 T2 gone; 1 T1 gone"),
        ] {
            assert_eq!(described(&folded(&clusters(&iterations(words)))), expected, "{words}");
        }
        let folded = folded(&clusters(&iterations("T1- T1+ T2- T2- T2+ T3- T3+")));
        assert_eq!((folded[0].iterations.as_slice(), folded[0].solved_in), (&[1, 3, 4, 6][..], Some(7)));
    }

    #[test]
    fn a_cause_is_named_by_the_last_telling_line_or_by_what_was_measured() {
        for (words, expected) in [("T1-a", "FAILED a"), ("T1-", "its box is still open")] {
            assert_eq!(clusters(&iterations(words))[0].message, expected);
        }
        let mut killed = iterations("T1-a");
        killed[0].exit.agent = Some(137);
        assert_eq!(clusters(&killed)[0].message, "agent exited 137", "not what the validation printed");
        let state = CumulativeState::of(&iterations("T1-a T1-b"));
        let known: Vec<&str> = state.known_failures.iter().map(|known| known.message.as_str()).collect();
        assert_eq!(known, ["FAILED b", "FAILED a"], "and everywhere in the same words");
    }
}
