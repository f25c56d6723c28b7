//! The validation before the first iteration, and the states on which it passed.

use anyhow::Result;

use crate::process::Interrupt;
use crate::record::{Baseline, Event, ExitReason, ObjectId, Phase, Session, some_of};
use crate::store::{Control, Identity, Slot, Spool};
use crate::validate;

use super::plan::Plan;
use super::recorder::{Opening, Recorder};
use super::told::validation_cause;

/// Most files that a warning names.
const MAX_NAMED_FILES: usize = 5;

/// A state of the work tree on which the validation passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassingState {
    /// What the work tree held, as a tree.
    pub tree: ObjectId,
}

/// What is known of the validation before the first iteration.
#[derive(Debug, Default)]
pub struct Measured {
    /// How it went. `None` if it did not run, or was stopped.
    pub baseline: Option<Baseline>,
    /// Set if it was left out, because it passed on this very state before.
    pub is_known_to_pass: bool,
}

impl Measured {
    /// The state with this tree, if the validation passes on it.
    pub fn passing_state(&self, tree: Option<&ObjectId>) -> Option<PassingState> {
        let passes = self.is_known_to_pass || self.baseline.as_ref().is_some_and(Baseline::passed);
        tree.filter(|_| passes).map(|tree| PassingState { tree: tree.clone() })
    }
}

/// What a baseline needs beside the plan.
pub struct Context<'c, 'a> {
    pub session: &'c Session,
    pub spool: &'c Spool,
    pub control: &'c Control,
    pub identity: &'c Identity,
    pub recorder: &'c mut Recorder<'a>,
}

/// Runs the validation once, if that is wanted and not known already, and takes the first snapshot again if it changed
/// files.
pub fn measure(
    plan: &Plan<'_>,
    context: Context<'_, '_>,
    opening: &mut Opening<'_>,
    say: &mut dyn FnMut(&Event),
) -> Result<Measured> {
    let Context { session, spool, control, identity, recorder } = context;
    let settings = &plan.config.settings;
    let Some(command) = settings.validation_command.as_ref().filter(|_| settings.validation_baseline) else {
        return Ok(Measured::default());
    };
    if has_been_asked_to_stop(plan.interrupt, control) {
        return Ok(Measured::default());
    }
    let state = state(plan, recorder, identity, Some(&opening.slot));
    if state.is_some_and(|state| plan.store.has_passed(&state)) {
        return Ok(Measured { baseline: None, is_known_to_pass: true });
    }
    let phase = Phase::Validation { command: command.clone() };
    // Who looks on from elsewhere knows less then, and nothing else is lost.
    let _untold = control.tell_phase(phase.as_str()).is_err();
    say(&Event::PhaseStarted { iteration: 0, phase });
    let environment = plan.environment(&session.id, "", (0, 0));
    let bench = plan.bench(&opening.slot, &environment, plan.marker(&session.id, spool)?);
    let validation = validate::run(command, &bench, plan.interrupt)?;
    let _untold = control.no_longer_in_a_phase().is_err();
    let mut warn = |message: String| say(&Event::Warning { message });
    if !validation.leftovers.is_empty() {
        let names = validation.leftovers.join(", ");
        warn(format!("stopped what was left running in the background: {names}"));
    }
    if validation.exit.reason == Some(ExitReason::Interrupted) {
        return Ok(Measured::default());
    }
    let changed = recorder.open_again(opening, plan.clock.now());
    if !changed.is_empty() {
        let names = some_of(&changed, MAX_NAMED_FILES);
        warn(format!("the validation changed files before the first iteration: {names}"));
    }
    let cause = validation_cause(&opening.slot, &validation, recorder.redactor(), &plan.project_root)?;
    let baseline = Baseline {
        exit: validation.exit.code,
        exit_reason: validation.exit.reason,
        duration_ms: validation.duration_ms,
        cause,
    };
    if let Some(cause) = baseline.failure() {
        warn(format!("the validation fails already, before the first iteration: {cause}"));
    }
    Ok(Measured { baseline: Some(baseline), is_known_to_pass: false })
}

fn has_been_asked_to_stop(interrupt: &Interrupt, control: &Control) -> bool {
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
    let host = crate::process::host_name();
    let value = [host.as_str(), plan.project_root.as_str(), command.as_str(), listing.as_str()].join("\0");
    Some(identity.fingerprint("passing state", &value))
}
