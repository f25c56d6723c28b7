//! The flags of `report`.

use camino::Utf8PathBuf;
use clap::{ArgGroup, Args};

use crate::record::SessionName;

use super::{Json, SessionChoice, report_file};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("text").args(["markdown", "json"]))]
#[expect(clippy::struct_excessive_bools, reason = "flags that stand alone")]
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
    /// Draw an SVG picture for a README or a chat
    #[arg(long, conflicts_with_all = ["text", "max_size", "max_part"])]
    pub svg: bool,
    /// Write an index of all sessions, or of all of a feature
    #[arg(long, conflicts_with_all = ["markdown", "svg", "session", "max_size", "max_part"])]
    pub all: bool,
    /// Compare two sessions
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    #[arg(conflicts_with_all = ["all", "markdown", "svg", "session", "feature", "max_size", "max_part"])]
    pub compare: Vec<SessionName>,
    #[command(flatten)]
    pub json: Json,
    /// Maximum size of the page
    #[arg(long, value_name = "SIZE", default_value = "5MB", value_parser = report_file::size, conflicts_with = "text")]
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
