//! The validation outside of iterations, and the states on which it passed.

use anyhow::Result;
use failure_excerpt::Tally;
use redact_stream::Redactor;

use crate::validate;
use ralph_core::record::{Baseline, Event, ExitReason, Phase, SessionId, join_files};
use ralph_os::process::{Interrupt, host_name};
use ralph_store::{Control, Identity, PassedStates, Slot, Spool, names};

use super::iteration_context::{tally, validation_cause};
use super::plan::Plan;
use super::recorder::{Opening, Recorder};

/// Maximum number of files that a warning names.
const MAX_NAMED_FILES: usize = 5;

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

    /// Returns true if the validation passes before the first iteration.
    pub fn passes(&self) -> bool {
        self.is_known_to_pass || self.baseline.as_ref().is_some_and(Baseline::passed)
    }
}

/// The session in which a validation runs.
pub struct Context<'c> {
    pub session: &'c SessionId,
    pub spool: &'c Spool,
    pub control: &'c Control,
    pub identity: &'c Identity,
}

/// Runs the validation once before the first iteration, if that is wanted and its end is not known already. Takes the
/// first snapshot again if it changed files.
pub fn measure(
    plan: &Plan<'_>,
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    opening: &mut Opening<'_>,
    say: &mut dyn FnMut(&Event),
) -> Result<BaselineRun> {
    let settings = &plan.config.settings;
    let Some(command) = settings.validation_command.as_ref().filter(|_| settings.validation_baseline) else {
        return Ok(BaselineRun::default());
    };
    if is_to_stop(plan.interrupt, context.control) {
        return Ok(BaselineRun::default());
    }
    let state = state(plan, recorder, context.identity, Some(&opening.slot));
    let passed = state.and_then(|state| PassedStates::of(plan.work_tree).find(&state));
    if let Some(tests) = passed {
        return Ok(BaselineRun { baseline: None, is_known_to_pass: true, tests: tests.map(Box::new) });
    }
    let check = Check { command, slot: &opening.slot, redactor: recorder.redactor() };
    let baseline = run(plan, check, context, say)?;
    let mut warn = |message: String| say(&Event::Warning { message });
    let changed = recorder.open_again(opening, plan.clock.now());
    if !changed.is_empty() {
        let names = join_files(&changed, MAX_NAMED_FILES);
        warn(format!("the validation changed files before the first iteration: {names}"));
    }
    if let Some(cause) = baseline.as_ref().and_then(Baseline::failure) {
        warn(format!("the validation already fails before the first iteration: {cause}"));
    }
    let tests = baseline.as_ref().and_then(|baseline| baseline.tests.clone());
    Ok(BaselineRun { baseline, is_known_to_pass: false, tests })
}

/// A run of the validation outside of iterations.
#[derive(Clone, Copy)]
pub struct Check<'c> {
    pub command: &'c str,
    /// Where its output goes.
    pub slot: &'c Slot,
    pub redactor: &'c Redactor,
}

/// Returns `None` if it was stopped.
pub fn run(
    plan: &Plan<'_>,
    check: Check<'_>,
    context: &Context<'_>,
    say: &mut dyn FnMut(&Event),
) -> Result<Option<Baseline>> {
    let Check { command, slot, redactor } = check;
    let phase = Phase::Validation { command: command.to_owned() };
    // Who looks on from elsewhere knows less then, and nothing else is lost.
    let _unpublished = context.control.publish_phase(phase.as_str()).is_err();
    say(&Event::PhaseStarted { iteration: 0, phase });
    let environment = plan.environment(context.session, "", 0, 0);
    let bench = plan.bench(slot, &environment, plan.marker(context.session, context.spool));
    let validation = validate::run(command, &bench, plan.interrupt)?;
    let _uncleared = context.control.clear_phase().is_err();
    if !validation.leftovers.is_empty() {
        let names = validation.leftovers.join(", ");
        say(&Event::Warning { message: format!("stopped what was left running in the background: {names}") });
    }
    if validation.exit.reason == Some(ExitReason::Interrupted) {
        return Ok(None);
    }
    let cause = validation_cause(slot, &validation, redactor, &plan.project_root)?;
    Ok(Some(Baseline {
        exit: validation.exit.code,
        exit_reason: validation.exit.reason,
        duration_ms: validation.duration_ms,
        cause,
        tests: Some(Box::new(tally(
            slot,
            names::VALIDATION_STDOUT,
            names::VALIDATION_STDERR,
            redactor,
            &plan.project_root,
        )?)),
    }))
}

fn is_to_stop(interrupt: &Interrupt, control: &Control) -> bool {
    interrupt.signal().is_some() || control.look().is_ok_and(|requests| requests.stop.is_some())
}

/// Names the state that the work tree was last seen in, together with the command and where it runs. `None` if that is
/// not known for sure.
pub fn state(
    plan: &Plan<'_>,
    recorder: &mut Recorder<'_>,
    identity: &Identity,
    slot: Option<&Slot>,
) -> Option<String> {
    let command = plan.config.settings.validation_command.as_ref()?;
    // What cannot be listed is validated once more.
    let listing = recorder.contents_listing(slot).ok().flatten()?;
    let host = host_name();
    let value = [host.as_str(), plan.project_root.as_str(), command.as_str(), listing.as_str()].join("\0");
    Some(identity.fingerprint("passing state", &value))
}
