//! `specify ralph init`: what a project can have of its own, each file written once and never over another.

use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};
use camino::Utf8Path;
use clap::Args;

use crate::config;
use crate::project_files::{ProjectFiles, explain};
use crate::prompt::{PROJECT_TEMPLATE, Template};

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::stdout;
use super::settings::project;

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Write the prompt's template too, to be changed
    #[arg(long)]
    pub template: bool,
    /// Put our block into the git hooks too, as `hooks install` does
    #[arg(long)]
    pub hooks: bool,
}

pub fn run(args: &InitArgs, caller: &Caller) -> Result<ExitCode> {
    let project = project(caller)?;
    let mut files = vec![(".specify/ralph.toml", config::sample())];
    if args.template {
        files.push((PROJECT_TEMPLATE, Template::built_in().source));
    }
    let mut out = stdout();
    for (path, text) in files {
        let told = match write_new(&project.files, &project.root.join(path), &text)? {
            Written::New => format!("wrote {path}"),
            Written::Kept => format!("{path} is there already, and stays as it is"),
        };
        writeln!(out, "{told}").context("say what was written")?;
    }
    out.flush().context("say what was written")?;
    if args.hooks { super::hooks::install_usual(caller) } else { Ok(ExitCode::Done) }
}

enum Written {
    New,
    Kept,
}

fn write_new(files: &ProjectFiles, path: &Utf8Path, text: &str) -> Result<Written> {
    if let Some(folder) = path.parent() {
        files.create_dir_all(folder).map_err(|error| explain("create", folder, error))?;
    }
    match files.create_new(path, text.as_bytes()) {
        Ok(()) => Ok(Written::New),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Written::Kept),
        Err(error) => Err(explain("write", path, error)),
    }
}
