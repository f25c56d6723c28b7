//! The validation outside of iterations, and the states on which it passed.

use std::time::Duration;

use anyhow::Result;
use failure_excerpt::{Ran, Tally};
use tasklist::TaskList;

use crate::validate;
use ralph_core::config::{Pass, Until};
use ralph_core::judge::{KnownFailures, NothingToRun, known_failures};
use ralph_core::progress::cause;
use ralph_core::record::{
    Baseline, Event, ExitReason, FlagCode, LogEntry, Phase, Refusal, Validation, join_files, join_truncated,
};
use ralph_os::process::host_name;
use ralph_store::{SessionRefs, Slot, ValidationTurn, names, passed_states};

use super::iteration_context::{nothing_to_run, tally, validation_cause};
use super::lane;
use super::left_behind::UserFiles;
use super::recorder::Opening;
use super::running::Running;
use super::test_reports::{keep_named_tests, read_reports};
use super::trusted::{self, BaselineRun};
use super::units;
use super::unseen::file_time;

/// The files of a slot with what the validation printed.
pub(super) const OUTPUTS: [&str; 2] = [names::VALIDATION_STDOUT, names::VALIDATION_STDERR];

/// Maximum number of tests that a refusal names.
const MAX_NAMED_TESTS: usize = 5;

/// Maximum number of files that a warning names.
const MAX_NAMED_FILES: usize = 5;

/// A validation that takes longer, in milliseconds, is not tried again before a start is refused.
const MAX_REPEATED_MS: u64 = 5 * 60_000;

/// Time between two looks at whether another loop's validation has ended.
const TURN_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Returns what keeps a session from starting whose validation fails, and the ways on.
fn refusal_of(command: &str, baseline: &Baseline) -> Refusal {
    let failing = baseline.tests.as_ref().and_then(|tests| tests.failing.as_deref()).unwrap_or_default();
    let names = match failing {
        [] => String::new(),
        names => format!("\n  failing tests: {}", join_truncated(names, MAX_NAMED_TESTS)),
    };
    let known = if failing.is_empty() {
        ""
    } else {
        " If these failures are known: --set validation.pass=no-new-failures."
    };
    let cause = baseline.failure().unwrap_or_default();
    let (code, took) = (baseline.exit, cause::rounded(baseline.duration_ms));
    Refusal::new(format!(
        "the validation fails before anything was changed, so no task can be done\n  \
         {command}: exit code {code} after {took}: {cause}{names}"
    ))
    .with_hint(format!(
        "is the command right? `--validate CMD` sets another.{known} Start all the same: --force"
    ))
}

impl Running<'_> {
    /// Runs the validation once before the first iteration, if that is wanted and its end is not known already. Takes the
    /// first snapshot again if it changed files.
    pub(super) fn measure_baseline(&mut self, opening: &mut Opening<'_>) -> Result<BaselineRun> {
        let settings = &self.inputs.config.settings;
        let command = settings.validation_command.clone().filter(|_| settings.validation_baseline);
        let Some(command) = command.filter(|_| !self.is_to_stop()) else {
            return Ok(BaselineRun::default());
        };
        if let Some(tests) = lane::tests_of_tip(self.inputs)? {
            return Ok(BaselineRun { baseline: None, is_known_to_pass: true, tests });
        }
        if let Some(measured) = self.baseline_of_group(opening)? {
            return Ok(measured);
        }
        let state = self.passing_state(Some(&opening.slot));
        let passed = state.and_then(|state| passed_states::find(self.inputs.work_tree, &state));
        if let Some(tests) = passed {
            return Ok(BaselineRun { baseline: None, is_known_to_pass: true, tests: tests.map(Box::new) });
        }
        let began = file_time(&self.recorder);
        let baseline = self.run_baseline(&command, &opening.slot)?;
        self.judging.unseen.note_files_of_validation(self.inputs, &self.recorder, began);
        lane::check_dependencies(self.inputs, self.say, &opening.slot, baseline.as_ref())?;
        let changed = self.recorder.open_again(opening, self.inputs.clock.now());
        if !changed.is_empty() {
            let names = join_files(&changed, MAX_NAMED_FILES);
            self.warn(format!("the validation changed files before the first iteration: {names}"));
        }
        let tests = baseline.as_ref().and_then(|baseline| baseline.tests.clone());
        Ok(BaselineRun { baseline, is_known_to_pass: false, tests })
    }

    /// Returns what the loop measured that began the group, if this one begins with the same files.
    fn baseline_of_group(&self, opening: &Opening<'_>) -> Result<Option<BaselineRun>> {
        let first = self.inputs.group.as_ref().and_then(|group| group.first.clone());
        let (Some(first), Some(snapshot)) = (first, opening.snapshot()) else { return Ok(None) };
        let store = self.inputs.store;
        let log = store.session(&SessionRefs::new(&self.session.feature, first))?;
        let begun = log.and_then(|log| store.first_readable_session(&log));
        let Some((trusted, baseline)) = begun.and_then(|begun| Some((begun.trusted?, begun.baseline))) else {
            return Ok(None);
        };
        if !self.recorder.differences(Some(&opening.slot), &trusted.snapshot, snapshot)?.is_empty() {
            return Ok(None);
        }
        let is_known_to_pass = baseline.is_none() && trusted.passed;
        Ok(Some(BaselineRun { baseline, is_known_to_pass, tests: trusted.tests }))
    }

    /// Refuses to start with a validation that fails whatever an agent does, and leaves nothing behind. It runs once more
    /// if that does not take long; what passes then is the baseline.
    pub(super) fn refuse_red_start(
        &mut self,
        tasks: &TaskList,
        opening: &mut Opening<'_>,
        measured: &mut BaselineRun,
        files: &UserFiles,
    ) -> Result<()> {
        let settings = &self.inputs.config.settings;
        let (Some(command), Some(first)) = (settings.validation_command.clone(), measured.baseline.clone())
        else {
            return Ok(());
        };
        let part = self.inputs.part(tasks)?;
        // Who began the group decided it for all.
        let has_begun = self.inputs.group.as_ref().is_some_and(|group| group.first.is_some());
        if has_begun
            || self.inputs.is_forced
            || self.inputs.job.until != Until::Tasks
            || settings.validation_pass != Pass::Green
            || !units::has_several(tasks, part.as_ref(), settings.unit_now())
            || units::has_test_before_its_code(tasks)
            || files.has_attempts() && !self.is_trusted_tree(opening, measured)?
        {
            return Ok(());
        }
        let again = if first.duration_ms < MAX_REPEATED_MS {
            self.begin_again(&command, opening)?
        } else {
            Some(first.clone())
        };
        let Some(again) = again else { return Ok(()) };
        if again.passed() {
            let cause = first.failure().unwrap_or_default();
            self.warn(format!("the validation failed, and passed when it ran again: it is flaky ({cause})"));
            measured.tests.clone_from(&again.tests);
            measured.baseline = Some(again);
            return Ok(());
        }
        if !again.failed_by_itself() {
            return Ok(());
        }
        let refusal = refusal_of(&command, &again);
        let hint = refusal.hint.clone().unwrap_or_default();
        (self.say)(&Event::StartRefused {
            feature: self.session.feature.clone(),
            validation: command,
            baseline: again,
            message: refusal.message.clone(),
            hint,
        });
        Err(refusal.into())
    }

    fn begin_again(&mut self, command: &str, opening: &mut Opening<'_>) -> Result<Option<Baseline>> {
        // Streams are appended to.
        for name in OUTPUTS {
            opening.slot.write(name, b"")?;
        }
        let again = self.run_baseline(command, &opening.slot)?;
        self.recorder.open_again(opening, self.inputs.clock.now());
        Ok(again)
    }

    /// Returns true if the work tree is what attempts are held against.
    fn is_trusted_tree(&self, opening: &Opening<'_>, measured: &BaselineRun) -> Result<bool> {
        let trusted = trusted::at_start(self.inputs, None, opening.snapshot(), measured)?;
        let (Some(trusted), Some(now)) = (trusted, opening.snapshot()) else { return Ok(false) };
        Ok(self.recorder.differences(Some(&opening.slot), &trusted.snapshot, now)?.is_empty())
    }

    /// Runs the validation with its output in `slot`. Returns `None` if it was stopped.
    pub(super) fn run_baseline(&mut self, command: &str, slot: &Slot) -> Result<Option<Baseline>> {
        self.begin_phase(0, Phase::Validation { command: command.to_owned() });
        let environment = self.inputs.environment(&self.session.id, "", 0, 0);
        let (validation, tests) = self.run_validation(command, slot, OUTPUTS, &environment)?;
        let _uncleared = self.control.clear_phase().is_err();
        self.warn_of_leftovers(&validation.leftovers);
        if validation.exit.reason == Some(ExitReason::Interrupted) {
            return Ok(None);
        }
        keep_named_tests(slot, &tests)?;
        self.judging.has_said_no_tests |= validation.has_no_tests;
        let failure =
            validation_cause(slot, &validation, self.recorder.redactor(), &self.inputs.project_root)?;
        let (cause, fingerprint) = failure.unzip();
        Ok(Some(Baseline {
            exit: validation.exit.code,
            exit_reason: validation.exit.reason,
            duration_ms: validation.duration_ms,
            no_tests: validation.has_no_tests,
            cause,
            fingerprint: fingerprint.flatten(),
            tests: Some(Box::new(tests)),
        }))
    }

    /// Runs the validation with its output in two files of `slot`, and counts the tests that it printed or reported. One that fails
    /// while another loop's runs is run again alone: they may have met at a port or in a database.
    pub(super) fn run_validation(
        &mut self,
        command: &str,
        slot: &Slot,
        outputs: [&str; 2],
        environment: &[(String, String)],
    ) -> Result<(Validation, Tally)> {
        // What runs a second time is to tell chance from fault.
        let is_alone = self.inputs.config.settings.validation_alone || outputs != OUTPUTS;
        let turn = self.validation_turn(command, is_alone)?;
        let (first, tests) = self.run_validation_once(command, slot, outputs, environment)?;
        if turn.is_none_or(|turn| turn.was_alone())
            || first.passed()
            || first.exit.reason == Some(ExitReason::Interrupted)
            || self.is_known_failure(&first, &tests)
        {
            return Ok((first, tests));
        }
        let words = validation_cause(slot, &first, self.recorder.redactor(), &self.inputs.project_root)?;
        let words = words.map_or_else(|| format!("exit code {}", first.exit.code), |(words, _)| words);
        let _turn = self.validation_turn(command, true)?;
        slot.create()?;
        for name in outputs {
            // Streams are appended to.
            slot.write(name, b"")?;
        }
        self.begin_phase(self.state.next, Phase::Validation { command: command.to_owned() });
        let (mut again, tests) = self.run_validation_once(command, slot, outputs, environment)?;
        if again.passed() {
            again.failed_beside = Some(format!(
                "failed beside another validation ({words}), passes alone: --set validation.alone=true"
            ));
        }
        Ok((again, tests))
    }

    /// Waits for the turn of a validation where other loops work on the branch. `None` where none does, and where a signal came.
    fn validation_turn(&mut self, command: &str, is_alone: bool) -> Result<Option<ValidationTurn>> {
        let inputs = self.inputs;
        let (Some(_), Some(lane)) = (&inputs.group, inputs.work_tree.lane()) else { return Ok(None) };
        let mut has_waited = false;
        let mut pause = || {
            if !std::mem::replace(&mut has_waited, true) {
                self.begin_phase(self.state.next, Phase::Waiting);
            }
            inputs.interrupt.pause(TURN_POLL_INTERVAL);
            inputs.interrupt.signal().is_none()
        };
        let turn = ValidationTurn::wait(inputs.store.repository(), &lane.branch, is_alone, &mut pause)?;
        if has_waited {
            self.begin_phase(self.state.next, Phase::Validation { command: command.to_owned() });
        }
        Ok(turn)
    }

    /// Returns true if only tests fail that failed before the start, where that counts as passed.
    pub(super) fn is_known_failure(&self, validation: &Validation, tests: &Tally) -> bool {
        let legacy = self.session.legacy_failures.as_deref();
        let legacy = legacy.filter(|_| self.inputs.config.settings.validation_pass == Pass::NoNewFailures);
        let trusted = self.judging.trusted.tests().and_then(Tally::executed);
        legacy.is_some_and(|legacy| {
            let found = known_failures(validation.exit, Some(tests), legacy, trusted);
            matches!(found, KnownFailures::Only(_))
        })
    }

    fn run_validation_once(
        &mut self,
        command: &str,
        slot: &Slot,
        outputs: [&str; 2],
        environment: &[(String, String)],
    ) -> Result<(Validation, Tally)> {
        let mut context = self.inputs.validation_context(slot, environment, self.marker());
        [context.stdout, context.stderr] = outputs.map(|name| slot.path(name));
        let mut validation = validate::run(command, &context, self.inputs.interrupt)?;
        let tests = self.tally(slot, outputs)?;
        validation.has_no_tests = self.has_no_tests(slot, outputs, &validation, &tests)?;
        Ok((validation, tests))
    }

    /// Returns what the validation that just ended printed of its tests into two files of `slot`, or wrote of them into reports.
    pub(super) fn tally(&mut self, slot: &Slot, [stdout, stderr]: [&str; 2]) -> Result<Tally> {
        let root = &self.inputs.project_root;
        let tally = tally(slot, stdout, stderr, self.recorder.redactor(), root)?;
        match read_reports(self.inputs, &self.recorder, self.control.phase_since()) {
            Some(Ok(tests)) => return Ok(tally.with_report(tests)),
            Some(Err(error)) if !std::mem::replace(&mut self.judging.has_said_no_report, true) => {
                self.warn(format!("`validation.report`: {error:#}: the output of the validation counts"));
            }
            Some(Err(_)) | None => {}
        }
        Ok(tally)
    }

    /// Returns true if a validation, whose output is in `slot`, had nothing to run as there are no tests yet: no recorded run
    /// had one, and no file holds one. Whatever else it says does not count then, unless `validation.refuse` has `no-tests`.
    pub(super) fn has_no_tests(
        &mut self,
        slot: &Slot,
        outputs: [&str; 2],
        validation: &Validation,
        tests: &Tally,
    ) -> Result<bool> {
        let refuse = &self.inputs.config.settings.validation_refuse;
        let has_run = |entry: &LogEntry| {
            entry.tests().is_some_and(|tests| tests.passed.unwrap_or(0) + tests.failed.unwrap_or(0) > 0)
        };
        if refuse.iter().any(|code| code == FlagCode::NoTests.as_str())
            || self.judging.has_tests
            || self.judging.trusted.tests().is_some_and(|tests| tests.ran == Ran::Some)
            || self.past.memory.entries().iter().any(has_run)
        {
            return Ok(false);
        }
        let end = if validation.exit.is_success() {
            // A runner that is content without tests.
            (tests.ran == Ran::None && tests.skipped == Some(0)).then_some(NothingToRun::Missing)
        } else {
            nothing_to_run(slot, outputs, validation, tests)?
        };
        let Some(end) = end else { return Ok(false) };
        let (tree, _) = self.recorder.peek(slot)?;
        Ok(end.is_confirmed_by(&self.recorder.paths(slot, &tree)?))
    }

    /// Names the state that the work tree was last seen in, together with the command and where it runs. `None` if that is
    /// not known for sure.
    pub(super) fn passing_state(&mut self, slot: Option<&Slot>) -> Option<String> {
        let command = self.inputs.config.settings.validation_command.as_ref()?;
        // What cannot be listed is validated once more.
        let listing = self.recorder.contents_listing(slot).ok().flatten()?;
        let (host, root) = (host_name(), &self.inputs.project_root);
        let value = [host.as_str(), root.as_str(), command.as_str(), listing.as_str()].join("\0");
        Some(self.identity.fingerprint("passing state", &value))
    }
}
