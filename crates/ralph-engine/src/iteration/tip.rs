//! A tip of the branch that a person made: the validation runs on it alone, once, when an attempt on it is red or refused.

use anyhow::Result;

use crate::validate;
use ralph_core::judge::Decision;
use ralph_core::record::{ExitReason, Flag, Phase, RALPH, StopReason, TaskName};
use ralph_git::worktree::PathChange;
use ralph_store::Slot;

use super::super::baseline::OUTPUTS;
use super::super::iteration_context::validation_cause;
use super::super::left_behind::Undone;
use super::super::running::Running;
use super::super::stop::Ending;
use super::assess::Passing;
use super::stages::{Ran, StartedIteration};

impl Running<'_> {
    /// Decides whether an attempt is a success. One that is refused is decided again if the tip passes alone: a person changed
    /// the tests, and not the attempt. Also returns how the tip went, if it was tried.
    pub(super) fn assess_on_tip(
        &mut self,
        started: &StartedIteration<'_>,
        ran: &Ran,
        others: &[TaskName],
        undone: &Undone,
        passing: &mut Passing,
        found: &[Flag],
    ) -> Result<(Decision, Option<bool>)> {
        let decision = self.assess(started, ran, others, undone, passing, found)?;
        if !matches!(decision, Decision::Refused { .. }) {
            return Ok((decision, None));
        }
        match self.try_tip(started)? {
            Some(true) => Ok((self.assess(started, ran, others, undone, passing, found)?, Some(true))),
            tip => Ok((decision, tip)),
        }
    }

    /// Runs the validation on the tip alone, if nothing is known of that. Returns `None` if it did not run, and else whether it
    /// passed: then the tests of that run are trusted. If it failed, the session ends.
    pub(super) fn try_tip(&mut self, started: &StartedIteration<'_>) -> Result<Option<bool>> {
        let Some(tip) = self.judging.trusted.untried.take() else { return Ok(None) };
        let (Some(command), Some(from)) =
            (self.plan.config.settings.validation_command.clone(), started.begin.tips.snapshot.clone())
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
            let context = running.plan.validation_context(&scratch, &started.environment, running.marker());
            let validation = validate::run(&command, &context, running.plan.interrupt)?;
            let tests = running.tally(&scratch, OUTPUTS)?;
            running.restore_spool(started)?;
            Ok((validation, tests))
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
                validation_cause(&scratch, &alone, self.recorder.redactor(), &self.plan.project_root)?;
            let words = words.map_or(String::new(), |(words, _)| format!(": {words}"));
            let commit = format!("{} ({})", tip.short(), self.plan.work_tree.subject(&tip)?);
            let branch = self.session.branch.clone().unwrap_or_default();
            let id = &self.session.id;
            self.state.target_red = Some(Ending {
                why: Some(format!(
                    "the validation fails on {branch} at {commit}, without any attempt{words}"
                )),
                hint: Some(format!("commit what repairs it on {branch}, then `{RALPH} resume {id}`")),
                ..Ending::of(StopReason::TargetRed)
            });
        }
        self.judging.trusted.tried(tip, Some(Box::new(tests)), passed);
        Ok(Some(passed))
    }
}
