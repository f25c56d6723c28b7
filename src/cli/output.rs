//! Where commands write: data to stdout, talk to stderr.

use std::fmt;
use std::io::{self, ErrorKind, Write};

use anyhow::Error;

use crate::record::Refusal;
use crate::view::style::inert;

use super::exit_code::ExitCode;

/// The reader of our stdout went away: `specify ralph log | head`. No failure of anybody's.
#[derive(Debug)]
struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads on")
    }
}

impl std::error::Error for ReaderGone {}

/// Where data goes; every command writes through this.
#[derive(Debug)]
pub struct Output<W>(W);

/// Buffered stdout, to be flushed by the command.
pub fn stdout() -> Output<io::BufWriter<io::Stdout>> {
    Output(io::BufWriter::new(io::stdout()))
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

/// Says once what went wrong, and with which code to exit. Broken pipes of children are errors, ours are not.
pub fn report(error: &Error, stderr: &mut impl Write) -> ExitCode {
    let is_reader_gone = error.chain().any(|cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.and_then(|inner| inner.downcast_ref::<ReaderGone>()).is_some()
    });
    if is_reader_gone {
        return ExitCode::Done;
    }
    // Nothing can be said where stderr is closed, and the exit code still tells.
    // What it quotes may come from anywhere.
    let _closed = writeln!(stderr, "error: {}", inert(&format!("{error:#}"))).is_err();
    if error.downcast_ref::<Refusal>().is_some() { ExitCode::CannotStart } else { ExitCode::NotDone }
}

/// Something that the user should know and that stops nothing.
pub fn warn(message: &str, stderr: &mut impl Write) {
    let _closed = writeln!(stderr, "warning: {}", inert(message)).is_err();
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
        let refusal: Error = Refusal::new("no tasks").hinted("write some").into();
        case(&refusal.context("start"), ExitCode::CannotStart, "error: start: no tasks\nhint: write some\n");
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
