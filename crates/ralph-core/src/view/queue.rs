//! Which results wait to be merged onto the branch of a lane.

use std::collections::{HashMap, HashSet};

use crate::record::{AttemptId, IntegrationVerdict, LogEntry, Outcome, TaskName};

use super::FeatureView;

/// The queue of a feature, by its records alone. What was once on the branch is in none: if it is not there any more, a person took
/// it out.
#[derive(Debug, Default)]
pub struct Queue<'a> {
    /// In the order in which they are to be merged.
    pub results: Vec<&'a LogEntry>,
    sent_back: HashMap<TaskName, u32>,
}

impl<'a> Queue<'a> {
    /// `is_named` says which results a commit of the branch names: what is recorded of them came late.
    pub fn of(view: &FeatureView<'a>, is_named: impl Fn(&AttemptId) -> bool) -> Self {
        let (mut results, mut decided) = (Vec::new(), HashSet::new());
        let mut sent_back: HashMap<TaskName, u32> = HashMap::new();
        for (_, entry) in &view.iterations {
            if entry.is_queued() {
                results.push(*entry);
            }
            for (task, verdict, result) in entry.integration() {
                decided.insert(result);
                if verdict.is_sent_back() {
                    *sent_back.entry(task).or_default() += 1;
                } else {
                    sent_back.remove(&task);
                }
            }
            // What is done, given up or opened by a person is counted anew.
            let is_anew = match entry.outcome() {
                Some(Outcome::Success) => !entry.is_queued(),
                outcome => matches!(outcome, Some(Outcome::Skipped | Outcome::Reopened)),
            };
            if is_anew {
                entry.task().map(|task| sent_back.remove(task));
            }
        }
        results.retain(|entry| !decided.contains(&entry.id()) && !is_named(&entry.id()));
        // A task that came back goes last.
        results.sort_by_key(|entry| entry.task().is_some_and(|task| sent_back.contains_key(task)));
        Self { results, sent_back }
    }

    /// Returns the tasks whose results were sent back so often in a row.
    pub fn often_sent_back(&self, least: u32) -> impl Iterator<Item = &TaskName> {
        self.sent_back.iter().filter(move |(_, times)| **times >= least).map(|(task, _)| task)
    }

    /// Returns how often in a row results of a task were sent back.
    pub fn times_sent_back(&self, task: &str) -> u32 {
        self.sent_back.get(task).copied().unwrap_or_default()
    }
}

/// Returns what became of results that were queued, with the record that says so.
pub fn integrations<'a>(
    entries: impl IntoIterator<Item = &'a LogEntry>,
) -> HashMap<AttemptId, (IntegrationVerdict, AttemptId)> {
    let of_entry = |entry: &LogEntry| {
        let results = entry.integration().into_iter();
        let by = entry.id();
        results.map(|(_, verdict, result)| (result, (verdict, by.clone()))).collect::<Vec<_>>()
    };
    entries.into_iter().flat_map(of_entry).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::samples::log_entries;
    use crate::record::{Field, SessionId, Timestamp};
    use crate::view::SessionView;

    fn id(number: usize) -> SessionId {
        SessionId::new(Timestamp::from_seconds(i64::try_from(number).unwrap()), 1)
    }

    /// `T1q` is queued, `T1+` published with its record, `T1!` given up, `T1=0:1=conflict` what became of the first result of the
    /// first session. `|` begins another session; records ended in the order in which they are written.
    fn sessions(words: &str) -> Vec<SessionView> {
        let mut minute = 0;
        let sessions = words.split('|').enumerate().map(|(place, words)| {
            let entries = words.split_whitespace().enumerate().map(|(number, word)| {
                minute += 1;
                let (task, rest) = word.split_at(2);
                let mut entry =
                    log_entries(&format!("{task}{}", if rest == "!" { "!" } else { "+" })).remove(0);
                entry.set(Field::Session, id(place));
                entry.set(Field::Iteration, number + 1);
                entry.set(Field::Ended, minute * 60_000);
                if rest == "q" {
                    entry.set(Field::Queued, "0".repeat(40));
                } else if let Some((result, verdict)) =
                    rest.strip_prefix('=').and_then(|of| of.split_once('='))
                {
                    let (session, number) = result.split_once(':').unwrap();
                    entry.set(Field::Outcome, Outcome::Integrated);
                    let session = id(session.parse().unwrap());
                    entry.set(Field::Integration, format!("{task}={verdict}@{session}:{number}"));
                }
                entry
            });
            SessionView::of(&id(place), entries.collect::<Vec<_>>())
        });
        sessions.collect()
    }

    fn waiting(words: &str, named: &[(usize, u32)]) -> String {
        let sessions = sessions(words);
        let view = FeatureView::of(&sessions);
        let is_named = |result: &AttemptId| {
            named.iter().any(|(session, number)| id(*session) == result.session && *number == result.number)
        };
        let queue = Queue::of(&view, is_named);
        queue.results.iter().filter_map(|entry| entry.task()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_result_waits_until_a_record_says_what_became_of_it() {
        for (words, expected) in [
            ("", ""),
            ("T1+ T2!", ""),
            ("T1q", "T1"),
            ("T1q T2q", "T1 T2"),
            ("T1q T1=0:1=integrated", ""),
            ("T1q T2q T1=0:1=conflict", "T2"),
            ("T1q T1=0:1=broke | T1q T2q", "T2 T1"),
            ("T1q T1=0:1=broke T1! T1q T2q", "T1 T2"),
            ("T1q T1=0:1=broke T1+ T1q T2q", "T1 T2"),
            ("T1q | T1=0:1=superseded", ""),
            ("T1q | T1=1:1=changed", "T1"),
            ("T1q T1=0:1=later-word", ""),
        ] {
            assert_eq!(waiting(words, &[]), expected, "{words}");
        }
        assert_eq!(waiting("T1q T2q", &[(0, 1)]), "T2");
        // Not those of another session with the same number.
        assert_eq!(waiting("T1q T2q | T3q", &[(1, 1)]), "T1 T2");
    }

    #[test]
    fn what_was_sent_back_is_counted_until_something_else_became_of_the_task() {
        for (words, expected) in [
            ("T1q T1=0:1=conflict", 1),
            ("T1q T1=0:1=conflict T1q T1=0:3=broke", 2),
            ("T1q T1=0:1=changed T1q T1=0:3=superseded", 0),
            ("T1q T1=0:1=conflict T1q T1=0:3=integrated", 0),
            ("T1q T1=0:1=conflict T1!", 0),
        ] {
            let sessions = sessions(words);
            let view = FeatureView::of(&sessions);
            assert_eq!(Queue::of(&view, |_| false).times_sent_back("T1"), expected, "{words}");
        }
    }

    proptest! {
        /// Attempts, integrations, and resets of a person's, which no record has: each result has one end, and none comes back.
        #[test]
        fn no_result_is_lost_and_none_comes_back(steps in prop::collection::vec((0..4_u8, 0..5_usize), 0..40)) {
            let (mut words, mut waits, mut number) = (String::new(), Vec::<(usize, u32)>::new(), 0_u32);
            let verdicts = IntegrationVerdict::ALL;
            for (kind, which) in steps {
                let word = match kind {
                    0 => {
                        waits.push((which, number + 1));
                        format!("T{which}q")
                    }
                    1 => format!("T{which}+"),
                    _ if waits.is_empty() => continue,
                    _ => {
                        let (task, result) = waits.remove(which % waits.len());
                        format!("T{task}=0:{result}={}", verdicts[which % verdicts.len()])
                    }
                };
                number += 1;
                words = format!("{words} {word}");
            }
            let sessions = sessions(&words);
            let view = FeatureView::of(&sessions);
            let mut found: Vec<u32> =
                Queue::of(&view, |_| false).results.iter().map(|entry| entry.number()).collect();
            found.sort_unstable();
            prop_assert_eq!(found, waits.iter().map(|(_, result)| *result).collect::<Vec<_>>(), "{}", words);
        }
    }
}
