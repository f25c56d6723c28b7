//! What an iteration came to, and the boxes that are opened again for it.

use std::rc::Rc;

use anyhow::Result;
use tasklist::{Item, Mark, TaskList};

use crate::agent::final_message;
use crate::config::Until;
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
        let after = match self.read_tasks() {
            Ok(after) => after,
            Err(error) => {
                self.warn(format!("the task list cannot be read after the agent's run: {error:#}"));
                Rc::clone(&before)
            }
        };
        let verdict = judge::judge(Evidence {
            before: &before,
            after: &after,
            agent: Some(&ran.agent),
            validation: ran.validation.as_ref(),
            is_promised: ran.agent.succeeded && final_message::promise(&ran.agent.final_text),
            completion: self.plan.config.settings.completion,
            artifact_exists: self.plan.job.artifact_exists(self.plan.feature),
        });
        self.reopen_boxes(&started.slot, &verdict, &after)?;
        if self.plan.job.until == Until::Tasks {
            self.remember_lost(&verdict.lost, &before);
        }
        self.state.is_promised = verdict.is_complete;
        Ok(Judged { verdict, before })
    }

    fn reopen_boxes(&mut self, slot: &Slot, verdict: &Verdict, after: &TaskList) -> Result<()> {
        if !self.plan.config.settings.untick || verdict.to_open.is_empty() {
            return Ok(());
        }
        // The claim must outlive the box: we may die between opening it and recording it.
        let found = match self.read_task_list_bytes() {
            Ok(found) => found,
            Err(error) => {
                self.warn(format!(
                    "boxes that were ticked too early could not be unticked: read the task list: {error}"
                ));
                return Ok(());
            }
        };
        slot.write_once(names::TASKS_FOUND, &found)?;
        let items: Vec<&Item> = verdict.to_open.iter().collect();
        let feature = self.plan.feature;
        let changes = match set_marks(&feature.files, &feature.tasks_path, after, &items, Mark::Open) {
            Ok(changes) => changes,
            Err(error) => {
                self.warn(format!("boxes that were ticked too early could not be unticked: {error:#}"));
                return Ok(());
            }
        };
        for name in &changes.not_found {
            self.warn(format!("the box of {name} could not be unticked: it is no longer there"));
        }
        Ok(())
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
