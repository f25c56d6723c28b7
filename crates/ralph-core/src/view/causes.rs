//! Causes of failed attempts over all sessions of a feature.

use std::cmp::Reverse;

use crate::history::causes::{CauseRecord, all_solved, solutions, tasks_at};
use crate::record::{AttemptId, CauseTotals, FailureCause};

use super::FeatureView;

/// Maximum number of causes that are listed.
const MAX_CAUSES: usize = 20;

/// Returns the causes, and the failed attempts that are solved.
pub(super) fn of(view: &FeatureView<'_>) -> (CauseTotals, Vec<AttemptId>) {
    let all = view.iterations.iter().filter_map(|it| Some((*it, CauseRecord::of_entry(it.1)?)));
    let (all, records): (Vec<_>, Vec<_>) = all.unzip();
    let (mut list, mut attempts) = (Vec::new(), Vec::new());
    for (cause, failures) in solutions(&records) {
        let solved = all_solved(&failures).map(|place| all[place]);
        let newest = failures.last().map(|(place, _)| all[*place].1);
        list.push(FailureCause {
            fingerprint: cause.fingerprint(newest.and_then(|newest| newest.fingerprint())),
            cause: newest.and_then(|newest| newest.cause().map(str::to_owned)),
            times: failures.len(),
            tasks: tasks_at(&records, &failures),
            is_solved: solved.is_some(),
            solved_in: solved.map(|of| AttemptId::from(of).to_string()),
        });
        let solved = failures.iter().filter(|(_, solved)| solved.is_some()).map(|(place, _)| all[*place]);
        attempts.extend(solved.map(AttemptId::from));
    }
    let solved = list.iter().filter(|cause| cause.is_solved).count();
    let solved_attempts = attempts.len();
    let failing = list.len() - solved;
    list.sort_by_key(|cause| (cause.is_solved, Reverse(cause.times)));
    list.truncate(MAX_CAUSES);
    attempts.sort_unstable();
    (CauseTotals { solved, failing, solved_attempts, list }, attempts)
}
