//! Where a report goes.

use std::io::Write;

use anyhow::{Result, bail};
use camino::{Utf8Path, Utf8PathBuf};

use crate::store::Store;

use super::caller::Caller;
use super::exit_code::ExitCode;
use super::output::stdout;
use super::report_args::ReportArgs;
use super::report_file;

/// Writes a report to its file, whose path is printed, or to stdout.
pub fn deliver(
    bytes: &[u8],
    destination: Option<&Utf8Path>,
    args: &ReportArgs,
    caller: &Caller,
) -> Result<ExitCode> {
    let mut out = stdout();
    match destination {
        None => out.write_all(bytes)?,
        Some(file) => {
            report_file::write(file, bytes)?;
            writeln!(out, "{file}")?;
        }
    }
    out.flush()?;
    if let (true, Some(file)) = (args.open, destination) {
        report_file::open(file, caller)?;
    }
    Ok(ExitCode::Done)
}

/// Returns the file to write, by default `name` with an extension; `None` for stdout.
pub fn destination(
    args: &ReportArgs,
    caller: &Caller,
    store: &Store,
    name: &str,
) -> Result<Option<Utf8PathBuf>> {
    let is_page = !args.markdown && !args.json.json;
    let Some(output) = &args.output else {
        if !is_page {
            return Ok(None);
        }
        let extension = if args.svg { "svg" } else { "html" };
        return Ok(Some(store.reports()?.join(format!("{name}.{extension}"))));
    };
    if output == "-" {
        if args.open {
            bail!("there is no file to open\nhint: omit --open, or -o -");
        }
        return Ok(None);
    }
    let file = caller.directory.join(output);
    report_file::check(&file, args.force)?;
    Ok(Some(file))
}
