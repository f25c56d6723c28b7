//! Where a report goes.

use std::io::Write;

use anyhow::{Result, bail};
use camino::Utf8PathBuf;
use serde::Serialize;

use crate::view::json::write_pretty;
use crate::view::report::Medium;

use super::report_args::ReportArgs;
use super::{Context, ExitCode, print, report_file, say};

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
                let extension = if args.svg { "svg" } else { "html" };
                Some(context.store()?.reports()?.join(format!("{name}.{extension}")))
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

    /// Writes a page, or its data as JSON.
    pub fn deliver_page<T: Serialize>(
        &self,
        data: &T,
        page: fn(&T, Medium<'_>) -> Result<String>,
    ) -> Result<ExitCode> {
        if !self.args.json.json {
            return self.deliver(page(data, Medium::File)?.as_bytes());
        }
        let mut bytes = Vec::new();
        write_pretty(&mut bytes, data)?;
        self.deliver(&bytes)
    }
}
