//! The agent whose turn it is, and what is known about each agent of the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ralph_agent::Agent;

use super::pool::AgentPool;

/// The choice of an agent for the next iteration. Agents are named by their index in the plan.
pub(crate) struct ActiveAgent {
    pub pool: AgentPool,
    pub index: usize,
    /// Versions of the agents after the first, once they were asked.
    versions: BTreeMap<usize, Option<String>>,
    /// Agents that ended a run well, so that it is known what they report.
    reported: BTreeSet<usize>,
}

impl ActiveAgent {
    pub fn new(agents: usize, max_wait: Option<Duration>) -> Self {
        Self {
            pool: AgentPool::new(agents, max_wait),
            index: 0,
            versions: BTreeMap::new(),
            reported: BTreeSet::new(),
        }
    }

    /// Returns the version of `agent`, which is the active one. The version of the first agent is known from the start.
    pub fn version(&mut self, agent: &dyn Agent, first: Option<&String>) -> Option<String> {
        match self.index {
            0 => first.cloned(),
            index => self.versions.entry(index).or_insert_with(|| agent.version()).clone(),
        }
    }

    /// Returns true if this is the first report of the active agent.
    pub fn is_first_report(&mut self) -> bool {
        self.reported.insert(self.index)
    }
}
