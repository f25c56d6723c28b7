//! The flags of `report`, and where it goes.

use std::io::Write;

use anyhow::{Result, bail};
use camino::Utf8PathBuf;
use clap::{ArgGroup, Args};

use ralph_store::folders;

use crate::cli::read::report_file;
use crate::cli::{Context, ExitCode, Json, SessionChoice, print, say};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("text").args(["markdown", "json"]))]
pub struct ReportArgs {
    /// File to write; - for stdout [default: a file in the git directory whose path is printed; for --markdown and
    /// --json stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<Utf8PathBuf>,
    /// Open the page in $BROWSER or the system's browser
    #[arg(long, conflicts_with = "text")]
    pub open: bool,
    /// Write a Markdown summary for a pull request
    #[arg(long)]
    pub markdown: bool,
    /// Write an index of all sessions, or of all of a feature
    #[arg(long, conflicts_with_all = ["markdown", "session", "max_size", "max_part"])]
    pub all: bool,
    #[command(flatten)]
    pub json: Json,
    /// Maximum size of the page
    #[arg(long, value_name = "SIZE", default_value = "3MB", value_parser = report_file::size, conflicts_with = "text")]
    pub max_size: u64,
    /// Maximum size of one text in it: a prompt, an answer, an output, a patch
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = report_file::size, conflicts_with = "markdown")]
    pub max_part: u64,
    /// Overwrite a file that is not a report
    #[arg(long, requires = "output")]
    pub force: bool,
    #[command(flatten)]
    pub choice: SessionChoice,
}

/// Where a report goes, and whether it is opened there.
pub struct Destination<'a> {
    /// `None` for stdout.
    file: Option<Utf8PathBuf>,
    args: &'a ReportArgs,
    context: &'a Context,
}

impl<'a> Destination<'a> {
    /// Finds the file to write, by default `name` with an extension.
    pub fn find(args: &'a ReportArgs, context: &'a Context, name: &str) -> Result<Self> {
        let is_page = !args.markdown && !args.json.json;
        let file = match &args.output {
            Some(output) if output == "-" && args.open => {
                bail!("there is no file to open\nhint: omit --open, or -o -")
            }
            Some(output) if output == "-" => None,
            Some(output) => Some(context.directory.join(output)),
            None if is_page => {
                Some(folders::reports(context.store()?.repository())?.join(format!("{name}.html")))
            }
            None => None,
        };
        if let Some(file) = file.as_ref().filter(|_| args.output.is_some()) {
            report_file::check(file, args.force)?;
        }
        Ok(Self { file, args, context })
    }

    /// Writes a report to its file, whose path is printed, or to stdout.
    pub fn deliver(&self, bytes: &[u8]) -> Result<ExitCode> {
        let Some(file) = &self.file else { return print(|out| out.write_all(bytes)) };
        report_file::write(file, bytes)?;
        say(file)?;
        if self.args.open {
            report_file::open(file, self.context)?;
        }
        Ok(ExitCode::Done)
    }
}
