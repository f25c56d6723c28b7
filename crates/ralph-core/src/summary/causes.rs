//! Causes of failed attempts over all sessions of a feature.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::history::causes::{Cause, CauseRecord, solutions};
use crate::record::{CauseTotals, FailureCause, LogEntry};

/// Maximum number of causes that are listed.
const MAX_CAUSES: usize = 20;

pub(super) fn of(sessions: &[impl AsRef<[LogEntry]>]) -> CauseTotals {
    let entries = sessions.iter().flat_map(AsRef::as_ref);
    let (entries, records): (Vec<&LogEntry>, Vec<CauseRecord<'_>>) =
        entries.filter_map(|entry| Some((entry, CauseRecord::of_entry(entry)?))).unzip();
    let solved = solutions(&records);
    let mut list: Vec<FailureCause> = Vec::new();
    let mut places: HashMap<&Cause, usize> = HashMap::new();
    for (entry, record) in entries.iter().zip(&records) {
        let Some(cause) = &record.cause else { continue };
        let place = *places.entry(cause).or_insert_with(|| {
            let solved = solved.get(cause).copied().flatten().map(|place| entries[place]);
            let name =
                |entry: &LogEntry| format!("{}:{}", entry.session, entry.iteration.unwrap_or_default());
            list.push(FailureCause {
                fingerprint: cause.fingerprint().map(str::to_owned),
                cause: None,
                times: 0,
                tasks: Vec::new(),
                is_solved: solved.is_some(),
                solved_in: solved.map(name),
            });
            list.len() - 1
        });
        let known = &mut list[place];
        known.times += 1;
        known.cause.clone_from(&entry.cause);
        if let Some(task) = entry.task.as_ref().filter(|task| !known.tasks.contains(task)) {
            known.tasks.push(task.clone());
        }
    }
    let solved = || list.iter().filter(|cause| cause.is_solved);
    let mut totals = CauseTotals {
        solved: solved().count(),
        failing: list.len() - solved().count(),
        solved_attempts: solved().map(|cause| cause.times).sum(),
        list: Vec::new(),
    };
    list.sort_by_key(|cause| (cause.is_solved, Reverse(cause.times)));
    list.truncate(MAX_CAUSES);
    totals.list = list;
    totals
}
