//! What is decided before a session starts.

use std::sync::Arc;

use anyhow::Result;
use camino::{Utf8Path, Utf8PathBuf};

use crate::validate::ValidationContext;
use ralph_agent::Agent;
use ralph_core::config::Config;
use ralph_core::progress::capture::Rules;
use ralph_core::progress::{Progress, Selection};
use ralph_core::record::{AgentRun, AgentSetup, Scope, SessionId, Task};
use ralph_git::worktree::WorkTree;
use ralph_os::clock::Clock;
use ralph_os::process::{Interrupt, Limits as ChildLimits, Marker};
use ralph_os::sandbox::{Fence, Sandbox};
use ralph_project::feature::Feature;
use ralph_project::prompt::Template;
use ralph_store::{Identity, Slot, Spool, Store, names};

use super::job::Job;
use super::lane_dependencies::Dependency;
use super::memory::Memory;
use super::others::Group;
use super::prompting::{Assignment, Prompt, Prompting};
use super::recalled::Recalled;
use super::settings::{progress_strategy, validation_limits};
use super::users_tree::UsersTree;

/// Everything that is decided before a session starts, and that nothing changes from then on. Many fields: it is put together
/// once, and no two of them belong together more than with the others.
pub struct LoopInputs<'a> {
    pub store: &'a Store,
    /// Where the session works.
    pub work_tree: &'a WorkTree,
    pub feature: &'a Feature,
    pub config: &'a Config,
    pub job: Job,
    /// Who works: the first, and if it cannot, those after it. Empty only if no task is open.
    pub agents: Vec<Candidate>,
    pub template: Template,
    /// What to note down of outputs.
    pub capture_rules: Rules,
    /// What a resumption begins with, exactly. May hold secrets: never shown.
    pub kept_settings: Vec<u8>,
    /// The part of the task list to work on.
    pub scope: Scope,
    /// True if tasks that an earlier session gave up are tasks like any other.
    pub retries_skipped: bool,
    /// True if a validation that fails before the first attempt does not keep it from starting.
    pub is_forced: bool,
    /// The folder in which children run: where `.specify/` is, else the top of the work tree.
    pub project_root: Utf8PathBuf,
    /// What keeps all commands in their place; `None` if they may do all that we may.
    pub sandbox: Option<Arc<Sandbox>>,
    pub clock: Clock,
    pub interrupt: &'a Interrupt,
    /// The loops that work on the branch of its lane at once; `None` if it works alone.
    pub group: Option<Group>,
    /// Where results are tried; `None` if they are not.
    pub clean: Option<WorkTree>,
    /// What the user's work tree has and a lane may lack.
    pub dependencies: Vec<Dependency>,
    /// What another checkout must not be led to.
    pub users_tree: UsersTree,
}

/// An agent that may get a turn, and what is particular to it.
pub struct Candidate {
    pub agent: Box<dyn Agent>,
    /// The variable with the key that pays for it, and whether there is a login beside it: in words.
    pub api_key: Option<String>,
    pub limits: ChildLimits,
    pub model: Option<String>,
}

impl Candidate {
    /// Returns how the agent is started.
    pub(super) fn setup(&self, inputs: &LoopInputs<'_>, identity: &Identity) -> AgentSetup {
        let home = inputs.work_tree.home().map(Utf8Path::new);
        let settings = home.and_then(|home| self.agent.state().settings(home));
        AgentSetup {
            arguments: self.agent.arguments(),
            model: self.model.clone(),
            settings: settings.map(|text| identity.fingerprint("agent settings", &text)),
        }
    }

    /// Returns what its stream says of who pays and who answers: which key pays, and which model answered where another was
    /// asked for.
    pub(super) fn facts(&self, run: &AgentRun) -> Vec<String> {
        let agent = self.agent.name();
        let key = run.facts.paying_key().filter(|_| self.api_key.is_none());
        let key = key.map(|source| {
            format!(
                "an API key pays for `{agent}` ({source}), not a login\nhint: unset it if that is not meant"
            )
        });
        let model = self.model.as_deref().and_then(|asked| {
            let models = run.facts.answered_instead_of(asked)?;
            Some(format!("`{agent}` was asked for the model {asked}, and {models} answered"))
        });
        key.into_iter().chain(model).collect()
    }
}

impl LoopInputs<'_> {
    /// Returns the mark of a session in this work tree, by which every descendant of it is found and stopped.
    pub(super) fn marker(&self, session: &SessionId, spool: &Spool) -> Marker {
        Marker::new(session).in_work_tree(self.work_tree.top()).noted_in(spool.child_note())
    }

    /// Returns the variables that agents and validations of a session get. Before the first iteration there is no task:
    /// its name is empty, and the numbers are 0.
    pub(super) fn environment(
        &self,
        session: &SessionId,
        task: &str,
        iteration: u32,
        attempt: u32,
    ) -> Vec<(String, String)> {
        let feature = self.feature;
        [
            ("RALPH_SESSION", session.to_string()),
            ("RALPH_ITERATION", iteration.to_string()),
            ("RALPH_TASK", task.to_owned()),
            ("RALPH_ATTEMPT", attempt.to_string()),
            ("RALPH_FEATURE", feature.dir.to_string()),
            ("RALPH_TASKS", feature.tasks_path.to_string()),
            ("RALPH_PROGRESS", feature.progress_path.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .chain(self.lane_variables())
        .chain(self.spec_kit_variables())
        .collect()
    }

    /// Returns the variables by which scripts of spec-kit find the feature, and by which they note no other.
    fn spec_kit_variables(&self) -> Vec<(String, String)> {
        let feature = self.feature;
        if feature.directory_in(&self.project_root).is_none() {
            return Vec::new();
        }
        [
            ("SPECIFY_FEATURE_DIRECTORY", feature.dir.as_str()),
            ("SPECIFY_FEATURE", feature.name.as_str()),
            ("SPECIFY_FEATURE_NO_PERSIST", "1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    /// Returns the variables that every child in a lane gets, also one without a task.
    pub(super) fn lane_variables(&self) -> Vec<(String, String)> {
        let Some(lane) = self.work_tree.lane() else { return Vec::new() };
        // Those of the caller may name the project in the user's work tree.
        let of_spec_kit = [
            ("SPECIFY_INIT_DIR", self.project_root.to_string()),
            ("SPECIFY_FEATURE_DIRECTORY", self.feature.dir.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let moved = self.moved_variables();
        moved.into_iter().chain(lane.variables()).chain(of_spec_kit).collect()
    }

    /// Returns the variables of the call that lie in the user's work tree as they are meant in the lane, but for those that no
    /// command in the sandbox gets.
    fn moved_variables(&self) -> Vec<(String, String)> {
        let mut moved = self.users_tree.environment_in(self.work_tree.top());
        if let Some(fence) = self.fence() {
            moved.retain(|(name, value)| !fence.drops(name, value));
        }
        moved
    }

    /// Returns the variables that an agent's own settings have and a lane changes, as they are meant there.
    pub(super) fn lane_variables_of(&self, agent: &str) -> Vec<(String, String)> {
        let own = self.config.agents.get(agent).map(|configured| &configured.env);
        let (Some(_), Some(own)) = (self.work_tree.lane(), own) else { return Vec::new() };
        let moved = self.moved_variables();
        let changed = own.iter().filter_map(|(name, value)| {
            let there = self.users_tree.value_in(name, value, self.work_tree.top());
            let is_replaced = moved.iter().any(|(moved, _)| moved == name);
            (is_replaced || there != *value).then(|| (name.clone(), there))
        });
        changed.collect()
    }

    /// Returns what keeps a command of the project's in its place.
    pub(super) fn fence(&self) -> Option<Fence> {
        self.sandbox.as_ref().map(Sandbox::for_checks)
    }

    /// Returns where a validation runs whose output goes into `slot`.
    pub(super) fn validation_context(
        &self,
        slot: &Slot,
        environment: &[(String, String)],
        marker: Marker,
    ) -> ValidationContext<'_> {
        ValidationContext {
            directory: self.project_root.clone(),
            environment: environment.to_vec(),
            stdout: slot.path(names::VALIDATION_STDOUT),
            stderr: slot.path(names::VALIDATION_STDERR),
            marker,
            limits: validation_limits(&self.config.settings),
            clock: &self.clock,
            fence: self.fence(),
        }
    }

    pub(super) fn prompting<'a>(&'a self, progress: &'a Progress) -> Prompting<'a> {
        let assignment = Assignment {
            feature: self.feature,
            template: &self.template,
            job: &self.job,
            root: &self.project_root,
        };
        Prompting::new(self.config, assignment, progress)
    }

    /// Returns the prompt that a new session would begin with.
    pub fn next_prompt(&self) -> Result<Option<Prompt>> {
        self.template.check()?;
        let (mut memory, progress) = self.remembered()?;
        self.prompting(&progress).next(&self.scope, self.store, &mut memory)
    }

    /// Returns what the next prompt for a task contains of earlier iterations.
    pub fn recalled(&self, task: &Task, session: Option<&SessionId>) -> Result<Recalled> {
        let (mut memory, progress) = self.remembered()?;
        self.prompting(&progress).recalled(task, session, self.store, &mut memory)
    }

    /// Returns the strategy's text about the newest iterations.
    pub fn progress(&self) -> Result<String> {
        let (mut memory, progress) = self.remembered()?;
        let past = memory.past_since_cleared(self.store)?;
        Ok(progress.text(&Selection::empty(past, None, None), ""))
    }

    fn remembered(&self) -> Result<(Memory, Progress)> {
        let memory = Memory::load(self.store, self.feature, &self.project_root)?;
        let progress = progress_strategy(&self.config.settings, &memory, self.store, None);
        Ok((memory, progress))
    }
}
