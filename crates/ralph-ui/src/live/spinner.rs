//! The line that moves: it turns and counts on its own while the loop waits for others.

use std::fmt::Write;
use std::io;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle};

use crate::style::{Look, Paint, clock_span};

use super::frame::Frame;
use super::now::Now;

/// How often it turns.
const TURN: Duration = Duration::from_millis(120);

/// It is gone from the terminal when this value is.
#[derive(Debug)]
pub struct Spinner(ProgressBar);

impl Spinner {
    pub fn start(now: &Now, paint: Paint) -> Self {
        let bar =
            ProgressBar::with_draw_target(None, ProgressDrawTarget::term_like(Box::new(Frame::default())));
        let name = paint.paint(Look::Bold, "{prefix}");
        let time = paint.paint(Look::Dim, "{time}");
        let style = ProgressStyle::with_template(&format!("  {{spinner}} {name} {time}  {{wide_msg}}"))
            .expect("the template is well formed")
            .with_key("time", |state: &ProgressState, line: &mut dyn Write| {
                // A line that cannot be drawn is drawn again soon.
                let _drawn = line
                    .write_str(&clock_span(u64::try_from(state.elapsed().as_millis()).unwrap_or(u64::MAX)))
                    .is_ok();
            });
        let bar = bar.with_style(style).with_finish(ProgressFinish::AndClear);
        let bar = bar.with_prefix(now.name().to_owned()).with_message(now.words());
        bar.enable_steady_tick(TURN);
        Self(bar)
    }

    pub fn say(&self, now: &Now) {
        self.0.set_message(now.words());
    }

    /// Takes the line away while `write` writes to the same terminal.
    pub fn suspend(&self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.0.suspend(write)
    }
}
