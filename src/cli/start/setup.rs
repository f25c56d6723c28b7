//! From the configuration to everything that a session needs, checked before anything is begun.

use std::ffi::OsString;

use anyhow::Result;
use camino::Utf8Path;

use ralph_agent::AgentSettings;
use ralph_core::config::{AgentCommand, Config, LoopType, Until};
use ralph_core::record::{Refusal, Scope, Session, Status, Task, TaskCounts};
use ralph_engine::{Candidate, Job, LoopInputs};
use ralph_git::worktree::WorkTree;
use ralph_os::process::{Interrupt, Limits};
use ralph_os::sandbox::Sandbox;
use ralph_project::feature::{Feature, without_dots};
use ralph_project::prompt::Template;
use ralph_project::tasks;
use ralph_store::SessionRefs;

use crate::cli::args::LaneArgs;
use crate::cli::output::warn;
use crate::cli::own_command::own_program;
use crate::cli::settings::project_in;
use crate::cli::start::{resumption, sandbox, session_end};
use crate::cli::{Context, ExitCode, Project, refusal};

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
    /// The words of the call after the program: what else it starts is called by the same.
    pub arguments: Vec<OsString>,
    /// Only try what comes before the first attempt, and record nothing.
    pub is_rehearsal: bool,
}

/// Returns what a loop in the work tree of `context` begins with, before any agent is looked for: nothing keeps commands in their
/// place yet, and all tasks are in its scope.
pub fn loop_inputs<'a>(
    config: &'a Config,
    feature: &'a Feature,
    context: &'a Context,
    interrupt: &'a Interrupt,
) -> Result<LoopInputs<'a>> {
    let project = project_in(context)?;
    Ok(LoopInputs {
        store: context.store()?,
        work_tree: context.work_tree()?,
        feature,
        config,
        template: template(&project, &config.loop_type)?,
        job: job(feature, &project.root, config)?,
        agents: Vec::new(),
        capture_rules: ralph_engine::capture_rules(&config.settings)?,
        kept_settings: Vec::new(),
        scope: Scope::default(),
        retries_skipped: false,
        is_forced: false,
        project_root: project.root,
        sandbox: None,
        clock: context.clock()?,
        interrupt,
        group: None,
        clean: None,
        dependencies: Vec::new(),
        users_tree: context.users_tree()?,
    })
}

/// Returns the same for a part of the task list, and refuses one that a loop can do nothing with.
pub fn checked_inputs<'a>(
    config: &'a Config,
    feature: &'a Feature,
    scope: &Scope,
    context: &'a Context,
    interrupt: &'a Interrupt,
) -> Result<LoopInputs<'a>> {
    let inputs = loop_inputs(config, feature, context, interrupt).map_err(refusal)?;
    check_list(config, feature, scope).map_err(refusal)?;
    Ok(LoopInputs { scope: scope.clone(), ..inputs })
}

/// Refuses a task list that a loop can do nothing with.
pub fn check_list(config: &Config, feature: &Feature, scope: &Scope) -> Result<()> {
    if config.loop_type.until == Until::Validation {
        return check_validation(config, scope);
    }
    let tasks = tasks::read(&feature.files, &feature.tasks_path)?;
    tasks::require_tasks(&tasks, &feature.tasks_path)?;
    tasks::part_of(&tasks, scope, &feature.tasks_path)?;
    Ok(())
}

/// Returns what a new session would begin with, or the task of that name.
pub fn next_task(inputs: &LoopInputs<'_>, name: Option<&String>) -> Result<Option<Task>> {
    let tasks = inputs.job.read_tasks(inputs.feature)?;
    let Some(name) = name.filter(|_| inputs.job.until == Until::Tasks) else {
        return Ok(inputs.job.next_task(&tasks, None));
    };
    Ok(Some(tasks::named(&tasks, name, &inputs.feature.tasks_path)?.into()))
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

fn job(feature: &Feature, root: &Utf8Path, config: &Config) -> Result<Job> {
    let loop_type = &config.loop_type;
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
    let skip_optional = config.settings.skip_optional;
    Ok(Job { loop_type: loop_type.name.clone(), until: loop_type.until, artifact, skip_optional })
}

/// Finds the agents that are to work, and notes what a resumption begins with.
pub fn find_agents(inputs: &mut LoopInputs<'_>, context: &Context) -> Result<()> {
    let (config, lookup) = (inputs.config, context.lookup());
    let mut names = config.settings.agent.clone();
    if names.is_empty() {
        let Project { root, files } = project_in(context)?;
        names.push(ralph_agent::detect(&files, &root, &lookup)?);
    }
    let own_program = own_program()?;
    for (at, name) in names.iter().enumerate() {
        if !names[..at].contains(name) {
            inputs.agents.push(candidate(config, name, &own_program, &lookup)?);
        }
    }
    let detected = if config.settings.agent.is_empty() { names.as_slice() } else { &[] };
    inputs.kept_settings = resumption::kept(config, detected, context)?;
    Ok(())
}

fn candidate(
    config: &Config,
    name: &str,
    own_program: &[String],
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Candidate> {
    let settings = agent_settings(config, name);
    let agent = ralph_agent::build(&settings, own_program, lookup)?;
    let values = &config.settings;
    let idle = match settings.idle_by_default() {
        Some(_) if config.is_set("idle-timeout") => values.idle_timeout,
        Some(by_default) => Some(by_default),
        None => config.silence_of_commands(),
    };
    let first_output = values.first_output_timeout.filter(|_| settings.begins_at_once());
    let limits = ralph_engine::child_limits(values, values.timeout, idle);
    let limits = Limits { first_output, ..limits };
    Ok(Candidate { api_key: agent.api_key(lookup), agent, limits, model: settings.model })
}

/// Puts up what keeps all commands in their place, if the settings ask for it. Agents that do not start there are left out, if
/// another one does.
pub fn set_up_sandbox(inputs: &mut LoopInputs<'_>, context: &Context) -> Result<()> {
    let states: Vec<_> = inputs.agents.iter().map(|candidate| candidate.agent.state().clone()).collect();
    inputs.sandbox = sandbox::set_up(&inputs.config.settings, &states, context)?;
    let Some(sandbox) = &inputs.sandbox else { return Ok(()) };
    let lookup = context.lookup();
    let mut first = None;
    inputs.agents.retain(|candidate| {
        let checked = candidate.agent.check_inside(sandbox, &inputs.project_root, &lookup);
        let works = checked.is_ok();
        first = first.take().or(checked.err());
        works
    });
    match first {
        Some(error) if inputs.agents.is_empty() => Err(error),
        Some(error) => {
            warn(&format!("continuing without it: {error}"));
            Ok(())
        }
        None => Ok(()),
    }
}

/// Returns the work tree, in which git runs nothing of agents outside of the sandbox, if there is one.
pub fn behind_fence(inputs: &LoopInputs<'_>) -> Result<WorkTree> {
    inputs.work_tree.clone().behind(inputs.sandbox.as_ref().map(Sandbox::for_filters))
}

/// Notifies the user that the session is over, in the ways that are configured; with `None`, that it was not started.
pub fn finish(
    inputs: &LoopInputs<'_>,
    session: Option<&Session>,
    verdict: &str,
    code: ExitCode,
    context: &Context,
) -> Result<()> {
    let feature = inputs.feature;
    let counts = match session {
        Some(session) => TaskCounts { done: session.tasks_done, open: session.tasks_remaining },
        None => tasks::read(&feature.files, &feature.tasks_path)?.counts(),
    };
    let status = session.map_or(Status::Failed, |session| session.status);
    let settings = &inputs.config.settings;
    session_end::notify(settings.notify, status, counts, verdict, &context.environment);
    if let Some(command) = &settings.on_finish {
        let fence = inputs.sandbox.as_ref().map(Sandbox::for_checks);
        let branch = match session {
            Some(session) => session.branch.clone(),
            None => context.work_tree()?.branch()?,
        };
        let variables = session_end::hook_variables(feature, session, counts, branch, code);
        let lane = context.work_tree()?;
        let moved = lane.lane().map(|_| inputs.users_tree.environment_in(lane.top())).unwrap_or_default();
        session_end::run_hook(command, &inputs.project_root, moved, variables, fence.as_ref());
    }
    Ok(())
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
