//! The state of a running session, and how it ends.

use std::collections::BTreeSet;

use anyhow::Result;

use ralph_core::history::History;
use ralph_core::progress::Progress;
use ralph_core::record::{Baseline, Cost, Event, Limit, PhaseTime, Session, TaskName};
use ralph_os::clock::Stopwatch;
use ralph_os::process::Marker;
use ralph_store::{Control, Identity, LoopLock, Spool, kept_settings};

use super::agents::pool::AgentPool;
use super::clean::CleanState;
use super::commits::pending::PendingCommit;
use super::control::stop_watcher::StopWatcher;
use super::judging::{Judging, may_fail};
use super::left_behind::LeftBehind;
use super::loop_inputs::{Candidate, LoopInputs};
use super::memory::Memory;
use super::others::Others;
use super::recorder::Recorder;
use super::restoring::last_green::LastGreen;
use super::shown::warn;
use super::stop::Ending;
use super::task_watch::TaskWatch;

/// A running session: parts that each have their own state.
pub(super) struct Running<'a> {
    pub inputs: &'a LoopInputs<'a>,
    pub session: Session,
    pub recorder: Recorder<'a>,
    pub lock: &'a mut LoopLock,
    pub spool: Spool,
    /// The key of this clone, which the session is recorded with.
    pub identity: Identity,
    pub agents: AgentPool,
    /// Requests from other terminals.
    pub control: Control,
    /// Ends with the session.
    pub _stop_watcher: StopWatcher,
    pub past: Past,
    pub judging: Judging,
    pub task_watch: TaskWatch,
    /// `None` if nothing is to be committed.
    pub work: Option<PendingCommit>,
    pub state: LoopState,
    /// The other loops on its branch.
    pub others: Others,
    pub say: &'a mut dyn FnMut(&Event),
}

/// What is remembered of iterations.
pub(super) struct Past {
    /// Of this session: failures in a row, skips.
    pub history: History,
    /// Of this session: where the validation passed, and what failed attempts changed since.
    pub last_green: LastGreen,
    /// Of all sessions of the feature.
    pub memory: Memory,
    /// How past iterations become the `progress` text of the next prompt.
    pub progress: Progress,
    /// What was there before the attempts, to notice what they leave behind.
    pub left_behind: LeftBehind,
}

/// How far the loop has come.
pub(super) struct LoopState {
    /// The number of the next record of an iteration.
    pub next: u32,
    /// True if the agent promised that all is done, and that is enough by the configuration.
    pub is_promised: bool,
    /// What the dearest attempt cost, and how many did not say what they cost.
    pub dearest_usd: f64,
    pub unread_costs: u32,
    pub started: Stopwatch,
    /// Tasks that an earlier session gave up and that get one attempt, after all others.
    pub given_up: Vec<TaskName>,
    /// The tasks whose common failure was reported last.
    pub common_failure: Vec<TaskName>,
    /// True if the lane is not at a tip of its branch any more, as an agent worked in it.
    pub is_lane_used: bool,
    /// True if the lane was taken to a tip since the last snapshot.
    pub is_lane_renewed: bool,
    /// True if results may wait to be merged onto the branch of the lane.
    pub has_queue: bool,
    /// The tasks of those that stay in the queue for now, as another loop has the turn at the branch, or came since.
    pub queued: Vec<TaskName>,
    /// What fills the last prompt, if it was too long for its agent.
    pub prompt_filler: Option<String>,
    /// How the session ends, as the validation fails on the tip of its branch.
    pub target_red: Option<Ending>,
    /// Limits of which it was said that they are nearly used up.
    pub said_budgets: Vec<Limit>,
    /// What was said of keys and models.
    pub said_facts: BTreeSet<String>,
    /// When the newest validation began, by the clock of the files.
    pub validation_began: Option<(i64, i64)>,
    /// What became of logins that agents renewed, and a person must look at: each once.
    pub logins: BTreeSet<String>,
    /// What checks in a clean checkout came to.
    pub clean: CleanState,
    /// What the first snapshot of this start left out.
    pub left_out_at_start: Vec<String>,
    /// Set after a wait, in which a person may have worked.
    pub was_idle: bool,
    /// The phases of the iteration so far; the last one lasts since `phase_clock`.
    pub phases: Vec<PhaseTime>,
    pub phase_clock: Stopwatch,
}

impl LoopState {
    /// Takes in what an iteration cost.
    pub fn note_cost(&mut self, cost: Cost) {
        self.dearest_usd = self.dearest_usd.max(cost.usd.unwrap_or_default());
        self.unread_costs += u32::from(cost.is_partial);
    }
}

impl Running<'_> {
    /// Returns the agent that runs next.
    pub fn candidate(&self) -> &Candidate {
        &self.inputs.agents[self.agents.active]
    }

    /// Returns true if a stop was requested, at once or after the iteration.
    pub fn is_to_stop(&self) -> bool {
        self.inputs.interrupt.signal().is_some() || self.control.look().is_ok_and(|stop| stop.is_some())
    }

    pub fn warn(&mut self, message: String) {
        warn(self.say, message);
    }

    /// Returns why the validation fails since before the first iteration of this start; `None` if it passed at any time
    /// since.
    pub fn baseline_failure(&self) -> Option<String> {
        if let Some(may_fail) = may_fail(self.session.legacy_failures.as_deref()) {
            return Some(may_fail);
        }
        let baseline = self.session.baseline.as_ref().filter(|_| self.past.last_green.last_passing.is_none());
        baseline.and_then(Baseline::failure).map(str::to_owned)
    }

    /// Writes the settings for a resumption again, if they are not there as they were. Returns true if that was so.
    ///
    /// A session is resumed with these and not with the project's file: an agent that edits the file would choose its judge.
    pub fn keep_settings(&self) -> Result<bool> {
        kept_settings::keep(self.inputs.work_tree, &self.session.id, &self.inputs.kept_settings)
    }

    /// Returns the mark by which every descendant of this session is found and stopped.
    pub fn marker(&self) -> Marker {
        self.inputs.marker(&self.session.id, &self.spool)
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
