//! What an iteration came to, and the boxes that are opened again for it.

use std::rc::Rc;

use anyhow::Result;
use tasklist::{Item, Mark, TaskList};

use crate::agent::final_message;
use crate::config::Until;
use crate::judge::{Decision, closable};
use crate::record::{self, Outcome};
use crate::store::{Slot, names};
use crate::tasks::set_marks;

use super::super::judge::{self, Evidence, Verdict};
use super::super::running::Running;
use super::super::task_watch::LostTask;
use super::stages::{Judged, Ran, StartedIteration};

impl Running<'_> {
    /// Holds the agent's claims against what was measured, and opens boxes that were ticked too early.
    pub(super) fn judge(&mut self, started: &StartedIteration<'_>, ran: &Ran) -> Result<Judged> {
        let before = self.task_watch.lists.parse(&started.task_list)?;
        let (after, list_fault) = self.list_after(&before);
        let mut passing = self.passing(started, ran)?;
        let is_of_tasks = self.plan.job.until == Until::Tasks;
        let closable = closable(&started.task.name, &started.begin.unit_tasks, &before, &after);
        let mut verdict = judge::judge(Evidence {
            before: &before,
            after: &after,
            agent: Some(&ran.agent),
            validation: ran.validation.as_ref(),
            passes: passing.passed && ran.protected.failure.is_none() && list_fault.is_none(),
            closable: is_of_tasks.then_some(&closable),
            is_promised: ran.agent.succeeded && final_message::promise(&ran.agent.final_text),
            completion: self.plan.config.settings.completion,
            artifact_exists: self.plan.job.artifact_exists(self.plan.feature),
        });
        let mut evidence = record::Evidence {
            tests: ran.tests.clone(),
            before: self.judging.trusted.tests().filter(|_| ran.tests.is_some()).cloned(),
            ..record::Evidence::default()
        };
        let mut cause = list_fault.or_else(|| passing.cause.take()).or_else(|| ran.protected.failure.clone());
        let found = self.recorder.last_contents().0.cloned();
        let moment = format!("iteration {}", started.begin.iteration);
        let mut ended_at = self.plan.clock.now();
        let mut taken = None;
        if verdict.outcome == Outcome::Success {
            let look = taken.insert(self.recorder.take(&started.slot, &moment, ended_at));
            let now = if look.failure.is_some() { None } else { self.recorder.last_contents().0.cloned() };
            match self.assess(started, ran, now.as_ref(), &verdict.others, &mut passing)? {
                Decision::RunAgain => {}
                Decision::Accepted(flags) => evidence.flags = flags,
                Decision::Refused { code, cause: why } => {
                    verdict.refuse(judge::ticked_items(&before, &after));
                    evidence.refused = Some(code);
                    cause = Some(why);
                }
            }
        }
        let second = passing.second;
        if second.as_ref().is_some_and(|second| second.was_interrupted) {
            verdict.refuse(judge::ticked_items(&before, &after));
            verdict.outcome = Outcome::Interrupted;
            (evidence.flags, evidence.refused, cause) = (Vec::new(), None, None);
        }
        let has_opened = self.reopen_boxes(&started.slot, &verdict, &after)?;
        let has_ticked = self.tick_originals(&verdict, &after);
        if second.is_some() {
            ended_at = self.plan.clock.now();
        }
        if (has_opened || has_ticked || second.is_some()) && taken.is_some() {
            taken = Some(self.recorder.take_again(&started.slot, &moment, ended_at, found));
        }
        if is_of_tasks {
            self.remember_lost(&verdict.lost, &before);
            let known = before.duplicates().count();
            self.warn_of_copies(&after, known);
        }
        self.state.is_promised = verdict.is_complete;
        let reopened = if has_opened { verdict.others.clone() } else { Vec::new() };
        let second_ms = second.as_ref().map(|second| second.duration_ms);
        evidence.second = second.map(|second| second.run);
        Ok(Judged { verdict, before, evidence, cause, reopened, ended_at, taken, second_ms })
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

    /// Returns true if boxes were opened again.
    fn reopen_boxes(&mut self, slot: &Slot, verdict: &Verdict, after: &TaskList) -> Result<bool> {
        if !self.plan.config.settings.untick || verdict.to_open.is_empty() {
            return Ok(false);
        }
        // The claim must outlive the box: we may die between opening it and recording it.
        let found = match self.read_task_list_bytes() {
            Ok(found) => found,
            Err(error) => {
                self.warn(format!(
                    "boxes that were ticked too early could not be unticked: read the task list: {error}"
                ));
                return Ok(false);
            }
        };
        slot.write_once(names::TASKS_FOUND, &found)?;
        let items: Vec<&Item> = verdict.to_open.iter().collect();
        let feature = self.plan.feature;
        let changes = match set_marks(&feature.files, &feature.tasks_path, after, &items, Mark::Open) {
            Ok(changes) => changes,
            Err(error) => {
                self.warn(format!("boxes that were ticked too early could not be unticked: {error:#}"));
                return Ok(false);
            }
        };
        for name in &changes.not_found {
            self.warn(format!("the box of {name} could not be unticked: it is no longer there"));
        }
        Ok(true)
    }

    /// Says which open tasks left the list, and remembers them: they are not done, though they are not open.
    fn remember_lost(&mut self, lost: &[Item], before: &TaskList) {
        let names: Vec<&str> = lost.iter().map(|task| task.name.as_str()).collect();
        let are = if lost.len() == 1 { "was open and is" } else { "were open and are" };
        if !lost.is_empty() {
            let names = names.join(", ");
            self.warn(format!("{names} {are} gone from the task list, without being done"));
        }
        let lost: Vec<&Item> = lost.iter().filter(|task| self.is_in_scope(before, task)).collect();
        let lost = lost.into_iter().map(|task| LostTask { task: task.clone(), copies: before.copies(task) });
        self.task_watch.lost.extend(lost);
    }
}
