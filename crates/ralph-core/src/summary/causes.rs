//! Causes of failed attempts over all sessions of a feature.

use std::cmp::Reverse;

use crate::history::causes::{CauseRecord, solutions, tasks_at};
use crate::record::{CauseTotals, FailureCause, SessionFacts, SessionId};

/// Maximum number of causes that are listed.
const MAX_CAUSES: usize = 20;

/// Returns the causes, and the attempts whose cause is solved.
pub(super) fn of(sessions: &[SessionFacts<'_>]) -> (CauseTotals, Vec<(SessionId, u32)>) {
    let all: Vec<_> =
        sessions.iter().flat_map(|one| one.iterations.iter().map(|facts| (&one.id, facts))).collect();
    let records: Vec<CauseRecord<'_>> = all.iter().map(|(_, facts)| CauseRecord::of_facts(facts)).collect();
    let (mut list, mut attempts) = (Vec::new(), Vec::new());
    for (cause, places, solved) in solutions(&records) {
        let solved = solved.map(|place| all[place]);
        let newest = places.last().and_then(|place| all[*place].1.cause.as_deref());
        list.push(FailureCause {
            fingerprint: cause.fingerprint().map(str::to_owned),
            cause: newest.map(str::to_owned),
            times: places.len(),
            tasks: tasks_at(&records, &places),
            is_solved: solved.is_some(),
            solved_in: solved.map(|(session, facts)| format!("{session}:{}", facts.iteration)),
        });
        if solved.is_some() {
            let failures = places.iter().map(|place| all[*place]);
            attempts.extend(failures.map(|(session, facts)| (session.clone(), facts.iteration)));
        }
    }
    let solved_causes = list.iter().filter(|cause| cause.is_solved);
    let solved_attempts = solved_causes.clone().map(|cause| cause.times).sum();
    let solved = solved_causes.count();
    let failing = list.len() - solved;
    list.sort_by_key(|cause| (cause.is_solved, Reverse(cause.times)));
    list.truncate(MAX_CAUSES);
    attempts.sort_unstable();
    (CauseTotals { solved, failing, solved_attempts, list }, attempts)
}
