//! What attempts came to by agent, by model and by day.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::{Cost, LogEntry, Outcome, Timestamp, Tokens};

/// What the runs of agents with something in common came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group<K: Serialize> {
    #[serde(flatten)]
    pub key: K,
    pub attempts: usize,
    pub success: usize,
    /// With those of runs that were cut short; so is the cost.
    pub tokens: Tokens,
    #[serde(flatten)]
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ByAgent {
    pub agent: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ByModel {
    /// Null if none was asked for, or that is not recorded.
    pub asked: Option<String>,
    /// Null if it is not recorded.
    pub answered: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ByDay {
    /// `2026-11-28`, where the loop ran; null if how far that is from UTC is not recorded.
    pub day: Option<String>,
}

/// A run of an agent, with what its entry does not have.
#[derive(Debug, Clone)]
pub struct GroupedRun<'a> {
    pub entry: &'a LogEntry,
    /// The model that was asked for.
    pub asked: Option<String>,
    /// How far local time was from UTC: `+01:00`.
    pub utc_offset: Option<String>,
}

/// All runs, grouped three times.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Groups {
    pub by_agent: Vec<Group<ByAgent>>,
    pub by_model: Vec<Group<ByModel>>,
    pub by_day: Vec<Group<ByDay>>,
}

impl Groups {
    /// The numbers of some iterations; those in which no agent ran do not count.
    pub fn of(runs: &[GroupedRun<'_>]) -> Self {
        let runs: Vec<_> = runs.iter().filter(|run| run.entry.has_run()).collect();
        Self {
            by_agent: group(&runs, |run| ByAgent { agent: run.entry.agent().unwrap_or_default().to_owned() }),
            by_model: group(&runs, |run| ByModel {
                asked: run.asked.clone(),
                answered: run.entry.model().map(str::to_owned),
            }),
            by_day: group(&runs, |run| ByDay {
                day: run.utc_offset.as_ref().and_then(|offset| local_day(run.entry.started_at(), offset)),
            }),
        }
    }
}

fn group<K: Ord + Clone + Serialize>(
    runs: &[&GroupedRun<'_>],
    key: impl Fn(&GroupedRun<'_>) -> K,
) -> Vec<Group<K>> {
    let mut groups: BTreeMap<K, Group<K>> = BTreeMap::new();
    for run in runs {
        let (key, entry) = (key(run), run.entry);
        let group = groups.entry(key.clone()).or_insert_with(|| Group {
            key,
            attempts: 0,
            success: 0,
            tokens: Tokens::default(),
            cost: Cost::default(),
        });
        group.attempts += usize::from(entry.is_attempt());
        group.success += usize::from(entry.outcome() == Some(Outcome::Success));
        group.tokens = group.tokens.plus(&entry.tokens());
        group.cost = group.cost.plus(entry.cost());
    }
    groups.into_values().collect()
}

/// Returns the date so far from UTC; `None` if that cannot be read.
fn local_day(at: Timestamp, offset: &str) -> Option<String> {
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
    let seconds = if offset.starts_with('-') { -seconds } else { seconds };
    Timestamp::from_seconds(at.seconds() + seconds).to_string().split_once('T').map(|(day, _)| day.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Field, samples};

    #[test]
    fn a_day_is_that_of_the_place_where_the_loop_ran() {
        let at: Timestamp = "2026-01-31T23:30:00Z".parse().unwrap();
        for (offset, expected) in [
            ("+00:00", Some("2026-01-31")),
            ("+01:00", Some("2026-02-01")),
            ("-05:30", Some("2026-01-31")),
            ("+00:29", Some("2026-01-31")),
            ("+00:30", Some("2026-02-01")),
            ("", None),
            ("é", None),
        ] {
            assert_eq!(local_day(at, offset).as_deref(), expected, "{offset}");
        }
    }

    #[test]
    fn runs_are_grouped_and_what_is_not_recorded_is_null() {
        let mut entries = samples::log_entries("T1+ T1- T1- T1!");
        let started_at: Timestamp = "2026-01-31T11:00:00Z".parse().unwrap();
        for (entry, cost_usd) in entries.iter_mut().zip([1.0, 2.0]) {
            entry.set(Field::CostUsd, cost_usd);
            entry.set(Field::Model, "opus-4");
            entry.set(Field::Started, started_at.ms());
        }
        entries[2].set(Field::Outcome, Outcome::Interrupted);
        let runs: Vec<_> = entries
            .iter()
            .map(|entry| {
                let asked = entry.cost_usd().map(|_| "opus".to_owned());
                let utc_offset = asked.as_ref().map(|_| "+01:00".to_owned());
                GroupedRun { entry, asked, utc_offset }
            })
            .collect();
        let groups = Groups::of(&runs);
        let numbers = |group: &Group<ByModel>| {
            (group.key.asked.clone(), group.attempts, group.success, group.cost.usd, group.cost.is_partial)
        };
        let by_model: Vec<_> = groups.by_model.iter().map(numbers).collect();
        assert_eq!(by_model, [(None, 0, 0, None, true), (Some("opus".into()), 2, 1, Some(3.0), false)]);
        assert_eq!((groups.by_agent.len(), groups.by_agent[0].attempts), (1, 2));
        let days: Vec<_> = groups.by_day.iter().map(|group| group.key.day.as_deref()).collect();
        assert_eq!(days, [None, Some("2026-01-31")]);
    }
}
