//! What the judge knows of a session: the trusted state, the validation's own files, and the tests that failed before.

use std::collections::HashMap;

use failure_excerpt::{Level, Ran, Tally};

use ralph_core::config::Pass;
use ralph_core::judge::{OwnFiles, contradiction, selects_by_change};
use ralph_core::record::{Event, FlagCode, Iteration, Outcome, Session, TaskName, join_truncated};

use super::loop_inputs::LoopInputs;
use super::recorder::Recorder;
use super::trusted::{BaselineRun, Trusted};
use super::unseen::UnseenWatch;

/// Largest file of the project that is read to find the validation's own files, in bytes.
const MAX_OWN_FILE_BYTES: u64 = 1 << 20;

/// Maximum number of tests that a message names.
const MAX_NAMED_TESTS: usize = 5;

/// Maximum number of tests that a prompt names.
const MAX_PROMPT_TESTS: usize = 50;

/// What is said once while there is nothing to run.
pub(super) const NO_TESTS_YET: &str =
    "no tests yet: until the first one exists, a task is judged by what it changed";

/// What attempts are judged by.
#[derive(Debug, Default)]
pub(super) struct Judging {
    pub trusted: Trusted,
    /// The files that the validation itself consists of.
    pub own_files: OwnFiles,
    /// True if the validation chooses its tests by what changed: then their number says nothing.
    pub selects_by_change: bool,
    /// With `green`, the tests that failed before the start, as long as no other failure was seen.
    failing_before: Option<Vec<String>>,
    /// What is known of files that no snapshot shows.
    pub unseen: UnseenWatch,
    /// What the validation printed when it last passed, for the mark that lets a baseline be left out.
    pub passing_tests: Option<Tally>,
    /// True if a recorded validation of the feature ran a test.
    pub has_tests: bool,
    /// The tests of each attempt of this start that passed in a second run.
    pub flaky: Vec<Vec<String>>,
    /// Of each task that was refused for the validation's own files, these, and how often in a row.
    refused_for: HashMap<TaskName, (Vec<String>, u32)>,
    /// True if it was said that there are no tests yet.
    pub has_said_no_tests: bool,
    /// True if it was said that a validation wrote no report.
    pub has_said_no_report: bool,
}

impl Judging {
    /// Finds what attempts are judged by, notes it in `session`, and says what a person should know of it. Returns true if
    /// that is that the validation fails.
    pub fn prepare(
        &mut self,
        inputs: &LoopInputs<'_>,
        session: &mut Session,
        baseline: &BaselineRun,
        say: &mut dyn FnMut(&Event),
    ) -> bool {
        let settings = &inputs.config.settings;
        let Some(command) = &settings.validation_command else { return false };
        let lookup =
            |path: &str| inputs.feature.files.read(&inputs.project_root.join(path), MAX_OWN_FILE_BYTES).ok();
        self.own_files = OwnFiles::find(command, &lookup);
        self.selects_by_change = selects_by_change(command, &self.own_files.contents(&lookup));
        session.validation_files = self.own_files.names(&lookup);
        self.passing_tests = baseline.tests.as_deref().filter(|_| baseline.passes()).cloned();
        if let Some(message) = self.passing_tests.as_ref().and_then(contradiction) {
            say(&Event::Warning { message });
        }
        let failing = baseline.tests.as_ref().and_then(|tests| tests.failing.as_ref());
        match settings.validation_pass {
            Pass::Green => {
                session.legacy_failures = None;
                let failing = failing.filter(|failing| !baseline.passes() && !failing.is_empty());
                self.failing_before = failing.cloned();
                let Some(message) = self.why_nothing_can_be_done() else { return false };
                say(&Event::Warning { message });
            }
            Pass::NoNewFailures => {
                if session.legacy_failures.is_none() {
                    session.legacy_failures =
                        if baseline.passes() { Some(Vec::new()) } else { failing.cloned() };
                }
                let message = match &session.legacy_failures {
                    None => "the names of the tests that fail before the start are not known: all must \
                             pass, as with `validation.pass = \"green\"`"
                        .to_owned(),
                    Some(failing) if !failing.is_empty() => fails_before(failing),
                    Some(_) => return false,
                };
                say(&Event::Warning { message });
            }
        }
        true
    }

    /// Takes up what is trusted, once the first record is written.
    pub fn begin(&mut self, session: &Session, recorder: &Recorder<'_>) {
        self.trusted.state.clone_from(&session.trusted);
        for [from, to] in session.trusted.iter().flat_map(|trusted| &trusted.edited) {
            // Snapshots may be deleted meanwhile: then what people edited counts as the agent's.
            self.trusted.edited(recorder.differences(None, from, to).unwrap_or_default());
        }
    }

    /// Returns why no task can be done, if nothing failed so far but tests that failed before the start.
    pub fn why_nothing_can_be_done(&self) -> Option<String> {
        let failing = self.failing_before.as_ref()?;
        Some(format!(
            "{}; no task can be done until they pass, or with `--set validation.pass=no-new-failures`",
            fails_before(failing)
        ))
    }

    /// Updates what later iterations are judged by with one that ended.
    pub fn ended(&mut self, session: &mut Session, iteration: &Iteration) {
        self.trusted.ended(iteration);
        let tests = iteration.evidence.as_ref().and_then(|evidence| evidence.tests.as_ref());
        let failing = tests.and_then(|tests| tests.failing.as_ref());
        self.failing_before = self.failing_before.take().filter(|known| {
            failing
                .is_some_and(|failing| !failing.is_empty() && failing.iter().all(|name| known.contains(name)))
        });
        narrow(&mut session.legacy_failures, iteration);
        if let Some(task) = iteration.task.as_ref().filter(|_| iteration.is_attempt()) {
            let evidence = iteration.evidence.as_ref();
            let judged = evidence.filter(|evidence| evidence.refused == Some(FlagCode::Judge));
            let paths = judged.and_then(|evidence| evidence.second.as_ref()?.paths.clone());
            let before = self.refused_for.remove(task);
            if let Some(paths) = paths {
                let times = before.filter(|(before, _)| *before == paths).map_or(1, |(_, times)| times + 1);
                self.refused_for.insert(task.clone(), (paths, times));
            }
        }
        self.flaky.extend(Some(flaky_tests(iteration)).filter(|tests| !tests.is_empty()));
        self.has_tests |= tests.is_some_and(|tests| tests.ran == Ran::Some);
        if iteration.passed_validation() && iteration.is_green() {
            self.passing_tests = iteration.evidence.as_ref().and_then(|evidence| evidence.tests.clone());
        }
    }

    /// Returns the validation's own files for which a task was refused twice: the old ones cannot pass any more, which another
    /// attempt does not change.
    pub fn needs_its_script(&self, task: &str) -> Option<&[String]> {
        self.refused_for.get(task).filter(|(_, times)| *times >= 2).map(|(paths, _)| paths.as_slice())
    }

    /// Returns what the first lines of a run say beside the validation's command.
    pub fn notes(&self, baseline: &BaselineRun) -> Vec<String> {
        let mut notes = Vec::new();
        if baseline.has_no_tests() {
            notes.push(NO_TESTS_YET.to_owned());
        } else if baseline.tests.as_ref().is_some_and(|tests| tests.level == Level::None) {
            notes.push("its output has no counts of tests".to_owned());
        }
        if self.selects_by_change {
            notes.push("it selects tests by what changed: their number is not compared".to_owned());
        }
        notes
    }
}

/// `the validation fails before the start: 3 tests (a, b, c)`
fn fails_before(failing: &[String]) -> String {
    let tests = if failing.len() == 1 { "test" } else { "tests" };
    let names = join_truncated(failing, MAX_NAMED_TESTS);
    format!("the validation fails before the start: {} {tests} ({names})", failing.len())
}

/// Returns what a prompt says of tests that failed before the start and may go on failing; `None` if there are none.
pub(super) fn may_fail(legacy: Option<&[String]>) -> Option<String> {
    let legacy = legacy.filter(|legacy| !legacy.is_empty())?;
    let names = join_truncated(legacy, MAX_PROMPT_TESTS);
    Some(format!("These tests failed before and may go on failing, no others may: {names}"))
}

/// Takes the tests that a success repaired out of those that may fail.
pub(super) fn narrow(legacy: &mut Option<Vec<String>>, iteration: &Iteration) {
    let Some(legacy) =
        legacy.as_mut().filter(|_| iteration.outcome == Outcome::Success || iteration.published.is_some())
    else {
        return;
    };
    let tests = iteration.evidence.as_ref().and_then(|evidence| evidence.tests.as_ref());
    match tests.and_then(|tests| tests.failing.as_ref()) {
        Some(failing) => legacy.retain(|name| failing.contains(name)),
        None if iteration.exit.validation == Some(0) => legacy.clear(),
        None => {}
    }
}

/// Returns the tests that failed and passed in a second run of the validation.
pub(super) fn flaky_tests(iteration: &Iteration) -> Vec<String> {
    let second = iteration.evidence.as_ref().and_then(|evidence| evidence.second.as_ref());
    second.map(|second| second.flaky.clone()).unwrap_or_default()
}
