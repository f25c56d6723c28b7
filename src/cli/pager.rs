//! The pager of the user, as git takes it: lists on a terminal go through it.

use std::io::{self, IsTerminal, Write, stdout};

use anyhow::Result;

use ralph_os::process::{ShutdownSignal, Tool, outside};
use ralph_ui::live::terminal_columns;
use ralph_ui::sgr::folded;
use ralph_ui::style::Screen;

use crate::cli::output::write_lines;
use crate::cli::{Context, ExitCode, print};

/// Columns of a terminal that does not say how many it has.
const DEFAULT_COLUMNS: usize = 80;

/// What a pager is given where the user has not set it, as git does.
const DEFAULTS: [(&str, &str); 2] = [("LESS", "FRX"), ("LV", "-c")];

/// What a shell ends with where it cannot run a program, or finds none.
const CANNOT_RUN: i32 = 126;
const NOT_FOUND: i32 = 127;

/// Where lines are written: as wide as the terminal is, or as `COLUMNS` says.
pub fn screen(context: &Context) -> Screen {
    let set = context.environment.text("COLUMNS").and_then(|set| set.parse().ok());
    let without = if stdout().is_terminal() { DEFAULT_COLUMNS } else { usize::MAX };
    let width = set
        .filter(|columns| *columns > 0)
        .or_else(|| terminal_columns(stdout()).map(usize::from))
        .unwrap_or(without);
    Screen { paint: context.paint, width }
}

/// Writes a text in lines that are as wide as the terminal.
pub fn write_folded(out: &mut impl Write, text: &[u8], context: &Context) -> io::Result<()> {
    out.write_all(folded(&String::from_utf8_lossy(text), screen(context).width).as_bytes())
}

/// What of a text a pager shows first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opens {
    AtStart,
    AtEnd,
}

/// Writes `lines` to stdout; on a terminal through the pager that git would take, unless it `is_direct`.
pub fn show(lines: &[String], context: &Context, is_direct: bool, opens: Opens) -> Result<ExitCode> {
    if is_direct || !stdout().is_terminal() || lines.is_empty() {
        return print(|out| write_lines(out, lines));
    }
    let pager = Tool::git_for_user(&context.directory).args(["var", "GIT_PAGER"]).line().unwrap_or_default();
    if pager.is_empty() || pager == "cat" || outside::runs_open(&pager) {
        return print(|out| write_lines(out, lines));
    }
    // Ctrl-C is the pager's: it ends the search in it, not the pager.
    let _ours = ShutdownSignal::install()?;
    let unset = DEFAULTS.iter().filter(|(name, _)| context.environment.value(name).is_none());
    let tool =
        unset.fold(Tool::shell(&pager, &context.directory), |tool, (name, value)| tool.env(name, *value));
    let less = context.environment.text("LESS").unwrap_or(DEFAULTS[0].1);
    let tool = if opens == Opens::AtEnd { tool.env("LESS", format!("{less} +G")) } else { tool };
    match tool.stdin((lines.join("\n") + "\n").as_bytes()).hand_over()? {
        CANNOT_RUN | NOT_FOUND => print(|out| write_lines(out, lines)),
        _ => Ok(ExitCode::Done),
    }
}
