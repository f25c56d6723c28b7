//! From flags and settings to everything that a session needs, checked before anything is begun.

use std::io::stderr;
use std::time::Duration;

use anyhow::{Context, Result};
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::agent::{self, Agent, AgentSettings, Surroundings};
use crate::clock::Clock;
use crate::config::{self, Config, LoopType, Until};
use crate::feature::Feature;
use crate::process::{self, Interrupt, Limits as ChildLimits};
use crate::progress::ProgressStrategy;
use crate::progress::capture::Rules;
use crate::progress::historical::{HistorySettings, Mode, Repeats};
use crate::progress::{Choice, Strategy};
use crate::prompt::Template;
use crate::record::{RALPH, Refusal, Session, Task};
use crate::redact::Redactor;
use crate::session::{
    self, Asked, Candidate, Commits, Completion, Decided, Job, Limits, Memory, Plan, Prompt, Prompting,
    Replay, Replayed, Snapshots, Telling, Untick,
};
use crate::store::{SessionLog, SessionRefs, Store};
use crate::tasks::TaskList;

use super::agent_settings::agent_settings;
use super::caller::{Caller, Project};
use super::changed_commands::Comparison;
use super::exit_code::ExitCode;
use super::on_finish;
use super::output::warn;
use super::own_command::own_program;
use super::place::refusal;
use super::settings::{Flags, load_in, redactor, terminal_redactor};

/// No limit, where one must be given.
const UNLIMITED: Duration = Duration::from_secs(u64::MAX / 4);

/// What a call asks for beyond the configuration.
#[derive(Default)]
pub struct Wish {
    pub only: Option<String>,
    pub resume: Option<SessionRefs>,
    /// The record of the session whose commands must be those that are set.
    pub keeps: Option<Box<Session>>,
    pub flags: Flags,
}

/// What the project says, before any agent is asked for.
pub struct Settings {
    config: Config,
    project: Project,
    template: Template,
    job: Job,
}

impl Settings {
    /// Reads the settings, and refuses a task list that a loop can do nothing with.
    pub fn read(store: &Store, feature: &Feature, caller: &Caller, wish: &Wish) -> Result<Self> {
        let (project, config) = load_in(store, caller, wish.flags.clone())?;
        match config.loop_type.until {
            Until::Tasks => check_tasks(feature, wish.only.as_deref())?,
            Until::Validation => check_validation(&config, wish.only.as_deref())?,
        }
        let template = template(&project, &config.loop_type)?;
        let job = job(feature, &project.root, &config.loop_type)?;
        Ok(Self { config, project, template, job })
    }

    /// What takes secrets out of what is printed, where that is wanted.
    pub fn terminal_redactor(&self) -> Result<Option<Redactor>> {
        terminal_redactor(&self.config)
    }

    /// Whether it is done when the tasks are.
    pub fn is_about_tasks(&self) -> bool {
        self.job.until == session::Until::Tasks
    }

    /// The prompt that a new session would begin with.
    pub fn next_prompt(&self, store: &Store, feature: &Feature, wish: &Wish) -> Result<Option<Prompt>> {
        self.template.check()?;
        let mut memory = self.memory(store, feature)?;
        let mut progress = start(strategy(&self.config), &self.config);
        for context in memory.newest(store, None, self.config.settings.progress_max_entries)? {
            progress.record(&context);
        }
        let prompting = Prompting {
            feature,
            template: &self.template,
            job: &self.job,
            max_iterations: self.config.settings.max_iterations,
            validation_command: self.config.settings.validation_command.as_deref(),
            progress: progress.as_ref(),
            hints: Vec::new(),
            telling: &telling(&self.config),
            budget: self.config.settings.prompt_budget,
        };
        prompting.next(wish.only.as_ref(), store, &mut memory)
    }

    /// The prompts of a recorded session, as these settings would have made them.
    pub fn replay(
        &self,
        store: &Store,
        feature: &Feature,
        log: &SessionLog,
        max_iterations: u32,
    ) -> Result<Vec<Replayed>> {
        self.template.check()?;
        let mut strategy = start(strategy(&self.config), &self.config);
        let replay = Replay {
            store,
            log,
            root: &self.project.root,
            progress_entries: self.config.settings.progress_max_entries,
            redactor: &redactor(&self.config)?,
        };
        let nothing = start(Strategy::default(), &self.config);
        let base = Prompting {
            feature,
            template: &self.template,
            job: &self.job,
            max_iterations,
            validation_command: None,
            progress: nothing.as_ref(),
            hints: Vec::new(),
            telling: &telling(&self.config),
            budget: self.config.settings.prompt_budget,
        };
        replay.prompts(strategy.as_mut(), &base)
    }

    /// What the strategy tells of the newest iterations.
    pub fn progress(&self, store: &Store, feature: &Feature) -> Result<String> {
        let mut progress = start(strategy(&self.config), &self.config);
        for context in
            self.memory(store, feature)?.newest(store, None, self.config.settings.progress_max_entries)?
        {
            progress.record(&context);
        }
        Ok(progress.progress())
    }

    /// What a new session would begin with.
    pub fn next_task(&self, feature: &Feature, only: Option<&String>) -> Result<Option<Task>> {
        Ok(self.job.next_task(&self.job.read_tasks(feature)?, only))
    }

    /// The command that sums older iterations up in a loop.
    pub fn condenser(&self) -> Option<Asked> {
        condenser(&self.config)
    }

    /// What is remembered of the feature.
    pub fn memory(&self, store: &Store, feature: &Feature) -> Result<Memory> {
        Memory::load(store, feature, &self.project.root)
    }

    /// How older iterations are told.
    pub fn telling(&self) -> Telling {
        telling(&self.config)
    }
}

/// Refuses a task list that a loop can do nothing with.
fn check_tasks(feature: &Feature, only: Option<&str>) -> Result<()> {
    let tasks = TaskList::read(&feature.files, &feature.tasks_path)?;
    tasks.require_tasks(&feature.tasks_path)?;
    if let Some(name) = only
        && tasks.find(name).is_none_or(|item| !item.is_task())
    {
        let message = format!("there is no task {name} in {}", feature.tasks_path);
        return Err(Refusal::new(message).hinted(format!("`{RALPH} tasks` lists them")).into());
    }
    Ok(())
}

/// Refuses a loop that would never know when it is done.
fn check_validation(config: &Config, only: Option<&str>) -> Result<()> {
    let name = &config.loop_type.name;
    if config.settings.validation_command.is_none() {
        let message =
            format!("a loop of type `{name}` is done when its validation passes, and there is none");
        let hint = format!("give one with --validate CMD, or set `validation.command` in [loop.{name}]");
        return Err(Refusal::new(message).hinted(hint).into());
    }
    if only.is_some() {
        let message = format!("a loop of type `{name}` is not about tasks");
        return Err(Refusal::new(message).hinted("leave out --task, or --loop").into());
    }
    Ok(())
}

fn template(Project { root, files }: &Project, loop_type: &LoopType) -> Result<Template> {
    let LoopType { name, until, template, .. } = loop_type;
    match (Template::of_loop(files, root, name, template.as_deref())?, until) {
        (Some(found), _) => Ok(found),
        (None, Until::Tasks) => Template::find(files, root),
        (None, Until::Validation) => Err(Refusal::new(format!("loop type `{name}` has no template"))
            .hinted(format!("write .specify/templates/ralph-{name}.md, or set `template` in [loop.{name}]"))
            .into()),
    }
}

fn job(feature: &Feature, root: &Utf8Path, loop_type: &LoopType) -> Result<Job> {
    let (until, by_default) = match loop_type.until {
        Until::Tasks => (session::Until::Tasks, &feature.tasks_path),
        Until::Validation => (session::Until::Validation, &feature.dir),
    };
    let artifact = loop_type.artifact.as_ref().map(|artifact| resolved(&feature.dir.join(artifact)));
    if let Some(artifact) = artifact.as_ref().filter(|artifact| !artifact.starts_with(root)) {
        let name = &loop_type.name;
        return Err(Refusal::new(format!(
            "the artifact of [loop.{name}] lies outside of the project: {artifact}"
        ))
        .hinted(format!("`artifact` in .specify/ralph.toml is a path from {}", feature.dir))
        .into());
    }
    let artifact = artifact.unwrap_or_else(|| by_default.clone());
    Ok(Job { loop_type: loop_type.name.clone(), until, artifact })
}

/// The path without `.` and `..`, by its words alone.
fn resolved(path: &Utf8Path) -> Utf8PathBuf {
    let mut resolved = Utf8PathBuf::new();
    for component in path.components() {
        if component == Utf8Component::ParentDir {
            resolved.pop();
        } else if component != Utf8Component::CurDir {
            resolved.push(component);
        }
    }
    resolved
}

fn strategy(config: &Config) -> Strategy {
    // The configuration has put an unknown name right.
    Strategy::named(&config.settings.progress_strategy).unwrap_or_default()
}

fn start(strategy: Strategy, config: &Config) -> Box<dyn ProgressStrategy> {
    let settings = &config.settings;
    strategy.start(settings.progress_max_entries, settings.progress_max_chars, choice(settings.progress_tail))
}

fn choice(tail: bool) -> Choice {
    if tail { Choice::BlindTail } else { Choice::Excerpt }
}

/// The command that sums something up.
fn asked(command: Option<&String>, config: &Config) -> Option<Asked> {
    let timeout = config.settings.progress_timeout.unwrap_or(UNLIMITED);
    command.map(|command| Asked { command: command.clone(), timeout })
}

/// The command that sums older iterations up; `local` is our own way.
fn condenser(config: &Config) -> Option<Asked> {
    asked(config.settings.history_summarize.as_ref().filter(|name| *name != "local"), config)
}

/// The command that sums an iteration up, where the strategy wants one.
fn summarizer(config: &Config) -> Option<Asked> {
    let command = config.settings.progress_command.as_ref();
    let command = command.or(config.settings.history_summarize.as_ref().filter(|name| *name != "local"));
    asked(command.filter(|_| strategy(config).is_summarized()), config)
}

fn capture_rules(config: &Config) -> Result<Rules> {
    let rules = config.settings.captures.iter().map(|(name, pattern)| (name.as_str(), pattern.as_str()));
    Rules::new(rules).context("compile the rules of `capture`")
}

fn telling(config: &Config) -> Telling {
    let settings = &config.settings;
    let mode = match settings.history_mode.as_str() {
        "smart" => Mode::Smart,
        "full" => Mode::Full,
        _ => Mode::Off,
    };
    // All iterations, unless somebody wants fewer.
    let is_all = mode == Mode::Full && !config.is_set("history.lookback");
    Telling {
        settings: HistorySettings {
            mode,
            budget: settings.history_budget,
            lookback: (!is_all).then_some(settings.history_lookback),
            threshold: settings.history_threshold,
            failures: settings.history_failures,
            decisions: settings.history_decisions,
            approaches: settings.history_approaches,
            repeats: if settings.history_summarize.is_none() { Repeats::Kept } else { Repeats::Merged },
        },
        decided: if config.is_set("history.mode") { Decided::ByUser } else { Decided::Open },
    }
}

/// Everything of a plan that the project and the settings decide.
pub struct Ready {
    config: Config,
    root: Utf8PathBuf,
    /// In the order of preference; never empty.
    agents: Vec<Prepared>,
    /// The agents that are asked for, whether or not they can work here.
    names: Vec<String>,
    template: Template,
    job: Job,
    clock: Clock,
}

/// An agent with its settings.
struct Prepared {
    settings: AgentSettings,
    agent: Box<dyn Agent>,
}

impl Ready {
    pub fn new(settings: Settings, caller: &Caller) -> Result<Self> {
        let Settings { config, project: Project { root, files }, template, job } = settings;
        let lookup = |name: &str| variable(caller, name);
        let surroundings = Surroundings { directory: &root, lookup: &lookup };
        let mut names = config.settings.agent.clone();
        if names.is_empty() {
            names.push(agent::detect(&files, &surroundings)?);
            if let Some(why) = agent::passed_over(&files, &root) {
                warn(&format!("{why}; {} is used, the only one that is installed", names[0]), &mut stderr());
            }
        }
        let own_program = own_program()?;
        let mut agents: Vec<Prepared> = Vec::new();
        for name in names.clone() {
            if agents.iter().all(|known| known.settings.name != name) {
                let settings = agent_settings(&config, &name);
                let agent = agent::build(&settings, &own_program, &lookup)?;
                agents.push(Prepared { settings, agent });
            }
        }
        let clock = Clock::new(lookup(Clock::VARIABLE).as_deref())?;
        Ok(Self { config, root, agents, names, template, job, clock })
    }

    /// Refuses to resume a session with other commands than those that it began with. Runs nothing.
    pub fn refuse_changed_commands(&self, store: &Store, begun: &Session) -> Result<()> {
        let identity = store.identity()?;
        Comparison::new(begun, (&self.config, &self.names), identity.as_ref())?.refuse_changes()
    }

    /// What only a session needs: the agent is there, the template sound, progress.txt can be written.
    pub fn check(&mut self, caller: &Caller) -> Result<()> {
        for warning in &self.config.warnings {
            warn(warning, &mut stderr());
        }
        if strategy(&self.config).is_summarized() && summarizer(&self.config).is_none() {
            let name = &self.config.settings.progress_strategy;
            warn(
                &format!("`{name}` has nobody to ask, outputs stand in: set `progress.command`"),
                &mut stderr(),
            );
        }
        let lookup = |name: &str| variable(caller, name);
        let surroundings = Surroundings { directory: &self.root, lookup: &lookup };
        let mut complaints = Vec::new();
        self.agents.retain(|prepared| match prepared.agent.check(&surroundings) {
            Ok(()) => true,
            Err(error) => {
                complaints.push(error);
                false
            }
        });
        if self.agents.is_empty() {
            return Err(complaints.swap_remove(0));
        }
        // A list is for a team, of whom not everybody has every agent.
        for complaint in complaints {
            let text = complaint.to_string();
            warn(&format!("goes on without it: {}", text.lines().next().unwrap_or_default()), &mut stderr());
        }
        self.template.check()
    }

    /// Tells whom the user wants to be told that the session is over.
    pub fn finish(&self, feature: &Feature, session: &Session, code: ExitCode) {
        if let Some(command) = &self.config.settings.on_finish {
            on_finish::run(command, &self.root, feature, session, code);
        }
    }

    fn candidates(&self) -> Vec<Candidate<'_>> {
        let wall = self.config.settings.timeout.unwrap_or(UNLIMITED);
        let idle = |settings: &AgentSettings| match settings.idle_by_default() {
            Some(_) if self.config.is_set("idle-timeout") => self.config.settings.idle_timeout,
            Some(by_default) => Some(by_default),
            None => self.config.silence_of_commands(),
        };
        let agents = self.agents.iter();
        agents
            .map(|Prepared { settings, agent }| Candidate {
                agent: agent.as_ref(),
                limits: ChildLimits { wall, idle: idle(settings), output: self.output() },
                model: settings.model.clone(),
            })
            .collect()
    }

    fn output(&self) -> u64 {
        self.config.settings.max_output.unwrap_or(u64::MAX)
    }

    /// Refuses a folder with a secret in its name: the name would become that of refs, which `sync` publishes.
    fn check_name(&self, feature: &Feature) -> Result<()> {
        let (shown, found) = redactor(&self.config)?.redact_text(feature.path.as_ref());
        if found.is_empty() {
            return Ok(());
        }
        let message =
            format!("the name of the folder `{shown}` holds a secret, and would become the name of a ref");
        Err(Refusal::new(message)
            .hinted("rename the folder; if it is no secret, let `redaction.allow` match it")
            .into())
    }

    /// What takes secrets out of what is printed, where that is wanted.
    pub fn terminal_redactor(&self) -> Result<Option<Redactor>> {
        terminal_redactor(&self.config)
    }

    pub fn plan<'a>(
        &'a self,
        store: &'a Store,
        feature: &'a Feature,
        wish: Wish,
        interrupt: &'a Interrupt,
    ) -> Result<Plan<'a>> {
        session::check_progress_file(&feature.files, &feature.progress_path).map_err(refusal)?;
        session::check_refs(store, feature)?;
        self.check_name(feature)?;
        let commits = match self.config.settings.commit {
            config::Commits::Off => Commits::Off,
            config::Commits::OfTasks => Commits::OfTasks,
        };
        if commits == Commits::OfTasks {
            session::check_commits(store)?;
        }
        let settings = &self.config.settings;
        Ok(Plan {
            store,
            feature,
            job: self.job.clone(),
            agents: self.candidates(),
            template: self.template.clone(),
            validation_command: settings.validation_command.clone(),
            validation_limits: ChildLimits {
                wall: settings.validation_timeout.unwrap_or(UNLIMITED),
                idle: None,
                output: self.output(),
            },
            progress: start(strategy(&self.config), &self.config),
            summarizer: summarizer(&self.config),
            condenser: condenser(&self.config),
            telling: telling(&self.config),
            prompt_budget: self.config.settings.prompt_budget,
            progress_entries: settings.progress_max_entries,
            capture_rules: capture_rules(&self.config)?,
            excerpt_chars: settings.progress_max_chars,
            choice: choice(settings.progress_tail),
            limits: Limits {
                max_iterations: settings.max_iterations,
                skip_after: settings.skip_after.unwrap_or(u32::MAX),
                stuck_after: settings.stuck_after.unwrap_or(u32::MAX),
                max_tokens: settings.max_tokens,
                max_cost: settings.max_cost,
                max_duration: settings.max_duration,
                max_wait: settings.max_wait,
            },
            completion: match self.config.settings.completion {
                config::Completion::Verified => Completion::Verified,
                config::Completion::Promise => Completion::Promise,
            },
            untick: if self.config.settings.untick { Untick::OpenAgain } else { Untick::Leave },
            snapshots: if settings.snapshots { Snapshots::Keep } else { Snapshots::Off },
            snapshot_max_file: settings.snapshot_max_file.unwrap_or(u64::MAX),
            commits,
            redaction_rules: settings.redaction_rules.clone(),
            redaction_allow: settings.redaction_allow.clone(),
            configuration: self.config.to_json(),
            commands: self
                .config
                .commands(&self.names)
                .into_iter()
                .map(|command| (command.key, command.value))
                .collect(),
            only: wish.only,
            resume: wish.resume,
            project_root: self.root.clone(),
            host: process::host_name(),
            clock: &self.clock,
            interrupt,
        })
    }
}

pub fn variable(caller: &Caller, name: &str) -> Option<String> {
    caller.environment.value(name).and_then(|value| value.to_str()).map(str::to_owned)
}
