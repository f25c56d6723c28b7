//! Causes of failed attempts over all sessions of a feature.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::history::causes::{Cause, CauseRecord, solutions};
use crate::record::{CauseTotals, FailureCause, SessionFacts, SessionId};

/// Maximum number of causes that are listed.
const MAX_CAUSES: usize = 20;

/// Returns the causes, and the attempts whose cause is solved.
pub(super) fn of(sessions: &[SessionFacts<'_>]) -> (CauseTotals, Vec<(SessionId, u32)>) {
    let all: Vec<_> =
        sessions.iter().flat_map(|one| one.iterations.iter().map(|facts| (&one.id, facts))).collect();
    let records: Vec<CauseRecord<'_>> = all.iter().map(|(_, facts)| CauseRecord::of_facts(facts)).collect();
    let solved = solutions(&records);
    let mut list: Vec<FailureCause> = Vec::new();
    let mut places: HashMap<&Cause, usize> = HashMap::new();
    let mut attempts = Vec::new();
    for (&(session, facts), record) in all.iter().zip(&records) {
        let Some(cause) = &record.cause else { continue };
        let place = *places.entry(cause).or_insert_with(|| {
            let solved = solved.get(cause).copied().flatten().map(|place| all[place]);
            list.push(FailureCause {
                fingerprint: cause.fingerprint().map(str::to_owned),
                cause: None,
                times: 0,
                tasks: Vec::new(),
                is_solved: solved.is_some(),
                solved_in: solved.map(|(session, facts)| format!("{session}:{}", facts.iteration)),
            });
            list.len() - 1
        });
        let known = &mut list[place];
        known.times += 1;
        if known.is_solved {
            attempts.push((session.clone(), facts.iteration));
        }
        known.cause = facts.cause.as_deref().map(str::to_owned);
        if let Some(task) =
            facts.task.as_deref().filter(|task| !known.tasks.iter().any(|known| known == task))
        {
            known.tasks.push(task.to_owned());
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
