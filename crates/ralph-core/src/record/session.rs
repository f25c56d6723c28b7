//! A session: one run of the loop, from start to a stop reason. `session.json` in the start and end records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    ArtifactStatus, Baseline, CleanCheck, Cost, Durations, EndedBy, Environment, IgnoredState, Limit,
    LogEntry, Scope, SessionId, SessionTotals, Status, StopReason, TaskName, Timestamp, Tokens, TrustedState,
};

/// The file that a session is about, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// From the repository's root.
    pub path: String,
    pub status: ArtifactStatus,
}

/// The fence around the commands of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxFacts {
    /// `srt`, `bwrap`, or the program of a command of the user's.
    pub mechanism: String,
    pub version: Option<String>,
    /// A hash of all that it was told, to compare sessions by.
    pub settings: String,
    /// The hosts that the agent can reach: `all`, `none` or their names.
    pub network: String,
}

impl SandboxFacts {
    /// Returns `bwrap 0.8.0, network all`.
    pub fn text(&self) -> String {
        let version = self.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
        format!("{}{version}, network {}", self.mechanism, self.network)
    }
}

/// Where a session works: absolute paths, which its outputs name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectFolders {
    /// The project's root in the work tree of the user's.
    pub folder: String,
    /// The same in its lane; `None` outside of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
}

/// `session.json`, version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub schema: u32,
    pub id: SessionId,
    /// The feature's path from the repository's root.
    pub feature: String,
    /// The branch that was checked out, or that its lane publishes on; null for a detached HEAD.
    pub branch: Option<String>,
    /// The number of the lane that it runs in; `None` if it runs in a work tree of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// The session that began first of those that work on its branch at once; `None` if it works alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<SessionId>,
    /// `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectFolders>,
    /// Of a start and of a resumption. `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Box<Environment>>,
    pub loop_type: String,
    /// The part of the task list that it works on; null for all of it.
    #[serde(default)]
    pub scope: Option<Scope>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub status: Status,
    pub stop_reason: Option<StopReason>,
    /// What interrupted it, as the keys `ended_by` and `signal`. `None` if nothing did, and in older records.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
    /// Which limit, where the stop reason is `limit_reached`.
    pub limit: Option<Limit>,
    pub max_iterations: u32,
    /// Agent runs; skips are records, not runs.
    pub iterations_run: u32,
    /// Tasks that this session brought to done. One that was opened again and done again is one task.
    pub tasks_completed: usize,
    /// What its records come to, of which the JSON has a part.
    #[serde(skip)]
    pub totals: SessionTotals,
    /// Tasks that the loop ticked between attempts, as all of their sub-tasks were done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed_parents: Vec<TaskName>,
    /// All tasks of the list that are done.
    pub tasks_done: usize,
    pub tasks_remaining: usize,
    /// Totals over all iterations, in milliseconds.
    pub duration_ms: Durations,
    /// Totals over all iterations, as far as agents reported them.
    pub tokens: Tokens,
    pub cost_usd: Option<f64>,
    /// Set if some agent did not say what its run cost.
    #[serde(default)]
    pub cost_is_partial: bool,
    pub artifact: Artifact,
    pub agent: String,
    pub agent_version: Option<String>,
    /// What its commands ran in. `None` if they could do all that the user can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxFacts>,
    /// Every effective setting.
    pub configuration: Value,
    /// Hints of the user's that no prompt took.
    #[serde(default)]
    pub hints: Vec<String>,
    /// How the validation went before the first iteration. `None` if it did not run, or was stopped.
    #[serde(default)]
    pub baseline: Option<Baseline>,
    /// Files of the project that the validation itself consists of, from the project's root; parts of a manifest as
    /// `package.json#scripts.test`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validation_files: Vec<String>,
    /// Tests that failed before the start and still fail, with `validation.pass = "no-new-failures"`. `None` with `green`,
    /// and if their names are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legacy_failures: Option<Vec<String>>,
    /// What its attempts were held against at first. `None` in older records, and if nothing had been measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<TrustedState>,
    /// The last check in a clean checkout; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clean: Option<Box<CleanCheck>>,
    /// Files with work of the user's that was in no commit when it began, or was resumed; at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_files: Vec<String>,
    /// The files that no snapshot shows, as they were at the start. `None` in older records, and if they were too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<IgnoredState>,
    pub host: String,
    /// Names the clone in which it runs: host names change, and two machines may have the same.
    #[serde(default)]
    pub machine: Option<String>,
    /// In records of earlier versions: for each setting that runs something or decides what is done, a hash that only that
    /// clone can make.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, String>,
    /// A hash of the exact settings that its clone keeps for a resumption, which only that clone can make. `None` in older
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_settings: Option<String>,
    pub tool_version: String,
}

impl Session {
    /// Returns what the agents of its iterations cost.
    pub fn cost(&self) -> Cost {
        Cost { usd: self.cost_usd, is_partial: self.cost_is_partial }
    }

    /// Returns how long the loop was at work on it until `until`, waits included, in milliseconds.
    pub fn worked_ms(&self, until: Timestamp) -> u64 {
        self.started_at.ms_until(until).saturating_sub(self.totals.away_ms)
    }

    /// Returns true if the validation failed before the first attempt, and none of so many successes shows that it can pass.
    pub fn began_red(&self, successes: usize) -> bool {
        let has_failed = self.baseline.as_ref().is_some_and(|baseline| !baseline.passed());
        has_failed && successes == 0 && self.legacy_failures.is_none()
    }

    /// Takes in its next iteration.
    pub fn count(&mut self, entry: &LogEntry) {
        let mut totals = std::mem::take(&mut self.totals);
        totals.count(&self.id, entry);
        self.set_totals(totals);
    }

    /// Takes what its records come to, and the counts that its JSON has of that.
    pub fn set_totals(&mut self, totals: SessionTotals) {
        (self.duration_ms, self.tokens) = (totals.took, totals.tokens);
        let cost = totals.cost.total();
        (self.cost_usd, self.cost_is_partial) = (cost.usd, cost.is_partial);
        self.iterations_run = u32::try_from(totals.attempts).unwrap_or(u32::MAX);
        self.tasks_completed = totals.closed.len();
        self.totals = totals;
    }
}
