//! What a session comes to so far: failures that are known, files that were touched, commands that work.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::Iteration;

use super::clusters::{Cluster, clusters};

/// Most of each kind that are kept, the most frequent first.
const MAX_LISTED: usize = 20;

/// The state after the iterations that it was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CumulativeState {
    pub known_failures: Vec<KnownFailure>,
    pub files_touched: Vec<TouchedFile>,
    /// Commands of the agent's, and validations, that ended well the last time that they were run.
    pub commands_that_work: Vec<String>,
}

/// A cause of failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownFailure {
    /// Null if no validation says the cause.
    pub fingerprint: Option<String>,
    pub message: String,
    pub times: usize,
    pub last_iteration: u32,
    /// True if it still fails.
    pub is_open: bool,
}

impl From<Cluster> for KnownFailure {
    fn from(cluster: Cluster) -> Self {
        let Cluster { fingerprint, message, times, iterations, is_open, .. } = cluster;
        let last_iteration = iterations.last().copied().unwrap_or_default();
        Self { fingerprint, message, times, last_iteration, is_open }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TouchedFile {
    pub path: String,
    /// In how many iterations.
    pub times: usize,
}

impl CumulativeState {
    /// The state after `iterations` of one session, oldest first.
    pub fn of<'a>(iterations: impl IntoIterator<Item = &'a Iteration>) -> Self {
        let iterations: Vec<&Iteration> = iterations.into_iter().collect();
        let known = clusters(iterations.iter().copied());
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        let mut commands: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
        for iteration in iterations {
            for path in &iteration.files_changed {
                *files.entry(path).or_default() += 1;
            }
            let ran = iteration.facts.commands.iter().map(|ran| (ran.command.as_str(), !ran.is_error));
            let validation = iteration.validation_command.as_deref().zip(iteration.exit.validation);
            for (command, works) in ran.chain(validation.map(|(command, code)| (command, code == 0))) {
                let (times, worked) = commands.entry(command).or_default();
                *times += 1;
                *worked = works;
            }
        }
        // Others are no cause that could be known again.
        let known = known.into_iter().filter(|cluster| cluster.is_known);
        let mut known_failures: Vec<KnownFailure> = known.map(KnownFailure::from).collect();
        known_failures.sort_by_key(|known| (!known.is_open, std::cmp::Reverse(known.last_iteration)));
        known_failures.truncate(MAX_LISTED);
        let mut files_touched: Vec<_> =
            files.into_iter().map(|(path, times)| TouchedFile { path: path.to_owned(), times }).collect();
        files_touched.sort_by_key(|file| std::cmp::Reverse(file.times));
        files_touched.truncate(MAX_LISTED);
        let mut working: Vec<_> = commands.into_iter().filter(|(_, (_, works))| *works).collect();
        working.sort_by_key(|(_, (times, _))| std::cmp::Reverse(*times));
        working.truncate(MAX_LISTED);
        let commands_that_work = working.into_iter().map(|(command, _)| command.to_owned()).collect();
        Self { known_failures, files_touched, commands_that_work }
    }
}
