//! Which flags still have their reason.

use std::collections::HashMap;

use tasklist::TaskList;

use crate::record::{AttemptId, FlagCode, FlaggedTask, GoneWork, LogEntry, Outcome, SessionId};

use super::FeatureView;

/// The records of a feature in their order, and what of them takes away the reasons of flags.
struct Reasons<'a> {
    records: &'a [(&'a SessionId, &'a LogEntry)],
    /// The place of the last success of each task, accepted ones among them.
    successes: HashMap<&'a str, usize>,
    /// The place of the last record in which a person settled the flags of a task.
    settled: HashMap<&'a str, usize>,
    /// The place of the last record in which a test passed.
    tests_passed: Option<usize>,
}

impl<'a> Reasons<'a> {
    fn of(view: &'a FeatureView<'_>) -> Self {
        let records = view.iterations.as_slice();
        let (mut successes, mut settled) = (HashMap::new(), HashMap::new());
        for (place, (_, facts)) in records.iter().enumerate() {
            let Some(task) = facts.task() else { continue };
            match facts.outcome() {
                Some(Outcome::Success) => drop(successes.insert(task, place)),
                Some(Outcome::Reopened) => drop(successes.remove(task)),
                _ => {}
            }
            settled.extend(facts.has_flag(FlagCode::Accepted).then_some((task, place)));
        }
        let tests_passed =
            records.iter().rposition(|(_, facts)| facts.tests().and_then(|tests| tests.passed) > Some(0));
        Self { records, successes, settled, tests_passed }
    }

    /// Returns the flags of a record that still have their reason, and that no person settled.
    fn valid_flags(&self, place: usize) -> Vec<FlagCode> {
        let facts = self.records[place].1;
        let settled = facts.task().and_then(|task| self.settled.get(task));
        if settled.is_some_and(|settled| *settled >= place) {
            return Vec::new();
        }
        let is_moot = |(at, code): &(usize, FlagCode)| match code {
            FlagCode::NoTests => self.tests_passed > Some(place),
            // Of other flags than the first the text is in the record alone.
            FlagCode::Others | FlagCode::Undid if *at == 0 => {
                let names = facts.first_flag().map(named).unwrap_or_default();
                let is_done = |name: &&str| self.successes.get(*name).is_some_and(|done| *done > place);
                !names.is_empty() && names.iter().all(is_done)
            }
            _ => false,
        };
        let flags = facts.flags().into_iter().enumerate();
        flags.filter(|flag| !is_moot(flag)).map(|(_, code)| code).collect()
    }
}

/// Returns the tasks that a flag names: `also ticked T012: open again`, `this attempt undid T001 and T002 (src/app.py)`.
/// Names that were left out are none.
fn named(text: &str) -> Vec<&str> {
    let names = match (text.strip_prefix("also ticked "), text.split_once(" undid ")) {
        (Some(names), _) => names.split(": ").next(),
        (None, Some((_, names))) => names.split(" (").next(),
        (None, None) => None,
    };
    names
        .into_iter()
        .flat_map(|names| names.split([',', ' ']))
        .filter(|name| !matches!(*name, "" | "and"))
        .collect()
}

/// Returns the tasks that are done by an attempt whose flags have their reason, the gravest first and then in the order of the
/// list; also while a branch that is not merged has what runs by itself.
pub(super) fn flagged(view: &FeatureView<'_>, list: &TaskList) -> Vec<FlaggedTask> {
    let reasons = Reasons::of(view);
    let done = reasons.successes.iter().filter_map(|(task, place)| Some((list.find(task)?, *place)));
    // A task has one success that counts, whatever its name was at the time.
    let mut newest: HashMap<&str, usize> = HashMap::new();
    for (item, place) in done {
        let known = newest.entry(&item.name).or_insert(place);
        *known = place.max(*known);
    }
    let flagged = list.tasks().filter_map(|item| {
        let place = *newest.get(item.name.as_str())?;
        let (session, facts) = reasons.records[place];
        let flags = reasons.valid_flags(place);
        let is_shown = !flags.is_empty() && item.done || flags.contains(&FlagCode::RunsByItself);
        // The text is of the first one.
        let is_first = flags.first() == facts.flags().first();
        is_shown.then(|| FlaggedTask {
            task: item.name.clone(),
            session: session.clone(),
            iteration: Some(facts.number()),
            text: facts.first_flag().filter(|_| is_first).map(str::to_owned),
            flags,
        })
    });
    let mut flagged: Vec<FlaggedTask> = flagged.collect();
    flagged.sort_by_key(|task| task.flags.iter().map(|code| gravity(*code)).min());
    flagged
}

/// Returns true if a task is flagged for nothing but that it undid others, all of which are gone: that says it.
pub(super) fn is_said(flagged: &FlaggedTask, work_gone: &[GoneWork]) -> bool {
    let undone = flagged.text.as_deref().map(named).unwrap_or_default();
    let is_gone = |name: &&str| work_gone.iter().any(|gone| gone.task == *name);
    flagged.flags == [FlagCode::Undid] && !undone.is_empty() && undone.iter().all(is_gone)
}

impl FeatureView<'_> {
    /// Returns the attempts all of whose flags have lost their reason, in order.
    pub fn moot_flags(&self) -> Vec<AttemptId> {
        let reasons = Reasons::of(self);
        let records = self.iterations.iter().enumerate().filter(|(_, (_, facts))| facts.is_flagged());
        let moot = records.filter(|(place, _)| reasons.valid_flags(*place).is_empty());
        let mut moot: Vec<_> = moot.map(|(_, of)| AttemptId::from(*of)).collect();
        moot.sort_unstable();
        moot
    }
}

/// Returns how grave a flag is: the gravest are 0.
fn gravity(code: FlagCode) -> u8 {
    match code {
        FlagCode::RunsByItself => 0,
        FlagCode::Undid => 1,
        FlagCode::Contradiction
        | FlagCode::Judge
        | FlagCode::Config
        | FlagCode::Rewrote
        | FlagCode::Protect
        | FlagCode::NewProtected
        | FlagCode::Ignored
        | FlagCode::Deps
        | FlagCode::Unseen
        | FlagCode::Clean => 2,
        FlagCode::Focus
        | FlagCode::Skip
        | FlagCode::Vanished
        | FlagCode::Shrunk
        | FlagCode::NoTests
        | FlagCode::Fewer
        | FlagCode::Report
        | FlagCode::Skipped
        | FlagCode::Removed
        | FlagCode::Asserts => 3,
        _ => 4,
    }
}
