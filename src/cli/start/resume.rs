//! `specify ralph resume`: a session goes on with the settings that it began with.

use std::ffi::OsString;

use anyhow::{Error, Result, anyhow};
use clap::Args;

use ralph_core::config::{Config, FILE, Flags, Inputs};
use ralph_core::record::{
    Budget, EndedBy, RALPH, Refusal, Scope, Session, SessionId, SessionName, Status, StopReason,
};
use ralph_os::process::host_name;
use ralph_project::feature::Feature;
use ralph_project::tasks;
use ralph_store::{Identity, SessionLog, SessionRefs, Store, kept_settings};
use ralph_ui::style::one_line;

use crate::cli::args::{LaneArgs, Membership, SettingArgs, TalkArgs};
use crate::cli::read::sessions;
use crate::cli::repair::lost_list;
use crate::cli::settings::{inputs, load_in, project_in};
use crate::cli::start::approvals::{Approvals, Approved};
use crate::cli::start::resumption::{self, FRESH, Kept, Winner};
use crate::cli::start::run::{code_of_flags, start};
use crate::cli::start::setup::RunRequest;
use crate::cli::start::{group, lane};
use crate::cli::{Context, ExitCode, note, refusal, warn};

#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Session to resume [default: the latest unfinished one]
    #[arg(value_name = "SESSION")]
    pub session: Option<SessionName>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    /// Take the settings from files, git's configuration and the environment as they are now, instead of those that the
    /// session began with
    #[arg(long)]
    pub fresh_settings: bool,
    /// Refused: `--fresh-settings` took its place
    #[arg(long, hide = true)]
    pub accept_changed_commands: bool,
    /// Exit with 5 if all tasks are done, but some are flagged
    #[arg(long)]
    pub fail_on_flags: bool,
    /// Start during a merge or rebase, or with a validation that fails or is not installed
    #[arg(long)]
    pub force: bool,
    /// In a lane: bring its branch into the one that is checked out at the end, if that is a fast-forward
    #[arg(long)]
    pub land: bool,
    /// Work beside others on the branch, as the loop that starts them says
    #[arg(long, hide = true, value_name = "SESSION")]
    pub in_group: Option<Membership>,
    /// Resume SESSION although it seems to run on another machine
    #[arg(long, requires = "session")]
    pub take_over: bool,
    #[command(flatten)]
    pub talk: TalkArgs,
    /// Show the loop in the terminal UI; leaving it does not stop the loop
    #[arg(long, conflicts_with_all = ["verbose", "quiet", "json"])]
    pub tui: bool,
    #[command(flatten)]
    pub settings: SettingArgs,
}

/// A session that can go on, and its settings.
pub struct Resumption {
    refs: SessionRefs,
    /// The first session of the group that it is of.
    group: Option<SessionId>,
    feature: Feature,
    scope: Scope,
    pub config: Config,
    /// With the links that the session permits.
    pub context: Context,
    /// What interrupted it.
    ended_by: Option<EndedBy>,
    /// What is to be said: what differs from the files, and what comes from flags of the start.
    lines: Vec<String>,
    kept_flags: Vec<String>,
    budget: Budget,
}

pub fn run(args: &ResumeArgs, arguments: &[OsString], context: &Context) -> Result<ExitCode> {
    if args.accept_changed_commands {
        note(format_args!(
            "error: `--accept-changed-commands` is no more: a session keeps its settings\nhint: `{RALPH} resume {FRESH}` takes \
             those that are set now"
        ));
        return Ok(ExitCode::Usage);
    }
    let Resumption { refs, group, feature, scope, config, context, ended_by, lines, kept_flags, budget } =
        Resumption::of(args, context)?;
    for line in &lines {
        warn(line);
    }
    if let Some(ended_by) = ended_by.filter(|_| !args.talk.quiet) {
        let hint = ended_by.hint().map_or(String::new(), |hint| format!("\nhint: {hint}"));
        note(format_args!("session {}: {}{hint}", refs.session, ended_by.words()));
    }
    if !kept_flags.is_empty() && !args.talk.quiet {
        note(format_args!("kept from the session: {}", kept_flags.join(", ")));
    }
    if let Some(spent) = budget.spent()
        && has_open_tasks(&lane::at_tip(feature.clone(), &context)?, &scope).map_err(refusal)?
    {
        let id = &refs.session;
        let command = format!("`{RALPH} resume {id}{}`", budget.flags_to_go_on());
        let refusal = Refusal::new(format!("session {id} has spent {spent}"));
        return Err(refusal.with_hint(format!("{command} goes on")).into());
    }
    let request = RunRequest {
        scope,
        resume: Some(refs),
        is_forced: args.force,
        lane: LaneArgs { land: args.land, in_group: args.in_group.clone(), ..LaneArgs::default() },
        arguments: arguments.to_vec(),
        ..RunRequest::default()
    };
    if let Some(first) = group.filter(|_| args.in_group.is_none()) {
        let (named, voice) = (args.session.as_ref().map(ToString::to_string), args.talk.voice(context.paint));
        let code = group::resume(&first, named.as_deref(), &request, (&feature, &config), &context, voice)?;
        return if args.fail_on_flags {
            code_of_flags(code, &feature, &request.scope, &context)
        } else {
            Ok(code)
        };
    }
    let code = start(&feature, &request, &config, &context, args.talk.voice(context.paint))?;
    if args.fail_on_flags { code_of_flags(code, &feature, &request.scope, &context) } else { Ok(code) }
}

/// Where no task is open there is nothing to spend on.
fn has_open_tasks(feature: &Feature, scope: &Scope) -> Result<bool> {
    let list = tasks::read(&feature.files, &feature.tasks_path)?;
    let part = tasks::part_of(&list, scope, &feature.tasks_path)?;
    Ok(!ralph_engine::all_done(&list, part.as_ref()))
}

impl Resumption {
    /// Finds the session, and works out its settings. Says nothing, changes nothing.
    pub fn of(args: &ResumeArgs, context: &Context) -> Result<Self> {
        let store = context.store()?;
        let choice = sessions::SessionChoice { session: args.session.clone(), feature: args.feature.clone() };
        let refs = unfinished(store, &choice, args.take_over)?;
        let log = store.session(&refs)?;
        let newest_begin =
            log.as_ref().and_then(|log| log.entries.iter().rfind(|entry| entry.kind().begins()));
        let begun = newest_begin.and_then(|entry| store.readable_session(entry));
        let resumer = Resumer { args, context, refs: &refs, log: log.as_ref(), begun: begun.as_ref() };
        let (config, lines, kept_flags) = resumer.config().map_err(refusal)?;
        let context = context.permitting_links(config.allowed_links.clone())?;
        let path = log.as_ref().map(|log| log.feature().to_owned()).unwrap_or_default();
        if let Some(log) = &log {
            lost_list::refuse(&context, log, begun.as_ref())?;
        }
        let feature = context.recorded_feature(&path)?;
        let totals = log.as_ref().map(|log| log.view().totals().clone()).unwrap_or_default();
        let budget = Budget {
            cost: totals.cost.usd,
            max_cost: config.settings.max_cost,
            tokens: totals.tokens.total(),
            max_tokens: config.settings.max_tokens,
        };
        let group = begun.as_ref().and_then(|begun| begun.group.clone());
        let scope = begun.and_then(|begun| begun.scope).unwrap_or_default();
        let ended_by = log.as_ref().and_then(|log| log.tip().ended_by());
        Ok(Self { refs, group, feature, scope, config, context, ended_by, lines, kept_flags, budget })
    }
}

/// The settings of a resumption, what is to be said of them, and the flags of the start that count.
type Resolved = (Config, Vec<String>, Vec<String>);

struct Resumer<'a> {
    args: &'a ResumeArgs,
    context: &'a Context,
    refs: &'a SessionRefs,
    log: Option<&'a SessionLog>,
    begun: Option<&'a Session>,
}

impl Resumer<'_> {
    fn config(&self) -> Result<Resolved> {
        let id = &self.refs.session;
        let now = inputs(&project_in(self.context)?, self.context, Flags::default())?;
        let file = kept(id, self.begun, self.context)?;
        let fresh = format!("if those that are set now are right: `{RALPH} resume {id} {FRESH}`");
        let unreadable = format!("cannot read the settings that session {id} began with");
        let nothing = || Kept { config: Config::default().resolved(), approvals: 0 };
        match (file, self.begun) {
            (Some(bytes), _) => match Kept::read(&bytes) {
                Ok(kept) => self.of_kept(&kept, now),
                Err(_) if self.args.fresh_settings => self.of_kept(&nothing(), now),
                Err(error) => {
                    let error = first_line(&error);
                    Err(Refusal::new(format!("{unreadable}: {error}")).with_hint(fresh).into())
                }
            },
            (None, Some(begun)) => self.of_record(begun, now, fresh),
            (None, None) if self.args.fresh_settings => self.of_kept(&nothing(), now),
            (None, None) => Err(Refusal::new(unreadable).with_hint(fresh).into()),
        }
    }

    fn of_kept(&self, kept: &Kept, now: Inputs) -> Result<Resolved> {
        let call = self.args.settings.flags();
        let now = of_type(now, &kept.config.loop_type.name);
        let (winner, mut why) = self.winner(kept, &now)?;
        let config = resumption::resumed(&kept.config, &now, winner, &call)?;
        let mut lines = Vec::new();
        if winner != Winner::Nothing {
            lines = resumption::unlike_start(&config, &kept.config, &call)?;
            if !lines.is_empty() {
                lines.splice(0..0, why.take());
            }
        }
        let (differing, kept_flags) = unlike_now(&config, &now, &call)?;
        lines.extend(differing);
        Ok((config, lines, kept_flags))
    }

    /// Returns what wins over the settings of the start, and why.
    fn winner(&self, kept: &Kept, now: &Result<Config>) -> Result<(Winner, Option<String>)> {
        if self.args.fresh_settings {
            return Ok((Winner::Now, None));
        }
        let (about, why): (&[&str], _) = match self.log.and_then(|log| log.tip().stop_reason()) {
            Some(StopReason::ValidationUnusable) => {
                (&["validation."], "the session ended because its validation could not be used")
            }
            Some(StopReason::AgentUnusable) => {
                (&["agent", "agents.", "model"], "the session ended because its agent could not be used")
            }
            _ if self.was_approved_since(kept, now)? => {
                let why = "was approved since the session began: what was changed there counts";
                return Ok((Winner::File { about: &[] }, Some(format!("{FILE} {why}"))));
            }
            _ => return Ok((Winner::Nothing, None)),
        };
        let why = format!("{why}: what {FILE} says of it counts, and what was changed there since");
        Ok((Winner::File { about }, Some(why)))
    }

    /// Returns true if the user approved the commands of the file as they are now, and the session began with others.
    fn was_approved_since(&self, kept: &Kept, now: &Result<Config>) -> Result<bool> {
        let Ok(now) = now else { return Ok(false) };
        if kept.config.file_commands == now.file_commands || now.file_commands.is_empty() {
            return Ok(false);
        }
        let Ok(approvals) = Approvals::of(self.context) else { return Ok(false) };
        approvals.hold_since(kept.approvals, Approved::Commands(&now.file_commands))
    }

    /// Takes what the record has. What runs, judges or sends comes from here, unless the key of this clone vouches for it.
    fn of_record(&self, begun: &Session, now: Inputs, fresh: String) -> Result<Resolved> {
        let id = &self.refs.session;
        let identity = Identity::find(self.context.store()?.repository())?;
        let is_ours = match (&begun.machine, &identity) {
            (Some(machine), Some(own)) => *machine == own.machine(),
            (Some(_), None) => false,
            (None, _) => begun.host == host_name(),
        };
        let now = of_type(now, &begun.loop_type);
        let set = now.as_ref().map_err(|error| anyhow!("{error:#}"))?;
        let kept = Kept { config: resumption::of_record(begun, identity.as_ref(), set)?, approvals: 0 };
        let (winner, _) = self.winner(&kept, &now)?;
        let call = self.args.settings.flags();
        let config = resumption::resumed(&kept.config, &now, winner, &call)?;
        let unlike = resumption::unlike_record(begun, &config, &call)?;
        if is_ours && winner == Winner::Nothing && !unlike.is_empty() {
            let message = format!(
                "the exact settings of session {id} are not kept here, and what runs or judges is set to something else \
                 now:\n  {}",
                unlike.join("\n  ")
            );
            return Err(Refusal::new(message).with_hint(fresh).into());
        }
        let why = if is_ours {
            "was recorded by an earlier version, or what it kept is gone: its settings are those of its record"
        } else {
            "began in another clone: its settings are those of its record, and what runs, judges or sends is set here"
        };
        let mut lines = vec![format!("session {id} {why}")];
        lines.extend(unlike);
        let (differing, kept_flags) = unlike_now(&config, &now, &call)?;
        lines.extend(differing);
        Ok((config, lines, kept_flags))
    }
}

/// Returns the settings of now for a type of loop, or why they cannot be read.
fn of_type(now: Inputs, loop_type: &str) -> Result<Config> {
    let flags = Flags { loop_type: Some(loop_type.to_owned()), ..Flags::default() };
    Config::read(&Inputs { flags, ..now })
}

fn first_line(error: &Error) -> String {
    format!("{error:#}").lines().next().unwrap_or_default().to_owned()
}

/// Returns what is kept here of the settings of a session, unless it was changed since.
fn kept(id: &SessionId, begun: Option<&Session>, context: &Context) -> Result<Option<Vec<u8>>> {
    let repository = context.store()?.repository();
    let kept = kept_settings::read(repository, id)?;
    // Records of earlier versions cannot vouch for them.
    if let (Some(bytes), Some(recorded)) = (&kept, begun.and_then(|begun| begun.kept_settings.as_ref()))
        && Identity::find(repository)?.is_none_or(|own| own.fingerprint_of(bytes) != *recorded)
    {
        let folder = repository.ralph_dir();
        warn(&format!(
            "the settings of session {id} that are kept in {folder} are not those that it began with: they are not used"
        ));
        return Ok(None);
    }
    Ok(kept)
}

/// Returns the settings of now with the flags that a session began with, if they are kept here.
pub fn with_flags_of_start(log: &SessionLog, context: &Context) -> Result<Config> {
    let begun = context.store()?.first_readable_session(log);
    let kept = kept(log.id(), begun.as_ref(), context)?.and_then(|bytes| Kept::read(&bytes).ok());
    let Some(Kept { config: kept, .. }) = kept else { return load_in(context, Flags::default()) };
    let loop_type = Some(kept.loop_type.name);
    let mut config = load_in(context, Flags { loop_type, ..Flags::default() })?;
    for setting in kept.layers.into_iter().filter(|setting| setting.origin.is_flag()) {
        config.set(setting);
    }
    Ok(config)
}

/// Returns how the settings differ from those that are set now, a line each, and which flags of the start count.
fn unlike_now(config: &Config, now: &Result<Config>, call: &Flags) -> Result<(Vec<String>, Vec<String>)> {
    let now = match now {
        Ok(now) => now,
        Err(error) => {
            let error = first_line(error);
            let line = format!("the settings of now cannot be read, and do not count: {error}");
            return Ok((vec![line], Vec::new()));
        }
    };
    let (mut lines, kept_flags) = resumption::unlike_now(config, now, call)?;
    let [links, links_now] = [config, now].map(|config| {
        let links: Vec<String> = config.allowed_links.iter().map(|link| one_line(link)).collect();
        if links.is_empty() { "none".to_owned() } else { links.join(", ") }
    });
    if links != links_now {
        lines.push(format!(
            "ralph.allowLinks is {links}; git's configuration says {links_now} now: {FRESH} takes it"
        ));
    }
    Ok((lines, kept_flags))
}

/// Returns the session to resume: the one that is named, or the latest that did not complete.
///
/// # Errors
///
/// If there is none, or if the chosen one is completed, or runs, here or elsewhere (unless it is to be taken over).
fn unfinished(store: &Store, choice: &sessions::SessionChoice, is_taken_over: bool) -> Result<SessionRefs> {
    let running = sessions::running(store)?;
    let found = sessions::chosen(store, choice).map_err(refusal)?;
    let open = found.iter().rev().find(|log| {
        let (status, elsewhere) = sessions::status(store, log, &running);
        // What runs on another machine is taken by its id alone.
        status != Status::Completed && (elsewhere.is_none() || choice.session.is_some())
    });
    let Some(log) = open.or(found.last()) else {
        return Err(Refusal::new("no recorded session can be resumed")
            .with_hint(format!("start one with `{RALPH}`"))
            .into());
    };
    let (status, hint) = match sessions::status(store, log, &running) {
        (_, Some(elsewhere)) if !is_taken_over => {
            let hint = format!(
                "stop it there, then `{RALPH} sync`; if it is gone for good: `{RALPH} resume {} --take-over`",
                log.id()
            );
            (elsewhere.to_string(), hint)
        }
        (_, Some(_)) | (Status::Interrupted | Status::Failed | Status::Later(_), None) => {
            return Ok(log.refs.clone());
        }
        (Status::Completed, None) if log.tip().tasks().open == 0 => {
            ("completed".to_owned(), format!("all tasks are done: `{RALPH} status` shows what came of them"))
        }
        (Status::Completed, None) => ("completed".to_owned(), format!("start a new one with `{RALPH}`")),
        (Status::Running, None) => ("running".to_owned(), format!("`{RALPH} status` says where")),
    };
    Err(Refusal::new(format!("session {} is {status}", log.id())).with_hint(hint).into())
}
