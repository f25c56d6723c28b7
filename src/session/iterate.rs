//! One iteration, from an open task to a record: prompt, agent, validation, judgement, record.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use anyhow::{Context, Result};
use camino::Utf8Path;

use crate::agent::{Turn, final_message};
use crate::progress::{Cut, IterationContext, excerpt_of, journal};
use crate::record::{
    AgentRun, Claims, Durations, Event, ExitReason, Exits, FailureClass, Iteration, LogEntry, ObjectId,
    Outcome, SCHEMA, Session, Task, TaskCounts, Timestamp, Tokens, Validation,
};
use crate::store::{Begin, Slot, Store, names};
use crate::tasks::{Item, Mark, TaskList, set_marks};
use crate::validate::{self, Bench};

use super::judge::{self, Evidence, Verdict};
use super::recorder::Taken;
use super::{Prompting, Running, Untick, Until, add_totals, remember};

/// How much of the end of a stream is read for an excerpt, in bytes. Excerpts are a few hundred characters.
const TAIL: usize = 64 * 1024;

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
        let prompt = self.prompt(tasks, task, &begin)?;
        let tasks_bytes = match std::fs::read(&self.plan.feature.tasks_path) {
            Err(error) if error.kind() == ErrorKind::NotFound && self.plan.job.until == Until::Validation => {
                Vec::new()
            }
            read => read.context("read the task list")?,
        };
        slot.begin(&begin, &prompt, &tasks_bytes)?;
        self.hints_are_taken();
        slot.write(names::REFS_BEFORE, &self.plan.store.tips_of_others()?)?;
        (self.say)(&Event::IterationStarted {
            session: self.session.id.clone(),
            iteration: number,
            task: task.clone(),
            attempt: begin.attempt,
            agent: begin.agent.clone(),
            hints: begin.hints.clone(),
            started_at: begin.started_at,
        });

        let environment = self.environment(task, &begin);
        let run = self.run_agent(&slot, number, &environment)?;
        self.ran(&run);
        self.mend_spool(&slot, &begin, &prompt, &tasks_bytes)?;
        let is_stopped = run.exit.reason == Some(ExitReason::Interrupted);
        // What an agent left that could not work, or not to its end, is nothing to be judged.
        let is_worth_it =
            !is_stopped && !run.is_cut() && !run.failure_class.is_some_and(FailureClass::is_unusable);
        let validation = if is_worth_it { self.validate(&slot, number, &environment)? } else { None };
        self.mend_spool(&slot, &begin, &prompt, &tasks_bytes)?;

        let leftovers =
            run.leftovers.iter().chain(validation.iter().flat_map(|validation| &validation.leftovers));
        let leftovers: Vec<&str> = leftovers.map(String::as_str).collect();
        if !leftovers.is_empty() {
            self.warn(format!("stopped what was left running in the background: {}", leftovers.join(", ")));
        }

        let before = TaskList::parse(&tasks_bytes)?;
        let after = match self.plan.job.read_tasks(self.plan.feature) {
            Ok(after) => after,
            Err(error) => {
                self.warn(format!("the task list cannot be read after the agent's run: {error:#}"));
                before.clone()
            }
        };
        let is_promised = run.is_good && final_message::promise(&run.final_text);
        let verdict = judge::judge(Evidence {
            before: &before,
            after: &after,
            agent: Some(&run),
            validation: validation.as_ref(),
            is_promised,
            completion: self.plan.completion,
            is_made: self.plan.job.is_made(),
        });
        self.open_again(&slot, &verdict)?;
        self.is_promised = verdict.is_complete;

        let ended_at = self.plan.clock.now();
        let taken = self.recorder.take(&slot, &format!("iteration {number}"), ended_at);
        let known = slot.refs_before()?;
        let iteration = self.compose(
            begin,
            Measured { run: &run, validation: validation.as_ref(), verdict, taken, known: &known },
            ended_at,
        )?;
        let context = live_context(&slot, &iteration, &run.final_text)?;
        let context = context.map(|context| self.without_secrets(context));
        let excerpt = context.as_ref().map(|IterationContext { stdout, stderr, cut, .. }| {
            excerpt_of(stdout, stderr, *cut, self.plan.excerpt_chars)
        });
        let entry = journal::entry(&iteration, excerpt.as_deref().unwrap_or_default());
        let commit = self.recorder.iteration(&slot, &iteration, &entry)?;
        self.recorded(&iteration, commit);
        self.hints_were_in(&iteration);
        if let Err(error) = self.plan.store.note_commits(&iteration) {
            self.warn(format!(
                "its commits got no note: {error:#}\nhint: `specify ralph notes rebuild` writes it"
            ));
        }
        remember(self.plan.progress.as_mut(), context);
        Ok(iteration)
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
        let entry = journal::entry(&iteration, "");
        let commit = self.recorder.iteration(&slot, &iteration, &entry)?;
        self.recorded(&iteration, commit);
        Ok(())
    }

    /// Excerpts are cut from what the record has: a cut may take away by what a secret would be known.
    fn without_secrets(&self, context: IterationContext) -> IterationContext {
        let redacted = |text: &str| self.recorder.redactor().redact_text(text).0;
        IterationContext { stdout: redacted(&context.stdout), stderr: redacted(&context.stderr), ..context }
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
            validation_command: self.plan.validation_command.clone(),
            hints: Vec::new(),
            tips: self.recorder.tips(),
        })
    }

    fn prompt(&self, tasks: &TaskList, task: &Task, begin: &Begin) -> Result<String> {
        let prompting = Prompting { hints: begin.hints.clone(), ..self.plan.prompting() };
        prompting.prompt(tasks, task, begin.iteration, self.history.failures_in_a_row(&task.name))
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
        let agent = self.plan.agents[self.current].agent;
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
        let Some(command) = self.plan.validation_command.clone() else { return Ok(None) };
        let bench = Bench {
            directory: self.plan.project_root.clone(),
            environment: environment.to_vec(),
            stdout: slot.path(names::VALIDATION_STDOUT),
            stderr: slot.path(names::VALIDATION_STDERR),
            marker: self.marker()?,
            limits: self.plan.validation_limits,
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
        let is_mended = self.recorder.mend_spool()?;
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

    fn open_again(&mut self, slot: &Slot, verdict: &Verdict) -> Result<()> {
        if self.plan.untick == Untick::Leave || verdict.to_open.is_empty() {
            return Ok(());
        }
        // The claim must outlive the box: we may die between opening it and recording it.
        let found = std::fs::read(&self.plan.feature.tasks_path).context("read the task list")?;
        slot.write_once(names::TASKS_FOUND, &found)?;
        let items: Vec<&Item> = verdict.to_open.iter().collect();
        let changes = match set_marks(&self.plan.feature.tasks_path, &items, Mark::Open) {
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
        let mut iteration = opened(begin, &self.session, ended_at, self.counts(), self.plan.store.head()?);
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
        iteration.files_changed = taken.files_changed;
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
        let span = (started_at, ended_at);
        let commits = self.recorder.work_tree().commits_between((before, after), known, span);
        iteration.commits = commits.unwrap_or_else(|error| {
            self.warn(format!("the commits of this iteration cannot be listed: {error:#}"));
            Vec::new()
        });
        Ok(iteration)
    }

    fn counts(&self) -> TaskCounts {
        TaskList::read(&self.plan.feature.tasks_path).map(|tasks| tasks.counts()).unwrap_or_default()
    }

    fn recorded(&mut self, iteration: &Iteration, commit: ObjectId) {
        self.next = iteration.iteration + 1;
        add_totals(&mut self.session, iteration);
        self.session.tasks_done = iteration.tasks_done;
        self.session.tasks_remaining = iteration.tasks_open;
        self.history.push(iteration);
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
        fingerprint: None,
        head_after,
        head_before: begin.head_before,
        commits: Vec::new(),
        snapshot: None,
        left_out: Vec::new(),
        redactions: Vec::new(),
        hints: begin.hints,
        tasks_done: counts.done,
        tasks_open: counts.open,
    }
}

/// What the next prompt should know of an iteration: the end of the validation's streams, or of the agent's words.
/// None where nothing ran to its end.
fn context_from(
    iteration: &Iteration,
    read: &mut dyn FnMut(&str) -> Result<Tail>,
) -> Result<Option<IterationContext>> {
    let is_validated = iteration.exit.validation.is_some();
    let (exit_code, duration_ms) = if is_validated {
        (iteration.exit.validation, iteration.duration_ms.validation)
    } else {
        (iteration.exit.agent, iteration.duration_ms.agent)
    };
    let (Some(exit_code), true) = (exit_code, iteration.outcome != Outcome::Interrupted) else {
        return Ok(None);
    };
    let (stdout, stderr) = if is_validated {
        (read("validation/stdout")?, read("validation/stderr")?)
    } else {
        (read("agent/stdout")?, read("agent/stderr")?)
    };
    Ok(Some(IterationContext {
        iteration: iteration.iteration,
        validation_command: iteration.validation_command.clone().filter(|_| is_validated),
        exit_code,
        exit_reason: iteration.exit_reason,
        cut: match (stdout.is_cut, stderr.is_cut) {
            (false, false) => Cut::Nothing,
            (true, false) => Cut::Stdout,
            (false, true) => Cut::Stderr,
            (true, true) => Cut::Both,
        },
        stdout: stdout.text,
        stderr: stderr.text,
        duration_ms: duration_ms.unwrap_or_default(),
        files_changed: iteration.files_changed.clone(),
    }))
}

/// The end of a stream.
#[derive(Debug, Default)]
struct Tail {
    text: String,
    /// Whether there was more in front.
    is_cut: bool,
}

impl Tail {
    fn of(bytes: &[u8], is_cut: bool) -> Self {
        Self { text: String::from_utf8_lossy(bytes).into_owned(), is_cut }
    }
}

/// From the spool, right after the iteration.
fn live_context(slot: &Slot, iteration: &Iteration, final_text: &str) -> Result<Option<IterationContext>> {
    context_from(iteration, &mut |path| match path {
        "validation/stdout" => tail_of(&slot.path(names::VALIDATION_STDOUT)),
        "validation/stderr" => tail_of(&slot.path(names::VALIDATION_STDERR)),
        "agent/stdout" => Ok(Tail::of(final_text.as_bytes(), false)),
        _ => Ok(Tail::default()),
    })
}

/// From the record, when a session is taken up again.
pub(super) fn context_of(
    store: &Store,
    entry: &LogEntry,
    iteration: &Iteration,
) -> Result<Option<IterationContext>> {
    context_from(iteration, &mut |path| {
        let (bytes, is_cut) = store.tail(&entry.commit, path, TAIL)?;
        Ok(Tail::of(&bytes, is_cut))
    })
}

fn tail_of(path: &Utf8Path) -> Result<Tail> {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Tail::default()),
        Err(error) => return Err(error).with_context(|| format!("read {path}")),
    };
    let length = file.metadata().with_context(|| format!("read {path}"))?.len();
    let start = length.saturating_sub(TAIL as u64);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))
        .and_then(|_| file.take(TAIL as u64).read_to_end(&mut bytes))
        .with_context(|| format!("read {path}"))?;
    Ok(Tail::of(&bytes, start > 0))
}
