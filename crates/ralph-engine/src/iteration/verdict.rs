//! What an iteration came to, and the boxes that are opened again for it.

use std::rc::Rc;

use anyhow::Result;
use failure_excerpt::Tally;
use tasklist::{Item, Mark, TaskList};

use ralph_core::config::Until;
use ralph_core::judge::{Decision, acts_on_other_tests, closable};
use ralph_core::record::{
    self, ExitReason, FailureClass, Flag, FlagCode, ObjectId, Outcome, TaskName, Timestamp, join_truncated,
};
use ralph_project::tasks::set_marks;

use super::assess::Passing;
use super::stages::{Judged, Ran, StartedIteration};
use crate::clean::Checked;
use crate::judge::{self, Proof, Verdict};
use crate::lane::why_lost;
use crate::left_behind::Undone;
use crate::running::Running;
use crate::snapshot_taken::SnapshotTaken;
use crate::task_watch::LostTask;

/// Maximum number of names in a text.
const MAX_NAMES: usize = 3;

/// What was measured of an attempt, before anything follows from it.
struct Measured {
    /// By agent, boxes and validation alone.
    verdict: Verdict,
    passing: Passing,
    /// Why protected files could not be put back, if that is refused.
    unprotected: Option<String>,
    /// Why the result of a success cannot become a commit on the branch of its lane.
    moved: Option<String>,
    /// How the validation went on the tip of the branch alone, if it ran there.
    tip: Option<bool>,
    /// Of a success by agent, boxes and validation: what its evidence comes to.
    decision: Option<Decision>,
    clean: Option<Checked>,
    undone: Undone,
    /// Flags for what failed attempts before it undid.
    untold: Vec<Flag>,
    /// The tree of the snapshot before this attempt's.
    last: Option<ObjectId>,
    /// The snapshot, if it had to be looked at.
    taken: Option<SnapshotTaken>,
}

/// What follows from what was measured.
struct Conclusion {
    verdict: Verdict,
    evidence: record::Evidence,
    cause: Option<String>,
    class: Option<FailureClass>,
}

impl Running<'_> {
    /// Holds the agent's claims against what was measured, and opens boxes that were ticked too early.
    pub(super) fn judge(&mut self, started: &StartedIteration<'_>, ran: &Ran) -> Result<Judged> {
        let before = self.task_watch.lists.parse(&started.task_list)?;
        let ended_at = self.inputs.clock.now();
        let measured = self.measure(started, ran, &before, ended_at)?;
        let target_red = self.state.target_red.as_ref().and_then(|ending| ending.why.clone());
        let concluded = conclude(&measured, ran, &before, self.judging.trusted.tests(), target_red);
        self.apply(started, ran, before, measured, concluded, ended_at)
    }

    /// Finds out what there is to judge by. What runs for it leaves the work tree as it was.
    fn measure(
        &mut self,
        started: &StartedIteration<'_>,
        ran: &Ran,
        before: &TaskList,
        at: Timestamp,
    ) -> Result<Measured> {
        let after = Rc::clone(&ran.sealed.list);
        let claims = self.inputs.job.until != Until::Tasks || !judge::ticked_items(before, &after).is_empty();
        let mut passing = self.passing(started, ran, claims)?;
        let closable = closable(&started.task.name, &started.begin.unit_tasks, before, &after);
        let proof = match self.inputs.job.artifact_exists(self.inputs.feature) {
            None => Proof::Boxes(&closable),
            Some(exists) => Proof::Artifact { exists },
        };
        let unprotected = self.unprotected(ran);
        let passes = passing.passed && unprotected.is_none() && ran.sealed.list_fault.is_none();
        let (validation, completion) = (ran.validation.as_ref(), self.inputs.config.settings.completion);
        let verdict = judge::judge([before, &after], Some(&ran.agent), validation, passes, proof, completion);
        let is_success = verdict.outcome == Outcome::Success;
        let moved = if is_success { why_lost(self.inputs, &started.slot, &started.begin)? } else { None };
        let failed_validation = ran.validation.is_some() && !passing.passed;
        let mut tip = if failed_validation { self.try_tip(started)? } else { None };
        let (mut decision, mut clean, mut taken) = (None, None, None);
        let last = self.recorder.last_contents().0.cloned();
        let (mut undone, mut untold) = (Undone::default(), Vec::new());
        if is_success && moved.is_none() {
            let look = taken.insert(self.recorder.take(&started.slot, &moment(started), at));
            undone = self.undone(started, ran, before, look, failed_validation);
            let flags = self.flags_beside(ran);
            let others = &verdict.others;
            let mut found = self.assess(started, ran, others, &undone, &mut passing, &flags)?;
            if matches!(found, Decision::Refused { .. }) {
                tip = self.try_tip(started)?;
                if tip == Some(true) {
                    // A person changed the tests, and not the attempt.
                    found = self.assess(started, ran, others, &undone, &mut passing, &flags)?;
                }
            }
            let tests = passing.tests.as_ref().or(ran.tests.as_ref());
            let (found, check) = self.check_attempt(started, look.snapshot.as_ref(), found, tests)?;
            if matches!(found, Decision::Accepted(_)) {
                let texts = self.texts_of(started);
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                untold = self.past.left_behind.add_untold(self.inputs, &mut undone, &after, &texts);
            }
            (decision, clean) = (Some(found), check);
        }
        Ok(Measured {
            verdict,
            passing,
            unprotected,
            moved,
            tip,
            decision,
            clean,
            undone,
            untold,
            last,
            taken,
        })
    }

    /// Returns what an attempt undid of tasks that were done, by a snapshot after it.
    fn undone(
        &self,
        started: &StartedIteration<'_>,
        ran: &Ran,
        before: &TaskList,
        taken: &SnapshotTaken,
        failed_validation: bool,
    ) -> Undone {
        let (agents, texts) = (ran.sealed.without_rewritten(taken), self.texts_of(started));
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (behind, lists) = (&self.past.left_behind, [before, &*ran.sealed.list]);
        behind.undone(self.inputs, &started.begin, &agents, lists, &texts, failed_validation)
    }

    /// Opens and ticks boxes, says what a person should know, and takes the snapshot that has it all.
    fn apply(
        &mut self,
        started: &StartedIteration<'_>,
        ran: &Ran,
        before: Rc<TaskList>,
        measured: Measured,
        concluded: Conclusion,
        mut ended_at: Timestamp,
    ) -> Result<Judged> {
        let Measured { passing, tip, mut undone, last, taken, .. } = measured;
        let Conclusion { mut verdict, mut evidence, cause, class } = concluded;
        let after = &ran.sealed.list;
        let moment = moment(started);
        let boxes: Vec<&Item> = verdict.to_open.iter().chain(&undone.to_open).collect();
        let has_opened = self.recorder.reopen_boxes(&started.slot, &boxes, after)?;
        let has_ticked = self.tick_originals(&verdict.to_tick, after)
            | self.tick_again(&verdict, after)
            | self.close_parents_with(&mut verdict);
        let has_run = passing.second.is_some() || tip.is_some();
        if has_run || evidence.clean.is_some() {
            ended_at = self.inputs.clock.now();
        }
        let taken = match taken {
            Some(taken) if !(has_opened || has_ticked || has_run) => taken,
            Some(_) => self.recorder.take_again(&started.slot, &moment, ended_at, last),
            None => {
                let taken = self.recorder.take(&started.slot, &moment, ended_at);
                let failed_validation = ran.validation.is_some() && !passing.passed;
                undone = self.undone(started, ran, &before, &taken, failed_validation);
                let boxes: Vec<&Item> = undone.to_open.iter().collect();
                if self.recorder.reopen_boxes(&started.slot, &boxes, after)? {
                    self.recorder.take_again(&started.slot, &moment, ended_at, last)
                } else {
                    taken
                }
            }
        };
        let is_said = evidence.refused == Some(FlagCode::Undid)
            || evidence.flags.iter().any(|flag| Some(flag) == undone.flag.as_ref());
        evidence.flags.extend(undone.flag.filter(|_| !is_said));
        if verdict.outcome != Outcome::Success {
            // Later sessions find by it what counts as a person's words.
            evidence.flags.extend(ran.sealed.rewrote_flag.clone());
        }
        if self.inputs.job.until == Until::Tasks {
            self.remember_lost(&verdict.lost, &before, started.begin.iteration);
            if let Some(copies) = self.inputs.copies(after, before.duplicates().count()) {
                self.warn(copies);
            }
        }
        self.state.is_promised = verdict.is_complete;
        let is_opened = has_opened && verdict.outcome == Outcome::Success;
        let reopened = if is_opened { verdict.others.clone() } else { Vec::new() };
        let (second, second_ms) = passing.second.map(|(run, again)| (run, again.duration_ms)).unzip();
        evidence.second = second;
        let undone = undone.tasks;
        Ok(Judged { verdict, before, evidence, cause, class, reopened, ended_at, taken, undone, second_ms })
    }

    /// Returns why protected files could not be put back, if that is refused.
    fn unprotected(&self, ran: &Ran) -> Option<String> {
        let refuse = &self.inputs.config.settings.validation_refuse;
        let is_refused = refuse.iter().any(|code| code == FlagCode::Protect.as_str());
        ran.protected.failure.clone().filter(|_| is_refused)
    }

    /// Returns flags for what is no row of the judge, and may be refused all the same.
    fn flags_beside(&mut self, ran: &Ran) -> Vec<Flag> {
        let flag = |code, text, paths| Flag { code, text, paths };
        let mut flags: Vec<Flag> = ran.sealed.rewrote_flag.iter().cloned().collect();
        let beside = ran.validation.as_ref().and_then(|validation| validation.failed_beside.clone());
        flags.extend(Flag::beside(beside));
        if let Some(failure) = &ran.protected.failure {
            flags.push(flag(FlagCode::Protect, failure.clone(), Vec::new()));
        }
        let new = ran.protected.new.iter().filter(|path| acts_on_other_tests(path));
        let new: Vec<String> = new.cloned().collect();
        if !new.is_empty() {
            let names = join_truncated(&new, MAX_NAMES);
            flags.push(flag(FlagCode::NewProtected, format!("new beside protected files: {names}"), new));
        }
        // In a lane the validation ran without them, which is said.
        if self.inputs.work_tree.lane().is_none() {
            let hidden = [self.recorder.watched_work_tree().hidden(), ran.hidden.clone()].concat();
            if !hidden.is_empty() {
                let names = join_truncated(&hidden, MAX_NAMES);
                let text = format!("validated with {names}, which no snapshot shows");
                flags.push(flag(FlagCode::LeftOut, text, hidden));
            }
        }
        flags.extend(self.judging.unseen.work.flags(&ran.hidden));
        if !ran.brought_back.is_empty() {
            let names = join_truncated(&ran.brought_back, MAX_NAMES);
            let text = format!("put back {names}, which the validation deleted");
            flags.push(flag(FlagCode::PutBack, text, ran.brought_back.clone()));
        }
        flags
    }

    /// Returns the list after an attempt, and what is wrong with it: then nothing that it says counts. One that cannot be
    /// read is taken as it was.
    pub(super) fn list_after(&mut self, before: &Rc<TaskList>) -> (Rc<TaskList>, Option<String>) {
        let name = self.inputs.feature.tasks_path.file_name().unwrap_or_default().to_owned();
        match self.read_tasks() {
            Ok(after) => {
                let fault = after.conflict.as_ref().map(|conflict| format!("{name}: {conflict}"));
                (after, fault)
            }
            // It is on the other branch, which is said with the way back to it.
            Err(_) if self.past.left_behind.way_back(self.inputs).is_some() => {
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

    /// Ticks the tasks whose ticks are proven, and that the validation took back with its change of the list. Returns true if
    /// it did.
    fn tick_again(&mut self, verdict: &Verdict, after: &TaskList) -> bool {
        let Some(now) = self.read_tasks().ok().filter(|_| verdict.outcome == Outcome::Success) else {
            return false;
        };
        let was_ticked = |name: &&TaskName| after.find(name).is_some_and(|item| item.done);
        let closed = verdict.closed.iter().filter(was_ticked).filter_map(|name| now.find(name));
        let open: Vec<Item> = closed.filter(|item| !item.done).cloned().collect();
        self.tick_originals(&open, &now)
    }

    /// Ticks the tasks of which only a copy was ticked. Returns true if it did.
    fn tick_originals(&mut self, items: &[Item], after: &TaskList) -> bool {
        let items: Vec<&Item> = items.iter().collect();
        let feature = self.inputs.feature;
        match set_marks(&feature.files, &feature.tasks_path, after, &items, Mark::Done) {
            Ok(changes) => !changes.changed.is_empty(),
            Err(error) => {
                self.warn(format!("the box of a task whose copy was ticked could not be ticked: {error:#}"));
                false
            }
        }
    }

    /// Ticks the tasks of which a success did the last sub-task. Returns true if there were any.
    fn close_parents_with(&mut self, verdict: &mut Verdict) -> bool {
        if verdict.outcome != Outcome::Success || self.inputs.job.until != Until::Tasks {
            return false;
        }
        let mut closed = match self.read_tasks() {
            Ok(tasks) => self.close_parents(&tasks),
            Err(_) => Vec::new(),
        };
        closed.retain(|name| !verdict.closed.contains(name));
        verdict.closed.extend_from_slice(&closed);
        verdict.closed_parents = closed;
        !verdict.closed_parents.is_empty()
    }

    /// Says which open tasks left the list, and remembers them: they are not done, though they are not open.
    fn remember_lost(&mut self, lost: &[Item], before: &TaskList, iteration: u32) {
        let names: Vec<&str> = lost.iter().map(|task| task.name.as_str()).collect();
        let are = if lost.len() == 1 { "was open and is" } else { "were open and are" };
        if !lost.is_empty() {
            let names = names.join(", ");
            let restore = self.past.left_behind.list_restoration(self.inputs, iteration);
            self.warn(format!(
                "{names} {are} gone from the task list, without being done\nhint: `{restore}` brings the list back"
            ));
        }
        let lost: Vec<&Item> = lost.iter().filter(|task| self.inputs.is_in_scope(before, task)).collect();
        let lost = lost.into_iter().map(|task| LostTask::of(task, before, iteration));
        self.task_watch.lost.extend(lost);
    }
}

/// Says what an attempt came to. Pure: `trusted` are the tests that it was held against, and `target_red` says why nothing can be said
/// of its task.
fn conclude(
    measured: &Measured,
    ran: &Ran,
    before: &TaskList,
    trusted: Option<&Tally>,
    target_red: Option<String>,
) -> Conclusion {
    let after = &ran.sealed.list;
    let mut verdict = measured.verdict.clone();
    let mut evidence = record::Evidence {
        tests: measured.passing.tests.clone().or_else(|| ran.tests.clone()),
        before: trusted.filter(|_| ran.tests.is_some()).cloned(),
        no_tests: ran.validation.as_ref().is_some_and(|validation| validation.has_no_tests),
        refused: measured.unprotected.as_ref().map(|_| FlagCode::Protect),
        ..record::Evidence::default()
    };
    let faults = [&ran.sealed.list_fault, &measured.passing.cause, &measured.unprotected];
    let mut cause = faults.into_iter().find_map(Clone::clone);
    let mut class = None;
    if let Some(moved) = measured.moved.clone() {
        verdict.refuse(judge::ticked_items(before, after));
        (cause, class) = (Some(moved), Some(FailureClass::Conflict));
        verdict.false_claim.clear();
    }
    if let Some((check, flag)) = measured.clean.clone() {
        evidence.clean = Some(Box::new(check));
        evidence.flags.extend(flag);
    }
    match measured.decision.clone() {
        None | Some(Decision::RunAgain) => {}
        Some(Decision::Accepted(flags)) => {
            evidence.flags.extend(flags);
            evidence.flags.extend_from_slice(&measured.untold);
        }
        Some(Decision::Refused { code, cause: why }) => {
            verdict.refuse(judge::ticked_items(before, after));
            (evidence.refused, cause) = (Some(code), Some(why));
        }
    }
    if let Some(red) = target_red {
        (cause, class) = (Some(red), Some(FailureClass::Conflict));
        (evidence.refused, verdict.false_claim) = (None, Vec::new());
    }
    let second = measured.passing.second.as_ref();
    if second.is_some_and(|(_, again)| again.exit.reason == Some(ExitReason::Interrupted)) {
        verdict.refuse(judge::ticked_items(before, after));
        verdict.outcome = Outcome::Interrupted;
        (evidence.flags, evidence.refused, cause) = (Vec::new(), None, None);
    }
    Conclusion { verdict, evidence, cause, class }
}

/// Returns the moment that the message of a snapshot after an attempt names.
fn moment(started: &StartedIteration<'_>) -> String {
    format!("iteration {}", started.begin.iteration)
}
