//! Where the line that moves is drawn: a terminal whose window may change its width under it.

use std::fmt::Write as _;
use std::io::{self, Write, stderr};
use std::sync::{Mutex, PoisonError};

use indicatif::TermLike;

/// Columns where it is not known how many there are.
const COLUMNS: u16 = 80;

/// Has what is too long end at the edge: the window may have become narrower since it was asked for its width.
const NO_BREAKS: &str = "\x1b[?7l";

/// Has it go on in the next row, as is usual.
const BREAKS: &str = "\x1b[?7h";

/// Draws on stderr, and leaves the cursor in front of what it drew, where it stays whatever it is asked to do.
///
/// A terminal that becomes narrower breaks a line in several, and the cursor stays with the part that it is on. From the
/// first of them all others can be taken away; from behind the last it is not known how many there are.
#[derive(Debug, Default)]
pub struct Frame {
    drawing: Mutex<String>,
}

impl Frame {
    fn draw(&self, with: impl FnOnce(&mut String) -> std::fmt::Result) -> io::Result<()> {
        let mut drawing = self.drawing.lock().unwrap_or_else(PoisonError::into_inner);
        with(&mut drawing).map_err(io::Error::other)
    }

    /// What is to be written next.
    fn take(&self) -> String {
        let mut drawing = self.drawing.lock().unwrap_or_else(PoisonError::into_inner);
        let drawn = std::mem::take(&mut *drawing);
        if drawn.is_empty() {
            return drawn;
        }
        let drawn = drawn.trim_end_matches('\n');
        let back = match drawn.matches('\n').count() {
            0 => String::new(),
            rows => format!("\x1b[{rows}A"),
        };
        format!("{NO_BREAKS}{drawn}\r{back}{BREAKS}")
    }
}

impl TermLike for Frame {
    fn width(&self) -> u16 {
        columns(stderr()).unwrap_or(COLUMNS)
    }

    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.draw(|drawing| if n > 0 { write!(drawing, "\x1b[{n}C") } else { Ok(()) })
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.draw(|drawing| if n > 0 { write!(drawing, "\x1b[{n}D") } else { Ok(()) })
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.draw(|drawing| writeln!(drawing, "{line}"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        // Blanks up to the edge end a line, and would only be more to break.
        let is_blank = text.chars().all(|c| c == ' ');
        self.draw(|drawing| drawing.write_str(if is_blank { "\n" } else { text }))
    }

    /// Down to the end of the screen: below the line there is nothing but what became of it.
    fn clear_line(&self) -> io::Result<()> {
        self.draw(|drawing| drawing.write_str("\r\x1b[J"))
    }

    fn flush(&self) -> io::Result<()> {
        let drawing = self.take();
        if drawing.is_empty() {
            return Ok(());
        }
        let mut out = stderr().lock();
        out.write_all(drawing.as_bytes())?;
        out.flush()
    }
}

/// How wide the window of a stream is, where it has one. It may change any time.
pub use ralph_os::platform::columns;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_waits_in_front_of_the_line_and_all_below_is_taken_away() {
        let frame = Frame::default();
        assert_eq!(frame.take(), "");
        frame.write_str("one").unwrap();
        frame.write_str("   ").unwrap();
        frame.write_str("two").unwrap();
        assert_eq!(frame.take(), "\x1b[?7lone\ntwo\r\x1b[1A\x1b[?7h");
        for line in ["one", "two"] {
            frame.clear_line().unwrap();
            frame.write_str(line).unwrap();
            frame.write_str("    ").unwrap();
            assert_eq!(frame.take(), format!("\x1b[?7l\r\x1b[J{line}\r\x1b[?7h"));
        }
    }
}
