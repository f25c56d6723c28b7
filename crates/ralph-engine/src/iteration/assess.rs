//! The evidence of an attempt whose boxes and validation say that it succeeded: the tests that ran and what it changed, held
//! against the trusted state.

use std::collections::HashMap;

use anyhow::Result;
use camino::Utf8Path;
use failure_excerpt::Tally;

use ralph_core::config::{Completion, Pass, Rerun, Until};
use ralph_core::judge::{
    ChangedFile, Decision, KnownFailures, Lookup, Measurements, OwnFiles, SecondResult, asks_for_bare_file,
    confirm, counts_fell, decide, findings, is_cheap, is_contradicted, is_worth_reading, known_failures,
    lies_in_changed, may_be_flaky, may_have_moved, orders_removal, without_trailing_blanks,
};
use ralph_core::record::{
    Event, ExitReason, Flag, FlagCode, LogEntry, ObjectId, Phase, RALPH, SecondRun, TaskName, Validation,
    join_files,
};
use ralph_git::worktree::PathChange;
use ralph_store::{PutBack, PutBackKind, Slot, names as slot_names};

use super::stages::{Ran, Sealed, StartedIteration};
use crate::baseline::OUTPUTS;
use crate::iteration_context::validation_cause;
use crate::judging::flaky_tests;
use crate::left_behind::{EMPTY, Undone};
use crate::restoring::put_back::{Side, names};
use crate::restoring::rollback::Rollback;
use crate::running::Running;

/// Maximum number of changed files that are read.
const MAX_READ_FILES: usize = 3000;

/// Largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Maximum number of records in which tests are looked for that were flaky before.
const MAX_FLAKY_RECORDS: usize = 100;

/// Maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 5;

/// Iterations of the feature that are looked through for earlier attempts at a task.
const MAX_ITERATIONS: usize = 1000;

/// The files of a slot with what the validation printed in its second run.
const SECOND_OUTPUTS: [&str; 2] = [slot_names::SECOND_STDOUT, slot_names::SECOND_STDERR];

/// Whether the validation passed, by the rule of the session.
#[derive(Default)]
pub(super) struct Passing {
    pub passed: bool,
    /// Tests that fail and failed before the start.
    pub known_failures: usize,
    /// Tests that failed once, and passed in the second run.
    pub flaky: Vec<String>,
    /// Why it did not pass though nothing but tests failed: a test is new among those that fail.
    pub cause: Option<String>,
    /// A second run of the validation, as the record has it and as it ended.
    pub second: Option<(SecondRun, Validation)>,
    /// What the second run printed, if the validation passed in it.
    pub tests: Option<Tally>,
}

/// What an attempt changed since the trusted state: the files that are worth reading, and all.
type Changes = (Vec<ChangedFile>, Vec<PathChange>);

impl Running<'_> {
    /// Returns whether the validation passed. Where only names of failed tests decide, it may run once more; if it may have
    /// failed by chance, only if the attempt `claims` that it did something.
    pub(super) fn passing(
        &mut self,
        started: &StartedIteration<'_>,
        ran: &Ran,
        claims: bool,
    ) -> Result<Passing> {
        let Some(validation) = &ran.validation else {
            return Ok(Passing { passed: true, ..Passing::default() });
        };
        if validation.passed() {
            return Ok(Passing { passed: true, ..Passing::default() });
        }
        let settings = &self.inputs.config.settings;
        let Some(legacy) =
            self.session.legacy_failures.clone().filter(|_| settings.validation_pass == Pass::NoNewFailures)
        else {
            return self.passing_in_second_run(started, ran, validation, claims);
        };
        let removed = self.removed_by_order(started, &ran.sealed)?;
        let trusted = self.judging.trusted.tests().and_then(Tally::executed);
        let trusted = trusted.map(|executed| executed.saturating_sub(removed));
        let new = match known_failures(validation.exit, ran.tests.as_ref(), &legacy, trusted) {
            KnownFailures::Only(count) => {
                return Ok(Passing { passed: true, known_failures: count, ..Passing::default() });
            }
            KnownFailures::New(names) => names,
            KnownFailures::Unknown => return Ok(Passing::default()),
        };
        let (again, tests) = self.run_again(started)?;
        let is_clean = again.exit.is_success() && !self.is_contradicted(&tests);
        let failing = if is_clean { Some(Vec::new()) } else { tests.failing };
        let (failing, flaky) = confirm(&new, failing.as_deref());
        let run = SecondRun {
            why: FlagCode::Flaky,
            exit: again.exit.code,
            paths: None,
            flaky: if failing.is_empty() { flaky.clone() } else { Vec::new() },
        };
        let second = Some((run, again));
        if !failing.is_empty() {
            return Ok(Passing { cause: Some(new_failure(&failing)), second, ..Passing::default() });
        }
        let failed = ran.tests.as_ref().and_then(|tests| tests.failing.as_ref()).map_or(0, Vec::len);
        let known_failures = failed - flaky.len();
        Ok(Passing { passed: true, known_failures, flaky, second, ..Passing::default() })
    }

    /// Runs a red validation once more if it may have failed by chance: before an agent is asked to repair what is not
    /// broken.
    fn passing_in_second_run(
        &mut self,
        started: &StartedIteration<'_>,
        ran: &Ran,
        validation: &Validation,
        claims: bool,
    ) -> Result<Passing> {
        let trusted = self.judging.trusted.tests();
        let failing = ran.tests.as_ref().and_then(|tests| may_be_flaky(validation.exit, tests, trusted));
        let Some(failing) = failing.map(<[String]>::to_vec) else { return Ok(Passing::default()) };
        if self.inputs.config.settings.validation_rerun == Rerun::Never
            || !claims
            || !ran.agent.succeeded
            || !is_cheap(validation.duration_ms, ran.agent.duration_ms)
        {
            return Ok(Passing::default());
        }
        let now = self.recorder.last_read(&started.slot)?;
        let (files, changes) = self.changed_since_trusted(&started.slot, &now)?;
        let paths: Vec<String> = changes.iter().map(PathChange::name).collect();
        let began = self.state.validation_began;
        let is_changed = |change: &PathChange| {
            let changed_at = self.recorder.work_tree().changed_at(&change.path);
            // Times of files are coarse: what a quick validation writes may bear the moment at which it began.
            changed_at.zip(began).is_some_and(|(changed, began)| changed >= began)
        };
        if failing.iter().any(|name| lies_in_changed(name, &paths, &files))
            || !changed_own_files(&self.judging.own_files, &files, &self.project_prefix()).is_empty()
            || changes.iter().any(is_changed)
        {
            return Ok(Passing::default());
        }
        let (again, tests) = self.run_again(started)?;
        let passed = again.passed() && !self.is_contradicted(&tests);
        let flaky = if passed { failing } else { Vec::new() };
        let run =
            SecondRun { why: FlagCode::Flaky, exit: again.exit.code, paths: None, flaky: flaky.clone() };
        let tests = passed.then_some(tests);
        Ok(Passing { passed, flaky, tests, second: Some((run, again)), ..Passing::default() })
    }

    /// Returns true if more tests fail than in the trusted state, whatever the exit code says.
    fn is_contradicted(&self, tests: &Tally) -> bool {
        is_contradicted(tests, self.judging.trusted.tests())
    }

    /// Returns how often one of these tests was flaky, this time included.
    fn times_flaky(&self, names: &[String]) -> usize {
        let earlier = self.flaky_before();
        let times = names.iter().map(|name| earlier.iter().filter(|tests| tests.contains(name)).count());
        1 + times.max().unwrap_or(0)
    }

    /// Returns the tests that were flaky, of each attempt in which some were.
    pub(crate) fn flaky_before(&self) -> Vec<Vec<String>> {
        let earlier = self.past.memory.entries().iter().rev();
        let earlier = earlier.filter(|entry| entry.has_flag(FlagCode::Flaky)).take(MAX_FLAKY_RECORDS);
        earlier
            .filter_map(|entry| self.inputs.store.readable_iteration(entry))
            .map(|iteration| flaky_tests(&iteration))
            .chain(self.judging.flaky.iter().cloned())
            .collect()
    }

    /// Decides whether an attempt that ticked a box and passed is a success. `others` are the tasks that it ticked beside its
    /// own.
    pub(super) fn assess(
        &mut self,
        started: &StartedIteration<'_>,
        ran: &Ran,
        others: &[TaskName],
        undone: &Undone,
        passing: &mut Passing,
        found: &[Flag],
    ) -> Result<Decision> {
        let settings = self.inputs.config.settings.clone();
        // What could not be read when the agent ended is judged as it is now.
        let now = ran.sealed.tree.clone().or_else(|| self.recorder.last_read(&started.slot).ok());
        let now = now.as_ref();
        let ((files, changes), (is_idle, done_in)) = match now.map(|now| self.compared(started, now)) {
            Some(Ok(compared)) => compared,
            // An agent can delete the snapshots that its work is compared with.
            Some(Err(error)) => {
                self.warn(format!("what changed cannot be judged: {error:#}"));
                Default::default()
            }
            None => Default::default(),
        };
        let mut diff = findings(&files);
        diff.by_itself.extend(self.judging.unseen.work.by_itself());
        let mut own_files = self.judging.own_files.clone();
        let tests = passing.tests.as_ref().or(ran.tests.as_ref());
        if !counts_fell(tests, self.judging.trusted.tests()) {
            own_files = own_files.without_tests();
        }
        let prefix = self.project_prefix();
        let own_changed = changed_own_files(&own_files, &files, &prefix);
        let before: Lookup<'_> = &|path| own_file(&files, &prefix, path)?.before.clone();
        let after: Lookup<'_> = &|path| own_file(&files, &prefix, path)?.after.clone();
        let own_lines = own_files.changed_lines(before, after);
        let own_follows = own_files.follows(before, after, &moved(&changes, &prefix));
        let texts = self.texts_of(started);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let phase = self.task_watch.persons.phase(&started.task.name, started.task.phase.as_deref());
        let refuses = settings.completion == Completion::Verified
            && self.inputs.job.until == Until::Tasks
            && settings.snapshots
            && now.is_some();
        let flaky_times = if passing.flaky.is_empty() { 0 } else { self.times_flaky(&passing.flaky) };
        let (mut result, mut unseen) = (None, None);
        loop {
            let trusted = &self.judging.trusted;
            let decision = decide(&Measurements {
                refuse: &settings.validation_refuse,
                refuses,
                is_validated: ran.validation.is_some(),
                tests: passing.tests.as_ref().or(ran.tests.as_ref()),
                trusted: trusted.state.as_ref(),
                selects_by_change: self.judging.selects_by_change,
                diff: &diff,
                own_changed: &own_changed,
                own_lines: &own_lines,
                own_follows: own_follows.as_deref(),
                second: result,
                can_run_again: passing.second.is_none(),
                is_idle,
                unseen: unseen.as_ref(),
                done_in,
                final_text: &ran.agent.final_text,
                tasks: &texts,
                languages: started.languages,
                phase: phase.as_deref(),
                others,
                unticks: settings.untick,
                flaky: &passing.flaky,
                flaky_times,
                known_failures: passing.known_failures,
                has_no_tests: ran.validation.as_ref().is_some_and(|validation| validation.has_no_tests),
                put_back: &ran.protected.put_back,
                left_out: &ran.left_out,
                undid: undone.flag.as_ref(),
                is_undoing_ordered: undone.is_ordered,
                found,
            });
            if matches!(decision, Decision::Refused { code: FlagCode::Idle, .. }) {
                let (watch, calls) = (&mut self.judging.unseen, &ran.agent.tool_calls);
                unseen = watch.unseen(self.inputs, &self.recorder, &started.task.name, calls)?;
                if unseen.is_some() {
                    continue;
                }
            }
            if !matches!(decision, Decision::RunAgain) {
                return Ok(decision);
            }
            let Some((again, tests, paths)) =
                self.validate_with_trusted_files(started, &ran.sealed, &own_files, &files, &changes)?
            else {
                result = Some(SecondResult::NotRun);
                continue;
            };
            result = Some(match again.exit.reason {
                Some(ExitReason::Timeout) => SecondResult::TimedOut,
                _ if again.passed() && !self.is_contradicted(&tests) => SecondResult::Passed,
                _ => SecondResult::Failed,
            });
            let was_interrupted = again.exit.reason == Some(ExitReason::Interrupted);
            let run = SecondRun {
                why: FlagCode::Judge,
                exit: again.exit.code,
                paths: Some(paths),
                flaky: Vec::new(),
            };
            passing.second = Some((run, again));
            if was_interrupted {
                return Ok(Decision::Accepted(Vec::new()));
            }
        }
    }

    fn compared(
        &self,
        started: &StartedIteration<'_>,
        now: &ObjectId,
    ) -> Result<(Changes, (bool, Option<u32>))> {
        let changes = self.changed_since_trusted(&started.slot, now)?;
        let trusted = &self.judging.trusted;
        let is_since_trusted =
            trusted.contents() == started.begin.tips.snapshot.as_ref() && trusted.edits.is_empty();
        let is_work = is_since_trusted && self.is_work(started, &changes.1);
        let idle = if is_work { (false, None) } else { self.idle(started, now)? };
        Ok((changes, idle))
    }

    /// Returns the texts of the tasks that the attempt was asked for, as a person wrote them.
    pub(super) fn texts_of(&self, started: &StartedIteration<'_>) -> Vec<String> {
        let names = &started.begin.unit_tasks;
        // A long list takes its time, and without a unit the one task says it all.
        let bytes: &[u8] = if names.is_empty() { &[] } else { started.task_list.as_slice() };
        let list = tasklist::TaskList::parse(bytes).unwrap_or_default();
        let unit = names.iter().filter_map(|name| list.find(name));
        let persons = &self.task_watch.persons;
        let texts: Vec<String> = unit.map(|item| persons.text(&item.name, &item.text)).collect();
        if texts.is_empty() { vec![persons.text(&started.task.name, &started.task.text)] } else { texts }
    }

    /// Returns how many tests the attempt removed because its task asks for it.
    fn removed_by_order(&self, started: &StartedIteration<'_>, sealed: &Sealed) -> Result<u64> {
        let texts = self.texts_of(started);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let Some(tree) = sealed.tree.as_ref().filter(|_| orders_removal(&texts, started.languages)) else {
            return Ok(0);
        };
        let (files, _) = self.changed_since_trusted(&started.slot, tree)?;
        Ok(findings(&files).removed_count() as u64)
    }

    fn changed_since_trusted(&self, slot: &Slot, now: &ObjectId) -> Result<Changes> {
        let trusted = &self.judging.trusted;
        let Some(from) = trusted.contents() else { return Ok(Default::default()) };
        let changes = self.recorder.differences(Some(slot), from, now)?;
        let changes = trusted.since_edits(changes);
        let prefix = self.project_prefix();
        let own: Vec<String> =
            self.judging.own_files.paths().iter().map(|path| format!("{prefix}{path}")).collect();
        let gone: Vec<String> =
            changes.iter().filter(|change| change.after.is_none()).map(PathChange::name).collect();
        let gone: Vec<&str> = gone.iter().map(String::as_str).collect();
        let read: Vec<&PathChange> = changes
            .iter()
            .filter(|change| {
                let name = change.name();
                let is_new = change.before.is_none();
                is_worth_reading(&name) || own.contains(&name) || is_new && may_have_moved(&name, &gone)
            })
            .take(MAX_READ_FILES)
            .collect();
        let entries = read.iter().flat_map(|change| change.before.iter().chain(&change.after));
        let contents = self.recorder.contents_of(slot, entries, MAX_FILE_BYTES)?;
        let files = read.iter().map(|change| changed_file(change, &contents)).collect();
        Ok((files, changes))
    }

    /// Returns what the path of a file in the project's root begins with, from the repository's root.
    fn project_prefix(&self) -> String {
        let root = self.recorder.work_tree().relative(&self.inputs.project_root);
        if root.is_empty() || Utf8Path::new(&root).is_absolute() { String::new() } else { format!("{root}/") }
    }

    /// Returns true if no file changed since the first attempt at the task, and the iteration that did its work and
    /// opened its box again.
    fn idle(&self, started: &StartedIteration<'_>, now: &ObjectId) -> Result<(bool, Option<u32>)> {
        let Some(before) = &started.begin.tips.snapshot else { return Ok((false, None)) };
        if self.is_work(started, &self.recorder.differences(Some(&started.slot), before, now)?) {
            return Ok((false, None));
        }
        let store = self.inputs.store;
        let entries = store.iterations_of(&self.session.feature, MAX_ITERATIONS)?;
        let name = &started.task.name;
        let done_in = entries.iter().rev().find(|entry| entry.reopens(name)).and_then(LogEntry::iteration);
        let since = entries.iter().rposition(|entry| entry.closes(name)).map_or(0, |at| at + 1);
        let first = entries[since..].iter().find(|entry| entry.is_of(name));
        let Some(snapshot) = first.and_then(LogEntry::snapshot) else {
            return Ok((true, done_in));
        };
        match store.snapshot_before(&snapshot)? {
            Some(first) => {
                let changes = self.recorder.differences(Some(&started.slot), &first, now)?;
                Ok((!self.is_work(started, &changes), done_in))
            }
            // What it began with is not known any more.
            None => Ok((false, done_in)),
        }
    }

    /// Returns true if something was changed beyond new empty files and modes, or the tasks ask for just these.
    fn is_work(&self, started: &StartedIteration<'_>, changes: &[PathChange]) -> bool {
        let texts = self.texts_of(started);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        changes.iter().any(|change| {
            let is_bare = match (&change.before, &change.after) {
                (None, Some(after)) => EMPTY.contains(&after.id().as_str()),
                (Some(before), Some(after)) => before.id() == after.id(),
                _ => false,
            };
            !is_bare || asks_for_bare_file(&texts, &change.name())
        })
    }

    /// Runs the validation with its own files as they were in the trusted state, and undoes that. Returns how it ended,
    /// and the files; `None` if they could not be put back.
    fn validate_with_trusted_files(
        &mut self,
        started: &StartedIteration<'_>,
        sealed: &Sealed,
        own_files: &OwnFiles,
        files: &[ChangedFile],
        changes: &[PathChange],
    ) -> Result<Option<(Validation, Tally, Vec<String>)>> {
        let place = self.recorder.place().clone();
        let rollback = Rollback { store: self.inputs.store, work_tree: self.inputs.work_tree, place: &place };
        let here = rollback.read()?;
        let reversed = |path: &str| {
            let mut change = changes.iter().find(|change| change.name() == path)?.clone().reversed();
            // The validation may have put it back itself.
            if let Some(rewritten) = sealed.rewritten.iter().find(|it| it.path == change.path) {
                change.before.clone_from(&rewritten.after);
            }
            Some(change)
        };
        let write =
            |change: &PathChange, bytes| here.work_tree.change_to(here.private_index(), change, bytes);
        let wanted = restored_own_files(own_files, (files, &self.project_prefix()), &reversed, &write)?;
        let what = "the validation's own files as they were trusted";
        let validation = self.validate_changed(started, &wanted, what, &mut |it| it.run_again(started))?;
        let paths = names(wanted.iter().map(|change| &change.path));
        Ok(validation.map(|(validation, tests)| (validation, tests, paths)))
    }

    /// Makes changes to the work tree, runs a validation, and undoes them. Returns how it ended; `None` if they could not be
    /// made.
    pub(super) fn validate_changed<T>(
        &mut self,
        started: &StartedIteration<'_>,
        wanted: &[PathChange],
        what: &str,
        run: &mut dyn FnMut(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        let place = self.recorder.place().clone();
        let rollback = Rollback { store: self.inputs.store, work_tree: self.inputs.work_tree, place: &place };
        let at = self.inputs.clock.now();
        let here = rollback.read()?;
        self.recorder.note_change();
        let put_back = rollback.put_back(&here, wanted, &started.slot, PutBackKind::ForOneRun, what, at);
        let (point, stay) = match put_back {
            Ok(done) => done,
            Err(error) => {
                self.warn(format!("{what} could not be put back for a run of the validation: {error:#}"));
                if let Some(PutBack { point, .. }) = PutBack::noted_in(&started.slot)? {
                    rollback.settle(&point, Side::Found)?;
                    PutBack::forget(&started.slot)?;
                }
                return Ok(None);
            }
        };
        let validation = if stay.is_empty() { Some(run(self)?) } else { None };
        let left = rollback.settle(&point, Side::Found)?;
        PutBack::forget(&started.slot)?;
        for paths in [stay, left] {
            if !paths.is_empty() {
                let names = join_files(&names(&paths), MAX_NAMED_FILES);
                self.warn(format!(
                    "somebody edits {names}, which stays as it is\nhint: what it was is on {}; \
                     `{RALPH} restore --undo {}` brings it back",
                    point.refname, point.number
                ));
            }
        }
        Ok(validation)
    }

    /// Runs the validation on the tip alone, if nothing is known of that. Returns `None` if it did not run, and else whether it
    /// passed: then the tests of that run are trusted. If it failed, the session ends.
    pub(super) fn try_tip(&mut self, started: &StartedIteration<'_>) -> Result<Option<bool>> {
        let Some(tip) = self.judging.trusted.untried.take() else { return Ok(None) };
        let (Some(command), Some(from)) =
            (self.inputs.config.settings.validation_command.clone(), started.begin.tips.snapshot.clone())
        else {
            return Ok(None);
        };
        let now = self.recorder.last_read(&started.slot)?;
        let changes = self.recorder.differences(Some(&started.slot), &from, &now)?;
        let wanted: Vec<PathChange> = changes.into_iter().map(PathChange::reversed).collect();
        let scratch = Slot::within(&self.spool.scratch());
        let what = "the tip of the branch alone";
        let mut run = |running: &mut Self| {
            running.begin_phase(started.begin.iteration, Phase::Validation { command: command.clone() });
            let ran = running.run_validation(&command, &scratch, OUTPUTS, &started.environment)?;
            running.restore_spool(started)?;
            Ok(ran)
        };
        let Some((alone, tests)) = self.validate_changed(started, &wanted, what, &mut run)? else {
            return Ok(None);
        };
        if alone.exit.reason == Some(ExitReason::Interrupted) {
            return Ok(None);
        }
        let passed = alone.exit.is_success();
        if !passed {
            let words =
                validation_cause(&scratch, &alone, self.recorder.redactor(), &self.inputs.project_root)?;
            let words = words.map(|(words, _)| words);
            self.state.target_red = Some(self.target_red(started.begin.iteration, &tip, words)?);
        }
        self.judging.trusted.tried(tip, Some(Box::new(tests)), passed);
        Ok(Some(passed))
    }

    /// Runs the validation once more in this attempt.
    fn run_again(&mut self, started: &StartedIteration<'_>) -> Result<(Validation, Tally)> {
        let StartedIteration { slot, begin, environment, .. } = started;
        let command = self.inputs.config.settings.validation_command.clone().unwrap_or_default();
        // Reports are of this run if they are newer.
        self.control.publish_phase(Phase::Validation { command: command.clone() }.as_str())?;
        let (validation, tests) = self.run_validation(&command, slot, SECOND_OUTPUTS, environment)?;
        self.recorder.note_change();
        (self.say)(&Event::ValidationFinished {
            iteration: begin.iteration,
            command,
            exit: validation.exit,
            duration_ms: validation.duration_ms,
            tests: Some(Box::new(tests.clone())),
        });
        self.restore_spool(started)?;
        Ok((validation, tests))
    }
}

/// `new failure: NAME`, with the number of further ones.
fn new_failure(names: &[String]) -> String {
    let more = match names.len() {
        0 | 1 => String::new(),
        count => format!(" (+{})", count - 1),
    };
    format!("new failure: {}{more}", names.first().map(String::as_str).unwrap_or_default())
}

pub(crate) fn changed_file(change: &PathChange, contents: &HashMap<ObjectId, Vec<u8>>) -> ChangedFile {
    let entries = change.before.iter().chain(&change.after);
    // Of a file that is too large on one side nothing is compared.
    let is_read = entries.into_iter().all(|entry| contents.contains_key(entry.id()));
    let [before, after] = [&change.before, &change.after].map(|entry| {
        let id = entry.as_ref()?.id();
        Some(if is_read { contents[id].clone() } else { Vec::new() })
    });
    ChangedFile { path: change.name(), before, after }
}

/// Returns the files of the project that are the same under another path.
pub(crate) fn moved(changes: &[PathChange], prefix: &str) -> Vec<(String, String)> {
    let mut new: HashMap<&ObjectId, Vec<String>> = HashMap::new();
    for change in changes.iter().filter(|change| change.before.is_none()) {
        let name = change.name();
        let path = name.strip_prefix(prefix).map(str::to_owned);
        if let (Some(after), Some(path)) = (&change.after, path) {
            new.entry(after.id()).or_default().push(path);
        }
    }
    let gone = changes.iter().filter(|change| change.after.is_none());
    let moved = gone.filter_map(|change| {
        let name = change.name();
        let from = name.strip_prefix(prefix)?;
        // Many small files are the same: the one whose path ends alike.
        let alike =
            |to: &&String| from.bytes().rev().zip(to.bytes().rev()).take_while(|(a, b)| a == b).count();
        let to = new.get(change.before.as_ref()?.id())?.iter().max_by_key(alike)?;
        Some((from.to_owned(), to.clone()))
    });
    moved.collect()
}

/// Returns the names of those of the validation's own files that are changed. `prefix` is what the path of a file in the project's root
/// begins with.
pub(crate) fn changed_own_files(own_files: &OwnFiles, files: &[ChangedFile], prefix: &str) -> Vec<String> {
    // Blanks and ends of lines, which formatters change, are no change.
    let trimmed = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(without_trailing_blanks);
    let before: Lookup<'_> = &|path| trimmed(&own_file(files, prefix, path)?.before);
    let after: Lookup<'_> = &|path| trimmed(&own_file(files, prefix, path)?.after);
    own_files.changed(before, after)
}

/// Returns what brings the validation's own files back to what they were. `reversed` gives what undoes the change of a path, and `write`
/// the change to contents that are neither those of before nor of now.
pub(crate) fn restored_own_files(
    own_files: &OwnFiles,
    (files, prefix): (&[ChangedFile], &str),
    reversed: &dyn Fn(&str) -> Option<PathChange>,
    write: &dyn Fn(&PathChange, Vec<u8>) -> Result<PathChange>,
) -> Result<Vec<PathChange>> {
    let before: Lookup<'_> = &|path| own_file(files, prefix, path)?.before.clone();
    let after: Lookup<'_> = &|path| own_file(files, prefix, path)?.after.clone();
    let mut wanted = Vec::new();
    for (path, bytes) in own_files.restored(before, after) {
        let Some(change) = reversed(&format!("{prefix}{path}")) else { continue };
        let file = own_file(files, prefix, &path);
        wanted.push(match bytes {
            // A part of a file, the rest of which stays as it is.
            Some(bytes) if file.is_some_and(|it| it.before.as_ref() != Some(&bytes)) => {
                write(&change, bytes)?
            }
            _ => change,
        });
    }
    Ok(wanted)
}

/// Returns the file at this path of the project, whose files have the prefix.
pub(crate) fn own_file<'f>(files: &'f [ChangedFile], prefix: &str, path: &str) -> Option<&'f ChangedFile> {
    files.iter().find(|file| file.path.strip_prefix(prefix) == Some(path))
}
