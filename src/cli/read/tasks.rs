//! `specify ralph tasks`: the task list as the loop reads it.

use anyhow::Result;
use camino::Utf8Path;

use ralph_project::tasks;

use crate::cli::pager::write_folded;
use crate::cli::{Context, ExitCode, Json, print, refusal};

pub fn run(
    file: Option<&Utf8Path>,
    feature: Option<&String>,
    json: Json,
    context: &Context,
) -> Result<ExitCode> {
    let (path, tasks) = if let Some(file) = file {
        let path = context.directory.join(file);
        let tasks = tasks::read_named(&path);
        (path, tasks)
    } else {
        let feature = context.feature_to_read(feature)?;
        let tasks = tasks::read(&feature.files, &feature.tasks_path);
        (feature.tasks_path, tasks)
    };
    let tasks = tasks.map_err(refusal)?;
    print(|out| {
        if json.json {
            return ralph_ui::tasks::write_json(out, &path, &tasks);
        }
        let mut text = Vec::new();
        ralph_ui::tasks::write_human(&mut text, &path, &tasks)?;
        Ok(write_folded(out, &text, context)?)
    })
}
