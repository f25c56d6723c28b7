//! `specify ralph tasks`: the task list as the loop reads it.

use std::io::Write;

use anyhow::Result;

use crate::tasks::TaskList;
use crate::view;

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::stdout;
use super::place::{self, refusal};
use super::{Json, TasksArgs};

pub fn run(args: &TasksArgs, caller: &Caller) -> Result<ExitCode> {
    let path = match &args.file {
        Some(file) => caller.directory.join(file),
        None => place::feature(caller, &place::open(caller)?, args.feature.as_ref(), None)?.tasks_path,
    };
    let tasks = TaskList::read(&path).map_err(refusal)?;
    let mut out = stdout();
    match args.json {
        Json { json: true } => view::tasks::write_json(&mut out, &path, &tasks)?,
        Json { json: false } => view::tasks::write_human(&mut out, &path, &tasks)?,
    }
    out.flush()?;
    Ok(ExitCode::Done)
}
