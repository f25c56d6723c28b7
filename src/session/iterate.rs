//! One iteration, from an open task to a record: prompt, agent, validation, judgement, record.

use std::io::{self, ErrorKind};
use std::rc::Rc;

use anyhow::{Context, Result};

use crate::agent::{Turn, final_message};
use crate::config::Until;
use crate::progress::capture::{self, Evidence as Captured};
use crate::progress::historical;
use crate::progress::{IterationContext, question};
use crate::project_files::MAX_TASK_LIST_BYTES;
use crate::record::{
    AgentRun, Claims, Durations, Event, ExitReason, Exits, Facts, FailureClass, Iteration, ObjectId, Outcome,
    Phase, RALPH, SCHEMA, Session, Summarized, Task, TaskCounts, Timestamp, Tokens, Validation,
};
use crate::store::{Begin, Slot, names};
use crate::tasks::{Item, Mark, TaskList, set_marks};
use crate::validate::{self, Bench};

use super::ask::Room;
use super::committing::Done;
use super::judge::{self, Evidence, Verdict};
use super::memory::{Reason, Recalled, Sought};
use super::prompting::Prompting;
use super::prompting::{Failures, Prompt, Turn as PromptTurn};
use super::recorder::Taken;
use super::redaction::redacted;
use super::running::{Lost, Running};
use super::settings::{
    excerpt_choice, history_policy, history_summarizer, iteration_summarizer, validation_limits,
};
use super::told::live_context;

/// So many times the budget of a historical context is handed to the command that sums it up.
const MATERIAL: usize = 4;

/// Longest summary that is kept, in characters.
const SUMMARY_CHARS: usize = 2000;

/// What came of an iteration, by the engine's own measure.
struct Measured<'a> {
    run: &'a AgentRun,
    validation: Option<&'a Validation>,
    verdict: Verdict,
    taken: Taken,
    /// Where the refs of the project stood before.
    known: &'a [u8],
}

impl Running<'_> {
    /// Gives `task` to the agent and records what came of it.
    pub(super) fn iterate(&mut self, tasks: &TaskList, task: &Task) -> Result<Iteration> {
        let number = self.next;
        let slot = self.spool.slot(&number.to_string());
        let begin = Begin { hints: self.hints(), ..self.begin_iteration(task, number)? };
        self.begins(number, Phase::Prompt);
        let made = self.prompt(tasks, task, &begin)?;
        let prompt = &made.text;
        let tasks_bytes = match self.task_list_bytes() {
            Err(error) if error.kind() == ErrorKind::NotFound && self.plan.job.until == Until::Validation => {
                Vec::new()
            }
            read => read.context("read the task list")?,
        };
        slot.begin(&begin, prompt, &tasks_bytes)?;
        self.hints_are_taken();
        slot.write(names::REFS_BEFORE, &self.plan.store.tips_of_others()?)?;
        self.tell_of_start(task, &begin);
        self.tell_of_prompt(number, &made);

        let environment = self.environment(task, &begin);
        let run = self.run_agent(&slot, number, &environment)?;
        self.ran(&run);
        self.mend_spool(&slot, &begin, prompt, &tasks_bytes)?;
        let is_stopped = run.exit.reason == Some(ExitReason::Interrupted);
        // What an agent left that could not work, or not to its end, is nothing to be judged.
        let is_worth_it =
            !is_stopped && !run.is_cut() && !run.failure_class.is_some_and(FailureClass::is_unusable);
        let validation = if is_worth_it { self.validate(&slot, number, &environment)? } else { None };
        self.mend_spool(&slot, &begin, prompt, &tasks_bytes)?;

        self.begins(number, Phase::Recording);
        self.tell_leftovers(&run, validation.as_ref());
        let before = self.tasks.parse(&tasks_bytes)?;
        let after = match self.read_tasks() {
            Ok(after) => after,
            Err(error) => {
                self.warn(format!("the task list cannot be read after the agent's run: {error:#}"));
                Rc::clone(&before)
            }
        };
        let is_promised = run.is_good && final_message::promise(&run.final_text);
        let verdict = judge::judge(Evidence {
            before: &before,
            after: &after,
            agent: Some(&run),
            validation: validation.as_ref(),
            is_promised,
            completion: self.plan.config.settings.completion,
            is_made: self.plan.job.is_made(self.plan.feature),
        });
        self.open_again(&slot, &verdict, &after)?;
        if self.plan.job.until == Until::Tasks {
            self.tell_lost(&verdict.lost, &before);
        }
        self.is_promised = verdict.is_complete;

        let ended_at = self.plan.clock.now();
        let mut taken = self.recorder.take(&slot, &format!("iteration {number}"), ended_at);
        let done = Done {
            task,
            closed: &verdict.closed,
            tasks: &before,
            iteration: number,
            environment: &environment,
        };
        let committed = self.commit_work(verdict.outcome, &mut taken, &done);
        let known = slot.refs_before()?;
        let mut iteration = self.compose(
            begin,
            Measured { run: &run, validation: validation.as_ref(), verdict, taken, known: &known },
            ended_at,
        )?;
        // It is ours by whatever clock git dated it.
        iteration.commits.extend(committed.commit.filter(|commit| !iteration.commits.contains(commit)));
        iteration.uncommitted = committed.refused;
        let mut context = live_context(&slot, &iteration, &run.final_text, &self.plan.project_root)?;
        context = context.map(|context| self.without_secrets(context));
        let examined = context.as_ref().and_then(IterationContext::examined);
        iteration.facts = capture::facts(
            Captured {
                outcome: iteration.outcome,
                tool_calls: &run.tool_calls,
                final_text: &run.final_text,
                context: context.as_ref(),
                examined: examined.as_ref(),
            },
            &self.plan.capture_rules,
        );
        if let Some(context) = &mut context {
            iteration.facts.summarized = self.summarize(context)?;
            context.summary.clone_from(&iteration.facts.summarized);
        }
        let mut excerpt = String::new();
        if let Some(context) = context.as_ref().filter(|_| iteration.outcome == Outcome::Failure) {
            let settings = &self.plan.config.settings;
            let told =
                context.told_of(examined.as_ref(), excerpt_choice(settings), settings.progress_max_chars);
            (excerpt, iteration.fingerprint) = (told.excerpt, told.fingerprint);
        }
        let commit = self.recorder.iteration(&slot, &iteration, &excerpt)?;
        self.recorded(&iteration, commit)?;
        self.hints_were_in(&iteration);
        self.note_commits(&iteration);
        if let Some(context) = context {
            self.plan.progress.record(&context);
        }
        Ok(iteration)
    }

    fn tell_leftovers(&mut self, run: &AgentRun, validation: Option<&Validation>) {
        let leftovers =
            run.leftovers.iter().chain(validation.iter().flat_map(|validation| &validation.leftovers));
        let leftovers: Vec<&str> = leftovers.map(String::as_str).collect();
        if !leftovers.is_empty() {
            self.warn(format!("stopped what was left running in the background: {}", leftovers.join(", ")));
        }
    }

    /// Says which open tasks left the list, and remembers them: they are not done, though they are not open.
    fn tell_lost(&mut self, lost: &[Item], before: &TaskList) {
        let names: Vec<&str> = lost.iter().map(|task| task.name.as_str()).collect();
        let are = if lost.len() == 1 { "was open and is" } else { "were open and are" };
        if !lost.is_empty() {
            let names = names.join(", ");
            self.warn(format!("{names} {are} gone from the task list, without having been done"));
        }
        let lost = lost.iter().map(|task| Lost { task: task.clone(), copies: before.copies(task) });
        self.lost.extend(lost);
    }

    fn note_commits(&mut self, iteration: &Iteration) {
        if iteration.commits.is_empty() {
            return;
        }
        let noted = redacted(self.recorder.redactor(), iteration)
            .and_then(|iteration| self.plan.store.note_commits(&iteration));
        if let Err(error) = noted {
            self.warn(format!("its commits got no note: {error:#}\nhint: `{RALPH} notes rebuild` writes it"));
        }
    }

    /// What the user's command makes of an iteration; none where none is to be asked.
    fn summarize(&mut self, context: &IterationContext) -> Result<Option<Summarized>> {
        let Some(summarizer) = iteration_summarizer(&self.plan.config.settings) else { return Ok(None) };
        let (question, _) = self.recorder.redactor().redact_text(&question(context));
        Ok(Some(match summarizer.ask(&question, &self.room()?)? {
            Ok(text) => {
                // Before it is cut: half a secret is not found.
                let (text, _) = self.recorder.redactor().redact_text(&text);
                Summarized::Text(text.chars().take(SUMMARY_CHARS).collect())
            }
            Err(reason) => {
                self.warn(format!("no summary of the iteration, its output stands in: {reason}"));
                Summarized::Failed(reason)
            }
        }))
    }

    fn room(&self) -> Result<Room<'_>> {
        let scratch = self.spool.scratch();
        std::fs::create_dir_all(&scratch).with_context(|| format!("create {scratch}"))?;
        Ok(Room {
            directory: &self.plan.project_root,
            scratch,
            marker: self.marker()?,
            interrupt: self.plan.interrupt,
        })
    }

    /// Records that a task is given up: a record of its own, without a run.
    pub(super) fn skip(&mut self, task: &Task) -> Result<()> {
        let number = self.next;
        let slot = self.spool.slot(&number.to_string());
        slot.create()?;
        let begin = self.begin_iteration(task, number)?;
        let taken = self.recorder.take(&slot, &format!("iteration {number}"), begin.started_at);
        let started_at = begin.started_at;
        let counts = self.counts();
        let mut iteration = opened(begin, &self.session, started_at, counts, self.plan.store.head()?);
        iteration.outcome = Outcome::Skipped;
        iteration.snapshot = taken.snapshot;
        let commit = self.recorder.iteration(&slot, &iteration, "")?;
        self.recorded(&iteration, commit)
    }

    /// Excerpts are cut from what the record has: a cut may take away by what a secret would be known.
    fn without_secrets(&self, context: IterationContext) -> IterationContext {
        let redacted = |text: &str| self.recorder.redactor().redact_text(text).0;
        IterationContext {
            stdout: redacted(&context.stdout),
            stderr: redacted(&context.stderr),
            agent_failure: context.agent_failure.as_deref().map(redacted),
            ..context
        }
    }

    fn begin_iteration(&mut self, task: &Task, iteration: u32) -> Result<Begin> {
        let agent_version = match self.current {
            0 => self.session.agent_version.clone(),
            place => {
                let agent = self.plan.agents[place].agent;
                self.versions.entry(place).or_insert_with(|| agent.version()).clone()
            }
        };
        Ok(Begin {
            iteration,
            task: task.clone(),
            attempt: self.history.attempts(&task.name) + 1,
            started_at: self.plan.clock.now(),
            branch: self.plan.store.branch()?,
            head_before: self.plan.store.head()?,
            agent: self.candidate().agent.name().to_owned(),
            agent_version,
            model: self.candidate().model.clone(),
            validation_command: self.plan.config.settings.validation_command.clone(),
            hints: Vec::new(),
            tips: self.recorder.tips(),
        })
    }

    fn prompt(&mut self, tasks: &TaskList, task: &Task, begin: &Begin) -> Result<Prompt> {
        if self.memory.is_cleared_since(self.plan.store)? {
            self.plan.progress.clear();
        }
        let summed_up = self.sum_up(task)?;
        let failures = Failures {
            of_task: self.history.failures_in_a_row(&task.name),
            of_one_cause: self.history.same_failures_in_a_row(),
        };
        let turn =
            PromptTurn { tasks, task, iteration: begin.iteration, failures, session: Some(&self.session.id) };
        let prompting = Prompting { hints: begin.hints.clone(), ..self.plan.prompting() };
        prompting.prompt(&turn, self.plan.store, &mut self.memory, summed_up)
    }

    /// What a command of the user's makes of the older iterations; none where ours are told as they are.
    fn sum_up(&mut self, task: &Task) -> Result<Option<Recalled>> {
        let Some(summarizer) = history_summarizer(&self.plan.config.settings) else { return Ok(None) };
        let policy = history_policy(self.plan.config);
        let budget = policy.settings.budget;
        // The command sees more than the prompt has room for.
        let material = budget.saturating_mul(MATERIAL);
        let wanted = Sought { task, session: Some(&self.session.id), budget: material };
        let recalled = self.memory.recall(self.plan.store, wanted, policy)?;
        let Some(mut recalled) = recalled.filter(|recalled| !recalled.context.text.is_empty()) else {
            return Ok(None);
        };
        let question = historical::question(&recalled.context, task, budget);
        match summarizer.ask(&question, &self.room()?)? {
            Ok(answer) => {
                recalled.context = historical::summed_up(recalled.context, &answer, budget);
                Ok(Some(recalled))
            }
            Err(reason) => {
                self.warn(format!("older iterations are not summed up, but told as they are: {reason}"));
                Ok(None)
            }
        }
    }

    fn begins(&mut self, iteration: u32, phase: Phase) {
        // Who looks on from elsewhere knows less then, and nothing else is lost.
        let _untold = self.control.tell_phase(phase.as_str()).is_err();
        (self.say)(&Event::PhaseStarted { iteration, phase });
    }

    fn tell_of_start(&mut self, task: &Task, begin: &Begin) {
        (self.say)(&Event::IterationStarted {
            session: self.session.id.clone(),
            iteration: begin.iteration,
            task: task.clone(),
            attempt: begin.attempt,
            agent: begin.agent.clone(),
            hints: begin.hints.clone(),
            started_at: begin.started_at,
        });
    }

    /// Says what the prompt tells of older iterations, and what it has no room for.
    fn tell_of_prompt(&mut self, iteration: u32, prompt: &Prompt) {
        let told = prompt.recalled.as_ref().filter(|recalled| !recalled.context.text.is_empty());
        if let Some(recalled) = told {
            (self.say)(&Event::HistoryTold {
                iteration,
                mode: recalled.mode.as_str(),
                failures: match recalled.why {
                    Reason::Asked => None,
                    Reason::Failures(failures) => Some(failures),
                },
                scanned: recalled.context.scanned,
                tokens: recalled.context.tokens(),
            });
        }
        if let Some(warning) = &prompt.warning {
            self.warn(warning.clone());
        }
    }

    fn environment(&self, task: &Task, begin: &Begin) -> Vec<(String, String)> {
        let feature = self.plan.feature;
        [
            ("RALPH_SESSION", self.session.id.to_string()),
            ("RALPH_ITERATION", begin.iteration.to_string()),
            ("RALPH_TASK", task.name.clone()),
            ("RALPH_ATTEMPT", begin.attempt.to_string()),
            ("RALPH_FEATURE", feature.dir.to_string()),
            ("RALPH_TASKS", feature.tasks_path.to_string()),
            ("RALPH_PROGRESS", feature.progress_path.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn run_agent(
        &mut self,
        slot: &Slot,
        iteration: u32,
        environment: &[(String, String)],
    ) -> Result<AgentRun> {
        let agent = self.plan.agents[self.current].agent;
        self.begins(iteration, Phase::Agent { agent: agent.name().to_owned() });
        let turn = Turn {
            prompt: &slot.path(names::PROMPT),
            stdout: &slot.path(names::AGENT_STDOUT),
            stderr: &slot.path(names::AGENT_STDERR),
            directory: &self.plan.project_root,
            environment,
            limits: self.candidate().limits,
            marker: &self.marker()?,
            clock: self.plan.clock,
        };
        let say = &mut *self.say;
        agent
            .run(&turn, self.plan.interrupt, &mut |event| say(&Event::AgentEvent { iteration, event }))
            .with_context(|| format!("run the agent {}", agent.name()))
    }

    fn validate(
        &mut self,
        slot: &Slot,
        iteration: u32,
        environment: &[(String, String)],
    ) -> Result<Option<Validation>> {
        let Some(command) = self.plan.config.settings.validation_command.clone() else { return Ok(None) };
        self.begins(iteration, Phase::Validation { command: command.clone() });
        let bench = Bench {
            directory: self.plan.project_root.clone(),
            environment: environment.to_vec(),
            stdout: slot.path(names::VALIDATION_STDOUT),
            stderr: slot.path(names::VALIDATION_STDERR),
            marker: self.marker()?,
            limits: validation_limits(&self.plan.config.settings),
            clock: self.plan.clock,
        };
        let validation = validate::run(&command, &bench, self.plan.interrupt)?;
        (self.say)(&Event::ValidationFinished {
            iteration,
            command,
            exit: validation.exit,
            duration_ms: validation.duration_ms,
        });
        Ok(Some(validation))
    }

    /// Makes the spool whole again where the child that just ended deleted it.
    fn mend_spool(&mut self, slot: &Slot, begin: &Begin, prompt: &str, tasks: &[u8]) -> Result<()> {
        let is_mended = self.recorder.mend_spool()? | self.plan.store.keep_identity(&self.identity)?;
        if is_mended || !slot.is_begun() {
            slot.begin(begin, prompt, tasks)?;
            let folder = self.plan.store.repository().ralph_dir();
            self.warn(format!("files of the loop in {folder} were deleted while it ran; they are back"));
        }
        if let Err(error) = self.lock.hold_on(self.plan.store.repository()) {
            self.warn(format!("the lock of this loop was deleted, and is not ours any more: {error:#}"));
        }
        Ok(())
    }

    fn open_again(&mut self, slot: &Slot, verdict: &Verdict, after: &TaskList) -> Result<()> {
        if !self.plan.config.settings.untick || verdict.to_open.is_empty() {
            return Ok(());
        }
        // The claim must outlive the box: we may die between opening it and recording it.
        let found = match self.task_list_bytes() {
            Ok(found) => found,
            Err(error) => {
                self.warn(format!(
                    "boxes that were ticked too early stay ticked: read the task list: {error}"
                ));
                return Ok(());
            }
        };
        slot.write_once(names::TASKS_FOUND, &found)?;
        let items: Vec<&Item> = verdict.to_open.iter().collect();
        let feature = self.plan.feature;
        let changes = match set_marks((&feature.files, &feature.tasks_path), after, &items, Mark::Open) {
            Ok(changes) => changes,
            Err(error) => {
                self.warn(format!("boxes that were ticked too early stay ticked: {error:#}"));
                return Ok(());
            }
        };
        for name in &changes.not_found {
            self.warn(format!("the box of {name} could not be opened again: it is no longer there"));
        }
        Ok(())
    }

    fn compose(&mut self, begin: Begin, measured: Measured<'_>, ended_at: Timestamp) -> Result<Iteration> {
        let Measured { run, validation, verdict, taken, known } = measured;
        let started_at = begin.started_at;
        let counts = self.counts();
        let mut iteration = opened(begin, &self.session, ended_at, counts, self.plan.store.head()?);
        iteration.outcome = verdict.outcome;
        iteration.failure_class = run.failure_class;
        iteration.error.clone_from(&run.error);
        iteration.resets_at = run.resets_at.filter(|_| !run.is_good);
        iteration.claims = verdict.claims;
        iteration.false_claim = verdict.false_claim;
        iteration.closed = verdict.closed;
        iteration.duration_ms = Durations {
            agent: Some(run.duration_ms),
            validation: validation.map(|validation| validation.duration_ms),
        };
        iteration.exit = Exits {
            agent: Some(run.exit.code),
            validation: validation.map(|validation| validation.exit.code),
        };
        iteration.exit_reason = run.exit.reason.or(validation.and_then(|validation| validation.exit.reason));
        iteration.files_changed = taken.files_changed();
        iteration.snapshot = taken.snapshot;
        iteration.left_out = taken.left_out;
        iteration.model = run.model.clone().or(iteration.model);
        iteration.tokens = run.tokens;
        iteration.cost_usd = run.cost_usd;
        iteration.tool_calls.clone_from(&run.tool_calls);
        let findings = final_message::findings(&run.final_text);
        iteration.learnings = findings.learnings;
        iteration.decisions = findings.decisions;
        iteration.approaches = findings.approaches;
        let (before, after) = (iteration.head_before.as_ref(), iteration.head_after.as_ref());
        let commits = self.recorder.work_tree().commits_between((before, after), known, started_at);
        iteration.commits = commits.unwrap_or_else(|error| {
            self.warn(format!("the commits of this iteration cannot be listed: {error:#}"));
            Vec::new()
        });
        Ok(iteration)
    }

    fn task_list_bytes(&self) -> io::Result<Vec<u8>> {
        let feature = self.plan.feature;
        feature.files.read(&feature.tasks_path, MAX_TASK_LIST_BYTES)
    }

    fn counts(&mut self) -> TaskCounts {
        self.read_tasks().map(|tasks| tasks.counts()).unwrap_or_default()
    }

    fn recorded(&mut self, iteration: &Iteration, commit: ObjectId) -> Result<()> {
        let _untold = self.control.no_longer_in_a_phase().is_err();
        self.next = iteration.iteration + 1;
        self.session.add(iteration);
        self.session.tasks_done = iteration.tasks_done;
        self.session.tasks_remaining = iteration.tasks_open;
        self.history.push(iteration);
        self.memory.push(redacted(self.recorder.redactor(), iteration)?);
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
        Ok(())
    }
}

/// An iteration of which only its beginning is known: not ended by itself, with nothing captured yet.
pub(super) fn opened(
    begin: Begin,
    session: &Session,
    ended_at: Timestamp,
    counts: TaskCounts,
    head_after: Option<ObjectId>,
) -> Iteration {
    Iteration {
        schema: SCHEMA,
        id: format!("{}-iter-{}", session.id, begin.iteration),
        session: session.id.clone(),
        feature: session.feature.clone(),
        branch: begin.branch,
        iteration: begin.iteration,
        loop_type: session.loop_type.clone(),
        task: Some(begin.task.name),
        task_text: Some(begin.task.text),
        phase: begin.task.phase,
        outcome: Outcome::Interrupted,
        failure_class: None,
        error: None,
        resets_at: None,
        claims: Claims::default(),
        false_claim: Vec::new(),
        closed: Vec::new(),
        started_at: begin.started_at,
        ended_at,
        duration_ms: Durations::default(),
        exit: Exits::default(),
        exit_reason: None,
        validation_command: begin.validation_command,
        files_changed: Vec::new(),
        agent: begin.agent,
        agent_version: begin.agent_version,
        model: begin.model,
        tokens: Tokens::default(),
        cost_usd: None,
        tool_calls: Vec::new(),
        learnings: Vec::new(),
        decisions: Vec::new(),
        approaches: Vec::new(),
        facts: Facts::default(),
        fingerprint: None,
        head_after,
        head_before: begin.head_before,
        commits: Vec::new(),
        snapshot: None,
        left_out: Vec::new(),
        uncommitted: None,
        redactions: Vec::new(),
        hints: begin.hints,
        tasks_done: counts.done,
        tasks_open: counts.open,
    }
}
