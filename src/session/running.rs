//! The state of a running session, and how it ends.

use anyhow::Result;

use crate::clock::Stopwatch;
use crate::history::History;
use crate::process::Marker;
use crate::progress::ProgressStrategy;
use crate::record::{Baseline, Event, Limit, RALPH, Session, StopReason, TaskName};
use crate::store::{Control, Identity, LoopLock, Spool};

use super::active_agent::ActiveAgent;
use super::good_ground::GoodGround;
use super::hints::Hints;
use super::memory::Memory;
use super::pending_commit::PendingCommit;
use super::plan::{Candidate, Plan};
use super::recorder::Recorder;
use super::stop_watcher::StopWatcher;
use super::task_watch::TaskWatch;

/// A running session.
pub(super) struct Running<'a> {
    pub plan: Plan<'a>,
    pub session: Session,
    pub recorder: Recorder<'a>,
    pub lock: &'a mut LoopLock,
    pub spool: Spool,
    pub history: History,
    pub ground: GoodGround,
    /// Set after a pause or a wait, in which a person may have worked.
    pub was_idle: bool,
    pub memory: Memory,
    /// How past iterations become the `progress` text of the next prompt.
    pub progress: Box<dyn ProgressStrategy>,
    /// The number of the next record of an iteration.
    pub next: u32,
    pub say: &'a mut dyn FnMut(&Event),
    /// Whether the agent promised that all is done, and that is enough by the configuration.
    pub is_promised: bool,
    pub started: Stopwatch,
    pub agents: ActiveAgent,
    pub control: Control,
    /// The key of this clone, which the session is recorded with.
    pub identity: Identity,
    pub hints: Hints,
    /// `None` if nothing is to be committed.
    pub work: Option<PendingCommit>,
    pub task_watch: TaskWatch,
    /// The tasks whose common failure was reported last.
    pub common_failure: Vec<TaskName>,
    /// Ends with the session.
    pub _stop_watcher: StopWatcher,
}

/// Why a session ends.
#[derive(Debug)]
pub(super) struct Ending {
    pub reason: StopReason,
    pub limit: Option<Limit>,
    /// Details for people.
    pub why: Option<String>,
    pub hint: Option<String>,
}

impl Ending {
    pub fn of(reason: StopReason) -> Self {
        Self { reason, limit: None, why: None, hint: None }
    }

    /// Returns the ending of a session that stops when a phase or a story is done.
    pub fn checkpoint(done: &str) -> Self {
        Self {
            why: Some(format!("{done} is done, and `stop-at` ends the session there")),
            hint: Some(format!("review it, then `{RALPH}` continues with the next tasks")),
            ..Self::of(StopReason::Checkpoint)
        }
    }

    pub fn limit(limit: Limit) -> Self {
        Self { limit: Some(limit), ..Self::of(StopReason::LimitReached) }
    }
}

impl Running<'_> {
    /// Returns whose turn it is.
    pub fn candidate(&self) -> &Candidate<'_> {
        &self.plan.agents[self.agents.index]
    }

    pub fn warn(&mut self, message: String) {
        (self.say)(&Event::Warning { message });
    }

    /// Returns why the validation fails since before the first iteration of this start; `None` if it passed at any time
    /// since.
    pub fn baseline_failure(&self) -> Option<String> {
        let baseline = self.session.baseline.as_ref().filter(|_| self.ground.last_passing.is_none());
        baseline.and_then(Baseline::failure).map(str::to_owned)
    }

    /// Returns the mark by which every descendant of this session is found and stopped.
    pub fn marker(&self) -> Result<Marker> {
        self.plan.marker(&self.session.id, &self.spool)
    }
}

/// What to do before the next iteration.
pub(super) enum NextStep {
    /// An agent can run.
    Iterate,
    /// Time has passed: check everything again.
    Again,
    Stop(Ending),
}
