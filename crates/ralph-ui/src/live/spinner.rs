//! The lines that move: they turn and count on their own while the loop waits for others.

use std::fmt::Write;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle, TermLike};

use crate::style::{Look, Paint, clock_span, milliseconds};

use super::frame::Frame;
use super::keys::Keys;
use super::now::Now;

/// How often it turns.
pub(super) const TURN: Duration = Duration::from_millis(120);

/// Starts the line, which is gone from the terminal when the value is. `started` is when the session began; `keys` are those of
/// the terminal, if they are ours.
pub fn spinner(now: &Now, started: Instant, keys: Option<&Keys>, paint: Paint) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::term_like(Box::new(Frame::default())));
    let name = paint.paint(Look::Bold, "{prefix}");
    let time = paint.paint(Look::Dim, "{time}");
    let (at, keys) = (now.clone(), keys.cloned());
    let below = paint.paint(Look::Dim, "{below}");
    let style = ProgressStyle::with_template(&format!("  {{spinner}} {name} {time}  {{wide_msg}}\n{below}"))
        .expect("the template is well formed")
        .with_key("below", move |_: &ProgressState, line: &mut dyn Write| {
            let room = usize::from(Frame::default().width()).saturating_sub(1);
            let text = at.line(milliseconds(started.elapsed()), keys.as_ref(), room);
            let _drawn = line.write_str(&text).is_ok();
        })
        .with_key("time", |state: &ProgressState, line: &mut dyn Write| {
            // A line that cannot be drawn is drawn again soon.
            let _drawn = line.write_str(&clock_span(milliseconds(state.elapsed()))).is_ok();
        });
    let bar = bar.with_style(style).with_finish(ProgressFinish::AndClear);
    let bar = bar.with_prefix(now.name().to_owned()).with_message(now.doing().to_owned());
    bar.enable_steady_tick(TURN);
    bar
}
