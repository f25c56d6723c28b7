//! A task that is given up: its changes taken back where the validation passed before it, and a record without a run.

use anyhow::Result;

use ralph_core::config::FailedChanges;
use ralph_core::progress::cause;
use ralph_core::record::{
    Event, Evidence, ExitReason, Flag, FlagCode, ObjectId, Outcome, Phase, Task, Validation, join_files,
    join_truncated,
};
use ralph_store::{Begin, Slot, names};

use super::unfinished;
use crate::control::waiting_hints::hints_of;
use crate::lane::prepare_attempt_in_lane;
use crate::restoring::last_green::Attempt;
use crate::restoring::rollback::Rollback;
use crate::running::Running;

/// Maximum number of commits that a warning names.
const MAX_NAMED_COMMITS: usize = 5;

impl Running<'_> {
    /// Records that a task is given up: a record of its own, without a run.
    pub(crate) fn skip(&mut self, task: &Task) -> Result<()> {
        let number = self.state.next;
        let slot = self.spool.slot(&number.to_string());
        slot.create()?;
        let begin = self.begin_iteration(task, number)?;
        let (restored_to, kept_paths, validation) =
            match self.inputs.on_skip(self.task_watch.has_failing_tests) {
                FailedChanges::Restore => self.take_back(&slot, &begin)?,
                FailedChanges::Keep => (None, Vec::new(), None),
            };
        // Stopped before it was clear whether there is anything to take back.
        let reason = validation.as_ref().and_then(|validation| validation.exit.reason);
        if restored_to.is_none() && reason == Some(ExitReason::Interrupted) {
            return slot.remove();
        }
        self.past.last_green.forget(&task.name);
        let mut taken = self.recorder.take(&slot, &format!("iteration {number}"), begin.started_at);
        self.past.left_behind.note_taken_back(&taken.blobs);
        let started_at = begin.started_at;
        let ended_at = if validation.is_some() { self.inputs.clock.now() } else { started_at };
        let counts = self.counts();
        let mut iteration = unfinished(begin, &self.session, ended_at, counts, self.inputs.work_tree.head()?);
        iteration.outcome = Outcome::Skipped;
        iteration.attempt = None;
        // The next session asks whether they are the same.
        iteration.hints = hints_of(self.inputs.store, &self.inputs.feature.path, &task.name)?;
        iteration.snapshot = taken.snapshot.take();
        if restored_to.is_some() {
            iteration.files_changed = taken.files_changed();
            if let Some(work) = &mut self.work {
                work.pending.extend(taken.changed);
            }
        }
        iteration.restored_to = restored_to;
        iteration.kept_paths = kept_paths;
        if let Some(validation) = validation {
            iteration.exit.validation = Some(validation.exit.code);
            iteration.exit_reason = validation.exit.reason;
            iteration.duration_ms.validation = Some(validation.duration_ms);
        }
        let failures = self.past.history.failures_in_a_row(&task.name);
        iteration.cause = Some(cause::of_skip(failures, self.past.memory.last_cause(&task.name)));
        if let Some(paths) = self.judging.needs_its_script(&task.name).map(<[String]>::to_vec) {
            // No attempt can bring it on: a person says whether the new script is right.
            let text = format!("passes only with its change of {}", join_files(&paths, MAX_NAMED_COMMITS));
            let flags = vec![Flag { code: FlagCode::Judge, text, paths }];
            iteration.evidence = Some(Box::new(Evidence { flags, ..Evidence::default() }));
        }
        let commit = self.recorder.iteration(&slot, &iteration, "")?;
        self.count_recorded(&iteration, commit)
    }

    /// Takes back what earlier attempts changed, if that is wanted. What a person did while the loop waited is in a
    /// snapshot of its own, so that it is not taken for the agent's.
    pub(super) fn prepare_attempt(&mut self, slot: &Slot, begin: &mut Begin) -> Result<()> {
        if std::mem::take(&mut self.state.was_idle) {
            slot.create()?;
            self.recorder.take_between(slot, "a wait", begin.started_at);
        }
        if self.inputs.work_tree.lane().is_some() {
            return prepare_attempt_in_lane(
                self.inputs,
                &mut self.recorder,
                &mut self.judging,
                &mut self.past,
                &mut self.state,
                slot,
                begin,
            );
        }
        let is_retry = self.past.history.failures_in_a_row(&begin.task.name) > 0;
        if is_retry && self.inputs.config.settings.on_retry == FailedChanges::Restore {
            let (restored_to, kept_paths, validation) = self.take_back(slot, begin)?;
            if restored_to.is_some() {
                let changed = self.recorder.take_between(slot, "changes were taken back", begin.started_at);
                if let Some(work) = &mut self.work {
                    work.pending.extend(changed);
                }
                self.past.last_green.forget(&begin.task.name);
            }
            if validation.is_some() {
                // The streams of the attempt's own validation come here.
                slot.write(names::VALIDATION_STDOUT, b"")?;
                slot.write(names::VALIDATION_STDERR, b"")?;
            }
            (begin.restored_to, begin.kept_paths) = (restored_to, kept_paths);
        }
        begin.tips = self.recorder.tips();
        Ok(())
    }

    /// Takes back what the failed attempts at a task changed since the validation passed in this start. A validation that
    /// passes now changes nothing. Returns the snapshot from before the first of the attempts, `None` if nothing was taken
    /// back; the paths that they changed and that stay; and the last validation that ran.
    fn take_back(
        &mut self,
        slot: &Slot,
        begin: &Begin,
    ) -> Result<(Option<ObjectId>, Vec<String>, Option<Validation>)> {
        let attempts = self.past.last_green.failed_attempts(&begin.task.name, begin.branch.as_deref());
        if attempts.is_empty() || self.past.history.last_passed() == Some(true) {
            return Ok((None, Vec::new(), None));
        }
        slot.create()?;
        // What was refused passes, and passes again.
        let is_refused = self.past.history.was_refused(&begin.task.name);
        let validation = if is_refused { None } else { self.validate_again(slot, begin)? };
        let is_red = validation.as_ref().is_some_and(|validation| {
            !validation.passed() && validation.exit.reason != Some(ExitReason::Interrupted)
        }) || is_refused;
        if !is_red {
            return Ok((None, Vec::new(), validation));
        }
        let (restored_to, kept_paths) = match self.roll_back(slot, begin, &attempts) {
            Ok(rolled_back) => rolled_back,
            Err(error) => {
                let task = &begin.task.name;
                self.warn(format!("what {task} changed could not be taken back: {error:#}"));
                return Ok((None, Vec::new(), validation));
            }
        };
        if restored_to.is_none() {
            return Ok((None, kept_paths, validation));
        }
        let validation = self.validate_again(slot, begin)?;
        if validation.as_ref().is_some_and(|validation| !validation.passed()) {
            self.warn(format!(
                "the validation does not pass, though what {} changed was taken back",
                begin.task.name
            ));
        }
        Ok((restored_to, kept_paths, validation))
    }

    /// Returns the snapshot that the attempts began with, if anything was taken back, and the paths that stay.
    fn roll_back(
        &mut self,
        slot: &Slot,
        begin: &Begin,
        attempts: &[Attempt],
    ) -> Result<(Option<ObjectId>, Vec<String>)> {
        self.begin_phase(begin.iteration, Phase::Recording);
        let rollback = Rollback {
            store: self.inputs.store,
            work_tree: self.inputs.work_tree,
            place: &self.recorder.place().clone(),
        };
        let here = rollback.read()?;
        let (changes, kept) = rollback.plan(&here, attempts)?;
        let task = &begin.task.name;
        if !kept.is_empty() {
            let names = kept.join(", ").replace(char::is_control, "\u{fffd}");
            self.warn(format!("of what {task} changed, this stays as it is: {names}"));
        }
        let Some(first) = attempts.first().filter(|_| !changes.is_empty()) else {
            return Ok((None, kept));
        };
        let name = format!("before iteration {} of session {}", first.iteration, self.session.id);
        let at = self.inputs.clock.now();
        let point = rollback.carry_out(&here, &changes, &name, at, &mut |point| point.note_in(slot))?;
        (self.say)(&Event::ChangesTakenBack {
            iteration: begin.iteration,
            task: task.clone(),
            restored_to: first.before.clone(),
            restoration: point.number,
            files: changes.len(),
        });
        let commits: Vec<&str> =
            attempts.iter().flat_map(|attempt| &attempt.commits).map(ObjectId::short).collect();
        if !commits.is_empty() {
            self.warn(format!(
                "HEAD still has the commits of {task}: {}\nhint: `git revert` reverts them",
                join_truncated(&commits, MAX_NAMED_COMMITS)
            ));
        }
        Ok((Some(first.before.clone()), kept))
    }

    fn validate_again(&mut self, slot: &Slot, begin: &Begin) -> Result<Option<Validation>> {
        let environment =
            self.inputs.environment(&self.session.id, &begin.task.name, begin.iteration, begin.attempt);
        let validation = self.validate(slot, begin.iteration, &environment)?;
        if self.recorder.recreate_spool()? {
            slot.create()?;
        }
        Ok(validation.map(|(validation, _)| validation))
    }
}
