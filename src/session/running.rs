//! The state of a running session, and how it ends.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use tasklist::Item;

use crate::clock::Stopwatch;
use crate::history::History;
use crate::process::Marker;
use crate::progress::ProgressStrategy;
use crate::record::{Baseline, Event, Limit, ObjectId, RALPH, Session, StopReason, TaskName};
use crate::store::{Control, Identity, LoopLock, Spool};
use crate::tasks::TaskCache;

use super::agent_pool::AgentPool;
use super::good_ground::GoodGround;
use super::hints::Hints;
use super::memory::Memory;
use super::pending_commit::PendingCommit;
use super::plan::{Candidate, Plan};
use super::recorder::Recorder;
use super::stop_watcher::StopWatcher;

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
    pub pool: AgentPool,
    /// Index of the current agent in the plan.
    pub current: usize,
    /// Versions of the agents after the first, once they were asked.
    pub versions: BTreeMap<usize, Option<String>>,
    pub control: Control,
    /// The key of this clone, which the session is recorded with.
    pub identity: Identity,
    pub hints: Hints,
    /// `None` if nothing is to be committed.
    pub work: Option<PendingCommit>,
    pub lost: Vec<LostTask>,
    /// Whether the list asks for tests that fail until a later task is done.
    pub has_failing_tests: bool,
    /// What the work tree held, as a tree, when the validation last passed in this start: a green baseline, or since.
    pub last_passing: Option<ObjectId>,
    /// The tasks whose common failure was reported last.
    pub common_failure: Vec<TaskName>,
    pub tasks: TaskCache,
    /// Indexes of agents of which it is known what they report about their runs.
    pub heard: BTreeSet<usize>,
    /// Ends with the session.
    pub _stop_watcher: StopWatcher,
}

/// A task that was open and left the list without having been done.
pub(super) struct LostTask {
    pub task: Item,
    /// How many like it stood in the list.
    pub copies: usize,
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
        &self.plan.agents[self.current]
    }

    pub fn warn(&mut self, message: String) {
        (self.say)(&Event::Warning { message });
    }

    /// Returns why the validation fails since before the first iteration of this start; `None` if it passed at any time
    /// since.
    pub fn baseline_failure(&self) -> Option<String> {
        let baseline = self.session.baseline.as_ref().filter(|_| self.last_passing.is_none());
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
