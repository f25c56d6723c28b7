//! One iteration, from an open task to a record: prompt, agent, validation, verdict, record.

mod assess;
mod children;
mod draft;
mod prompt;
mod protect;
mod skip;
mod stages;
mod verdict;

use std::io::{self, ErrorKind};

use anyhow::{Context, Result};
use tasklist::TaskList;

use ralph_core::config::Until;
use ralph_core::judge::IgnoredWork;
use ralph_core::record::{
    CleanVerdict, Event, Iteration, LogEntry, ObjectId, Outcome, Phase, PhaseTime, RALPH, Summarized, Task,
    TaskCounts,
};
use ralph_project::project_files::MAX_TASK_LIST_BYTES;
use ralph_store::{Begin, Slot, names};

use super::clean::KeptCopies;
use super::commits::message::CommitSubject;
use super::control::hints::{settle_hints, take_hints};
use super::iteration_context::{agent_stderr, live_context};
use super::lane::{publish, record_or_take_back};
use super::redaction::redacted;
use super::running::Running;
use draft::{Drafted, add_run, examine, name_lost_work, without_secrets};
use prompt::announce_memory;
use stages::{Judged, Ran};

pub(crate) use assess::{changed_file, changed_own_files, moved, own_file, restored_own_files};
pub(super) use draft::{compose, redacted_text, unfinished};
pub(super) use protect::restore_protected;
pub(crate) use stages::StartedIteration;

impl Running<'_> {
    /// Returns `task` to the agent and records what came of it.
    pub(super) fn iterate(&mut self, tasks: &TaskList, task: &Task) -> Result<Iteration> {
        let started = self.start_iteration(tasks, task)?;
        let before = self.recorder.tips().snapshot;
        // In a lane an agent has copies of its own.
        let copies = self.kept_copies().filter(|_| self.inputs.work_tree.lane().is_none());
        self.keep_copies(copies.as_ref(), |copies| copies.take(true));
        let ran = self.run_children(&started)?;
        self.keep_copies(copies.as_ref(), KeptCopies::leave);
        let judged = self.judge(&started, &ran)?;
        let slot = started.slot.clone();
        let drafted = self.draft(started, &ran, judged)?;
        let iteration = self.record(&slot, drafted)?;
        self.past.last_green.ended(&iteration, before.as_ref());
        if iteration.is_queued() {
            // It is trusted once it is on the branch.
            self.state.has_queue = true;
            let (session, number) = (iteration.session.clone(), iteration.iteration);
            let task = iteration.task.clone().unwrap_or_default();
            (self.say)(&Event::TaskQueued { session, iteration: number, task });
        } else {
            self.judging.ended(&mut self.session, &iteration);
        }
        if iteration.outcome == Outcome::Success {
            self.recorder.watched_work_tree().accept_hidden();
            self.judging.unseen.work = IgnoredWork::default();
            self.state.clean.successes += 1;
            if iteration.check().is_none() {
                // What held then is not what is there now.
                self.session.clean.take_if(|last| last.verdict == CleanVerdict::Holds);
            }
        }
        Ok(iteration)
    }

    /// Writes the prompt and what a recovery needs into the spool.
    fn start_iteration<'a>(&mut self, tasks: &TaskList, task: &'a Task) -> Result<StartedIteration<'a>> {
        let number = self.state.next;
        let slot = self.spool.slot(&number.to_string());
        let unit = self.inputs.unit_tasks(tasks, &task.name, &self.past.history, &self.left_to_others());
        let unit_tasks = unit.as_ref().map(|unit| unit.tasks.clone()).unwrap_or_default();
        let hints = take_hints(self.inputs, &self.session.id, &task.name, &unit_tasks);
        let hints = hints.unwrap_or_else(|error| {
            self.warn(format!("the prompt has no hints: {error:#}"));
            Vec::new()
        });
        let mut begin = Begin { hints, unit_tasks, ..self.begin_iteration(task, number)? };
        self.prepare_attempt(&slot, &mut begin)?;
        let edits = self.recorder.take_edits();
        self.past.left_behind.begin_attempt(self.inputs, &begin, &edits);
        self.begin_phase(number, Phase::Prompt);
        let failure = self.baseline_failure();
        let prompt = self.past.prompt(
            self.inputs,
            &mut self.recorder,
            self.say,
            failure,
            (tasks, task, unit.as_ref()),
            &begin,
        )?;
        slot.create()?;
        begin.before = self.recorder.before(&slot);
        begin.prompt_parts.clone_from(&prompt.parts);
        begin.agent_setup = Some(Box::new(self.candidate().setup(self.inputs, &self.identity)));
        let task_list = match self.read_task_list_bytes() {
            Err(error)
                if error.kind() == ErrorKind::NotFound && self.inputs.job.until == Until::Validation =>
            {
                Vec::new()
            }
            read => read.context("read the task list")?,
        };
        // Not redacted, as a test may need the password that its task names; the record has it redacted.
        slot.begin(&begin, &prompt.text, &task_list)?;
        // An agent may also pull: its commits are those that no ref had before.
        slot.write(names::REFS_BEFORE, &self.inputs.store.refs().tips_of_others()?)?;
        self.announce_start(task, &begin);
        announce_memory(self.say, number, &task.name, &prompt);
        let environment = self.inputs.environment(&self.session.id, &task.name, number, begin.attempt);
        Ok(StartedIteration {
            task,
            slot,
            begin,
            prompt: prompt.text,
            memory: prompt.memory,
            task_list,
            languages: tasks.languages(),
            environment,
        })
    }

    /// Takes the snapshot, commits if that is asked for, and puts together what is recorded.
    fn draft(&mut self, started: StartedIteration<'_>, ran: &Ran, judged: Judged) -> Result<Drafted> {
        let (texts, base) = (self.texts_of(&started), started.begin.tips.snapshot.clone());
        let StartedIteration { task, slot, begin, memory, environment, .. } = started;
        let Judged { verdict, before, evidence, reopened, ended_at, mut taken, undone, .. } = judged;
        let number = begin.iteration;
        // A lock that was left would keep our own commit from being made.
        let is_of_tasks = self.inputs.job.until == Until::Tasks;
        let after = if is_of_tasks { self.read_tasks().ok() } else { None };
        let list =
            is_of_tasks.then(|| (before.as_ref(), after.as_deref(), !verdict.closed.contains(&task.name)));
        let agents = ran.sealed.without_rewritten(&taken);
        let (inputs, recorder, behind) = (self.inputs, &self.recorder, &mut self.past.left_behind);
        let (git_state, user_files) =
            behind.look(inputs, recorder, self.say, (&slot, &begin), &agents, list)?;
        let (history, given_up) = (&self.past.history, &self.state.given_up);
        let rest = after
            .as_ref()
            .and_then(|now| inputs.rest_of_unit(now, task, &begin.unit_tasks, history, given_up));
        let session = self.session.id.clone();
        let agent = (begin.agent.clone(), ran.agent.model.clone().or(begin.model.clone()));
        let done = CommitSubject {
            session: &session,
            task,
            unit: rest.as_ref(),
            closed: &verdict.closed,
            tasks: &before,
            iteration: number,
            slot: &slot,
            environment: &environment,
            agent: Some((&agent.0, agent.1.as_deref())),
        };
        // Before the record, which names it.
        let committed = match &mut self.work {
            Some(work) => {
                work.commit(self.inputs, &mut self.recorder, self.say, verdict.outcome, &mut taken, &done)
            }
            None => Ok(None),
        };
        if let Ok(Some(commit)) = &committed {
            self.past.left_behind.note_own_commit(&self.recorder, self.say, commit);
        }
        let published = match verdict.outcome {
            Outcome::Success => {
                let is_free = self.may_publish()?;
                let base = begin.head_before.as_ref().filter(|_| is_free);
                publish(self.inputs, &self.recorder, &done, base, &evidence)?
            }
            _ => None,
        };
        if !verdict.closed.contains(&task.name)
            && let Err(error) = self.recorder.add_short_diffs(&slot, &mut taken)
        {
            self.recorder.warnings.push(format!("the record lacks the lines that changed: {error:#}"));
        }
        let changes = std::mem::take(&mut taken.most_changed);
        let lost = verdict.lost.iter().filter(|task| is_of_tasks && self.inputs.is_in_scope(&before, task));
        let lost_tasks = lost.map(|task| task.name.clone()).collect();
        let counts = self.counts();
        let mut iteration =
            compose(&mut self.recorder, begin, &self.session, counts, verdict, taken, ended_at)?;
        add_run(&mut iteration, ran);
        iteration.duration_ms.second = judged.second_ms;
        iteration.reopened = reopened;
        iteration.rewrote.clone_from(&ran.sealed.rewrote);
        iteration.ignored = ran.ignored.clone().map(Box::new);
        self.task_watch.persons.take_in(&iteration.rewrote);
        iteration.cause = judged.cause.or_else(|| ran.nothing_done.clone());
        if judged.class.is_some() {
            iteration.failure_class = judged.class;
            name_lost_work(&mut iteration);
        }
        iteration.evidence = Some(Box::new(evidence));
        // It is ours by whatever clock git dated it.
        let (commit, uncommitted) = match committed {
            Ok(commit) => (commit, None),
            Err(reason) => (None, Some(reason)),
        };
        let own = commit.or_else(|| published.clone());
        iteration.commits.extend(own.filter(|commit| !iteration.commits.contains(commit)));
        iteration.published = published;
        iteration.uncommitted = uncommitted;
        (iteration.git_state, iteration.user_files) = (git_state, user_files);
        (iteration.undone, iteration.lost_tasks) = (undone, lost_tasks);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (inputs, recorder, behind) = (self.inputs, &self.recorder, &mut self.past.left_behind);
        let gone = behind.note_work(inputs, recorder, (&slot, base), &iteration, &agents, (&before, &texts));
        iteration.gone = gone.unwrap_or_else(|error| {
            self.warn(format!("whether the work of earlier tasks is gone is not known: {error:#}"));
            Vec::new()
        });
        self.past.left_behind.note_own_changes(&ran.sealed.blobs());
        iteration.facts.changes = changes;
        iteration.memory = Some(memory);
        let stderr = if ran.agent.succeeded { String::new() } else { agent_stderr(&slot)? };
        let stderr = self.recorder.redactor().redact(&stderr);
        let context = live_context(&slot, &iteration, &ran.agent.final_text, &self.inputs.project_root)?;
        let context = context.map(|context| without_secrets(&self.recorder, context));
        let (inputs, recorder, history) = (self.inputs, &mut self.recorder, &self.past.history);
        let drafted = examine(inputs, recorder, history, iteration, &ran.agent.final_text, &stderr, context)?;
        if let Some(Summarized::Failed(reason)) = &drafted.0.facts.summarized {
            self.warn(format!("cannot summarize the iteration, its output is used instead: {reason}"));
        }
        Ok(drafted)
    }

    fn record(&mut self, slot: &Slot, drafted: Drafted) -> Result<Iteration> {
        let (mut iteration, excerpt, context) = drafted;
        iteration.phases = self.take_phases();
        self.state.is_lane_used = true;
        let (commit, iteration) = record_or_take_back(&mut self.recorder, slot, iteration, &excerpt)?;
        self.end_claim()?;
        self.count_recorded(&iteration, commit)?;
        if iteration.is_green() && iteration.passed_validation() {
            let (tree, _) = self.recorder.last_contents();
            self.past.last_green.passed_on(tree);
        }
        if let Err(error) = settle_hints(self.inputs, &iteration) {
            self.warn(format!("a hint may come twice: {error:#}"));
        }
        self.note_commits(&iteration);
        if let Some(context) = context {
            // What was cleared while it ran does not concern it.
            self.past.forget_cleared(self.inputs)?;
            self.past.progress.record(context);
        }
        Ok(iteration)
    }

    pub(crate) fn begin_iteration(&mut self, task: &Task, iteration: u32) -> Result<Begin> {
        (self.state.phases, self.state.phase_clock) = (Vec::new(), self.inputs.clock.stopwatch());
        let agent = self.inputs.agents[self.agents.active].agent.as_ref();
        let agent_version = self.agents.version(agent, self.session.agent_version.as_ref());
        Ok(Begin {
            iteration,
            task: task.clone(),
            attempt: self.past.history.attempts(&task.name) + 1,
            started_at: self.inputs.clock.now(),
            branch: self.inputs.work_tree.branch()?,
            head_before: self.inputs.work_tree.head()?,
            agent: agent.name().to_owned(),
            agent_version,
            model: self.candidate().model.clone(),
            validation_command: self.inputs.config.settings.validation_command.clone(),
            hints: Vec::new(),
            unit_tasks: Vec::new(),
            tips: self.recorder.tips(),
            restored_to: None,
            kept_paths: Vec::new(),
            before: None,
            agent_setup: None,
            prompt_parts: Vec::new(),
        })
    }

    pub(crate) fn begin_phase(&mut self, iteration: u32, phase: Phase) {
        self.note_phase(&phase);
        // Who looks on from elsewhere knows less then, and nothing else is lost.
        let _unpublished = self.control.publish_phase(phase.as_str()).is_err();
        (self.say)(&Event::PhaseStarted { iteration, phase });
    }

    /// Notes for the record that another phase begins.
    pub(super) fn note_phase(&mut self, phase: &Phase) {
        let now = self.inputs.clock.stopwatch();
        let for_ms = std::mem::replace(&mut self.state.phase_clock, now).elapsed_ms();
        let begins = |last: &mut PhaseTime| {
            last.for_ms = for_ms;
            last.at_ms.saturating_add(for_ms)
        };
        let at_ms = self.state.phases.last_mut().map_or(for_ms, begins);
        self.state.phases.push(PhaseTime { name: phase.as_str().to_owned(), at_ms, for_ms: 0 });
    }

    /// Returns the phases of the iteration, the last of which ends now.
    pub(super) fn take_phases(&mut self) -> Vec<PhaseTime> {
        let mut phases = std::mem::take(&mut self.state.phases);
        if let Some(last) = phases.last_mut() {
            last.for_ms = self.state.phase_clock.elapsed_ms();
        }
        phases
    }

    fn announce_start(&mut self, task: &Task, begin: &Begin) {
        (self.say)(&Event::IterationStarted {
            session: self.session.id.clone(),
            iteration: begin.iteration,
            task: task.clone(),
            attempt: begin.attempt,
            agent: begin.agent.clone(),
            hints: begin.hints.clone(),
            unit_tasks: begin.unit_tasks.clone(),
            started_at: begin.started_at,
        });
    }

    pub(crate) fn count_recorded(&mut self, iteration: &Iteration, commit: ObjectId) -> Result<()> {
        let _uncleared = self.control.clear_phase().is_err();
        self.state.next = iteration.iteration + 1;
        self.session.count(&LogEntry::of_iteration(iteration, &commit));
        self.state.note_cost(iteration.cost());
        self.session.tasks_done = iteration.tasks_done;
        self.session.tasks_remaining = iteration.tasks_open;
        self.past.history.push(iteration);
        self.past.memory.push(redacted(self.recorder.redactor(), iteration)?);
        for warning in std::mem::take(&mut self.recorder.warnings) {
            self.warn(warning);
        }
        (self.say)(&Event::IterationRecorded {
            session: iteration.session.clone(),
            iteration: iteration.iteration,
            outcome: iteration.outcome,
            exit: iteration.exit,
            commit,
            record: Box::new(iteration.clone()),
        });
        self.notify(iteration);
        Ok(())
    }

    pub(crate) fn note_commits(&mut self, iteration: &Iteration) {
        if iteration.commits.is_empty() {
            return;
        }
        let noted = redacted(self.recorder.redactor(), iteration)
            .and_then(|iteration| ralph_store::notes::add_commits_of(self.inputs.store, &iteration));
        if let Err(error) = noted {
            self.warn(format!("its commits got no note: {error:#}\nhint: `{RALPH} fsck --repair` writes it"));
        }
    }

    pub(super) fn read_task_list_bytes(&self) -> io::Result<Vec<u8>> {
        let feature = self.inputs.feature;
        feature.files.read(&feature.tasks_path, MAX_TASK_LIST_BYTES)
    }

    /// Returns how many tasks are done and open; of a list that cannot be read, how many were.
    pub(crate) fn counts(&mut self) -> TaskCounts {
        let known = TaskCounts { done: self.session.tasks_done, open: self.session.tasks_remaining };
        self.read_tasks().map_or(known, |tasks| tasks.counts())
    }
}
