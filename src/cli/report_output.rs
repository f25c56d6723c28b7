//! Where a report goes.

use std::io::Write;

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use crate::view::json::write_pretty;
use crate::view::report::Medium;

use super::report_args::ReportArgs;
use super::{Context, ExitCode, print, report_file, say};

/// Writes a report to its file, whose path is printed, or to stdout.
pub fn deliver(
    bytes: &[u8],
    destination: Option<&Utf8Path>,
    args: &ReportArgs,
    context: &Context,
) -> Result<ExitCode> {
    match destination {
        None => print(|out| out.write_all(bytes))?,
        Some(file) => {
            report_file::write(file, bytes)?;
            say(file)?
        }
    };
    if let (true, Some(file)) = (args.open, destination) {
        report_file::open(file, context)?;
    }
    Ok(ExitCode::Done)
}

/// Writes a page, or its data as JSON.
pub fn deliver_page<T: Serialize>(
    data: &T,
    page: fn(&T, Medium<'_>) -> Result<String>,
    destination: Option<&Utf8Path>,
    args: &ReportArgs,
    context: &Context,
) -> Result<ExitCode> {
    let mut bytes = Vec::new();
    if args.json.json {
        write_pretty(&mut bytes, data)?;
    } else {
        bytes = page(data, Medium::File)?.into_bytes();
    }
    deliver(&bytes, destination, args, context)
}

/// Returns the file to write, by default `name` with an extension; `None` for stdout.
pub fn destination(args: &ReportArgs, context: &Context, name: &str) -> Result<Option<Utf8PathBuf>> {
    let is_page = !args.markdown && !args.json.json;
    let Some(output) = &args.output else {
        if !is_page {
            return Ok(None);
        }
        let extension = if args.svg { "svg" } else { "html" };
        return Ok(Some(context.store()?.reports()?.join(format!("{name}.{extension}"))));
    };
    if output == "-" {
        if args.open {
            bail!("there is no file to open\nhint: omit --open, or -o -");
        }
        return Ok(None);
    }
    let file = context.directory.join(output);
    report_file::check(&file, args.force)?;
    Ok(Some(file))
}
