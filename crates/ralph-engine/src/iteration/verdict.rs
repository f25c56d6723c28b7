//! What an iteration came to, and the boxes that are opened again for it.

use std::rc::Rc;

use anyhow::Result;
use tasklist::{Item, Mark, TaskList};

use ralph_core::config::Until;
use ralph_core::judge::{Decision, closable};
use ralph_core::record::{self, ExitReason, FailureClass, FlagCode, Outcome};
use ralph_project::tasks::set_marks;

use super::super::judge::{self, Goal, Verdict};
use super::super::left_behind::Undone;
use super::super::running::Running;
use super::super::task_watch::LostTask;
use super::assess::texts_of;
use super::stages::{Judged, Ran, StartedIteration};

impl Running<'_> {
    /// Holds the agent's claims against what was measured, and opens boxes that were ticked too early.
    pub(super) fn judge(&mut self, started: &StartedIteration<'_>, ran: &Ran) -> Result<Judged> {
        let before = self.task_watch.lists.parse(&started.task_list)?;
        let (after, list_fault) = self.list_after(&before);
        let is_of_tasks = self.plan.job.until == Until::Tasks;
        let claims = !is_of_tasks || !judge::ticked_items(&before, &after).is_empty();
        let mut passing = self.passing(started, ran, claims)?;
        let closable = closable(&started.task.name, &started.begin.unit_tasks, &before, &after);
        let goal = match self.plan.job.artifact_exists(self.plan.feature) {
            None => Goal::Boxes(&closable),
            Some(exists) => Goal::Artifact { exists },
        };
        let passes = passing.passed && ran.protect_failure.is_none() && list_fault.is_none();
        let validation = ran.validation.as_ref();
        let completion = self.plan.config.settings.completion;
        let mut verdict =
            judge::judge([&before, &after], Some(&ran.agent), validation, passes, goal, completion);
        let mut evidence = record::Evidence {
            tests: passing.tests.clone().or_else(|| ran.tests.clone()),
            before: self.judging.trusted.tests().filter(|_| ran.tests.is_some()).cloned(),
            no_tests: validation.is_some_and(|validation| validation.has_no_tests),
            ..record::Evidence::default()
        };
        let mut cause = list_fault.or_else(|| passing.cause.take()).or_else(|| ran.protect_failure.clone());
        let (found, texts) = (self.recorder.last_contents().0.cloned(), texts_of(started));
        let moment = format!("iteration {}", started.begin.iteration);
        let mut ended_at = self.plan.clock.now();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let failed_validation = ran.validation.is_some() && !passing.passed;
        let mut undone = Undone::default();
        let mut taken = None;
        let mut class = self.refuse_if_moved(&started.begin, &mut verdict, &mut cause, [&before, &after])?;
        let mut tip = if failed_validation { self.try_tip(started)? } else { None };
        if verdict.outcome == Outcome::Success {
            let look = taken.insert(self.recorder.take(&started.slot, &moment, ended_at));
            let now = if look.failure.is_some() { None } else { self.recorder.last_contents().0.cloned() };
            undone = self.undone(&started.begin, look, [&before, &after], &texts, failed_validation);
            let (others, now) = (&verdict.others, now.as_ref());
            let (decision, tried) = self.assess_on_tip(started, ran, now, others, &undone, &mut passing)?;
            tip = tried;
            match decision {
                Decision::RunAgain => {}
                Decision::Accepted(flags) => {
                    evidence.flags = flags;
                    evidence.flags.extend(self.add_untold(&mut undone, &after, &texts));
                }
                Decision::Refused { code, cause: why } => {
                    verdict.refuse(judge::ticked_items(&before, &after));
                    evidence.refused = Some(code);
                    cause = Some(why);
                }
            }
        }
        if let Some(red) = self.state.target_red.as_ref().and_then(|ending| ending.why.clone()) {
            class = Some(FailureClass::Conflict);
            (cause, evidence.refused, verdict.false_claim) = (Some(red), None, Vec::new());
        }
        let second = passing.second;
        if second.as_ref().is_some_and(|(_, again)| again.exit.reason == Some(ExitReason::Interrupted)) {
            verdict.refuse(judge::ticked_items(&before, &after));
            verdict.outcome = Outcome::Interrupted;
            (evidence.flags, evidence.refused, cause) = (Vec::new(), None, None);
        }
        let boxes: Vec<&Item> = verdict.to_open.iter().chain(&undone.to_open).collect();
        let has_opened = self.recorder.reopen_boxes(&started.slot, &boxes, &after)?;
        let has_ticked = self.tick_originals(&verdict, &after) | self.close_parents_with(&mut verdict);
        if second.is_some() || tip.is_some() {
            ended_at = self.plan.clock.now();
        }
        let is_changed = has_opened || has_ticked || second.is_some() || tip.is_some();
        let taken = match taken {
            Some(taken) if !is_changed => taken,
            Some(_) => self.recorder.take_again(&started.slot, &moment, ended_at, found),
            None => {
                let taken = self.recorder.take(&started.slot, &moment, ended_at);
                undone = self.undone(&started.begin, &taken, [&before, &after], &texts, failed_validation);
                let boxes: Vec<&Item> = undone.to_open.iter().collect();
                if self.recorder.reopen_boxes(&started.slot, &boxes, &after)? {
                    self.recorder.take_again(&started.slot, &moment, ended_at, found)
                } else {
                    taken
                }
            }
        };
        let is_said = evidence.refused == Some(FlagCode::Undid)
            || evidence.flags.iter().any(|flag| Some(flag) == undone.flag.as_ref());
        evidence.flags.extend(undone.flag.filter(|_| !is_said));
        if is_of_tasks {
            self.remember_lost(&verdict.lost, &before, started.begin.iteration);
            let known = before.duplicates().count();
            self.warn_of_copies(&after, known);
        }
        self.state.is_promised = verdict.is_complete;
        let reopened = if has_opened && verdict.outcome == Outcome::Success {
            verdict.others.clone()
        } else {
            Vec::new()
        };
        let second_ms = second.as_ref().map(|(_, again)| again.duration_ms);
        evidence.second = second.map(|(run, _)| run);
        let undone = undone.tasks;
        Ok(Judged { verdict, before, evidence, cause, class, reopened, ended_at, taken, undone, second_ms })
    }

    /// Returns the list after an attempt, and what is wrong with it: then nothing that it says counts. One that cannot be
    /// read is taken as it was.
    fn list_after(&mut self, before: &Rc<TaskList>) -> (Rc<TaskList>, Option<String>) {
        let name = self.plan.feature.tasks_path.file_name().unwrap_or_default().to_owned();
        match self.read_tasks() {
            Ok(after) => {
                let fault = after.conflict.as_ref().map(|conflict| format!("{name}: {conflict}"));
                (after, fault)
            }
            // It is on the other branch, which is said with the way back to it.
            Err(_) if self.way_back().is_some() => {
                (Rc::clone(before), Some(format!("{name} is not on the branch that is checked out now")))
            }
            Err(error) => {
                self.warn(format!("the task list cannot be read after the agent's run: {error:#}"));
                let why = error.root_cause().to_string();
                let why = why.lines().next().unwrap_or_default();
                (Rc::clone(before), Some(format!("{name} cannot be read after the attempt: {why}")))
            }
        }
    }

    /// Ticks the tasks of which only a copy was ticked. Returns true if it did.
    fn tick_originals(&mut self, verdict: &Verdict, after: &TaskList) -> bool {
        let items: Vec<&Item> = verdict.to_tick.iter().collect();
        let feature = self.plan.feature;
        match set_marks(&feature.files, &feature.tasks_path, after, &items, Mark::Done) {
            Ok(changes) => !changes.changed.is_empty(),
            Err(error) => {
                self.warn(format!("the box of a task whose copy was ticked could not be ticked: {error:#}"));
                false
            }
        }
    }

    /// Says which open tasks left the list, and remembers them: they are not done, though they are not open.
    fn remember_lost(&mut self, lost: &[Item], before: &TaskList, iteration: u32) {
        let names: Vec<&str> = lost.iter().map(|task| task.name.as_str()).collect();
        let are = if lost.len() == 1 { "was open and is" } else { "were open and are" };
        if !lost.is_empty() {
            let names = names.join(", ");
            let restore = self.list_restoration(iteration);
            self.warn(format!(
                "{names} {are} gone from the task list, without being done\nhint: `{restore}` brings the list back"
            ));
        }
        let lost: Vec<&Item> = lost.iter().filter(|task| self.is_in_scope(before, task)).collect();
        let lost = lost.into_iter().map(|task| LostTask::of(task, before, iteration));
        self.task_watch.lost.extend(lost);
    }
}
