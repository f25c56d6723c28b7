//! `specify ralph accept` and `reopen`: a person has the last word on a task.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use ralph_core::config::{Config, FlagInput};
use ralph_core::record::{Event, RALPH, Scope, join_files, quoted_for_shell};
use ralph_engine::{Answered, LoopInputs, Word};
use ralph_os::process::Interrupt;
use ralph_project::feature::Feature;
use ralph_store::{Hints, LoopLock, SessionLog, SessionQuery};
use ralph_ui::evidence::outcome;
use ralph_ui::style::one_line;

use crate::cli::args::PlaceArgs;
use crate::cli::output::emit;
use crate::cli::settings::load_in;
use crate::cli::start::resume::with_flags_of_start;
use crate::cli::start::run::{open_lane, take_lane};
use crate::cli::start::setup::{RunRequest, behind_fence, checked_inputs, set_up_sandbox};
use crate::cli::start::{lane, trust};
use crate::cli::{Context, ExitCode, Flags, Json, refusal, warn};

/// Maximum number of files that a line names.
const MAX_NAMED_FILES: usize = 5;

#[derive(Debug, Args)]
pub struct AcceptArgs {
    /// Task that was refused, given up, undone or sent back, or that is done and flagged
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Tick the box also if the validation fails, or not all changes come back
    #[arg(long, conflicts_with = "undo")]
    pub force: bool,
    /// Take an acceptance back: untick the box, and take away what it brought back
    #[arg(long)]
    pub undo: bool,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Debug, Args)]
pub struct ReopenArgs {
    /// Task that is done
    #[arg(value_name = "TASK")]
    pub task: String,
    /// What its next prompt should know
    #[arg(value_name = "TEXT", conflicts_with = "undo")]
    pub text: Option<String>,
    /// Take it back: tick the box again, and withdraw TEXT
    #[arg(long)]
    pub undo: bool,
    #[command(flatten)]
    pub place: PlaceArgs,
    #[command(flatten)]
    pub json: Json,
}

pub fn accept(args: &AcceptArgs, context: &Context) -> Result<ExitCode> {
    let word = if args.undo { Word::UndoAccept } else { Word::Accept { is_forced: args.force } };
    let by = person(context)?;
    let said = answer(&args.task, word, &by, &feature(&args.place, context)?, context)?;
    report(&said, word, &by, None, args.json)
}

pub fn reopen(args: &ReopenArgs, context: &Context) -> Result<ExitCode> {
    let word = if args.undo { Word::UndoReopen } else { Word::Reopen };
    let feature = feature(&args.place, context)?;
    let by = person(context)?;
    let said = answer(&args.task, word, &by, &feature, context)?;
    let hints = Hints::of(context.store()?.repository(), &feature.path);
    let names = [said.0.task.clone()];
    if args.undo {
        hints.retain(|hint| hint.tasks != names)?;
    } else if let Some(text) = &args.text {
        hints.add(text, &names, context.now()?)?;
    }
    report(&said, word, &by, args.text.as_deref(), args.json)
}

fn feature(place: &PlaceArgs, context: &Context) -> Result<Feature> {
    context.feature(place.feature.as_ref(), place.tasks.as_ref())
}

/// Returns what became of it, and how it gets from the branch of a lane to the one that is checked out.
fn answer(name: &str, word: Word, by: &str, feature: &Feature, context: &Context) -> Result<Said> {
    let verb = if matches!(word, Word::Accept { .. } | Word::UndoAccept) { "accept" } else { "reopen" };
    let command = format!("{RALPH} {verb} {}", quoted_for_shell(name));
    let place = lane::branch_of_list(feature, &command, context)?;
    let config = config(name, feature, place.as_ref().map(|(_, branch)| branch), context)?;
    let (scope, none) = (Scope::default(), Interrupt::none());
    let here = checked_inputs(&config, feature, &scope, context, &none)?;
    let Some((refs, _)) = place else {
        let _lock = LoopLock::take_beside(context.work_tree()?)?;
        return Ok((say((name, word, by), here, context)?, None));
    };
    let request = RunRequest { resume: Some(refs), ..RunRequest::default() };
    let (lane, inside, there) = open_lane(feature, &request, &config, context)?;
    let (work_tree, moved) = (lane.work_tree.clone(), lane.moved.clone());
    let users_tree = context.users_tree()?;
    let taken = take_lane(here, &work_tree, &there, request.resume.as_ref(), context, &inside);
    let answered = taken.and_then(|_| {
        let there = checked_inputs(&config, &there, &scope, &inside, &none)?;
        say((name, word, by), LoopInputs { users_tree, ..there }, &inside)
    });
    if answered.as_ref().map_or(true, |answered| answered.iteration.is_none()) {
        lane::take_branch_back(&work_tree, moved, context)?;
    }
    let branch = work_tree.lane().map(|lane| lane.branch.clone()).unwrap_or_default();
    Ok((answered?, lane::close(&branch, false, None, context)?))
}

type Said = (Answered, Option<String>);

/// Returns the settings of now, with the flags of the session that tried the task last.
fn config(name: &str, feature: &Feature, branch: Option<&String>, context: &Context) -> Result<Config> {
    let sessions = SessionQuery::of_feature(&feature.path);
    let sessions = context.store()?.sessions(&sessions, &mut Vec::new())?;
    let has_tried = |log: &&SessionLog| {
        log.iterations().any(|entry| entry.task().is_some_and(|task| task.eq_ignore_ascii_case(name)))
    };
    let log = sessions.iter().rfind(has_tried).or(sessions.last());
    let mut config = match log {
        Some(log) => with_flags_of_start(log, context),
        None => load_in(context, Flags::default()),
    }
    .map_err(refusal)?;
    if let Some(branch) = branch {
        let settings = vec![FlagInput::new("--branch", "branch", branch)];
        config.set_flags(&Flags { settings, ..Flags::default() }).map_err(refusal)?;
    }
    Ok(config.resolved())
}

/// Gives the answer in the work tree of `context`, whose lock is held.
fn say(
    (name, word, by): (&str, Word, &str),
    mut inputs: LoopInputs<'_>,
    context: &Context,
) -> Result<Answered> {
    if matches!(word, Word::Accept { .. }) {
        trust::require(inputs.config, context).map_err(refusal)?;
    }
    set_up_sandbox(&mut inputs, context).map_err(refusal)?;
    let interrupt = Interrupt::install()?;
    let work_tree = behind_fence(&inputs)?;
    let inputs = LoopInputs { work_tree: &work_tree, interrupt: &interrupt, ..inputs };
    ralph_engine::answer(&inputs, name, word, by, &mut |event| {
        if let Event::Warning { message } = event {
            warn(message);
        }
    })
}

fn report(
    (answered, merge): &Said,
    word: Word,
    by: &str,
    hint: Option<&str>,
    json: Json,
) -> Result<ExitCode> {
    let Answered { session, iteration, task, refused, brought_back, kept, is_completed, .. } = answered;
    let tests = answered.validation.as_ref().map(|(_, tests)| tests);
    let exit = answered.validation.as_ref().map(|(validation, _)| validation.exit.code);
    let report = json!({
        "session": session, "iteration": iteration, "task": task, "refused": refused, "by": by,
        "is_completed": is_completed, "cause": answered.cause, "files": brought_back, "kept": kept,
        "exit": exit, "tests": tests, "commit": answered.commit,
    });
    let code = if iteration.is_some() { ExitCode::Done } else { ExitCode::Stuck };
    emit(json, &report, |out| {
        let (task, by) = (one_line(task), one_line(by.split(" <").next().unwrap_or(by)));
        let deed = if word == Word::UndoAccept { "took away" } else { "brought back" };
        if let (None, Some(cause)) = (iteration, &answered.cause) {
            writeln!(out, "the validation fails with the changes of {task}: {}", one_line(cause))?;
            return writeln!(
                out,
                "nothing was changed; `{RALPH} accept --force {task}` ticks it all the same"
            );
        }
        if !brought_back.is_empty() {
            writeln!(out, "{deed} {}", one_line(&join_files(brought_back, MAX_NAMED_FILES)))?;
        }
        if !kept.is_empty() {
            writeln!(out, "left as they are: {}", one_line(&join_files(kept, MAX_NAMED_FILES)))?;
        }
        let [done, all] = answered.done;
        let tally = tests.and_then(outcome).map_or(String::new(), |tests| format!(": {tests}"));
        let validation = match (&answered.validation, &answered.cause) {
            (None, _) => String::new(),
            (Some(_), None) => format!("validation passes{tally}. "),
            (Some(_), Some(cause)) => format!("validation fails: {}. ", one_line(cause)),
        };
        let what = match word {
            Word::Accept { .. } if answered.was_done => format!("{task} is done, looked at by {by}"),
            Word::Accept { .. } => format!("{task} is done, accepted by {by}"),
            Word::Reopen => format!("{task} is open again, by {by}"),
            Word::UndoAccept => format!("{task} is open, as before it was accepted"),
            Word::UndoReopen => format!("{task} is done, as before it was opened again"),
        };
        writeln!(out, "{validation}{what}; {done} of {all} done")?;
        if let Some(line) = merge {
            writeln!(out, "{}", one_line(line))?;
        } else if let Some(commit) = &answered.commit {
            writeln!(out, "committed as {}", commit.short())?;
        }
        if let Some(hint) = hint {
            writeln!(out, "its next prompt has {:?}", one_line(hint))?;
        }
        match word {
            Word::Accept { .. } if answered.was_done => Ok(()),
            Word::Accept { .. } => writeln!(out, "undo: {RALPH} accept --undo {task}"),
            Word::Reopen => writeln!(out, "undo: {RALPH} reopen --undo {task}"),
            Word::UndoAccept | Word::UndoReopen => Ok(()),
        }
    })?;
    Ok(code)
}

/// Returns who says it: as git names the author of a commit, else the login.
fn person(context: &Context) -> Result<String> {
    if let Some(author) = &context.store()?.repository().author {
        return Ok(format!("{} <{}>", author.name, author.email));
    }
    let login = ["USER", "LOGNAME"].into_iter().find_map(|name| context.environment.owned(name));
    Ok(login.filter(|login| !login.is_empty()).unwrap_or_else(|| "unknown".to_owned()))
}
