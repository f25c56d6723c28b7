//! `specify ralph accept`: a task counts as done although its last attempt was refused.

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use ralph_core::record::{Event, Scope};
use ralph_engine::Accepted;
use ralph_os::process::Interrupt;
use ralph_ui::style::one_line;

use super::args::PlaceArgs;
use super::output::emit;
use super::setup::{Ready, RunRequest, Settings};
use super::{Context, ExitCode, Flags, Json, lane, refusal, warn};

pub fn run(task: &str, place: &PlaceArgs, json: Json, context: &Context) -> Result<ExitCode> {
    let store = context.store()?;
    let feature = context.feature(place.feature.as_ref(), place.tasks.as_ref())?;
    lane::refuse_to_tick(&feature, context)?;
    let settings = Settings::read(&feature, context, Flags::default(), &Scope::default()).map_err(refusal)?;
    let ready = Ready::new(settings, false, context).map_err(refusal)?;
    let interrupt = Interrupt::install()?;
    let plan = ready.plan(store, context.work_tree()?, &feature, RunRequest::default(), &interrupt)?;
    let by = person(context)?;
    let accepted = ralph_engine::accept(&plan, task, &by, &mut |event| {
        if let Event::Warning { message } = event {
            warn(message);
        }
    })?;
    let Accepted { session, iteration, task, refused, is_completed } = &accepted;
    let report = json!({
        "session": session, "iteration": iteration, "task": task, "refused": refused, "by": by,
        "is_completed": is_completed,
    });
    let completed = if *is_completed { "; the session is completed" } else { "" };
    let text = format!("accepted {}, which was refused ({refused}){completed}", one_line(task));
    emit(json, &report, |out| writeln!(out, "{text}"))
}

/// Returns who accepts: as git names the author of a commit, else the login.
fn person(context: &Context) -> Result<String> {
    if let Some(author) = &context.store()?.repository().author {
        return Ok(format!("{} <{}>", author.name, author.email));
    }
    let login = ["USER", "LOGNAME"].into_iter().find_map(|name| context.environment.owned(name));
    Ok(login.filter(|login| !login.is_empty()).unwrap_or_else(|| "unknown".to_owned()))
}
