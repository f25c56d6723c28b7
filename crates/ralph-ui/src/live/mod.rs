//! A session as it runs: lines that stay, and below them one that moves.

mod closing;
mod frame;
mod header;
mod keys;
mod lines;
mod now;
mod spinner;
mod workers;

use std::io::{self, Write};
use std::time::Instant;

use indicatif::ProgressBar;

use ralph_core::record::Event;

use self::lines::Lines;
use self::now::{Now, Redraw};
use self::spinner::spinner;
use crate::json::write_line;
use crate::style::Paint;

pub use self::frame::columns as terminal_columns;
pub(crate) use self::header::USUAL;
pub use self::keys::{KeyCommand, Keys};
pub use self::lines::Detail;
pub use self::now::NowSent;
pub use self::workers::Workers;

/// What comes before an event in what one of several loops prints for what started it. No text that people read has it.
pub const EVENT_MARK: &[u8] = b"\x1e";

/// Where the moving line goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moving {
    /// It would not be seen, or is not wanted.
    Nowhere,
    /// To stderr, which is a terminal that can take a line back.
    Stderr,
    /// To what started this loop and others, which draws a line for each.
    Sent {
        /// How wide that shows what stays.
        columns: Option<u16>,
        /// True if another loop says what all begin with.
        joins: bool,
    },
}

/// Shows each event on `out`, and what goes on between them where [`Moving`] says.
#[derive(Debug)]
pub struct Live<W> {
    out: W,
    lines: Lines,
    now: Now,
    moving: Moving,
    /// Those of the terminal, where they are ours.
    keys: Option<Keys>,
    started: Instant,
    paint: Paint,
    spinner: Option<ProgressBar>,
    is_verbose: bool,
}

impl<W: Write> Live<W> {
    /// Paths of the agent below `root` are shown from there. At `max_cost` dollars the session stops.
    pub fn new(
        out: W,
        paint: Paint,
        detail: Detail,
        moving: Moving,
        keys: Option<Keys>,
        root: &str,
        max_cost: Option<f64>,
    ) -> Self {
        let root = format!("{root}/");
        Self {
            out,
            lines: Lines::new(paint, detail, &root, moving),
            now: Now::new(max_cost, root),
            moving,
            keys,
            started: Instant::now(),
            paint,
            spinner: None,
            is_verbose: detail == Detail::Verbose,
        }
    }

    pub fn show(&mut self, event: &Event) -> io::Result<()> {
        let change = self.now.take(event);
        if matches!(change, Redraw::Begun | Redraw::Over) {
            self.spinner = None;
        }
        // An agent may print millions of lines, and mostly none of them is shown.
        if !matches!(event, Event::AgentEvent { .. }) || self.is_verbose {
            self.lines.fit(match self.moving {
                Moving::Sent { columns, .. } => columns,
                Moving::Nowhere | Moving::Stderr => terminal_columns(io::stdout()),
            });
        }
        let lines = self.lines.of(event);
        // Before the lines, which may be those of all loops.
        if matches!(self.moving, Moving::Sent { .. }) && change != Redraw::None {
            self.out.write_all(EVENT_MARK)?;
            write_line(&mut self.out, &self.now.sent(change))?;
            self.out.flush()?;
        }
        // What stays goes above the line that moves.
        match &self.spinner {
            _ if lines.is_empty() => {}
            Some(spinner) => spinner.suspend(|| write_out(&mut self.out, &lines))?,
            None => write_out(&mut self.out, &lines)?,
        }
        match (change, &self.spinner) {
            (Redraw::Begun, _) if self.moving == Moving::Stderr => {
                self.spinner = Some(spinner(&self.now, self.started, self.keys.as_ref(), self.paint));
            }
            (Redraw::Words, Some(spinner)) => spinner.set_message(self.now.doing().to_owned()),
            _ => {}
        }
        Ok(())
    }
}

fn write_out(out: &mut impl Write, lines: &[String]) -> io::Result<()> {
    out.write_all((lines.join("\n") + "\n").as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::record::AgentEvent;

    #[test]
    fn what_an_agent_says_names_files_from_the_projects_root() {
        let mut live =
            Live::new(Vec::new(), Paint::Plain, Detail::Verbose, Moving::Nowhere, None, "/w/app", None);
        for event in [
            AgentEvent::Text { text: "I read /w/app/src/a.rs and /etc/hosts".to_owned() },
            AgentEvent::ToolStarted {
                tool_name: "Edit".to_owned(),
                arguments_summary: "/w/app/b.rs".to_owned(),
            },
        ] {
            live.show(&Event::AgentEvent { iteration: 1, event }).unwrap();
        }
        let text = String::from_utf8(live.out).unwrap();
        assert_eq!(text, "  agent  I read src/a.rs and /etc/hosts\n  agent  Edit b.rs\n");
    }
}
