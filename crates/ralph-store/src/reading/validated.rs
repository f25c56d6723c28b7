//! The newest validation of a feature.

use ralph_core::record::{
    FailureClass, LeftOut, LogEntry, ObjectId, Outcome, Session, TestCounts, ValidationNow, full_branch_name,
};
use ralph_core::view::SessionView;
use ralph_project::feature::FEATURE_FILE;

use super::listing::{ListedSession, Listing};
use crate::Store;

/// A validation that ran on the files of a record's snapshot, and is over.
struct Validated<'l> {
    rows: &'l ListedSession,
    entry: &'l LogEntry,
    passes: bool,
    tests: TestCounts,
    cause: Option<String>,
}

impl Listing {
    /// Returns what the newest validation of a feature said, and whether that holds for the files here, or on the branch of its
    /// lane; `None` if none ran. `is_as_in` says whether the files here are as in a snapshot of the session that began so; what that
    /// leaves out is known of attempts. `shown` is the session that is looked at, or its group as one.
    pub fn validation_now(
        &self,
        store: &Store,
        feature: &str,
        shown: Option<&SessionView>,
        is_as_in: impl Fn(&LogEntry, &ObjectId, Option<&[LeftOut]>) -> Option<bool>,
    ) -> Option<ValidationNow> {
        let mut found: Vec<Validated<'_>> = Vec::new();
        for rows in self.sessions_of(feature).rev() {
            let is_older = |known: &Validated<'_>| {
                known.passes
                    && rows.entries().last().is_some_and(|tip| tip.ended_at() <= known.entry.ended_at())
            };
            if !found.iter().any(is_older) {
                found.extend(newest_of(store, rows));
            }
        }
        found.sort_by_key(|one| one.entry.ended_at());
        let newest = found.last()?;
        let look = |one: &Validated<'_>| {
            let (first, snapshot) = (one.rows.entries().first()?, one.entry.snapshot()?);
            let begun = store.readable_session(first).filter(|begun| begun.lane.is_some());
            if let Some(branch) = begun.and_then(|begun| begun.branch) {
                let own = store.feature_files(feature, Some(first));
                let tip = store.refs().tip(&full_branch_name(&branch)).ok()?;
                let changed = store.changed_files(&own, (tip, Some(snapshot))).ok()??;
                // The loop writes this one in a lane, and commits it nowhere.
                return Some(changed.iter().all(|file| file.path.ends_with(FEATURE_FILE.as_bytes())));
            }
            let record = one.entry.iteration().and_then(|_| store.readable_iteration(one.entry));
            is_as_in(first, &snapshot, record.map(|record| record.left_out).as_deref())
        };
        // What failed is often taken back, in a lane always: then the files are as a success left them, in whichever loop.
        let is_now = look(newest);
        let mut passing = found.iter().rev().skip(1).filter(|one| one.passes && is_now != Some(true));
        let (one, is_now) = passing
            .find(|one| look(one) == Some(true))
            .map_or((newest, is_now), |passing| (passing, Some(true)));
        let Validated { rows, entry, passes, tests, cause } = one;
        let before = || rows.entries().iter().take_while(|other| other.commit() != entry.commit());
        let number = entry.iteration().or_else(|| before().filter_map(LogEntry::iteration).last());
        let start = rows.entries().iter().find(|entry| entry.kind().begins());
        let start = start.and_then(|start| store.readable_session(start));
        // A resumption may have had another.
        let begins = before().filter(|entry| entry.kind().begins()).last();
        let begun = begins.and_then(|begins| store.readable_session(begins));
        let begun = begun.as_ref().or(start.as_ref());
        let command = begun.and_then(|begun| begun.configuration.get("validation.command")?.as_str());
        Some(ValidationNow {
            passes: *passes,
            is_now,
            session: entry.session(),
            iteration: number,
            is_resumption: number.is_some() && entry.iteration().is_none(),
            tests: *tests,
            command: command.map(str::to_owned),
            passed_at_start: start.as_ref().and_then(|start| counts(start)?.passed),
            cause: cause.clone(),
            names: shown.map(SessionView::names),
        })
    }
}

/// Returns the newest validation of a session, and the newest that passed, as far as to one whose files were kept.
fn newest_of<'l>(store: &Store, rows: &'l ListedSession) -> Vec<Validated<'l>> {
    let mut found: Vec<Validated<'l>> = Vec::new();
    let mut is_acceptance = false;
    for entry in rows.entries().iter().rev() {
        if found.last().is_some_and(|last| last.passes && !last.entry.is_failure()) {
            break;
        }
        // What an acceptance goes on with repeats the start, and ran nothing.
        let is_repeated = std::mem::take(&mut is_acceptance) && entry.kind().begins();
        is_acceptance = entry.is_answer();
        let one = if is_repeated { None } else { validated(store, rows, entry) };
        found.extend(one.filter(|one| one.passes || found.is_empty()));
    }
    found
}

/// Returns the validation that ran on the files of a record's snapshot, if one did.
fn validated<'l>(store: &Store, rows: &'l ListedSession, entry: &'l LogEntry) -> Option<Validated<'l>> {
    if entry.kind().begins() {
        let session = store.readable_session(entry)?;
        let baseline = session.baseline.as_ref()?;
        let tests = counts(&session).unwrap_or_default();
        let (passes, cause) = (baseline.passed(), baseline.failure().map(str::to_owned));
        return Some(Validated { rows, entry, passes, tests, cause });
    }
    // A check looks at a clean checkout, and what is given up is validated before its changes are taken back.
    let ran = matches!(entry.outcome()?, Outcome::Success | Outcome::Failure) || entry.is_result();
    let code = entry.exit().validation.filter(|_| ran)?;
    let tests = entry.tests().unwrap_or_default();
    // A success may have failures that were there before, or nothing to run yet.
    let is_success = entry.outcome() == Some(Outcome::Success) || entry.is_result();
    let passes = code == 0 || is_success && tests.failed.is_none_or(|failed| failed == 0);
    let is_question = entry.failure_class().is_some_and(FailureClass::is_question);
    let own = entry.cause().map(str::to_owned).filter(|_| !is_question);
    let cause = (!passes).then(|| own.unwrap_or_else(|| format!("exit code {code}")));
    Some(Validated { rows, entry, passes, tests, cause })
}

/// Returns the tests of the validation before the first attempt of a start.
fn counts(session: &Session) -> Option<TestCounts> {
    let baseline = session.baseline.as_ref().and_then(|baseline| baseline.tests.as_deref());
    let trusted = session.trusted.as_ref().and_then(|state| state.tests.as_deref());
    let tests = baseline.or(trusted)?;
    Some(TestCounts { passed: tests.passed, failed: tests.failed, skipped: tests.skipped })
}
