//! `specify ralph tasks`: the task list as the loop reads it.

use std::io::Write;

use anyhow::Result;
use camino::Utf8PathBuf;
use clap::Args;

use crate::tasks;
use crate::view;

use super::args::Json;
use super::caller::Caller;
use super::context::{self, refusal};
use super::exit_code::ExitCode;
use super::output::stdout;

#[derive(Debug, Args)]
pub struct TasksArgs {
    /// Any Markdown file with a task list
    #[arg(long, value_name = "FILE", conflicts_with = "feature")]
    pub file: Option<Utf8PathBuf>,
    /// Feature, by path or by name
    #[arg(long, value_name = "FEATURE")]
    pub feature: Option<String>,
    #[command(flatten)]
    pub json: Json,
}

pub fn run(args: &TasksArgs, caller: &Caller) -> Result<ExitCode> {
    let (path, tasks) = if let Some(file) = &args.file {
        let path = caller.directory.join(file);
        let tasks = tasks::read_named(&path);
        (path, tasks)
    } else {
        let feature = context::feature_to_read(caller, &context::open(caller)?, args.feature.as_ref())?;
        let tasks = tasks::read(&feature.files, &feature.tasks_path);
        (feature.tasks_path, tasks)
    };
    let tasks = tasks.map_err(refusal)?;
    let mut out = stdout();
    match args.json {
        Json { json: true } => view::tasks::write_json(&mut out, &path, &tasks)?,
        Json { json: false } => view::tasks::write_human(&mut out, &path, &tasks)?,
    }
    out.flush()?;
    Ok(ExitCode::Done)
}
