//! `specify ralph run` and `resume`: from settings to a plan, and from the end of a session to an exit code.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write, stdin, stdout};
use std::sync::mpsc;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;

use ralph_core::config::{Config, Until};
use ralph_core::record::{
    Baseline, Event, FlagCode, Integration, IntegrationVerdict, ObjectId, Outcome, Refusal, Scope,
    TaskCounts, quoted_for_shell,
};
use ralph_core::view::integrations;
use ralph_engine::{EventRedactor, Finish, Group, LoopInputs};
use ralph_git::worktree::WorkTree;
use ralph_os::process::{Interrupt, outside};
use ralph_os::sandbox::Sandbox;
use ralph_project::feature::Feature;
use ralph_project::tasks;
use ralph_store::{LoopLock, Maintenance, SessionRefs};
use ralph_ui::ending;
use ralph_ui::evidence::FLAG;
use ralph_ui::json::write_line;
use ralph_ui::live::{Detail, EVENT_MARK, Keys, Live, Moving};
use ralph_ui::style::{counted, one_line};

use crate::cli::args::{LaneArgs, Membership, Place, PlaceArgs, SettingArgs, TalkArgs, Voice};
use crate::cli::echo::{acknowledge, echo};
use crate::cli::output::records;
use crate::cli::refusals::{check, refuse_unknown_name};
use crate::cli::repair::lost_list;
use crate::cli::settings::{load_in, terminal_redactor};
use crate::cli::start::control::refuse_within_iteration;
use crate::cli::start::event_hook::EventHook;
use crate::cli::start::setup::{
    RunRequest, behind_fence, checked_inputs, find_agents, finish, set_up_sandbox,
};
use crate::cli::start::trust::{self, load_to_read};
use crate::cli::start::{group, lane};
use crate::cli::start::{sandbox, summary};
use crate::cli::{Context, ExitCode, Flags, note, print, refusal, say, warn};

/// Iterations between two looks at what is loose in the repository.
const MAINTENANCE_INTERVAL: u32 = 50;

/// Iterations of the feature that are looked through for files that run by themselves.
const MAX_ITERATIONS: usize = 1000;

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Only these tasks: T001,T004-T009 (can be repeated)
    #[arg(long, value_name = "IDS")]
    pub task: Vec<String>,
    /// Only this phase, by number, heading or a part of it (can be repeated)
    #[arg(long, value_name = "PHASE")]
    pub phase: Vec<String>,
    /// Only this story: US1 (can be repeated)
    #[arg(long, value_name = "STORY")]
    pub story: Vec<String>,
    /// Type of loop: implement, plan, spec, or one of [loop.<type>] [default: implement]
    #[arg(long = "loop", value_name = "TYPE")]
    pub loop_type: Option<String>,
    /// Treat tasks that an earlier session gave up like any other [default: one attempt, after the others, if nothing
    /// has changed]
    #[arg(long)]
    pub retry_skipped: bool,
    /// Print the prompt that would be sent, and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Exit with 5 if all tasks are done, but some are flagged
    #[arg(long)]
    pub fail_on_flags: bool,
    /// Start during a merge or rebase, or with a validation that fails or is not installed
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub lane: LaneArgs,
    #[command(flatten)]
    pub talk: TalkArgs,
    /// Show the loop in the terminal UI; leaving it does not stop the loop
    #[arg(long, conflicts_with_all = ["dry_run", "verbose", "quiet", "json"])]
    pub tui: bool,
    #[command(flatten)]
    pub settings: SettingArgs,
}

pub fn run(args: &RunArgs, arguments: &[OsString], context: &Context) -> Result<ExitCode> {
    let place = &args.place;
    let feature = context.feature(place.feature.as_ref(), place.tasks.as_ref());
    let feature = match feature {
        Err(error) if place.feature.is_none() && place.tasks.is_none() => {
            lost_list::refuse_latest(context, None)?;
            return Err(error);
        }
        feature => feature?,
    };
    if args.loop_type.is_none() && feature.tasks_path.symlink_metadata().is_err() {
        lost_list::refuse_latest(context, Some(&feature.path))?;
    }
    compare_with_branch(&feature)?;
    let flags = Flags { loop_type: args.loop_type.clone(), ..args.settings.flags() };
    let config = load_in(context, flags).map_err(refusal)?;
    let request = RunRequest {
        scope: Scope { tasks: args.task.clone(), phases: args.phase.clone(), stories: args.story.clone() },
        is_forced: args.force,
        lane: args.lane.clone(),
        arguments: arguments.to_vec(),
        retries_skipped: args.retry_skipped,
        ..RunRequest::default()
    };
    let voice = args.talk.voice(context.paint);
    if args.dry_run {
        return dry_run(&feature, &request, &config, context, voice);
    }
    let code = start(&feature, &request, &config, context, voice)?;
    if args.fail_on_flags { code_of_flags(code, &feature, &request.scope, context) } else { Ok(code) }
}

/// With `--fail-on-flags`, a run after which all is done, but some tasks are flagged, ends like one that is stuck.
pub fn code_of_flags(
    code: ExitCode,
    feature: &Feature,
    scope: &Scope,
    context: &Context,
) -> Result<ExitCode> {
    if code != ExitCode::Done {
        return Ok(code);
    }
    let feature = &lane::at_tip(feature.clone(), context)?;
    let flagged = summary::of_feature(context, &feature.path, None)?.flagged;
    if flagged.is_empty() || ralph_engine::nothing_to_do(context.work_tree()?, feature, scope)?.is_none() {
        return Ok(code);
    }
    let list = tasks::read(&feature.files, &feature.tasks_path)?;
    let part = tasks::part_of(&list, scope, &feature.tasks_path)?;
    let mut tasks = flagged.iter().map(|flagged| &flagged.task);
    let is_flagged = tasks.any(|task| part.as_ref().is_none_or(|part| part.has(task)));
    Ok(if is_flagged { ExitCode::Stuck } else { code })
}

/// The branch may be of one feature, and spec-kit's file of another that was worked on before. What is guessed on such a branch
/// is refused: its commits would go on the branch of another feature.
fn compare_with_branch(feature: &Feature) -> Result<()> {
    let path = one_line(&feature.path);
    if let Some(other) = &feature.branch_feature {
        let other = one_line(other);
        warn(&format!(
            "the branch names {other}, and .specify/feature.json names {path}, which is used\nhint: `--feature {other}` takes the other"
        ));
    }
    let Some(name) = feature.unknown_name.as_deref().map(one_line) else { return Ok(()) };
    if feature.is_noted {
        warn(&format!(
            "the branch names {name}, which is no folder in specs/, and .specify/feature.json names {path}, which is used"
        ));
        return Ok(());
    }
    refuse_unknown_name(feature)
}

/// Checks everything that can be checked, and runs a session.
pub fn start(
    feature: &Feature,
    request: &RunRequest,
    config: &Config,
    context: &Context,
    voice: Voice,
) -> Result<ExitCode> {
    refuse_within_iteration(context)?;
    if config.settings.sandbox.is_none() {
        outside::lift();
    }
    let is_group = config.settings.jobs > 1 && request.resume.is_none();
    if lane::is_wanted(config, request.resume.as_ref(), context).map_err(refusal)? {
        if is_group
            && request.lane.in_group.is_none()
            && !request.is_rehearsal
            && let Some(code) = group::start(feature, request, config, context, voice)?
        {
            return Ok(code);
        }
        return start_in_lane(feature, request, config, context, voice);
    }
    if is_group {
        let refusal = Refusal::new("several agents work in lanes, and `lane` is false");
        return Err(refusal.with_hint("leave --no-lane out, or give --jobs 1").into());
    }
    let none = Interrupt::none();
    let inputs = checked_inputs(config, feature, &request.scope, context, &none)?;
    request.lane.refuse_without_lane()?;
    if inputs.job.until == Until::Tasks {
        warn_of_ignored_list(feature, context)?;
        lane::warn_of_lanes(feature, &request.scope, None, context)?;
    }
    run_session(inputs, request, context, voice, None)
}

/// What git ignores is in no snapshot and no commit.
fn warn_of_ignored_list(feature: &Feature, context: &Context) -> Result<()> {
    let tasks = context.work_tree()?.relative(&feature.tasks_path);
    if !context.work_tree()?.ignored_among(std::slice::from_ref(&tasks))?.is_empty() {
        let folder = tasks.rsplit_once('/').map_or(tasks.as_str(), |(folder, _)| folder);
        let folder = quoted_for_shell(folder);
        let tasks = one_line(&tasks);
        warn(&format!(
            "git ignores {tasks}: no commit and no clone has its boxes, and `restore` cannot bring them back\nhint: `git add --force {folder}` keeps them"
        ));
    }
    Ok(())
}

/// Opens a lane, finishes what a session left in it that died, and runs a session there.
fn start_in_lane(
    feature: &Feature,
    request: &RunRequest,
    config: &Config,
    context: &Context,
    voice: Voice,
) -> Result<ExitCode> {
    let (settings, land, none) = (&config.settings, request.lane.land, Interrupt::none());
    let listed = lane::at_start(feature, settings, request, context)?;
    let inputs = checked_inputs(config, &listed, &request.scope, context, &none)?;
    let is_fenced = settings.sandbox.is_some();
    let (mut lane, mut inside, mut there) = open_lane(feature, request, config, context)?;
    let branch = lane.work_tree.lane().map(|lane| lane.branch.clone()).unwrap_or_default();
    // Of a group that died, several are to be recorded, each in its own lane.
    let is_alone = request.lane.in_group.is_none() && request.resume.is_none();
    let mut left = if is_alone { lane::unfinished(context.store()?, &branch, request)?.len() } else { 0 };
    while left > 1 {
        let inputs = checked_inputs(config, &listed, &request.scope, context, &none)?;
        take_lane(inputs, &lane.work_tree, &there, None, context, &inside)?;
        drop(lane);
        (lane, inside, there) = open_lane(feature, request, config, context)?;
        left = (left - 1).min(lane::unfinished(context.store()?, &branch, request)?.len());
    }
    let (work_tree, moved) = (lane.work_tree.clone(), lane.moved.clone());
    let is_rehearsal = request.is_rehearsal;
    let taken = take_lane(inputs, &lane.work_tree, &there, request.resume.as_ref(), context, &inside);
    let code = taken.and_then(|tip| {
        if request.lane.in_group.as_ref().is_some_and(|of| of.place == Place::After) {
            return Ok(ExitCode::Done);
        }
        // The first of a group says it for all.
        if !voice.is_quiet() && !request.lane.joins() {
            note(lane.words(&tip, settings));
        }
        if !request.lane.joins() {
            let own = lane.work_tree.lane().map(|lane| lane.branch.as_str());
            lane::warn_of_lanes(&listed, &request.scope, own, context)?;
        }
        let inputs = LoopInputs {
            // What cannot be listed is not named where the validation fails.
            dependencies: ralph_engine::dependencies(context.work_tree()?).unwrap_or_default(),
            users_tree: context.users_tree()?,
            ..checked_inputs(config, &there, &request.scope, &inside, &none)?
        };
        run_session(inputs, request, &inside, voice, Some(lane.lock))
    });
    if is_rehearsal || code.as_ref().is_err_and(|error| error.downcast_ref::<Refusal>().is_some()) {
        lane::take_branch_back(&work_tree, moved, context)?;
    }
    let code = code?;
    if is_rehearsal {
        return Ok(code);
    }
    let users = context.work_tree()?;
    let sandbox = if land && is_fenced && users.has_filters()? {
        sandbox::set_up(settings, &[], &inside)?
    } else {
        None
    };
    let fenced = users.clone().behind(sandbox.as_ref().map(Sandbox::for_filters))?;
    if request.lane.in_group.is_some() {
        // Who started it says the rest.
        return Ok(code);
    }
    let line = lane::close(&branch, land, Some(&fenced).filter(|_| is_fenced), context)?;
    // What a merge brings that runs before anybody looks at it.
    let beside = if line.is_some() { runs_by_itself(&there.path, context)? } else { Vec::new() };
    for line in line.into_iter().chain(beside) {
        if voice.is_quiet() {
            note(line);
        } else {
            say(line)?;
        }
    }
    Ok(code)
}

/// Takes a lane with its lock. Returns it with the context and the feature in it.
pub fn open_lane(
    feature: &Feature,
    request: &RunRequest,
    config: &Config,
    context: &Context,
) -> Result<(lane::Opened, Context, Feature)> {
    // Filters run inside, which is not there yet.
    let unfiltered = config.settings.sandbox.is_some().then(|| context.without_filters()).transpose()?;
    let checked = lane::check(feature, config, request, 1, unfiltered.as_ref().unwrap_or(context));
    let checked = checked.map_err(refusal)?;
    trust::require(config, context).map_err(refusal)?;
    let ignored = sandbox::phantoms(&config.settings, context).map_err(refusal)?;
    let lane = lane::open(checked, feature, request, ignored, context).map_err(refusal)?;
    let inside = context.in_work_tree(lane.work_tree.clone())?;
    let there = feature.in_tree(context.work_tree()?.top(), &lane.work_tree.project_files()?);
    Ok((lane, inside, there))
}

/// Returns a line for each success that changed what runs by itself and is not merged.
fn runs_by_itself(feature: &str, context: &Context) -> Result<Vec<String>> {
    let (store, users) = (context.store()?, context.work_tree()?);
    let head = users.head()?;
    let mut lines = Vec::new();
    let entries = store.iterations_of(feature, MAX_ITERATIONS)?;
    let integrations = integrations(&entries);
    for entry in &entries {
        let is_flagged = entry.outcome() == Some(Outcome::Success);
        if !is_flagged || !entry.has_flag(FlagCode::RunsByItself) {
            continue;
        }
        let Some(record) = store.readable_iteration(entry) else { continue };
        let mut published = record.published.clone();
        if let Some((verdict, by)) = integrations.get(&entry.id()) {
            if *verdict != IntegrationVerdict::Integrated {
                continue;
            }
            let of_result = |(one, commit): (&Integration, &ObjectId)| {
                (one.attempt() == entry.id()).then(|| commit.clone())
            };
            let by = entries.iter().find(|entry| entry.id() == *by);
            let by = by.and_then(|by| store.readable_iteration(by));
            published = by.and_then(|by| by.integrated().find_map(of_result));
        }
        let is_merged = match (&published, &head) {
            (Some(published), Some(head)) => users.is_ancestor(published, head)?,
            _ => false,
        };
        let mut flags = record.evidence.iter().flat_map(|evidence| &evidence.flags);
        let flag = flags.find(|flag| flag.code == FlagCode::RunsByItself).filter(|_| !is_merged);
        let task = record.task.as_deref().unwrap_or_default();
        lines.extend(flag.map(|flag| one_line(&format!("{FLAG} {task} {}", flag.text))));
    }
    Ok(lines)
}

/// Finishes what a session left in a lane that died, and takes the lane to the tip of its branch. Filters of git run in a sandbox,
/// if there is to be one: an agent may have changed what they run. Returns the tip.
pub fn take_lane(
    mut inputs: LoopInputs<'_>,
    lane: &WorkTree,
    there: &Feature,
    resume: Option<&SessionRefs>,
    context: &Context,
    inside: &Context,
) -> Result<ObjectId> {
    let settings = &inputs.config.settings;
    if settings.sandbox.is_some() && lane.has_filters()? {
        set_up_sandbox(&mut inputs, inside).map_err(refusal)?;
    }
    let inputs = LoopInputs { work_tree: lane, feature: there, ..inputs };
    let work_tree = behind_fence(&inputs)?;
    if !ralph_engine::nothing_is_left(&work_tree)? {
        let inputs = LoopInputs { work_tree: &work_tree, ..inputs };
        ralph_engine::recover(&inputs, resume, &mut warn_of)?;
    }
    lane::take_to_tip(&work_tree, there, settings, context).map_err(refusal)
}

/// Prints warnings alone.
fn warn_of(event: &Event) {
    if let Event::Warning { message } = event {
        warn(message);
    }
}

/// Runs a session in the work tree of `context`. The lock is that of a lane.
fn run_session(
    mut inputs: LoopInputs<'_>,
    request: &RunRequest,
    context: &Context,
    voice: Voice,
    lock: Option<LoopLock>,
) -> Result<ExitCode> {
    let LoopInputs { store, feature, config, .. } = inputs;
    let (scope, settings) = (&request.scope, &config.settings);
    // Before an agent is asked for: where all is done, none is needed.
    let mut is_finished = false;
    if request.resume.is_none()
        && inputs.job.until == Until::Tasks
        && let Some(counts) =
            ralph_engine::nothing_to_do(inputs.work_tree, feature, scope).map_err(refusal)?
    {
        is_finished = settings.validation_command.is_some() && counts.open == 0;
        if request.is_rehearsal {
            return Ok(ExitCode::Done);
        }
        if !is_finished {
            return all_done(feature, scope, counts, None, voice);
        }
    }
    trust::require(config, context).map_err(refusal)?;
    let moving = request.lane.moving().unwrap_or_else(|| voice.moving(&context.environment));
    if !is_finished {
        find_agents(&mut inputs, context).map_err(refusal)?;
        check(&mut inputs, context, request.is_forced)?;
    }
    set_up_sandbox(&mut inputs, context).map_err(refusal)?;
    let interrupt = Interrupt::install()?;
    if request.lane.in_group.is_none() {
        acknowledge(interrupt.clone(), moving)?;
    }
    let work_tree = behind_fence(&inputs)?;
    let clean = lane::clean_target(settings, &work_tree, context)?;
    let is_told = !voice.is_quiet() && settings.max_iterations > 1;
    if let Some((lock, setup)) = clean.as_ref().err().filter(|_| is_told) {
        let set = format!("lanes.setup={setup}");
        let set = quoted_for_shell(&set);
        note(format_args!("results will not be tried in a clean checkout: {lock} suggests --set {set}"));
    }
    let inputs = LoopInputs {
        work_tree: &work_tree,
        interrupt: &interrupt,
        retries_skipped: request.retries_skipped,
        is_forced: request.is_forced,
        clean: clean.ok().flatten(),
        group: request.lane.in_group.as_ref().map(membership).transpose()?,
        ..inputs
    };
    if request.is_rehearsal {
        return ralph_engine::rehearse(&inputs, lock, &mut warn_of).map(|()| ExitCode::Done);
    }
    let root = work_tree.top().as_str();
    let redactor = terminal_redactor(config)?.map(EventRedactor::new);
    let keys = (moving == Moving::Stderr && stdin().is_terminal()).then(Keys::default);
    let live = Live::new(stdout(), voice.paint, voice.detail, moving, keys.clone(), root, settings.max_cost);
    let is_worker = inputs.group.is_some();
    let below = inputs.project_root.strip_prefix(work_tree.top()).unwrap_or("".as_ref());
    let users_root = inputs.users_tree.top().join(below);
    // Of a group, who started it runs it.
    let hook = if is_worker { None } else { EventHook::of(config, users_root)? };
    let mut printer = EventPrinter { voice, is_worker, redactor, live, hook };
    let mut maintenance = Maintenance::default();
    let (mut verdict, mut refused, mut is_last) = (String::new(), None, true);
    let _echo = if is_worker { None } else { echo(feature, config, context, voice, (moving, keys), None)? };
    let ended = ralph_engine::run(&inputs, request.resume.as_ref(), lock, &mut |event| {
        printer.print(event);
        if let Event::SessionEnded { session, closing, .. } = event {
            is_last = !closing.is_of_others;
            verdict = ending::verdict(session, closing).join(" · ");
        } else if let Event::StartRefused { message, .. } = event {
            refused = message.lines().next().map(str::to_owned);
        }
        let is_time = match event {
            Event::IterationRecorded { iteration, .. } => iteration.is_multiple_of(MAINTENANCE_INTERVAL),
            Event::SessionEnded { .. } => interrupt.signal().is_none(),
            _ => false,
        };
        if is_time && let Err(error) = maintenance.start_if_due(store.repository()) {
            printer.print(&Event::Warning { message: format!("git's maintenance failed: {error:#}") });
        }
    });
    if let Some(message) = refused {
        finish(&inputs, None, &message, ExitCode::CannotStart, context)?;
    }
    let code = match ended? {
        Finish::AllDone { .. } if interrupt.signal().is_some() => Ok(match interrupt.signal() {
            Some(signal) if !interrupt.is_asked() => ExitCode::of_signal(signal),
            _ => ExitCode::Done,
        }),
        Finish::AllDone { counts, validation } => {
            all_done(feature, scope, counts, validation.as_ref(), voice)
        }
        Finish::Ended(session) => {
            let code = ExitCode::of_session(&session, &interrupt);
            if is_last {
                finish(&inputs, Some(&session), &verdict, code, context)?;
            }
            Ok(code)
        }
    };
    if let Err(error) = maintenance.wait() {
        warn(&format!("git's maintenance failed: {error:#}"));
    }
    code
}

/// Returns the group that this loop is of. Who started it wakes it by its stdin.
fn membership(of: &Membership) -> Result<Group> {
    let (sender, wakes) = mpsc::channel();
    std::thread::Builder::new()
        .name("wakes".to_owned())
        .spawn(move || {
            let mut byte = [0];
            while stdin().read(&mut byte).is_ok_and(|read| read > 0) && sender.send(()).is_ok() {}
        })
        .context("listen to what starts loops")?;
    let first = match &of.place {
        Place::First | Place::After => None,
        Place::Of(first) => Some(first.clone()),
    };
    Ok(Group { first, wakes })
}

fn dry_run(
    feature: &Feature,
    request: &RunRequest,
    config: &Config,
    context: &Context,
    voice: Voice,
) -> Result<ExitCode> {
    let listed = if config.settings.uses_lane() {
        lane::at_start(feature, &config.settings, request, context)?
    } else {
        request.lane.refuse_without_lane()?;
        feature.clone()
    };
    let none = Interrupt::none();
    let inputs = checked_inputs(config, &listed, &request.scope, context, &none)?;
    let prompt = inputs.next_prompt().map_err(refusal)?;
    let redactor = terminal_redactor(&load_to_read(context)?)?;
    match &prompt {
        Some(prompt) => prompt.warning.iter().for_each(|warning| warn(warning)),
        None => warn("no open task can be picked: there is no next prompt"),
    }
    let text = prompt.map(|prompt| match &redactor {
        Some(redactor) => redactor.redact_text(&prompt.text).0,
        None => prompt.text,
    });
    if voice.is_json {
        print(|out| write_line(out, &json!({"feature": feature.path, "prompt": text})))?;
    } else if let Some(text) = text {
        let mut out = records();
        out.write_all(text.as_bytes()).and_then(|()| out.finish()).context("print the prompt")?;
    }
    Ok(ExitCode::Done)
}

/// Says that no task is open, and how the validation went if one ran.
fn all_done(
    feature: &Feature,
    scope: &Scope,
    counts: TaskCounts,
    validation: Option<&Baseline>,
    voice: Voice,
) -> Result<ExitCode> {
    let failure = validation.and_then(Baseline::failure);
    let done = counted(counts.done as u64, "task");
    let line = if let Some(cause) = failure {
        format!(
            "{}: all boxes are ticked ({done}), but the validation fails: {}\nhint: untick the box of the task to redo, and start the loop",
            feature.path,
            one_line(cause)
        )
    } else if !scope.is_all() && counts.open > 0 {
        let open = counted(counts.open as u64, "task");
        let scope = one_line(&scope.to_string());
        let (is, it) = if scope.contains(", ") { ("are", "them") } else { ("is", "it") };
        format!("{}: {scope} {is} done already, nothing to do for {it} ({open} open)", feature.path)
    } else if validation.is_some() {
        format!("{}: all done ({done}), and the validation passes: nothing to do", feature.path)
    } else {
        format!("{}: all done ({done}), nothing to do", feature.path)
    };
    if voice.is_json {
        // Nothing began, so there is no event; the words go where talk goes.
        note(line);
    } else if voice.detail != Detail::Quiet || failure.is_some() {
        say(line)?;
    }
    Ok(if failure.is_some() { ExitCode::Stuck } else { ExitCode::Done })
}

/// Prints events. A closed output does not stop the loop.
struct EventPrinter {
    voice: Voice,
    /// True if who started it reads each event, beside what people do.
    is_worker: bool,
    /// `None` if the user wants to see everything.
    redactor: Option<EventRedactor>,
    live: Live<std::io::Stdout>,
    hook: Option<EventHook>,
}

impl EventPrinter {
    fn print(&mut self, event: &Event) {
        let Some(redactor) = &mut self.redactor else { return self.show(event) };
        // A redaction that fails shows nothing, as it records nothing.
        if let Ok(event) = redactor.redact(event) {
            self.show(&event);
        }
    }

    fn show(&mut self, event: &Event) {
        self.write(event);
        let Some(hook) = &self.hook else { return };
        hook.push(event.kind(), event);
        for message in hook.complaints() {
            self.write(&Event::Warning { message });
        }
    }

    fn write(&mut self, event: &Event) {
        let is_in_json =
            (self.is_worker || self.voice.is_json) && !matches!(event, Event::PhaseStarted { .. });
        let mut written = Ok(());
        if is_in_json {
            let (mut out, mark) = (stdout(), if self.is_worker { EVENT_MARK } else { &[] });
            written =
                out.write_all(mark).and_then(|()| write_line(&mut out, event)).and_then(|()| out.flush());
        }
        if !self.voice.is_json {
            written = written.and_then(|()| self.live.show(event));
        }
        // The reader of a pipe may go at any time; the record does not depend on it.
        drop(written);
    }
}
