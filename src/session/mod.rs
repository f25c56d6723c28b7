//! The loop: find out what is open, let an agent work on it, judge, record, repeat.
//!
//! The only place that puts effects in order. It says what happens through a closure and never names a screen.

mod decide;
mod iterate;
mod judge;
mod progress_file;
mod prompting;
mod recorder;
mod recover;
mod window;

use anyhow::Result;
use camino::Utf8Path;
use serde_json::Value;

use crate::agent::Agent;
use crate::clock::Clock;
use crate::feature::Feature;
use crate::history::History;
use crate::process::{Interrupt, Limits as ChildLimits, Marker};
use crate::progress::{Choice, IterationContext, ProgressStrategy};
use crate::prompt::Template;
use crate::record::{
    Artifact, ArtifactStatus, Durations, Event, Limit, Refusal, SCHEMA, Session, SessionId, Status,
    StopReason, TaskCounts, TaskName, Tokens,
};
use crate::redact::Redactor;
use crate::store::{Holder, LoopLock, Place, SessionLog, SessionRefs, Spool, Store};
use crate::tasks::TaskList;
use crate::worktree::WorkTree;

use decide::{Bounds, Decision};
use recorder::Recorder;

pub use prompting::Prompting;
pub use recover::{expected_progress, rebuilt_of_all};
pub use window::Window;

/// Everything that is decided before a session starts.
pub struct Plan<'a> {
    pub store: &'a Store,
    pub feature: &'a Feature,
    pub agent: &'a dyn Agent,
    pub agent_limits: ChildLimits,
    pub model: Option<String>,
    pub template: Template,
    pub validation_command: Option<String>,
    pub validation_limits: ChildLimits,
    /// How past iterations become the `progress` text of the next prompt.
    pub progress: Box<dyn ProgressStrategy>,
    /// How much of an output the journal and the prompt show, in characters.
    pub excerpt_chars: usize,
    /// Which part of it that is.
    pub choice: Choice,
    pub limits: Limits,
    pub completion: Completion,
    pub untick: Untick,
    pub snapshots: Snapshots,
    /// Untracked files of more bytes stay out of snapshots.
    pub snapshot_max_file: u64,
    pub redaction_rules: Vec<String>,
    pub redaction_allow: Vec<String>,
    /// Every effective setting, for the record.
    pub configuration: Value,
    /// Work on this task alone.
    pub only: Option<TaskName>,
    /// Take this session up again instead of starting one.
    pub resume: Option<SessionRefs>,
    /// The folder in which children run: where `.specify/` is, else the top of the work tree.
    pub project_root: camino::Utf8PathBuf,
    pub host: String,
    pub clock: &'a Clock,
    pub interrupt: &'a Interrupt,
}

impl Plan<'_> {
    fn prompting(&self) -> Prompting<'_> {
        Prompting {
            feature: self.feature,
            template: &self.template,
            max_iterations: self.limits.max_iterations,
            validation_command: self.validation_command.as_deref(),
            progress: self.progress.as_ref(),
        }
    }
}

/// When a session ends though tasks are open.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub max_iterations: u32,
    /// A task is skipped after so many failures in a row.
    pub skip_after: u32,
    /// The session ends after so many iterations in a row that changed nothing.
    pub stuck_after: u32,
    pub max_tokens: Option<u64>,
    pub max_cost: Option<f64>,
    pub max_duration: Option<std::time::Duration>,
}

/// What makes a session complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// No task is open and the validation passes.
    Verified,
    /// The agent's promise is enough.
    Promise,
}

/// What happens to boxes that were ticked in an iteration that is no success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untick {
    OpenAgain,
    Leave,
}

/// Whether snapshots of the work tree are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Snapshots {
    Keep,
    Off,
}

/// How a call of [`run`] ended.
#[derive(Debug)]
pub enum Finish {
    /// There was nothing to do; nothing was written.
    AllDone(TaskCounts),
    Ended(Box<Session>),
}

/// Runs one session from start to a stop reason.
pub fn run(mut plan: Plan<'_>, say: &mut dyn FnMut(&Event)) -> Result<Finish> {
    let mut lock = LoopLock::take(plan.store.repository())?;
    recover::recover(&plan, say)?;
    let tasks = TaskList::read(&plan.feature.tasks_path)?;
    if is_done(&tasks, plan.only.as_ref()) {
        if plan.resume.take().is_some() {
            // Nothing is taken up after all: what was left open for it comes to its end.
            recover::recover(&plan, say)?;
        }
        return Ok(Finish::AllDone(tasks.counts()));
    }
    let mut running = Running::begin(plan, &tasks, &mut lock, say)?;
    let (reason, limit) = running.turns()?;
    let session = running.end(reason, limit)?;
    drop(lock);
    Ok(Finish::Ended(Box::new(session)))
}

/// Whether a session would find nothing to do and nothing to recover; then nothing need be written at all.
pub fn nothing_to_do(
    store: &Store,
    feature: &Feature,
    only: Option<&TaskName>,
) -> Result<Option<TaskCounts>> {
    if !recover::nothing_is_left(store.repository())? {
        return Ok(None);
    }
    let tasks = TaskList::read(&feature.tasks_path)?;
    Ok(is_done(&tasks, only).then(|| tasks.counts()))
}

/// Refuses a progress.txt that cannot be appended to.
pub fn check_progress_file(path: &Utf8Path) -> Result<()> {
    let writable = || std::fs::OpenOptions::new().append(true).open(path);
    match path.metadata() {
        Ok(found) if found.is_dir() => Err(Refusal::new(format!("{path} is a directory"))
            .hinted("move it away; the loop keeps its journal there")
            .into()),
        Ok(_) => match writable() {
            Ok(_) => Ok(()),
            Err(error) => Err(Refusal::new(format!("{path} cannot be written: {error}"))
                .hinted(format!("chmod u+w {path}"))
                .into()),
        },
        Err(_) => Ok(()),
    }
}

/// Refuses where a ref of another tool has the name under which ours would stand.
pub fn check_refs(store: &Store, feature: &Feature) -> Result<()> {
    let Some(name) = store.blocking_ref(&feature.path)? else { return Ok(()) };
    let kept = name.replacen("refs/", "refs/kept/", 1);
    Err(Refusal::new(format!("{name} is a ref of another tool, ours cannot stand below it"))
        .hinted(format!("move it away: git update-ref {kept} {name} && git update-ref -d {name}"))
        .into())
}

/// Whether nothing is left to do: no open task, or the one that was asked for is done.
fn is_done(tasks: &TaskList, only: Option<&TaskName>) -> bool {
    match only {
        Some(name) => tasks.find(name).is_some_and(|item| item.done),
        None => tasks.counts().open == 0,
    }
}

/// A session that runs.
pub(super) struct Running<'a> {
    pub plan: Plan<'a>,
    pub session: Session,
    pub recorder: Recorder<'a>,
    pub lock: &'a mut LoopLock,
    pub spool: Spool,
    pub history: History,
    /// The number of the next record of an iteration.
    pub next: u32,
    pub say: &'a mut dyn FnMut(&Event),
    /// Whether the agent promised that all is done, and that is enough by the configuration.
    pub is_promised: bool,
    started: crate::clock::Stopwatch,
}

impl<'a> Running<'a> {
    fn begin(
        mut plan: Plan<'a>,
        tasks: &TaskList,
        lock: &'a mut LoopLock,
        say: &'a mut dyn FnMut(&Event),
    ) -> Result<Self> {
        let started_at = plan.clock.now();
        let earlier = match &plan.resume {
            Some(refs) => plan.store.session(refs)?,
            None => None,
        };
        let id = if let Some(log) = &earlier {
            log.id().clone()
        } else {
            // The latest session is the one whose id sorts last.
            let id = SessionId::new(started_at, salt(plan.clock));
            plan.store.newest_session()?.into_iter().fold(id, |id, newest| id.behind(&newest))
        };
        lock.name_holder(&Holder {
            session: id.clone(),
            pid: std::process::id(),
            host: plan.host.clone(),
            started_at,
        })?;
        let mut session = new_session(&plan, &id, tasks, started_at)?;
        let mut history = History::default();
        let mut next = 1;
        if let Some(log) = &earlier {
            next = take_up(&mut plan, log, &mut session, &mut history)?;
        }
        let redactor = Redactor::new(&plan.redaction_rules, &plan.redaction_allow)?;
        let session = recorder::redacted(&redactor, &session)?;
        let place = place(&plan, &session);
        let spool = Spool::create(plan.store.repository(), &place)?;
        let mut recorder = Recorder::new(plan.store, place, redactor, spool.clone())?;
        match &earlier {
            None => recorder.start(&session, &plan.feature.name, plan.clock)?,
            Some(log) => recorder.resume(log, &session, plan.clock)?,
        };
        plan.store.note_last_written(&session.feature, &session.id)?;
        say(&Event::SessionStarted {
            session: id,
            feature: session.feature.clone(),
            agent: session.agent.clone(),
            max_iterations: session.max_iterations,
            tasks: tasks.counts(),
            is_resumed: earlier.is_some(),
        });
        let started = plan.clock.stopwatch();
        Ok(Self { plan, session, recorder, lock, spool, history, next, say, is_promised: false, started })
    }

    /// Iterates until a stop reason.
    fn turns(&mut self) -> Result<(StopReason, Option<Limit>)> {
        loop {
            if self.plan.interrupt.signal().is_some() {
                return Ok((StopReason::Interrupted, None));
            }
            let tasks = match TaskList::read(&self.plan.feature.tasks_path) {
                Ok(tasks) => tasks,
                Err(error) => {
                    self.warn(format!("the task list cannot be read any more: {error:#}"));
                    return Ok((StopReason::Stuck, None));
                }
            };
            let bounds = Bounds {
                limits: self.plan.limits,
                tokens: self.session.tokens.total(),
                cost_usd: self.session.cost_usd,
                elapsed: self.started.elapsed(),
                is_validated: self.plan.validation_command.is_some(),
                is_promised: self.is_promised,
            };
            let item = match decide::decide(&tasks, &self.history, &bounds, self.plan.only.as_ref()) {
                Decision::Go(item) => item,
                Decision::Stop { reason, limit, why } => {
                    for line in why {
                        self.warn(line);
                    }
                    return Ok((reason, limit));
                }
            };
            let task = item.to_task();
            let iteration = self.iterate(&tasks, &task)?;
            if iteration.failure_class.is_some_and(crate::record::FailureClass::is_unusable) {
                return Ok((StopReason::AgentUnusable, None));
            }
            if self.history.failures_in_a_row(&task.name) >= self.plan.limits.skip_after {
                self.skip(&task)?;
            }
        }
    }

    fn end(mut self, reason: StopReason, limit: Option<Limit>) -> Result<Session> {
        let tasks = TaskList::read(&self.plan.feature.tasks_path).ok();
        let ended_at = self.plan.clock.now();
        let session = &mut self.session;
        session.ended_at = Some(ended_at);
        session.status = reason.status();
        session.stop_reason = Some(reason);
        session.limit = limit;
        session.artifact.status = match reason.status() {
            Status::Completed => ArtifactStatus::Complete,
            Status::Failed => ArtifactStatus::Failed,
            Status::Running | Status::Interrupted => ArtifactStatus::Draft,
        };
        if let Some(tasks) = &tasks {
            session.tasks_done = tasks.counts().done;
            session.tasks_remaining = tasks.counts().open;
        }
        let commit = self.recorder.end(&self.session, ended_at)?;
        let unrecognised = tasks.iter().flat_map(|tasks| &tasks.unrecognised);
        let unrecognised =
            unrecognised.map(|item| format!("line {}: [{}] {}", item.line, item.mark, item.text)).collect();
        let is_settled = self.recorder.settle_progress();
        for warning in std::mem::take(&mut self.recorder.warnings) {
            self.warn(warning);
        }
        (self.say)(&Event::SessionEnded { session: Box::new(self.session.clone()), commit, unrecognised });
        if is_settled {
            self.spool.remove(self.plan.store.repository())?;
        }
        Ok(self.session)
    }

    pub(super) fn warn(&mut self, message: String) {
        (self.say)(&Event::Warning { message });
    }

    /// The mark by which every descendant of this session is found and stopped.
    pub(super) fn marker(&self) -> Result<Marker> {
        marker(&self.plan, &self.session.id)
    }
}

/// The mark of a session in this work tree.
fn marker(plan: &Plan<'_>, session: &SessionId) -> Result<Marker> {
    Ok(Marker::new(session).in_work_tree(plan.store.repository().work_tree()?))
}

fn new_session(
    plan: &Plan<'_>,
    id: &SessionId,
    tasks: &TaskList,
    started_at: crate::record::Timestamp,
) -> Result<Session> {
    let work_tree = WorkTree::new(plan.store.repository())?;
    Ok(Session {
        schema: SCHEMA,
        id: id.clone(),
        feature: plan.feature.path.clone(),
        branch: plan.store.branch()?,
        loop_type: "implement".to_owned(),
        started_at,
        ended_at: None,
        status: Status::Running,
        stop_reason: None,
        limit: None,
        max_iterations: plan.limits.max_iterations,
        iterations_run: 0,
        tasks_completed: 0,
        tasks_done: tasks.counts().done,
        tasks_remaining: tasks.counts().open,
        duration_ms: Durations::default(),
        tokens: Tokens::default(),
        cost_usd: None,
        artifact: Artifact {
            path: work_tree.relative(&plan.feature.tasks_path),
            status: ArtifactStatus::Draft,
        },
        agent: plan.agent.name().to_owned(),
        agent_version: plan.agent.version(),
        configuration: plan.configuration.clone(),
        host: plan.host.clone(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Restores totals, counts and the text of the next prompt from the record of a session. Gives the number of the
/// next iteration.
fn take_up(
    plan: &mut Plan<'_>,
    log: &SessionLog,
    session: &mut Session,
    history: &mut History,
) -> Result<u32> {
    session.started_at = log.entries[0].started_at;
    let mut next = 1;
    for entry in &log.entries {
        if entry.kind == crate::record::RecordKind::End {
            // Whoever takes up what had come to an end wants another try: the counts start anew.
            *history = History::default();
        }
        let Some(number) = entry.iteration else { continue };
        next = number + 1;
        let iteration = plan.store.iteration(entry)?;
        add_totals(session, &iteration);
        history.push(&iteration);
        let context = iterate::context_of(plan.store, entry, &iteration, &plan.project_root)?;
        remember(plan.progress.as_mut(), context);
    }
    Ok(next)
}

fn remember(progress: &mut dyn ProgressStrategy, context: Option<IterationContext>) {
    if let Some(context) = context {
        progress.record(&context);
    }
}

pub(super) fn add_totals(session: &mut Session, iteration: &crate::record::Iteration) {
    session.duration_ms = session.duration_ms.plus(&iteration.duration_ms);
    session.tokens = session.tokens.plus(&iteration.tokens);
    if let Some(cost) = iteration.cost_usd {
        session.cost_usd = Some(session.cost_usd.unwrap_or_default() + cost);
    }
    if iteration.outcome != crate::record::Outcome::Skipped {
        session.iterations_run += 1;
    }
    session.tasks_completed += iteration.closed.len();
}

fn place(plan: &Plan<'_>, session: &Session) -> Place {
    Place {
        session: session.id.clone(),
        feature: session.feature.clone(),
        feature_name: plan.feature.name.clone(),
        work_tree: plan.store.repository().work_tree_name(),
        tasks_path: plan.feature.tasks_path.clone(),
        progress_path: plan.feature.progress_path.clone(),
        host: plan.host.clone(),
        pid: std::process::id(),
        begun: session.clone(),
        untick: plan.untick == Untick::OpenAgain,
        snapshots: plan.snapshots == Snapshots::Keep,
        snapshot_max_file: plan.snapshot_max_file,
        redaction_rules: plan.redaction_rules.clone(),
        redaction_allow: plan.redaction_allow.clone(),
    }
}

/// Tells apart sessions that start in the same second; a fixed number beside a stepping clock.
fn salt(clock: &Clock) -> u32 {
    use std::hash::{BuildHasher, RandomState};
    // The standard library's hasher is keyed from the system's randomness: all that is needed here.
    if clock.is_stepping() {
        0
    } else {
        (RandomState::new().hash_one(std::process::id()) & 0xffff_ffff) as u32
    }
}
