//! The trusted state: what attempts are held against. A success that was judged, or else the state before the first attempt
//! with its baseline.

use std::collections::BTreeMap;

use anyhow::Result;
use failure_excerpt::Tally;

use ralph_core::record::{Baseline, FlagCode, Iteration, LogEntry, ObjectId, Outcome, TrustedState};
use ralph_git::worktree::{PathChange, RawPath, TreeEntry};
use ralph_store::{SessionLog, SessionRefs, Store, last_written};

use super::loop_inputs::LoopInputs;

/// Maximum number of commits of a branch whose records are looked for.
const MAX_COMMITS: usize = 50;

/// Maximum number of spans between sessions in which people edited.
const MAX_EDITED_SPANS: usize = 50;

/// What is known of the validation before the first iteration.
#[derive(Debug, Default)]
pub struct BaselineRun {
    /// How it went. `None` if it did not run, or was stopped.
    pub baseline: Option<Baseline>,
    /// Set if it was left out, because it passed on this very state before.
    pub is_known_to_pass: bool,
    /// What it printed of its tests, now or before.
    pub tests: Option<Box<Tally>>,
}

impl BaselineRun {
    /// Returns true if it is known how the validation goes before the first iteration.
    pub fn is_measured(&self) -> bool {
        self.is_known_to_pass || self.baseline.is_some()
    }

    /// Returns true if the validation failed, and nothing stopped it or kept it from running.
    pub fn failed_by_itself(&self) -> bool {
        self.baseline.as_ref().is_some_and(Baseline::failed_by_itself)
    }

    /// Returns true if there was nothing to run yet.
    pub fn has_no_tests(&self) -> bool {
        self.baseline.as_ref().is_some_and(|baseline| baseline.no_tests)
    }

    /// Returns true if the validation passes before the first iteration.
    pub fn passes(&self) -> bool {
        self.is_known_to_pass || self.baseline.as_ref().is_some_and(Baseline::passed)
    }
}

/// What attempts are compared with.
#[derive(Debug, Default)]
pub(super) struct Trusted {
    /// `None` if nothing was measured yet: no success, and no baseline.
    pub state: Option<TrustedState>,
    /// The work tree before the first attempt of the session: what changes are compared with where nothing is trusted.
    pub start: Option<ObjectId>,
    /// Files that people changed since, as they left them.
    pub edits: BTreeMap<RawPath, Option<TreeEntry>>,
    /// In a lane, the commit on which the validation ran alone, and how it went.
    pub tried: Option<(ObjectId, TrustedState)>,
    /// The commit of a person's that attempts in a lane begin from, if the validation passed before it and did not run on it.
    pub untried: Option<ObjectId>,
}

impl Trusted {
    /// Returns what changes of attempts are compared with; `None` if no snapshot shows it.
    pub fn contents(&self) -> Option<&ObjectId> {
        self.state.as_ref().map(|state| &state.snapshot).or(self.start.as_ref())
    }

    pub fn tests(&self) -> Option<&Tally> {
        self.state.as_ref()?.tests.as_deref()
    }

    /// Takes in an iteration: a success is trusted from now on.
    pub fn ended(&mut self, iteration: &Iteration) {
        if let Some(state) = of_success(iteration) {
            self.state = Some(state);
            self.edits.clear();
        }
    }

    /// Takes the tip of the branch, of which there is a snapshot, for what attempts are compared with. `published` is the newest
    /// result in it.
    pub fn begin_from(
        &mut self,
        tip: ObjectId,
        snapshot: Option<ObjectId>,
        published: Option<&(ObjectId, Iteration)>,
    ) {
        let is_published = published.is_some_and(|(commit, _)| *commit == tip);
        let tried = self.tried.as_ref().filter(|(commit, _)| *commit == tip && !is_published);
        if let Some((_, state)) = tried {
            self.state = Some(state.clone());
        } else if let (Some((_, result)), Some(state)) = (published, &mut self.state) {
            state.tests = tests_of(result);
            state.passed = true;
        }
        let is_green = self.state.as_ref().is_some_and(|state| state.passed);
        self.untried = Some(tip).filter(|_| is_green && !is_published && tried.is_none());
        let Some(snapshot) = snapshot else { return };
        if let Some(state) = &mut self.state {
            state.snapshot.clone_from(&snapshot);
        }
        self.start = Some(snapshot);
        self.edits.clear();
    }

    /// Takes in how the validation went on the tip alone.
    pub fn tried(&mut self, tip: ObjectId, tests: Option<Box<Tally>>, passed: bool) {
        let Some(state) = &mut self.state else { return };
        (state.tests, state.passed) = (tests, passed);
        self.tried = Some((tip, state.clone()));
    }

    /// Takes in what people changed between attempts: no attempt is judged by it.
    pub fn edited(&mut self, changes: Vec<PathChange>) {
        self.edits.extend(changes.into_iter().map(|change| (change.path, change.after)));
    }

    /// Returns `changes`, which are since [`Trusted::contents`], as they are since people's edits.
    pub fn since_edits(&self, changes: Vec<PathChange>) -> Vec<PathChange> {
        let mut changes: BTreeMap<RawPath, PathChange> =
            changes.into_iter().map(|change| (change.path.clone(), change)).collect();
        for (path, left) in &self.edits {
            // What is as in the trusted state again was changed back.
            let Some(change) = changes.get_mut(path) else { continue };
            change.before.clone_from(left);
        }
        changes.into_values().filter(|change| change.before != change.after).collect()
    }
}

/// Returns the state that a success leaves; `None` if it was none, or no snapshot shows it.
fn of_success(iteration: &Iteration) -> Option<TrustedState> {
    if iteration.outcome != Outcome::Success {
        return None;
    }
    Some(TrustedState {
        snapshot: iteration.snapshot.clone()?,
        tests: tests_of(iteration),
        // What a person accepts has passed before.
        passed: iteration.is_acceptance() || iteration.is_green() && iteration.passed_validation(),
        edited: Vec::new(),
    })
}

/// Returns what is known at a start: the newest success of the feature in this work tree, else the baseline. `start` is the
/// snapshot of now, and `baseline` how the validation went on it.
pub(super) fn at_start(
    inputs: &LoopInputs<'_>,
    earlier: Option<&SessionLog>,
    start: Option<&ObjectId>,
    baseline: &BaselineRun,
) -> Result<Option<TrustedState>> {
    if inputs.work_tree.lane().is_some() {
        return at_start_in_lane(inputs, start, baseline);
    }
    let last = match earlier {
        Some(log) => Some(log.refs.clone()),
        None => last_written(inputs.work_tree, &inputs.feature.path)?,
    };
    // A record that cannot be read says nothing; the start has warned of it.
    let command = inputs.config.settings.validation_command.as_deref();
    let known = last.and_then(|last| of_log(inputs.store, &last, start, command).unwrap_or_default());
    let tests = baseline.tests.clone();
    Ok(match known {
        // People may have removed tests, or added some, and another command may count none.
        Some(state)
            if (!state.edited.is_empty() || state.tests.is_none())
                && tests.is_some()
                && baseline.passes() =>
        {
            Some(TrustedState { tests, ..state })
        }
        Some(state) => Some(state),
        None => start.filter(|_| baseline.is_measured()).map(|start| TrustedState {
            snapshot: start.clone(),
            tests,
            passed: baseline.passes(),
            edited: Vec::new(),
        }),
    })
}

/// Returns what attempts in a lane are held against at first: the tip, with the tests of the baseline, or else of the newest
/// commit of the branch that passed.
fn at_start_in_lane(
    inputs: &LoopInputs<'_>,
    start: Option<&ObjectId>,
    baseline: &BaselineRun,
) -> Result<Option<TrustedState>> {
    let Some(start) = start else { return Ok(None) };
    let (tests, passed) = if baseline.is_measured() {
        (baseline.tests.clone(), baseline.passes())
    } else {
        match newest_checked(inputs)? {
            Some((_, checked)) => (tests_of(&checked), true),
            None => return Ok(None),
        }
    };
    Ok(Some(TrustedState { snapshot: start.clone(), tests, passed, edited: Vec::new() }))
}

pub(super) fn tests_of(iteration: &Iteration) -> Option<Box<Tally>> {
    let evidence = iteration.evidence.as_ref()?;
    let is_cached = evidence.flags.iter().any(|flag| flag.code == FlagCode::Cached);
    // What a cache has was counted when it ran.
    let tests = if is_cached { &evidence.before } else { &evidence.tests };
    tests.clone().map(Box::new)
}

/// Returns the newest commit of the branch that a record names as published and whose tree passed, with that record.
pub(super) fn newest_checked(inputs: &LoopInputs<'_>) -> Result<Option<(ObjectId, Iteration)>> {
    if inputs.work_tree.lane().is_none() {
        return Ok(None);
    }
    let commits = inputs.work_tree.commits_of_branch("HEAD")?.into_iter();
    let published = commits.filter_map(|one| Some((one.commit, one.publisher.filter(|_| one.says_passed)?)));
    for (commit, by) in published.take(MAX_COMMITS) {
        // Its record may be on another machine, or cleaned.
        let log = inputs.store.session(&SessionRefs::new(&inputs.feature.path, by.session)).ok().flatten();
        let entry = log.as_ref().and_then(|log| log.iteration(by.number));
        let record = entry.and_then(|entry| inputs.store.readable_iteration(entry));
        // A commit that a person amended or rebased still says what the first one said.
        if let Some(record) = record.filter(|record| record.published.as_ref() == Some(&commit)) {
            // Another command may count other tests, or none.
            let is_same = record.validation_command == inputs.config.settings.validation_command;
            return Ok(is_same.then_some((commit, record)));
        }
    }
    Ok(None)
}

/// Returns the newest success in a session, or else what that session itself began with.
/// Counts of another command are not compared.
fn of_log(
    store: &Store,
    refs: &SessionRefs,
    start: Option<&ObjectId>,
    command: Option<&str>,
) -> Result<Option<TrustedState>> {
    let Some(log) = store.session(refs)? else { return Ok(None) };
    let successes = log.iterations().rev().filter(|entry| entry.outcome() == Some(Outcome::Success));
    let newest = successes.filter_map(|entry| store.readable_iteration(entry)).find_map(|it| of_success(&it));
    let Some(mut state) = newest.or_else(|| {
        let mut begun = log.entries.iter().rev().filter(|entry| entry.kind().begins());
        begun.find_map(|entry| store.readable_session(entry)?.trusted)
    }) else {
        return Ok(None);
    };
    let mut newest = log.iterations().rev().filter_map(|entry| store.readable_iteration(entry));
    let of_command = newest.find_map(|iteration| iteration.validation_command);
    if of_command.is_some_and(|of_command| Some(&*of_command) != command) {
        state.tests = None;
    }
    let last = match log.entries.iter().rev().find_map(LogEntry::snapshot) {
        Some(last) => Some(last),
        None => store.refs().tip(&refs.snapshot())?,
    };
    state.edited.extend(last.zip(start.cloned()).map(|(last, start)| [last, start]));
    let excess = state.edited.len().saturating_sub(MAX_EDITED_SPANS);
    state.edited.drain(..excess);
    // `clean` removes old snapshots.
    for snapshot in [&state.snapshot].into_iter().chain(state.edited.iter().flatten()) {
        if !store.has(snapshot)? && Some(snapshot) != start {
            return Ok(None);
        }
    }
    Ok(Some(state))
}
