//! Where commands write: data to stdout, talk to stderr.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::mem;

use anyhow::{Error, Result};
use clap::Args;
use redact_stream::Redactor;
use serde::Serialize;

use ralph_core::record::Refusal;
use ralph_ui::json::write_pretty;
use ralph_ui::live::terminal_columns;
use ralph_ui::sgr::folded;
use ralph_ui::style::inert;

use crate::cli::exit_code::ExitCode;

/// The reader of our stdout went away: `specify ralph log | head`. No failure of anybody's.
#[derive(Debug)]
struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the output is closed")
    }
}

impl std::error::Error for ReaderGone {}

/// Where data goes; every command writes through this.
#[derive(Debug)]
pub struct Output<W>(W);

pub type Stdout = Output<io::BufWriter<io::Stdout>>;

/// As much as a pipe holds.
const BUFFER_BYTES: usize = 64 * 1024;

/// Buffered stdout, to be flushed by the command.
pub fn stdout() -> Stdout {
    Output(io::BufWriter::with_capacity(BUFFER_BYTES, io::stdout()))
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(marked)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(marked)
    }
}

fn marked(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::BrokenPipe {
        io::Error::new(ErrorKind::BrokenPipe, ReaderGone)
    } else {
        error
    }
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Json {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints what a command found: its JSON if that is asked for, else its text.
pub fn emit<E: Into<Error>>(
    json: Json,
    value: &impl Serialize,
    text: impl FnOnce(&mut Stdout) -> Result<(), E>,
) -> Result<ExitCode> {
    print(|out| if json.json { Ok(write_pretty(out, value)?) } else { text(out).map_err(Into::into) })
}

/// Prints text.
pub fn print<E: Into<Error>>(text: impl FnOnce(&mut Stdout) -> Result<(), E>) -> Result<ExitCode> {
    let mut out = stdout();
    text(&mut out).map_err(Into::into)?;
    out.flush()?;
    Ok(ExitCode::Done)
}

pub fn write_lines(out: &mut impl Write, lines: &[String]) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// Prints a line.
pub fn say(line: impl fmt::Display) -> Result<ExitCode> {
    print(|out| writeln!(out, "{line}"))
}

/// Where stored bytes go: as they are, or as text that nothing obeys where a terminal would, in whatever pieces they
/// come.
#[derive(Debug)]
pub struct Records<W> {
    out: W,
    is_sanitized: bool,
    /// The beginning of a character, or of a line end, whose rest has not come yet.
    held: Vec<u8>,
}

/// stdout for what a record holds.
pub fn records() -> Records<Stdout> {
    Records::new(stdout(), io::stdout().is_terminal())
}

impl<W: Write> Records<W> {
    pub fn new(out: W, is_sanitized: bool) -> Self {
        Self { out, is_sanitized, held: Vec::new() }
    }

    /// Nothing follows.
    pub fn finish(mut self) -> io::Result<()> {
        let rest = inert(&String::from_utf8_lossy(&self.held));
        self.out.write_all(rest.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Write for Records<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_sanitized {
            return self.out.write(bytes);
        }
        let mut all = mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        let whole = whole(&all);
        self.held = all.split_off(whole);
        self.out.write_all(inert(&String::from_utf8_lossy(&all)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns how much of `bytes` means the same whatever follows.
fn whole(bytes: &[u8]) -> usize {
    if let Some(before) = bytes.strip_suffix(b"\r") {
        return before.len();
    }
    // Of the pieces of a text only the last can be the beginning of a character.
    match bytes.utf8_chunks().last() {
        Some(chunk) if chunk.invalid().is_empty() => bytes.len(),
        Some(chunk) => match std::str::from_utf8(chunk.invalid()) {
            Err(error) if error.error_len().is_none() => bytes.len() - chunk.invalid().len(),
            _ => bytes.len(),
        },
        None => 0,
    }
}

/// Says once what went wrong, and with which code to exit. Broken pipes of children are errors, ours are not.
pub fn report(error: &Error, stderr: &mut impl Write) -> ExitCode {
    let is_reader_gone = error.chain().any(|cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.and_then(|inner| inner.downcast_ref::<ReaderGone>()).is_some()
    });
    if is_reader_gone {
        return ExitCode::Done;
    }
    // If stderr is closed, only the exit code is left.
    let _closed =
        writeln!(stderr, "{}", for_stderr(&format!("error: {}", shown(&format!("{error:#}"))))).is_err();
    if error.downcast_ref::<Refusal>().is_some() { ExitCode::CannotStart } else { ExitCode::NotDone }
}

/// Something that the user should know and that stops nothing.
pub fn warn(message: &str) {
    note(for_stderr(&format!("warning: {}", shown(message))));
}

/// Breaks lines between words where stderr is a terminal.
fn for_stderr(lines: &str) -> String {
    let width = io::stderr().is_terminal().then(|| terminal_columns(io::stderr()).map(usize::from)).flatten();
    folded(lines, width.unwrap_or(usize::MAX))
}

/// A line that is no data. If stderr is closed, the line is lost.
pub fn note(line: impl fmt::Display) {
    let _closed = writeln!(io::stderr(), "{line}").is_err();
}

/// Returns what a message quotes may come from anywhere: settings, remotes, other programs.
fn shown(message: &str) -> String {
    inert(&Redactor::default().redact_text(message).0)
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[track_caller]
    fn case(error: &Error, code: ExitCode, said: &str) {
        let mut stderr = Vec::new();
        assert_eq!(report(error, &mut stderr), code);
        assert_eq!(String::from_utf8(stderr).unwrap(), said);
    }

    #[test]
    fn an_error_is_said_once_with_its_chain_and_its_hint() {
        case(&anyhow!("disk full").context("write it"), ExitCode::NotDone, "error: write it: disk full\n");
        let refusal: Error = Refusal::new("no tasks").with_hint("write some").into();
        case(&refusal.context("start"), ExitCode::CannotStart, "error: start: no tasks\nhint: write some\n");
    }

    #[test]
    fn stored_bytes_are_made_visible_in_whatever_pieces_they_come() {
        let bytes = "\x1b]0;x\x07 gr\u{f6}ße \u{202e}🎉\r\nb\rc\r".as_bytes();
        let bytes = [bytes, b"\x9b31m \xf0\x9f"].concat();
        let expected = "␛]0;x␇ größe \u{fffd}🎉\nb␍c␍\u{fffd}31m \u{fffd}";
        for size in 1..=bytes.len() {
            let mut text = Vec::new();
            let mut out = Records::new(&mut text, true);
            bytes.chunks(size).for_each(|chunk| out.write_all(chunk).unwrap());
            out.finish().unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), expected, "{size}");
        }
        let mut text = Vec::new();
        let mut out = Records::new(&mut text, false);
        out.write_all(&bytes).unwrap();
        out.finish().unwrap();
        assert_eq!(text, bytes);
    }

    #[test]
    fn only_a_reader_of_ours_that_goes_away_is_no_error() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(ErrorKind::BrokenPipe.into())
            }
        }
        let ours = writeln!(Output(Closed), "x").context("write the list").unwrap_err();
        case(&ours, ExitCode::Done, "");
        let flushed = Output(Closed).flush().unwrap_err();
        case(&flushed.into(), ExitCode::Done, "");
        let childs = writeln!(Closed, "x").context("feed the agent").unwrap_err();
        case(&childs, ExitCode::NotDone, "error: feed the agent: broken pipe\n");
    }
}
