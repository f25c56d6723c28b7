//! From flags and settings to everything that a session needs, checked before anything is begun.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use camino::Utf8Path;

use ralph_agent::{Agent, AgentSettings};
use ralph_core::config::{AgentCommand, Config, LoopType, Until};
use ralph_core::progress::{Elsewhere, Names};
use ralph_core::record::{Refusal, Scope, Session, SessionId, Status, Task, TaskCounts};
use ralph_engine::{
    Assignment, Candidate, Job, Memory, Plan, Prompt, Prompting, Recalled, Replayed, UsersTree,
    progress_strategy, replay,
};
use ralph_git::worktree::WorkTree;
use ralph_os::clock::Clock;
use ralph_os::process::{Interrupt, Limits};
use ralph_os::sandbox::Sandbox;
use ralph_project::feature::{Feature, without_dots};
use ralph_project::prompt::Template;
use ralph_project::tasks;
use ralph_store::{SessionLog, SessionRefs, Store};

use super::args::LaneArgs;
use super::environment::Environment;
use super::output::warn;
use super::own_command::own_program;
use super::resumption::Kept;
use super::settings::{Layers, layers_in, project_in};
use super::{Context, ExitCode, Flags, Project, sandbox, session_end};

/// What a call asks for beyond the configuration.
#[derive(Default)]
pub struct RunRequest {
    pub scope: Scope,
    pub resume: Option<SessionRefs>,
    /// Treat tasks that an earlier session gave up like any other.
    pub retries_skipped: bool,
    /// Go on though something is in the way that may.
    pub is_forced: bool,
    pub lane: LaneArgs,
    pub flags: Flags,
    /// Only try what comes before the first attempt, and record nothing.
    pub is_rehearsal: bool,
    /// All layers of a session that is resumed, instead of the flags and of what is set now.
    pub kept: Option<Layers>,
}

/// What the project says, before any agent is asked for.
pub struct Settings {
    pub(super) config: Config,
    layers: Layers,
    project: Project,
    template: Template,
    job: Job,
}

impl Settings {
    /// Reads the settings, and refuses a task list that a loop can do nothing with.
    pub fn read(feature: &Feature, context: &Context, flags: Flags, scope: &Scope) -> Result<Self> {
        Self::of(feature, context, layers_in(context, flags)?, scope)
    }

    /// Does the same with all layers.
    pub fn of(feature: &Feature, context: &Context, layers: Layers, scope: &Scope) -> Result<Self> {
        let settings = Self::with_layers(feature, context, layers)?;
        settings.check_list(feature, scope)?;
        Ok(settings)
    }

    /// Reads the settings, whatever the task list is.
    pub fn without_list(feature: &Feature, context: &Context, flags: Flags) -> Result<Self> {
        Self::with_layers(feature, context, layers_in(context, flags)?)
    }

    /// Refuses a task list that a loop can do nothing with.
    pub fn check_list(&self, feature: &Feature, scope: &Scope) -> Result<()> {
        match self.config.loop_type.until {
            Until::Tasks => check_tasks(feature, scope),
            Until::Validation => check_validation(&self.config, scope),
        }
    }

    fn with_layers(feature: &Feature, context: &Context, layers: Layers) -> Result<Self> {
        let (project, config) = (project_in(context)?, layers.config()?);
        let template = template(&project, &config.loop_type)?;
        let skip_optional = config.settings.skip_optional;
        let job = Job { skip_optional, ..job(feature, &project.root, &config.loop_type)? };
        Ok(Self { config, layers, project, template, job })
    }

    /// Returns true if it is done when the tasks are.
    pub fn is_about_tasks(&self) -> bool {
        self.job.until == Until::Tasks
    }

    /// Returns the prompt that a new session would begin with.
    pub fn next_prompt(&self, store: &Store, feature: &Feature, scope: &Scope) -> Result<Option<Prompt>> {
        self.template.check()?;
        let mut memory = self.memory(store, feature)?;
        let progress = progress_strategy(&self.config.settings, &memory, store, None)?;
        let prompting = Prompting::new(&self.config, self.assignment(feature), &progress);
        prompting.next(scope, store, &mut memory)
    }

    /// Returns the prompts of a recorded session, as these settings would have made them.
    pub fn replay(
        &self,
        store: &Store,
        feature: &Feature,
        log: &SessionLog,
        max_iterations: u32,
    ) -> Result<Vec<Replayed>> {
        self.template.check()?;
        replay(store, log, &self.config, self.assignment(feature), max_iterations)
    }

    fn assignment<'a>(&'a self, feature: &'a Feature) -> Assignment<'a> {
        Assignment { feature, template: &self.template, job: &self.job, root: &self.project.root }
    }

    /// Returns the strategy's text about the newest iterations.
    pub fn progress(&self, store: &Store, feature: &Feature) -> Result<String> {
        let mut memory = self.memory(store, feature)?;
        let progress = progress_strategy(&self.config.settings, &memory, store, None)?;
        let names = Names::new(memory.past_since_cleared(store)?, None);
        Ok(progress.text(None, &Elsewhere { names, ..Elsewhere::default() }))
    }

    /// Returns what the next prompt for a task contains of earlier iterations.
    pub fn recalled(
        &self,
        store: &Store,
        feature: &Feature,
        task: &Task,
        session: Option<&SessionId>,
    ) -> Result<Recalled> {
        let mut memory = self.memory(store, feature)?;
        let progress = progress_strategy(&self.config.settings, &memory, store, None)?;
        let prompting = Prompting::new(&self.config, self.assignment(feature), &progress);
        prompting.recalled(task, session, store, &mut memory)
    }

    /// Returns what a new session would begin with, or the task of that name.
    pub fn next_task(&self, feature: &Feature, name: Option<&String>) -> Result<Option<Task>> {
        let tasks = self.job.read_tasks(feature)?;
        let Some(name) = name.filter(|_| self.is_about_tasks()) else {
            return Ok(self.job.next_task(&tasks, None));
        };
        Ok(Some(tasks::named(&tasks, name, &feature.tasks_path)?.into()))
    }

    /// Returns what is remembered of the feature.
    fn memory(&self, store: &Store, feature: &Feature) -> Result<Memory> {
        Memory::load(store, feature, &self.project.root)
    }
}

/// Refuses a task list that a loop can do nothing with.
fn check_tasks(feature: &Feature, scope: &Scope) -> Result<()> {
    let tasks = tasks::read(&feature.files, &feature.tasks_path)?;
    tasks::require_tasks(&tasks, &feature.tasks_path)?;
    tasks::part_of(&tasks, scope, &feature.tasks_path)?;
    Ok(())
}

/// Refuses a loop that would never know when it is done.
fn check_validation(config: &Config, scope: &Scope) -> Result<()> {
    let name = &config.loop_type.name;
    if config.settings.validation_command.is_none() {
        let message = format!("a loop of type `{name}` ends when its validation passes, but none is set");
        let hint = format!("give one with --validate CMD, or set `validation.command` in [loop.{name}]");
        return Err(Refusal::new(message).with_hint(hint).into());
    }
    if !scope.is_all() {
        let message = format!("a loop of type `{name}` does not work on tasks");
        return Err(Refusal::new(message).with_hint("omit --task, --phase and --story, or --loop").into());
    }
    Ok(())
}

/// The template of a type of loop: the project's, else the built-in one.
pub fn template(Project { root, files }: &Project, loop_type: &LoopType) -> Result<Template> {
    let LoopType { name, until, template, .. } = loop_type;
    match (Template::of_loop(files, root, name, template.as_deref())?, until) {
        (Some(found), _) => Ok(found),
        (None, Until::Tasks) => Template::find(files, root),
        (None, Until::Validation) => Err(Refusal::new(format!("loop type `{name}` has no template"))
            .with_hint(format!(
                "write .specify/templates/ralph-{name}.md, or set `template` in [loop.{name}]"
            ))
            .into()),
    }
}

fn job(feature: &Feature, root: &Utf8Path, loop_type: &LoopType) -> Result<Job> {
    let by_default = match loop_type.until {
        Until::Tasks => &feature.tasks_path,
        Until::Validation => &feature.dir,
    };
    let artifact = loop_type.artifact.as_ref().map(|artifact| without_dots(&feature.dir.join(artifact)));
    if let Some(artifact) = artifact.as_ref().filter(|artifact| !artifact.starts_with(root)) {
        let name = &loop_type.name;
        return Err(Refusal::new(format!(
            "the artifact of [loop.{name}] lies outside of the project: {artifact}"
        ))
        .with_hint(format!("`artifact` in .specify/ralph.toml is a path from {}", feature.dir))
        .into());
    }
    let artifact = artifact.unwrap_or_else(|| by_default.clone());
    Ok(Job { loop_type: loop_type.name.clone(), until: loop_type.until, artifact, skip_optional: false })
}

/// Everything of a plan that the project and the settings decide.
pub struct Ready {
    pub(super) config: Config,
    pub(super) project: Project,
    /// With their settings, in the order of preference; empty only if there is nothing left to do for one.
    pub(super) agents: Vec<(AgentSettings, Box<dyn Agent>)>,
    /// The agents that are asked for, whether or not they can work here.
    pub(super) names: Vec<String>,
    /// Why another agent than that of spec-kit was detected.
    pub(super) passed_over: Option<String>,
    pub(super) template: Template,
    job: Job,
    clock: Clock,
    sandbox: Option<Arc<Sandbox>>,
    /// What a resumption begins with.
    kept: Vec<u8>,
    environment: Environment,
    /// That of the call; in a lane that which it was started from.
    pub(super) users_tree: UsersTree,
}

impl Ready {
    /// Finds the agents, unless no task is open, so that none is needed.
    pub fn new(settings: Settings, needs_agents: bool, context: &Context) -> Result<Self> {
        let Settings { config, layers, project, template, job } = settings;
        let mut ready = Self {
            config,
            project,
            agents: Vec::new(),
            names: Vec::new(),
            passed_over: None,
            template,
            job,
            clock: context.clock()?,
            sandbox: None,
            kept: Vec::new(),
            environment: context.environment.clone(),
            users_tree: context.users_tree()?,
        };
        if needs_agents {
            ready.find_agents(&context.lookup())?;
        }
        let is_detected = ready.config.settings.agent.is_empty();
        let kept = Kept::new(&layers, if is_detected { &ready.names } else { &[] }, context);
        ready.kept = serde_json::to_vec_pretty(&kept).context("serialize the settings")?;
        Ok(ready)
    }

    fn find_agents(&mut self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<()> {
        let Project { root, files } = &self.project;
        self.names.clone_from(&self.config.settings.agent);
        if self.names.is_empty() {
            self.names.push(ralph_agent::detect(files, root, lookup)?);
            self.passed_over = ralph_agent::passed_over(files, root);
        }
        let own_program = own_program()?;
        for name in &self.names {
            if self.agents.iter().all(|(known, _)| known.name != *name) {
                let settings = agent_settings(&self.config, name);
                let agent = ralph_agent::build(&settings, &own_program, lookup)?;
                self.agents.push((settings, agent));
            }
        }
        Ok(())
    }

    /// Puts up what keeps all commands in their place, if the settings ask for it.
    pub fn set_up_sandbox(&mut self, context: &Context) -> Result<()> {
        let states: Vec<_> = self.agents.iter().map(|(_, agent)| agent.state().clone()).collect();
        self.sandbox = sandbox::set_up(&self.config.settings, &states, context)?;
        self.check_inside(context)
    }

    /// Tries the programs of the agents where they will run. Those that do not start there are left out, if another one does.
    fn check_inside(&mut self, context: &Context) -> Result<()> {
        let Some(sandbox) = &self.sandbox else { return Ok(()) };
        let lookup = context.lookup();
        let (mut first, mut working) = (None, Vec::new());
        for (settings, agent) in std::mem::take(&mut self.agents) {
            match agent.check_inside(sandbox, &self.project.root, &lookup) {
                Ok(()) => working.push((settings, agent)),
                Err(error) => first = first.or(Some(error)),
            }
        }
        self.agents = working;
        match first {
            Some(error) if self.agents.is_empty() => Err(error),
            Some(error) => {
                warn(&format!("continuing without it: {error}"));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Returns a work tree in which git runs nothing of agents outside of the sandbox, if there is one.
    pub fn behind_fence(&self, work_tree: &WorkTree) -> Result<WorkTree> {
        work_tree.clone().behind(self.sandbox.as_ref().map(Sandbox::for_filters))
    }

    /// Notifies the user that the session is over, in the ways that are configured; with `None`, that it was not started.
    pub fn finish(
        &self,
        feature: &Feature,
        session: Option<&Session>,
        verdict: &str,
        code: ExitCode,
        context: &Context,
    ) -> Result<()> {
        let counts = match session {
            Some(session) => TaskCounts { done: session.tasks_done, open: session.tasks_remaining },
            None => tasks::read(&feature.files, &feature.tasks_path)?.counts(),
        };
        let status = session.map_or(Status::Failed, |session| session.status);
        let settings = &self.config.settings;
        session_end::notify(settings.notify, status, counts, verdict, &context.environment);
        if let Some(command) = &settings.on_finish {
            let fence = self.sandbox.as_ref().map(Sandbox::for_checks);
            let branch = match session {
                Some(session) => session.branch.clone(),
                None => context.work_tree()?.branch()?,
            };
            let variables = session_end::hook_variables(feature, session, counts, branch, code);
            let lane = context.work_tree()?;
            let moved = lane.lane().map(|_| self.users_tree.environment_in(lane.top())).unwrap_or_default();
            session_end::run_hook(command, &self.project.root, moved, variables, fence.as_ref());
        }
        Ok(())
    }

    fn candidates(&self) -> Vec<Candidate<'_>> {
        let values = &self.config.settings;
        let candidates = self.agents.iter().map(|(settings, agent)| {
            let idle = match settings.idle_by_default() {
                Some(_) if self.config.is_set("idle-timeout") => values.idle_timeout,
                Some(by_default) => Some(by_default),
                None => self.config.silence_of_commands(),
            };
            let first_output = values.first_output_timeout.filter(|_| settings.begins_at_once());
            let limits = ralph_engine::child_limits(values, values.timeout, idle);
            let limits = Limits { first_output, ..limits };
            let api_key = agent.api_key(&|name| self.environment.owned(name));
            Candidate { agent: agent.as_ref(), api_key, limits, model: settings.model.clone() }
        });
        candidates.collect()
    }

    pub fn plan<'a>(
        &'a self,
        store: &'a Store,
        work_tree: &'a WorkTree,
        feature: &'a Feature,
        request: RunRequest,
        interrupt: &'a Interrupt,
    ) -> Result<Plan<'a>> {
        Ok(Plan {
            store,
            work_tree,
            feature,
            config: &self.config,
            job: self.job.clone(),
            agents: self.candidates(),
            template: self.template.clone(),
            capture_rules: ralph_engine::capture_rules(&self.config.settings)?,
            kept_settings: self.kept.clone(),
            scope: request.scope,
            resume: request.resume,
            retries_skipped: request.retries_skipped,
            is_forced: request.is_forced,
            project_root: self.project.root.clone(),
            sandbox: self.sandbox.clone(),
            clock: &self.clock,
            interrupt,
            lock: None,
            clean: None,
            dependencies: Vec::new(),
            users_tree: self.users_tree.clone(),
        })
    }
}

/// Returns how the agent of that name is set up.
pub fn agent_settings(config: &Config, name: &str) -> AgentSettings {
    let mut settings = AgentSettings::named(name);
    if let Some(configured) = config.agents.get(name) {
        settings.command = configured.command.as_ref().map(|command| match command {
            AgentCommand::Line(line) if name == "scripted" => vec![line.clone()],
            AgentCommand::Line(line) => ["sh", "-c", line].map(str::to_owned).into(),
            AgentCommand::Words(words) => words.clone(),
        });
        settings.prompt = configured.prompt.unwrap_or_default();
        settings.parser = configured.parser.unwrap_or_default();
        settings.limit_pattern.clone_from(&configured.limit_pattern);
        settings.state.clone_from(&configured.state);
        settings.credentials.clone_from(&configured.credentials);
        settings.env = configured.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    }
    // A model is one agent's own: those after the first know other ones.
    let is_first = config.settings.agent.first().is_none_or(|first| first == name);
    let own = config.agents.get(name).and_then(|configured| configured.model.clone());
    settings.model = own.or_else(|| config.settings.model.clone().filter(|_| is_first));
    settings.permissions = config.settings.permissions;
    settings
}
