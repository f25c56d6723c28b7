//! The loop: find out what is open, let an agent work on it, judge, record, repeat.
//!
//! The only place that puts effects in order. It says what happens through a closure and never names a screen.

mod ask;
mod begin;
mod committing;
mod decide;
mod iterate;
mod job;
mod judge;
mod left_out;
mod memory;
mod progress_file;
mod prompting;
mod recorder;
mod recover;
mod redaction;
mod replay;
mod restore;
mod roster;
mod shown;
mod steering;
mod told;
mod waiting;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use anyhow::Result;
use camino::Utf8Path;
use serde_json::Value;

use crate::agent::Agent;
use crate::clock::Clock;
use crate::feature::Feature;
use crate::history::History;
use crate::process::{Interrupt, Limits as ChildLimits, Marker};
use crate::progress::capture::Rules;
use crate::progress::{Choice, IterationContext, ProgressStrategy};
use crate::project_files::{ProjectFiles, Refused, explain, refused};
use crate::prompt::Template;
use crate::record::{
    ArtifactStatus, Event, FailureClass, Iteration, Limit, Refusal, Session, SessionId, Status, StopReason,
    TaskCounts, TaskName,
};
use crate::store::{Control, Identity, LoopLock, SessionRefs, Spool, Store};
use crate::tasks::{Item, TaskCache, TaskList};

use committing::Work;
use decide::{Bounds, Decision, Wanted};
use recorder::Recorder;
use roster::Roster;
use steering::{Hints, Lookout};
use waiting::Before;

pub use ask::Asked;
pub use committing::check_commits;
pub use job::{Job, Until};
pub use memory::{Decided, Memory, Reason, Recalled, Sought, Telling};
pub use prompting::{Prompt, Prompting, Turn};
pub use recover::{expected_progress, rebuilt_of_all};
pub use redaction::redacted;
pub use replay::{Replay, Replayed};
pub use restore::{Force, Intent, Left, Planned, Restore, Target, Why};
pub use shown::EventRedactor;
pub use window::Window;

/// Everything that is decided before a session starts.
pub struct Plan<'a> {
    pub store: &'a Store,
    pub feature: &'a Feature,
    pub job: Job,
    /// Who works: the first, and where it cannot, those behind it. Never empty.
    pub agents: Vec<Candidate<'a>>,
    pub template: Template,
    pub validation_command: Option<String>,
    pub validation_limits: ChildLimits,
    /// How past iterations become the `progress` text of the next prompt.
    pub progress: Box<dyn ProgressStrategy>,
    /// Who sums up iterations, for strategies that want it.
    pub summarizer: Option<Asked>,
    /// Who sums up what older iterations teach.
    pub condenser: Option<Asked>,
    /// How older iterations are told.
    pub telling: Telling,
    /// Most tokens of a prompt, where there is a limit.
    pub prompt_budget: Option<usize>,
    /// Earlier iterations that the strategy begins with.
    pub progress_entries: usize,
    /// What to note down of outputs.
    pub capture_rules: Rules,
    /// How much of an output the journal and the prompt show, in characters.
    pub excerpt_chars: usize,
    /// Which part of it that is.
    pub choice: Choice,
    pub limits: Limits,
    pub completion: Completion,
    pub untick: Untick,
    pub snapshots: Snapshots,
    pub commits: Commits,
    /// Untracked files of more bytes stay out of snapshots.
    pub snapshot_max_file: u64,
    pub redaction_rules: Vec<String>,
    pub redaction_allow: Vec<String>,
    /// Every effective setting, for the record.
    pub configuration: Value,
    /// Values of settings that run something or decide what is done; a resumption compares them. Never shown.
    pub commands: BTreeMap<String, String>,
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

/// An agent that may get a turn, and what is particular to it.
pub struct Candidate<'a> {
    pub agent: &'a dyn Agent,
    pub limits: ChildLimits,
    pub model: Option<String>,
}

impl Plan<'_> {
    fn prompting(&self) -> Prompting<'_> {
        Prompting {
            feature: self.feature,
            template: &self.template,
            job: &self.job,
            max_iterations: self.limits.max_iterations,
            validation_command: self.validation_command.as_deref(),
            progress: self.progress.as_ref(),
            hints: Vec::new(),
            telling: &self.telling,
            budget: self.prompt_budget,
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
    /// Longest wait in a row for an agent that cannot be used; none where the loop shall not wait.
    pub max_wait: Option<std::time::Duration>,
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

/// Whether what was done is committed on the user's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commits {
    Off,
    /// One commit for each iteration that is a success.
    OfTasks,
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
    let tasks = plan.job.read_tasks(plan.feature)?;
    if plan.job.until == Until::Tasks && is_done(&tasks, plan.only.as_ref()) {
        if plan.resume.take().is_some() {
            // Nothing is taken up after all: what was left open for it comes to its end.
            recover::recover(&plan, say)?;
        }
        return Ok(Finish::AllDone(tasks.counts()));
    }
    let mut running = Running::begin(plan, &tasks, &mut lock, say)?;
    let ending = running.turns()?;
    let session = running.end(ending)?;
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
    let tasks = TaskList::read(&feature.files, &feature.tasks_path)?;
    Ok(is_done(&tasks, only).then(|| tasks.counts()))
}

/// Refuses a progress.txt that cannot be appended to.
pub fn check_progress_file(files: &ProjectFiles, path: &Utf8Path) -> Result<()> {
    let Err(error) = files.check_writable(path) else { return Ok(()) };
    let refusal = match refused(&error) {
        Some(Refused::Directory) => Refusal::new(format!("{path} is a directory")),
        Some(Refused::NotAFile(what)) => Refusal::new(format!("{path} is not a regular file ({what})")),
        Some(_) => return Err(explain("write", path, error)),
        None => {
            return Err(Refusal::new(format!("{path} cannot be written: {error}"))
                .hinted(format!("chmod u+w {path}"))
                .into());
        }
    };
    Err(refusal.hinted("move it away; the loop keeps its journal there").into())
}

/// Refuses where a ref of another tool has the name under which ours would stand.
pub fn check_refs(store: &Store, feature: &Feature) -> Result<()> {
    let Some(name) = store.blocking_ref(&feature.path)? else { return Ok(()) };
    let kept = name.replacen("refs/", "refs/kept/", 1);
    Err(Refusal::new(format!("{name} is a ref of another tool, and git cannot hold ours beside it"))
        .hinted(format!("move it away: git update-ref {kept} {name} && git update-ref --no-deref -d {name}"))
        .into())
}

/// Whether nothing is left to do: no open task, or the one that was asked for is done.
fn is_done(tasks: &TaskList, only: Option<&TaskName>) -> bool {
    match only {
        Some(name) => tasks.find(name).is_some_and(|item| item.done),
        None => tasks.counts().open == 0 && tasks.tasks().next().is_some(),
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
    pub memory: Memory,
    /// The number of the next record of an iteration.
    pub next: u32,
    pub say: &'a mut dyn FnMut(&Event),
    /// Whether the agent promised that all is done, and that is enough by the configuration.
    pub is_promised: bool,
    started: crate::clock::Stopwatch,
    roster: Roster,
    /// Whose turn it is, by its place among the agents of the plan.
    current: usize,
    /// What the agents behind the first say of their versions, once they were asked.
    versions: BTreeMap<usize, Option<String>>,
    control: Control,
    /// The key of this clone, which the session is recorded with.
    identity: Identity,
    hints: Hints,
    /// None where nothing is to be committed.
    work: Option<Work>,
    lost: Vec<Lost>,
    tasks: TaskCache,
    /// Agents, by their places, of which it is known what they tell of their runs.
    heard: BTreeSet<usize>,
    /// Ends with the session.
    _lookout: Lookout,
}

/// A task that was open and left the list without having been done.
struct Lost {
    task: Item,
    /// How many like it stood in the list.
    copies: usize,
}

/// Why a session ends.
#[derive(Debug)]
struct Ending {
    reason: StopReason,
    limit: Option<Limit>,
    /// More of it, for people.
    why: Option<String>,
    hint: Option<String>,
}

impl Ending {
    fn of(reason: StopReason) -> Self {
        Self { reason, limit: None, why: None, hint: None }
    }
}

impl Running<'_> {
    /// Iterates until a stop reason.
    fn turns(&mut self) -> Result<Ending> {
        loop {
            if self.plan.interrupt.signal().is_some() {
                return Ok(Ending::of(StopReason::Interrupted));
            }
            let tasks = match self.read_tasks() {
                Ok(tasks) => tasks,
                Err(error) => {
                    self.warn(format!("the task list cannot be read any more: {error:#}"));
                    return Ok(Ending::of(StopReason::Stuck));
                }
            };
            self.lost.retain(|lost| tasks.copies(&lost.task) < lost.copies);
            let lost: Vec<TaskName> = self.lost.iter().map(|lost| lost.task.name.clone()).collect();
            let bounds = Bounds {
                limits: self.plan.limits,
                tokens: self.session.tokens.total(),
                cost_usd: self.session.cost_usd,
                elapsed: self.started.elapsed(),
                is_validated: self.plan.validation_command.is_some(),
                is_promised: self.is_promised,
                lost: &lost,
            };
            let wanted = match (self.plan.job.task(), &self.plan.only) {
                (Some(task), _) => Wanted::This(task),
                (None, Some(name)) => Wanted::Only(name),
                (None, None) => Wanted::All,
            };
            let task = match decide::decide(&tasks, &self.history, &bounds, wanted) {
                Decision::Go(task) => task,
                // Who asked for it to stop got that, whatever else would have ended it now.
                Decision::Stop { reason, .. } if reason != StopReason::Completed && self.is_to_stop() => {
                    return Ok(Ending::of(StopReason::Interrupted));
                }
                Decision::Stop { reason, limit, why } => {
                    for line in why {
                        self.warn(line);
                    }
                    return Ok(Ending { limit, ..Ending::of(reason) });
                }
            };
            match self.heed_wishes().unwrap_or_else(|| self.before_turn()) {
                Before::Turn => {}
                Before::Again => continue,
                Before::Stop(ending) => return Ok(ending),
            }
            let iteration = self.iterate(&tasks, &task)?;
            if let Some(ending) = self.cannot_commit_here()? {
                return Ok(ending);
            }
            self.tell_of_vain_limits(&iteration);
            if let Some(class) = iteration.failure_class.filter(|class| class.is_unusable()) {
                return Ok(self.unusable(class, iteration.error));
            }
            let failures = self.history.failures_in_a_row(&task.name);
            if self.plan.job.until == Until::Tasks && failures >= self.plan.limits.skip_after {
                self.skip(&task)?;
            }
        }
    }

    /// The task list as it is now.
    fn read_tasks(&mut self) -> Result<Rc<TaskList>> {
        self.plan.job.cached_tasks(self.plan.feature, &mut self.tasks)
    }

    /// Says once of each agent which limits cannot hold, as it does not tell what they are about.
    fn tell_of_vain_limits(&mut self, iteration: &Iteration) {
        // One that failed or was cut short may not have come to tell.
        let has_told = iteration.exit.agent == Some(0) && iteration.failure_class.is_none();
        if !has_told || !self.heard.insert(self.current) {
            return;
        }
        let Limits { max_tokens, max_cost, .. } = self.plan.limits;
        let agent = &iteration.agent;
        for (is_vain, what, limit) in [
            (max_cost.is_some() && iteration.cost_usd.is_none(), "cost", "max-cost"),
            (max_tokens.is_some() && iteration.tokens.total().is_none(), "tokens", "max-tokens"),
        ] {
            if is_vain {
                self.warn(format!("{agent} tells no {what}, so `{limit}` cannot end this session"));
            }
        }
    }

    fn unusable(&self, class: FailureClass, words: Option<String>) -> Ending {
        let agent = self.candidate().agent;
        let words = words.map_or(String::new(), |words| format!(": {words}"));
        Ending {
            why: Some(format!("{} cannot be used ({class}{words})", agent.name())),
            hint: Some(agent.remedy(class)),
            ..Ending::of(StopReason::AgentUnusable)
        }
    }

    /// Whose turn it is.
    fn candidate(&self) -> &Candidate<'_> {
        &self.plan.agents[self.current]
    }

    fn end(mut self, ending: Ending) -> Result<Session> {
        let Ending { reason, limit, why, hint } = ending;
        let tasks = self.read_tasks().ok();
        let hints = self.left_hints();
        let ended_at = self.plan.clock.now();
        let session = &mut self.session;
        session.ended_at = Some(ended_at);
        session.status = reason.status();
        session.stop_reason = Some(reason);
        session.limit = limit;
        session.hints = hints;
        session.artifact.status = match reason.status() {
            Status::Completed => ArtifactStatus::Complete,
            Status::Failed => ArtifactStatus::Failed,
            Status::Running | Status::Interrupted | Status::Later(_) => ArtifactStatus::Draft,
        };
        if let Some(tasks) = &tasks {
            session.tasks_done = tasks.counts().done;
            session.tasks_remaining = tasks.counts().open;
        }
        self.propose_patterns();
        let commit = self.recorder.end(&self.session, ended_at)?;
        let unrecognised = tasks.iter().flat_map(|tasks| &tasks.unrecognised);
        let unrecognised =
            unrecognised.map(|item| format!("line {}: [{}] {}", item.line, item.mark, item.text)).collect();
        let left = self.session.hints.len();
        if left > 0 {
            self.warn(format!("hints that no prompt took any more: {}", self.session.hints.join("; ")));
        }
        // Who takes the session up again gets them.
        if reason == StopReason::Completed {
            self.hints_are_taken();
        }
        let is_settled = self.recorder.settle_progress();
        for warning in std::mem::take(&mut self.recorder.warnings) {
            self.warn(warning);
        }
        let (uncommitted, left_out) = self.not_in_commits();
        (self.say)(&Event::SessionEnded {
            session: Box::new(self.session.clone()),
            commit,
            why,
            hint,
            unrecognised,
            uncommitted,
            left_out,
        });
        if is_settled {
            self.spool.remove(self.plan.store.repository())?;
        }
        self.control.clear()?;
        Ok(self.session)
    }

    /// Proposes what was learned more than once, before the last look at progress.txt.
    fn propose_patterns(&mut self) {
        match self.memory.learnings(self.plan.store) {
            Ok(None) => {}
            Ok(Some((past, recorded))) => {
                let fresh = &past[past.len().saturating_sub(recorded)..];
                self.recorder.propose_patterns(past, fresh);
            }
            Err(error) => self.warn(format!("no patterns are proposed: {error:#}")),
        }
    }

    pub(super) fn warn(&mut self, message: String) {
        (self.say)(&Event::Warning { message });
    }

    /// The mark by which every descendant of this session is found and stopped.
    pub(super) fn marker(&self) -> Result<Marker> {
        marker(&self.plan, &self.session.id, &self.spool)
    }
}

/// The mark of a session in this work tree.
fn marker(plan: &Plan<'_>, session: &SessionId, spool: &Spool) -> Result<Marker> {
    let marker = Marker::new(session).in_work_tree(plan.store.repository().work_tree()?);
    Ok(marker.noted_in(spool.child_note()))
}

fn remember(progress: &mut dyn ProgressStrategy, context: Option<IterationContext>) {
    if let Some(context) = context {
        progress.record(&context);
    }
}

pub(super) fn add_totals(session: &mut Session, iteration: &Iteration) {
    session.duration_ms = session.duration_ms.plus(&iteration.duration_ms);
    session.tokens = session.tokens.plus(&iteration.tokens);
    if let Some(cost) = iteration.cost_usd {
        session.cost_usd = Some(session.cost_usd.unwrap_or_default() + cost);
    }
    if iteration.is_run() {
        session.iterations_run += 1;
    }
    session.tasks_completed += iteration.closed.len();
}
