//! `specify ralph run` and `resume`: from settings to a plan, and from the end of a session to an exit code.

use std::io::{Write, stderr, stdout};
use std::time::Duration;

use anyhow::{Context, Result};
use camino::Utf8Path;

use crate::agent::{self, Agent, AgentSettings, Parser, Permissions, PromptVia, Surroundings};
use crate::clock::Clock;
use crate::config::{self, AgentCommand, Config, PromptMode};
use crate::feature::{self, Feature};
use crate::process::{self, Interrupt, Limits as ChildLimits, Marker};
use crate::progress::{Choice, SystemCapturedProgress};
use crate::prompt::Template;
use crate::record::{Event, Refusal, SessionId, Status, StopReason};
use crate::session::{self, Completion, Finish, Limits, Plan, Snapshots, Untick};
use crate::store::{SessionRefs, Store};
use crate::tasks::TaskList;
use crate::view::live::{Detail, Live};
use crate::view::style::{Count, Paint};

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::warn;
use super::place::{self, refusal};
use super::settings::{Flags, load};
use super::{ResumeArgs, RunArgs, sessions};

/// No limit, where one must be given.
const UNLIMITED: Duration = Duration::from_secs(u64::MAX / 4);

/// How a run speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    People(Paint, Detail),
    Json,
}

pub fn run(args: &RunArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let feature = place::feature(caller, &store, args.place.feature.as_ref(), args.place.tasks.as_ref())?;
    let wish = Wish { only: args.task.clone(), resume: None, flags: args.settings.flags() };
    let voice = voice(args.json, args.verbose, paint);
    if args.dry_run {
        return dry_run(&store, &feature, wish, caller);
    }
    start(&store, &feature, wish, caller, voice)
}

pub fn resume(args: &ResumeArgs, caller: &Caller, paint: Paint) -> Result<ExitCode> {
    let store = place::open(caller)?;
    let top = store.repository().work_tree()?;
    let refs = to_take_up(&store, args)?;
    let path = store.session(&refs)?.map(|log| log.feature().to_owned()).unwrap_or_default();
    let is_file = top.join(&path).is_file();
    let (flag, file) =
        if is_file { (None, Some(top.join(&path))) } else { (Some(top.join(&path).into_string()), None) };
    let feature = place::feature(caller, &store, flag.as_ref(), file.as_ref())?;
    let wish = Wish { only: None, resume: Some(refs), flags: args.settings.flags() };
    start(&store, &feature, wish, caller, voice(args.json, args.verbose, paint))
}

/// The session to take up again: the one that is named, or the latest that did not complete.
fn to_take_up(store: &Store, args: &ResumeArgs) -> Result<SessionRefs> {
    let choice = sessions::Choice { session: args.session.clone(), feature: args.feature.clone() };
    let running = sessions::running(store)?;
    let found = sessions::chosen(store, &choice).map_err(refusal)?;
    let status =
        |log: &crate::store::SessionLog| log.status(running.iter().any(|holder| holder.session == *log.id()));
    let refuse = |id: &SessionId, status: Status, hint: &str| {
        Err(Refusal::new(format!("session {id} is {status}")).hinted(hint).into())
    };
    let open = found.iter().rev().find(|log| status(log) != Status::Completed);
    match open.or(found.last()) {
        None => Err(Refusal::new("no session is recorded here to take up again")
            .hinted("start one with `specify ralph`")
            .into()),
        Some(log) => match status(log) {
            Status::Completed => refuse(log.id(), Status::Completed, "start a new one with `specify ralph`"),
            Status::Running => refuse(log.id(), Status::Running, "`specify ralph status` says where"),
            Status::Interrupted | Status::Failed => Ok(log.refs.clone()),
        },
    }
}

fn voice(json: bool, verbose: bool, paint: Paint) -> Voice {
    match (json, verbose) {
        (true, _) => Voice::Json,
        (false, true) => Voice::People(paint, Detail::Verbose),
        (false, false) => Voice::People(paint, Detail::Normal),
    }
}

/// What this call asks for beyond the configuration.
pub struct Wish {
    pub only: Option<String>,
    pub resume: Option<SessionRefs>,
    pub flags: Flags,
}

/// Checks everything that can be checked, and runs a session.
pub fn start(
    store: &Store,
    feature: &Feature,
    wish: Wish,
    caller: &Caller,
    voice: Voice,
) -> Result<ExitCode> {
    if let Some(outer) = caller.environment.value(Marker::VARIABLE) {
        let message =
            format!("this is an iteration of session {}, in which no other can start", outer.display());
        return Err(Refusal::new(message).hinted("run the loop outside of its own agents").into());
    }
    let ready = Ready::new(store, feature, caller, &wish).map_err(refusal)?;
    if wish.resume.is_none()
        && let Some(counts) = session::nothing_to_do(store, feature, wish.only.as_ref()).map_err(refusal)?
    {
        return all_done(feature, counts.done, voice);
    }
    ready.check(caller).map_err(refusal)?;
    let interrupt = Interrupt::install()?;
    let plan = ready.plan(store, feature, wish, &interrupt)?;
    let mut teller = Teller::new(voice);
    match session::run(plan, &mut |event| teller.tell(event))? {
        Finish::AllDone(counts) => all_done(feature, counts.done, voice),
        Finish::Ended(session) => Ok(match (session.stop_reason, interrupt.signal()) {
            (Some(StopReason::Completed), _) => ExitCode::Done,
            (Some(StopReason::Interrupted), Some(15)) => ExitCode::Terminated,
            (Some(StopReason::Interrupted), Some(1)) => ExitCode::HungUp,
            (Some(StopReason::Interrupted), _) => ExitCode::Interrupted,
            _ => ExitCode::NotDone,
        }),
    }
}

fn dry_run(store: &Store, feature: &Feature, wish: Wish, caller: &Caller) -> Result<ExitCode> {
    let ready = Ready::new(store, feature, caller, &wish).map_err(refusal)?;
    ready.template.check().map_err(refusal)?;
    let interrupt = Interrupt::none();
    let plan = ready.plan(store, feature, wish, &interrupt)?;
    match session::next_prompt(&plan)? {
        Some(prompt) => {
            let mut out = super::output::stdout();
            out.write_all(prompt.as_bytes()).and_then(|()| out.flush()).context("print the prompt")?;
        }
        None => warn("no open task can be picked: there is no next prompt", &mut stderr()),
    }
    Ok(ExitCode::Done)
}

fn all_done(feature: &Feature, done: usize, voice: Voice) -> Result<ExitCode> {
    let mut out = super::output::stdout();
    let line = format!("{}: all done ({}), nothing to do", feature.path, Count(done as u64, "task"));
    let said = match voice {
        Voice::People(..) => writeln!(out, "{line}"),
        // Nothing began, so there is no event; the words go where talk goes.
        Voice::Json => writeln!(stderr(), "{line}"),
    };
    said.and_then(|()| out.flush()).context("say that all is done")?;
    Ok(ExitCode::Done)
}

/// Passes events on to whoever listens. One who no longer listens stops nothing.
struct Teller {
    voice: Voice,
    live: Live<std::io::Stdout>,
}

impl Teller {
    fn new(voice: Voice) -> Self {
        let (paint, detail) = match voice {
            Voice::People(paint, detail) => (paint, detail),
            Voice::Json => (Paint::Plain, Detail::Normal),
        };
        Self { voice, live: Live::new(stdout(), paint, detail) }
    }

    fn tell(&mut self, event: &Event) {
        let told = match self.voice {
            Voice::People(..) => self.live.show(event),
            Voice::Json => serde_json::to_string(event).map_err(std::io::Error::other).and_then(|line| {
                let mut out = stdout();
                writeln!(out, "{line}").and_then(|()| out.flush())
            }),
        };
        // The reader of a pipe may go while the night is long; the record does not depend on it.
        drop(told);
    }
}

/// Everything of a plan that the project and the settings decide.
struct Ready {
    config: Config,
    root: camino::Utf8PathBuf,
    settings: AgentSettings,
    agent: Box<dyn Agent>,
    template: Template,
    clock: Clock,
}

impl Ready {
    fn new(store: &Store, feature: &Feature, caller: &Caller, wish: &Wish) -> Result<Self> {
        let root = feature::project_root(&caller.directory, store.repository().work_tree()?);
        let config = load(&root, caller, wish.flags.clone())?;
        let tasks = TaskList::read(&feature.tasks_path)?;
        tasks.require_tasks(&feature.tasks_path)?;
        if let Some(name) = &wish.only
            && tasks.find(name).is_none_or(|item| !item.is_task())
        {
            let message = format!("there is no task {name} in {}", feature.tasks_path);
            return Err(Refusal::new(message).hinted("`specify ralph tasks` lists them").into());
        }
        let lookup = |name: &str| variable(caller, name);
        let settings = agent_settings(&config, &lookup)?;
        let agent = agent::build(&settings, &own_program()?)?;
        let template = Template::find(&root)?;
        let clock = Clock::new(lookup(Clock::VARIABLE).as_deref())?;
        Ok(Self { config, root, settings, agent, template, clock })
    }

    /// What only a session needs: the agent is there, the template sound, progress.txt can be written.
    fn check(&self, caller: &Caller) -> Result<()> {
        for warning in &self.config.warnings {
            warn(warning, &mut stderr());
        }
        let lookup = |name: &str| variable(caller, name);
        self.agent.check(&Surroundings { directory: &self.root, lookup: &lookup })?;
        self.template.check()
    }

    fn plan<'a>(
        &'a self,
        store: &'a Store,
        feature: &'a Feature,
        wish: Wish,
        interrupt: &'a Interrupt,
    ) -> Result<Plan<'a>> {
        session::check_progress_file(&feature.progress_path).map_err(refusal)?;
        session::check_refs(store, feature)?;
        let Config { limits, validation, progress, snapshots, redaction, .. } = &self.config;
        let output = self.config.max_output.unwrap_or(u64::MAX);
        let idle = match self.settings.idle_by_default() {
            Some(_) => self.config.idle_timeout,
            None => self.config.silence_of_commands(),
        };
        let strategy = SystemCapturedProgress::with_limits(progress.max_entries, progress.max_chars)
            .with_choice(if progress.tail { Choice::BlindTail } else { Choice::Excerpt });
        Ok(Plan {
            store,
            feature,
            agent: self.agent.as_ref(),
            agent_limits: ChildLimits { wall: self.config.timeout.unwrap_or(UNLIMITED), idle, output },
            model: self.config.model.clone(),
            template: self.template.clone(),
            validation_command: validation.command.clone(),
            validation_limits: ChildLimits {
                wall: validation.timeout.unwrap_or(UNLIMITED),
                idle: None,
                output,
            },
            progress: Box::new(strategy),
            excerpt_chars: progress.max_chars,
            limits: Limits {
                max_iterations: limits.max_iterations,
                skip_after: limits.skip_after.unwrap_or(u32::MAX),
                stuck_after: limits.stuck_after.unwrap_or(u32::MAX),
                max_tokens: limits.max_tokens,
                max_cost: limits.max_cost,
                max_duration: limits.max_duration,
            },
            completion: match self.config.completion {
                config::Completion::Verified => Completion::Verified,
                config::Completion::Promise => Completion::Promise,
            },
            untick: if self.config.untick { Untick::OpenAgain } else { Untick::Leave },
            snapshots: if snapshots.enabled { Snapshots::Keep } else { Snapshots::Off },
            snapshot_max_file: snapshots.max_file.unwrap_or(u64::MAX),
            redaction_rules: redaction.rules.clone(),
            redaction_allow: redaction.allow.clone(),
            configuration: self.config.to_json(),
            only: wish.only,
            resume: wish.resume,
            project_root: self.root.clone(),
            host: process::host_name(),
            clock: &self.clock,
            interrupt,
        })
    }
}

fn variable(caller: &Caller, name: &str) -> Option<String> {
    caller.environment.value(name).and_then(|value| value.to_str()).map(str::to_owned)
}

/// The words by which we are called again as the scripted agent.
fn own_program() -> Result<Vec<String>> {
    let program = std::env::current_exe().context("find our own program")?;
    let program = program.to_string_lossy().into_owned();
    let is_specify = Utf8Path::new(&program).file_name().is_some_and(|name| name.starts_with("specify"));
    Ok(if is_specify { vec![program, "ralph".to_owned()] } else { vec![program] })
}

fn agent_settings(config: &Config, lookup: agent::Lookup<'_>) -> Result<AgentSettings> {
    let name = match &config.agent {
        Some(name) => name.clone(),
        None => agent::detect(lookup)?.to_owned(),
    };
    let mut settings = AgentSettings::named(&name);
    if let Some(configured) = config.agents.get(&name) {
        settings.command = configured.command.as_ref().map(|command| match command {
            AgentCommand::Line(line) if name == "scripted" => vec![line.clone()],
            AgentCommand::Line(line) => ["sh", "-c", line].map(str::to_owned).into(),
            AgentCommand::Words(words) => words.clone(),
        });
        settings.prompt = match configured.prompt {
            None | Some(PromptMode::Stdin) => PromptVia::Stdin,
            Some(PromptMode::File) => PromptVia::File,
            Some(PromptMode::Arg) => PromptVia::Arg,
        };
        settings.parser = match configured.parser {
            None | Some(config::Parser::Text) => Parser::Text,
            Some(config::Parser::Claude) => Parser::Claude,
        };
        settings.env = configured.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    }
    settings.model.clone_from(&config.model);
    settings.permissions = match config.permissions {
        config::Permissions::Full => Permissions::Full,
        config::Permissions::Default => Permissions::Default,
        config::Permissions::ReadOnly => Permissions::ReadOnly,
    };
    Ok(settings)
}
