//! `specify ralph init`: what a project can have of its own, each file written once and never over another.

use std::io::ErrorKind;

use anyhow::Result;
use camino::Utf8Path;
use clap::Args;

use ralph_core::config::{self, FILE};
use ralph_core::record::RALPH;
use ralph_engine::suggested_setup;
use ralph_project::project_files::{ProjectFiles, explain};
use ralph_project::prompt::{PROJECT_TEMPLATE, Template};

use crate::cli::settings::{load_in, project};
use crate::cli::start::approvals::{Approvals, Approved};
use crate::cli::start::confirm;
use crate::cli::start::proposal;
use crate::cli::{Context, ExitCode, Flags, Project, say};

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Write every key, not only those that people usually change
    #[arg(long)]
    pub all: bool,
    /// Also write the prompt template, for editing
    #[arg(long)]
    pub template: bool,
    /// Also install the git hooks, as `hooks install` does
    #[arg(long)]
    pub hooks: bool,
}

pub fn run(args: &InitArgs, context: &Context) -> Result<ExitCode> {
    let project = project(context)?;
    let validation =
        if project.files.is_filled(&project.root.join(FILE)) { None } else { ask_for_validation(&project)? };
    let is_new = !project.files.is_filled(&project.root.join(FILE));
    let mut files = vec![(FILE, config::sample(args.all, validation))];
    if args.template {
        files.push((PROJECT_TEMPLATE, Template::built_in().source));
    }
    for (path, text) in files {
        let is_new = write_new(&project.files, &project.root.join(path), &text)?;
        say(if is_new {
            format!("wrote {path}")
        } else {
            format!("{path} already exists, and is not changed")
        })?;
    }
    if let Some((lock, setup)) = suggested_setup(&project.root).filter(|_| is_new) {
        say(format!(
            "{lock} suggests `lanes.setup = \"{setup}\"` in it: results are then tried in a clean checkout, too"
        ))?;
    }
    if validation.is_some() {
        approve(context)?;
    }
    if args.hooks {
        crate::cli::share::hooks::install_usual(context)?;
    }
    say(format!("next: `{RALPH} doctor`"))?;
    Ok(ExitCode::Done)
}

/// Returns the validation that the project's files suggest, if the person at the terminal wants it.
fn ask_for_validation(project: &Project) -> Result<Option<&'static str>> {
    let Some((command, file)) = proposal::of(project) else { return Ok(None) };
    let question = format!(
        "{file} suggests `{command}` as the validation, which must pass before a task counts as done. Set it?"
    );
    Ok(confirm::ask(&question)?.filter(|is_wanted| *is_wanted).map(|_| command))
}

/// What was just confirmed on the terminal need not be approved once more.
fn approve(context: &Context) -> Result<()> {
    if context.store().is_err() {
        return Ok(());
    }
    let config = load_in(context, Flags::default())?;
    Approvals::of(context)?.approve(Approved::Commands(&config.file_commands))
}

/// Returns false if the file is there already.
fn write_new(files: &ProjectFiles, path: &Utf8Path, text: &str) -> Result<bool> {
    if let Some(folder) = path.parent() {
        files.create_dir_all(folder).map_err(|error| explain("create", folder, error))?;
    }
    match files.create_new(path, text.as_bytes()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(explain("write", path, error)),
    }
}
