//! The loop: find out what is open, let an agent work on it, judge, record, repeat.
//!
//! The only place that puts effects in order. It says what happens through a closure and never names a screen.

mod accept;
mod agents;
mod ask;
mod baseline;
mod begin;
mod checks;
mod clean;
mod closing;
mod commits;
mod control;
mod decide;
mod earlier;
mod environment;
mod given_up;
mod group;
mod integrating;
mod iteration;
mod iteration_context;
mod job;
mod judge;
mod judging;
mod lane;
mod lane_dependencies;
mod left_behind;
mod left_spools;
mod loop_inputs;
mod memory;
mod notices;
mod others;
mod progress_file;
mod prompt_size;
mod prompting;
mod recalled;
mod recorded_progress;
mod recorder;
mod recover;
mod redaction;
mod replay;
mod restoring;
mod running;
mod scope;
mod settings;
mod shown;
mod snapshot_taken;
mod stop;
mod task_watch;
mod test_reports;
mod trusted;
mod units;
mod unseen;
mod users_tree;
pub mod validate;
mod watched_work_tree;
mod window;

use std::rc::Rc;

use anyhow::{Error, Result, anyhow};
use tasklist::TaskList;

use ralph_core::config::{Settings, Until};
use ralph_core::record::{
    ArtifactStatus, Baseline, Closing, Event, GitStateKind, Iteration, Limit, RALPH, Refusal, Scope, Session,
    Status, StopReason, Task, TaskCounts, TaskName, join_files, join_truncated,
};
use ralph_git::worktree::WorkTree;
use ralph_project::feature::Feature;
use ralph_project::tasks;
use ralph_store::{LoopLock, SessionRefs, passed_states};

use control::ended_by;
use control::hints::{hints_for_tasks, left_hints};
use decide::Decision;
use group::{GroupEnd, Look};
use lane::{lacking_in_lane, renew_lane};
use left_behind::old_locks;
use running::{NextStep, Running};
use stop::{AfterFacts, Ending, Facts, Goal};
use task_watch::{TaskWatch, close_finished, lost_words, recorded_losses, restoration};

/// Proposes to ask for tests and their code at once.
const TESTS_FAIL_FIRST: &str = "the list asks for tests that fail first, so the validation fails between a test and its code: \
                                `--unit auto` asks for both at once";

/// The share of a limit from which on it is said.
const BUDGET_SHARE: f64 = 0.8;

/// Maximum number of tasks that a message names.
const MAX_NAMED_TASKS: usize = 5;

/// Maximum number of files that a message names.
const MAX_NAMED_FILES: usize = 5;

pub use accept::{Answered, Word, answer};
pub use checks::{check_operation, check_progress_file, check_protected, check_refs, check_validation};
pub use clean::{
    CleanCheckout, CleanPlace, JudgedCommit, OldTests, RangeAnswer, RangeFailure, RangeInputs, Tried,
    judge_range, newest_held,
};
pub use commits::committing::check_commits;
pub use commits::earlier_work::{earlier_work, work_of_tasks};
pub use environment::tool_versions;
pub use iteration_context::last_words;
pub use job::Job;
pub use lane::write_feature_file;
pub use lane_dependencies::{Dependency, dependencies, suggested_setup};
pub use left_behind::{brought_back, lost_list, remains};
pub use left_spools::{left_running, nothing_is_left};
pub use loop_inputs::{Candidate, LoopInputs};
pub use memory::{Reason, RecalledHistory};
pub use others::Group;
pub use prompting::Prompt;
pub use recalled::{LastMemory, Recalled};
pub use recorded_progress::{expected_progress, rebuilt_of_all};
pub use recover::recover;
pub use redaction::redacted;
pub use replay::{Replayed, replay};
pub use restoring::restore::{Force, Intent, PlannedRestore, Restore, Target, Why};
pub use settings::{capture_rules, child_limits, history_summarizer, lacks_summarizer, redactor};
pub use shown::EventRedactor;
pub use stop::all_done;
pub use users_tree::{Unusable, UsersTree};
pub use window::Window;

/// How a call of [`run`] ended.
#[derive(Debug)]
pub enum Finish {
    /// There was nothing to do; nothing was recorded.
    AllDone {
        counts: TaskCounts,
        /// How the validation went. `None` if there is none, or it was stopped.
        validation: Option<Baseline>,
    },
    Ended(Box<Session>),
}

/// Runs one session from start to a stop reason: a new one, or that to `resume`. The lock is that of the work tree, where it is
/// held already.
pub fn run(
    inputs: &LoopInputs<'_>,
    resume: Option<&SessionRefs>,
    lock: Option<LoopLock>,
    say: &mut dyn FnMut(&Event),
) -> Result<Finish> {
    let mut lock = lock.map_or_else(|| LoopLock::take(inputs.work_tree), Ok)?;
    recover(inputs, resume, say)?;
    let tasks = inputs.job.read_tasks(inputs.feature)?;
    if inputs.job.until == Until::Tasks {
        tasks::refuse_conflict(&tasks, &inputs.feature.tasks_path)?;
    }
    let part = tasks::part_of(&tasks, &inputs.scope, &inputs.feature.tasks_path)?;
    if inputs.job.until == Until::Tasks && all_done(&tasks, part.as_ref()) {
        if let Some(refs) = resume {
            refuse_lost_tasks(inputs, refs, &tasks)?;
            // Nothing is resumed after all: what was left open for it comes to its end.
            recover(inputs, None, say)?;
        }
        let counts = tasks.counts();
        let validation =
            if counts.open == 0 { begin::check_finished(inputs, &tasks, &mut lock, say)? } else { None };
        return Ok(Finish::AllDone { counts, validation });
    }
    if inputs.agents.is_empty() {
        return Err(Refusal::new("a task was just reopened").with_hint("start the loop again").into());
    }
    let mut running = Running::begin(inputs, &tasks, resume, &mut lock, say)?;
    running.task_watch.has_failing_tests = running.inputs.has_failing_tests(&tasks);
    let fail_first = running.task_watch.has_failing_tests.then(|| TESTS_FAIL_FIRST.to_owned());
    for warning in running.inputs.waits_outside(&tasks).into_iter().chain(fail_first) {
        running.warn(warning);
    }
    for warning in old_locks(running.inputs.work_tree).into_iter().chain(running.inputs.copies(&tasks, 0)) {
        running.warn(warning);
    }
    let ending = loop {
        let mut ending = running.turns().map_err(|error| running.with_settings_fault(error))?;
        for warning in std::mem::take(&mut ending.warnings) {
            running.warn(warning);
        }
        if let Some(ending) = running.check_before_end(ending)? {
            break ending;
        }
    };
    let session = running.end(ending)?;
    drop(lock);
    Ok(Finish::Ended(Box::new(session)))
}

/// Does what a session does before its first record, and takes its traces back.
///
/// # Errors
///
/// If a start would be refused.
pub fn rehearse(inputs: &LoopInputs<'_>, lock: Option<LoopLock>, say: &mut dyn FnMut(&Event)) -> Result<()> {
    let mut lock = lock.map_or_else(|| LoopLock::take(inputs.work_tree), Ok)?;
    let tasks = inputs.job.read_tasks(inputs.feature)?;
    if inputs.job.until == Until::Tasks {
        tasks::refuse_conflict(&tasks, &inputs.feature.tasks_path)?;
    }
    Running::rehearse(inputs, &tasks, &mut lock, say)
}

/// What a session did not do is not done because it left the list.
fn refuse_lost_tasks(inputs: &LoopInputs<'_>, refs: &SessionRefs, tasks: &TaskList) -> Result<()> {
    let Some(log) = inputs.store.session(refs)? else { return Ok(()) };
    let mut watch = TaskWatch { lost: recorded_losses(inputs.store, &log), ..TaskWatch::default() };
    let lost = watch.still_lost(tasks);
    let Some(first) = watch.lost.first() else { return Ok(()) };
    let list = inputs.work_tree.relative(&inputs.feature.tasks_path);
    let session =
        Some(&refs.session).filter(|id| inputs.store.newest_session().ok().flatten().as_ref() != Some(id));
    let restore = restoration(&list, first.since, session);
    Err(Refusal::new(lost_words(&lost))
        .with_hint(format!("`{restore}` brings the list back; if that is right, `{RALPH}` starts anew"))
        .into())
}

/// Returns true if a session would find nothing to do and nothing to recover; then nothing need be written at all.
pub fn nothing_to_do(work_tree: &WorkTree, feature: &Feature, scope: &Scope) -> Result<Option<TaskCounts>> {
    if !nothing_is_left(work_tree)? {
        return Ok(None);
    }
    let tasks = tasks::read(&feature.files, &feature.tasks_path)?;
    let part = tasks::part_of(&tasks, scope, &feature.tasks_path)?;
    Ok(all_done(&tasks, part.as_ref()).then(|| tasks.counts()))
}

impl Running<'_> {
    /// Iterates until a stop reason.
    fn turns(&mut self) -> Result<Ending> {
        loop {
            if self.inputs.interrupt.signal().is_some() {
                return Ok(Ending::of(StopReason::Interrupted));
            }
            match self.take_to_tip()? {
                NextStep::Iterate => {}
                NextStep::Again => continue,
                NextStep::Stop(ending) => return Ok(ending),
            }
            if self.state.is_lane_renewed && self.inputs.config.settings.lanes_setup.is_some() {
                self.judging.unseen.last = None;
            }
            let tasks = match self.read_tasks() {
                Ok(tasks) => tasks,
                Err(error) => return Ok(self.unreadable_list(&error)),
            };
            let tasks = self.close_parents_before_attempt(tasks)?;
            let part = match self.inputs.part(&tasks) {
                Ok(part) => part,
                Err(error) => {
                    let warnings = vec![format!("{error} in the task list any more")];
                    return Ok(Ending { warnings, ..Ending::of(StopReason::Stuck) });
                }
            };
            let Look::Pick(moment) = self.look_at_others()? else { continue };
            let asked = self.control.look().unwrap_or_else(|error| {
                self.warn(format!("cannot read requests to this loop: {error:#}"));
                None
            });
            let lost = self.task_watch.still_lost(&tasks);
            let since = self.task_watch.lost.first().map(|lost| lost.since);
            let (waiting, busy) = (self.waiting_in_order(&tasks), self.busy());
            let facts = Facts {
                settings: &self.inputs.config.settings,
                session: &self.session,
                history: &self.past.history,
                tasks: &tasks,
                goal: match (self.inputs.job.task(), &part) {
                    (Some(task), _) => Goal::This(task),
                    (None, Some(part)) => Goal::Part(part),
                    (None, None) => Goal::All,
                },
                // What an attempt does not say may be as much as the dearest one.
                cost_usd: self
                    .session
                    .cost()
                    .plus(self.others.cost)
                    .usd
                    .map(|usd| f64::from(self.state.unread_costs).mul_add(self.state.dearest_usd, usd)),
                tokens: self.session.tokens.plus(&self.others.tokens).total(),
                elapsed: self.state.started.elapsed(),
                is_promised: self.state.is_promised,
                is_asked: asked.is_some() || self.inputs.interrupt.signal().is_some() || self.others.is_over,
                operation: self.past.left_behind.operation(self.inputs, self.state.next.saturating_sub(1)),
                lost: &lost,
                restoration: since.map(|since| self.past.left_behind.list_restoration(self.inputs, since)),
                unable: self.judging.why_nothing_can_be_done(),
                hints: &hints_for_tasks(self.inputs),
                busy: &busy,
                others: self.inputs.group.as_ref().map(|_| self.others.attempts()),
                waiting: &waiting,
                given_up: &self.state.given_up,
                for_others: &self.for_others(&tasks),
            };
            let budgets = stop::budgets(&facts);
            let decision = decide::decide(&facts);
            let task = match decision {
                Decision::Go(task) => task,
                // What was done is merged before the last one goes.
                Decision::Stop(ending) if self.state.queued.is_empty() || self.is_to_end_now() => {
                    return Ok(ending);
                }
                Decision::Wait | Decision::Stop(_) => {
                    drop(moment);
                    self.wait_for_others();
                    continue;
                }
            };
            self.claim(&tasks, &task)?;
            drop(moment);
            self.say_budgets(budgets);
            match self.before_turn(&task.name) {
                NextStep::Iterate => {}
                NextStep::Again => continue,
                NextStep::Stop(ending) => return Ok(ending),
            }
            let iteration = self.iterate(&tasks, &task)?;
            if let Some(ending) = self.after_turn(&task, &iteration)? {
                return Ok(ending);
            }
        }
    }

    /// Merges what waits, and has the lane at the tip of its branch.
    fn take_to_tip(&mut self) -> Result<NextStep> {
        self.restore_objects_of_group()?;
        let mut at_tip = self.integrate();
        if matches!(at_tip, Ok(None)) {
            at_tip = renew_lane(self.inputs, &mut self.recorder, &self.identity, &mut self.state);
        }
        match at_tip {
            Ok(Some(ending)) => Ok(NextStep::Stop(ending)),
            Ok(None) => Ok(NextStep::Iterate),
            Err(_) if self.restore_objects_of_group()? => {
                // It may be half taken to the tip.
                self.state.is_lane_used = true;
                Ok(NextStep::Again)
            }
            Err(error) => Err(error),
        }
    }

    /// Ticks the tasks of which all sub-tasks are done. Returns their names.
    fn close_parents(&mut self, tasks: &TaskList) -> Vec<TaskName> {
        close_finished(self.inputs.feature, tasks).unwrap_or_else(|error| {
            self.warn(format!("a task whose sub-tasks are all done could not be ticked: {error:#}"));
            Vec::new()
        })
    }

    /// Does so before an attempt: at a start, or after a person ticked the last sub-task. In a lane the next result
    /// has those ticks, as its list has no others. Returns the list as it is then.
    fn close_parents_before_attempt(&mut self, tasks: Rc<TaskList>) -> Result<Rc<TaskList>> {
        let is_of_tasks = self.inputs.job.until == Until::Tasks && self.inputs.work_tree.lane().is_none();
        if !is_of_tasks || tasks.finished_parents().is_empty() {
            return Ok(tasks);
        }
        let closed = self.close_parents(&tasks);
        if closed.is_empty() {
            return Ok(tasks);
        }
        let are = if closed.len() == 1 {
            "all of its sub-tasks are done"
        } else {
            "all of their sub-tasks are done"
        };
        self.warn(format!("ticked {}: {are}", join_truncated(&closed, MAX_NAMED_TASKS)));
        self.session.closed_parents.extend(closed);
        // The next attempt did not do this.
        self.state.was_idle = true;
        self.read_tasks()
    }

    /// Returns the ending of a session whose task list cannot be read.
    fn unreadable_list(&self, error: &Error) -> Ending {
        let list = &self.inputs.feature.tasks_path;
        if let Some(back) = self.past.left_behind.way_back(self.inputs) {
            let why = format!("{list} cannot be read, and another branch is checked out");
            let hint = format!("`{back}`; then `{RALPH} resume {}`", self.session.id);
            return Ending { next: Some(back), ..Ending::stuck(why, hint) };
        }
        let refs = SessionRefs::new(&self.session.feature, self.session.id.clone());
        let log = self.inputs.store.session(&refs).ok().flatten();
        let gone =
            log.and_then(|log| lost_list(self.inputs.store, self.inputs.work_tree, &log, list.as_path()));
        if let Some((why, restore)) = gone {
            let hint = format!("`{restore}` brings it back; then `{RALPH} resume {}`", self.session.id);
            return Ending { next: Some(restore), ..Ending::stuck(why, hint) };
        }
        let hint = format!(
            "mend the file, or take it back as it was before that attempt: `{RALPH} restore {} --tasks`; then `{RALPH} resume {}`",
            self.state.next.saturating_sub(2),
            self.session.id
        );
        let warnings = vec![format!("the task list cannot be read any more: {error:#}")];
        Ending { warnings, ..Ending::stuck(format!("{list} cannot be read"), hint) }
    }

    /// Says what is to be done where the settings of git cannot be read any more: then nothing can be recorded.
    fn with_settings_fault(&self, error: Error) -> Error {
        let Some(fault) = self.inputs.work_tree.settings_fault() else { return error };
        anyhow!(
            "git cannot read the settings of this repository since the last attempt, which is not recorded yet: {fault}\n\
             hint: correct that line of the file in an editor; then `{RALPH} resume {}` records the attempt and goes on, \
             and its changes stay",
            self.session.id
        )
    }

    /// Says once of each limit that most of it is used up.
    fn say_budgets(&mut self, budgets: Vec<(Limit, f64, f64)>) {
        for (limit, used, most) in budgets {
            if used >= most * BUDGET_SHARE && !self.state.said_budgets.contains(&limit) {
                self.state.said_budgets.push(limit);
                (self.say)(&Event::Budget80 { session: self.session.id.clone(), limit, used, most });
            }
        }
    }

    /// Ends the session for what an iteration showed, or gives up its task.
    fn after_turn(&mut self, task: &Task, iteration: &Iteration) -> Result<Option<Ending>> {
        self.warn_about_unenforceable_limits(iteration);
        let facts = AfterFacts {
            settings: &self.inputs.config.settings,
            session: &self.session,
            history: &self.past.history,
            iteration,
            until: self.inputs.job.until,
            has_passed: self.past.last_green.last_passing.is_some(),
            unable: self.judging.why_nothing_can_be_done(),
            reported: &self.state.common_failure,
            target_red: self.state.target_red.clone(),
            commit: match &self.work {
                Some(work) => work.ending(self.inputs, &self.session.id)?,
                None => None,
            },
        };
        if let Some(ending) = stop::after(&facts) {
            return Ok(Some(ending));
        }
        if let Some((warning, reported)) = facts.warning() {
            if let Some(tasks) = reported {
                self.state.common_failure = tasks;
            }
            self.warn(warning);
        }
        // Work that is elsewhere is to be brought once before its task is given up.
        let is_elsewhere = iteration
            .git_state
            .iter()
            .any(|state| state.kind == GitStateKind::Elsewhere && state.since == iteration.iteration);
        if is_elsewhere {
            return Ok(None);
        }
        let failures = self.past.history.failures_without_progress(&task.name);
        let skip_after = self.inputs.config.settings.skip_after;
        let needs_script = skip_after.is_some() && self.warn_of_script(&task.name);
        let is_last = self.state.given_up.contains(&task.name) || needs_script;
        let skip_after = skip_after.map(|most| if is_last { 1 } else { most });
        if self.inputs.job.until == Until::Tasks && skip_after.is_some_and(|most| failures >= most) {
            self.skip(task)?;
        }
        Ok(None)
    }

    /// Says what a person can do about a task that was refused twice for the validation's own files. Returns true if it was.
    fn warn_of_script(&mut self, task: &str) -> bool {
        let files = self.judging.needs_its_script(task).map(|files| join_files(files, MAX_NAMED_FILES));
        let Some(files) = files else { return false };
        let accept = match &self.session.branch {
            Some(branch) if self.inputs.work_tree.lane().is_some() => {
                format!("tick its box in a commit on {branch}")
            }
            _ => format!("`{RALPH} accept {task}` ticks its box"),
        };
        self.warn(format!(
            "{task} passes only with its change of {files}, twice: a person decides\nhint: {accept}; \
             `{RALPH} hint --task {task} 'keep {files}'` asks for another way"
        ));
        true
    }

    /// Returns the task list as it is now.
    fn read_tasks(&mut self) -> Result<Rc<TaskList>> {
        self.inputs.job.cached_tasks(self.inputs.feature, &mut self.task_watch.lists)
    }

    /// Warns once for each agent about limits on what it does not report.
    fn warn_about_unenforceable_limits(&mut self, iteration: &Iteration) {
        // One that failed or was cut short may not have come to report it.
        let has_reported = iteration.exit.agent == Some(0) && iteration.failure_class.is_none();
        if !has_reported || !self.agents.is_first_report() {
            return;
        }
        let &Settings { max_tokens, max_cost, .. } = &self.inputs.config.settings;
        let agent = &iteration.agent;
        for (is_unreported, what, limit) in [
            (max_cost.is_some() && iteration.cost_usd.is_none(), "cost", "max-cost"),
            (max_tokens.is_some() && iteration.tokens.total().is_none(), "tokens", "max-tokens"),
        ] {
            if is_unreported {
                self.warn(format!("`{agent}` does not report {what}, so `{limit}` cannot stop this session"));
            }
        }
    }

    fn end(mut self, ending: Ending) -> Result<Session> {
        let Ending { reason, limit, mut why, hint, next, .. } = ending;
        let ended_by = (reason == StopReason::Interrupted).then(|| ended_by(self.inputs.interrupt));
        let mut hint = hint.or_else(|| Some(ended_by?.hint()?.to_owned()));
        let lacking =
            lacking_in_lane(self.inputs).filter(|_| hint.is_none() && self.baseline_failure().is_some());
        if let Some((message, settings)) = lacking {
            why.get_or_insert(message);
            hint = Some(settings);
        }
        let tasks = self.read_tasks().ok();
        let lost = tasks.as_ref().map_or(0, |tasks| self.task_watch.still_lost(tasks).len());
        let hints = left_hints(self.inputs);
        let ended_at = self.inputs.clock.now();
        let session = &mut self.session;
        session.ended_at = Some(ended_at);
        session.status = reason.status();
        session.stop_reason = Some(reason);
        session.ended_by = ended_by;
        session.limit = limit;
        session.hints = hints;
        if let Some(tasks) = &tasks {
            session.tasks_done = tasks.counts().done;
            // What left the list is not done.
            session.tasks_remaining = tasks.counts().open + lost;
        }
        let is_part = session.scope.is_some() || reason == StopReason::Checkpoint;
        let is_part = is_part && session.tasks_remaining > 0;
        session.artifact.status = match reason.status() {
            Status::Completed if !is_part => ArtifactStatus::Complete,
            Status::Failed => ArtifactStatus::Failed,
            Status::Completed | Status::Running | Status::Interrupted | Status::Later(_) => {
                ArtifactStatus::Draft
            }
        };
        self.note_passing_state();
        self.propose_patterns();
        let entry = self.closing_entry(tasks.as_deref());
        // Of several that end at once, one is the last.
        let moment = self.wait_to_end()?;
        let commit = self.recorder.end(&self.session, &entry, ended_at)?;
        let group = self.group_end()?;
        drop(moment);
        if !self.session.hints.is_empty() {
            let hints = self.session.hints.join("; ");
            self.warn(format!("hints that no prompt had wait for the next run: {hints}"));
        }
        self.keep_settings()?;
        let is_settled = self.recorder.settle_progress();
        for warning in std::mem::take(&mut self.recorder.warnings) {
            self.warn(warning);
        }
        let is_untried = self.leaves_untried(reason);
        let mut closing = Closing {
            why,
            hint,
            next,
            is_untried,
            ..self.closing(tasks.as_deref(), group == GroupEnd::Last)
        };
        closing.is_of_others = group == GroupEnd::OthersGoOn;
        // What cannot be read was said with the rest.
        if let Ok(Some(log)) = self.log() {
            self.session.totals = log.view().totals().clone();
        }
        let session = Box::new(self.session.clone());
        (self.say)(&Event::SessionEnded { session, commit, closing: Box::new(closing) });
        if is_settled {
            self.spool.remove(self.inputs.store.repository())?;
        }
        self.control.clear()?;
        Ok(self.session)
    }

    /// Remembers the work tree as it is now, if the validation passed on it: the next start need not try.
    fn note_passing_state(&mut self) {
        let (tree, _) = self.recorder.last_contents();
        if tree.is_none() || self.past.last_green.last_passing.as_ref() != tree {
            return;
        }
        let state = self.passing_state(None);
        let tests = self.judging.passing_tests.as_ref();
        if let Some(state) = state
            && let Err(error) = passed_states::add(self.inputs.work_tree, &state, tests)
        {
            self.warn(format!("the next start runs the validation once more: {error:#}"));
        }
    }

    /// Proposes what was learned more than once, before the last look at progress.txt.
    fn propose_patterns(&mut self) {
        match self.past.memory.learnings(self.inputs.store) {
            Ok(None) => {}
            Ok(Some((past, recorded))) => {
                let fresh = &past[past.len().saturating_sub(recorded)..];
                self.recorder.propose_patterns(past, fresh);
            }
            Err(error) => self.warn(format!("no patterns are proposed: {error:#}")),
        }
    }
}
