//! `specify ralph tasks`: the task list as the loop reads it.

use anyhow::Result;
use camino::Utf8PathBuf;
use clap::Args;

use ralph_project::tasks;

use super::{Context, ExitCode, Json, print, refusal};

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

pub fn run(args: &TasksArgs, context: &Context) -> Result<ExitCode> {
    let (path, tasks) = if let Some(file) = &args.file {
        let path = context.directory.join(file);
        let tasks = tasks::read_named(&path);
        (path, tasks)
    } else {
        let feature = context.feature_to_read(args.feature.as_ref())?;
        let tasks = tasks::read(&feature.files, &feature.tasks_path);
        (feature.tasks_path, tasks)
    };
    let tasks = tasks.map_err(refusal)?;
    print(|out| match args.json {
        Json { json: true } => ralph_ui::tasks::write_json(out, &path, &tasks),
        Json { json: false } => ralph_ui::tasks::write_human(out, &path, &tasks),
    })
}
