//! `specify ralph accept` and `reopen`: a person has the last word on a task.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use ralph_core::record::{Event, RALPH, Scope, join_files};
use ralph_engine::{Answered, Word};
use ralph_os::process::Interrupt;
use ralph_project::feature::Feature;
use ralph_store::Hints;
use ralph_ui::evidence::outcome;
use ralph_ui::style::one_line;

use super::args::PlaceArgs;
use super::output::emit;
use super::setup::{Ready, RunRequest, Settings};
use super::{Context, ExitCode, Flags, Json, lane, refusal, warn};

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
    let (answered, by) = answer(&args.task, word, &feature(&args.place, context)?, context)?;
    report(&answered, word, &by, None, args.json)
}

pub fn reopen(args: &ReopenArgs, context: &Context) -> Result<ExitCode> {
    let word = if args.undo { Word::UndoReopen } else { Word::Reopen };
    let feature = feature(&args.place, context)?;
    let (answered, by) = answer(&args.task, word, &feature, context)?;
    let hints = Hints::of(context.store()?.repository(), &feature.path);
    let names = [answered.task.clone()];
    if args.undo {
        hints.retain(|hint| hint.tasks != names)?;
    } else if let Some(text) = &args.text {
        hints.add(text, &names, context.now()?)?;
    }
    report(&answered, word, &by, args.text.as_deref(), args.json)
}

fn feature(place: &PlaceArgs, context: &Context) -> Result<Feature> {
    context.feature(place.feature.as_ref(), place.tasks.as_ref())
}

fn answer(name: &str, word: Word, feature: &Feature, context: &Context) -> Result<(Answered, String)> {
    let store = context.store()?;
    lane::refuse_to_tick(feature, context)?;
    let settings = Settings::read(feature, context, Flags::default(), &Scope::default()).map_err(refusal)?;
    let ready = Ready::new(settings, false, context).map_err(refusal)?;
    let interrupt = Interrupt::install()?;
    let plan = ready.plan(store, context.work_tree()?, feature, RunRequest::default(), &interrupt)?;
    let by = person(context)?;
    let answered = ralph_engine::answer(&plan, name, word, &by, &mut |event| {
        if let Event::Warning { message } = event {
            warn(message);
        }
    })?;
    Ok((answered, by))
}

fn report(answered: &Answered, word: Word, by: &str, hint: Option<&str>, json: Json) -> Result<ExitCode> {
    let Answered { session, iteration, task, refused, brought_back, kept, is_completed, .. } = answered;
    let tests = answered.validation.as_ref().map(|(_, tests)| tests);
    let exit = answered.validation.as_ref().map(|(validation, _)| validation.exit.code);
    let report = json!({
        "session": session, "iteration": iteration, "task": task, "refused": refused, "by": by,
        "is_completed": is_completed, "cause": answered.cause, "files": brought_back, "kept": kept,
        "exit": exit, "tests": tests,
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
