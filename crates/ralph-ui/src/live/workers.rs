//! Several loops at once: a line that moves for each, and below them what they come to.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crossterm::terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle, TermLike};

use ralph_core::record::{Cost, TaskCounts};

use super::frame::Frame;
use super::keys::Keys;
use super::now::{Now, NowSent};
use super::spinner::TURN;
use crate::style::{Look, Paint, clock_span, columns, cut, milliseconds};

/// Rows of a terminal that does not say how many it has.
const ROWS: usize = 24;

/// What each loop is at. All clones share it.
#[derive(Debug, Clone)]
struct Shared {
    state: Arc<Mutex<State>>,
    keys: Option<Keys>,
    started: Instant,
    paint: Paint,
}

/// By the number of a lane.
#[derive(Debug)]
struct State {
    rows: BTreeMap<u32, (NowSent, Instant)>,
    costs: BTreeMap<u32, Cost>,
    totals: Now,
}

/// The lines that move of several loops, on stderr where it is a terminal.
#[derive(Debug)]
pub struct Workers {
    shared: Shared,
    bar: Option<ProgressBar>,
}

impl Workers {
    /// All of them together stop at `max_cost` dollars. Where nothing is `moving`, nothing is drawn.
    pub fn new(is_moving: bool, keys: Option<Keys>, max_cost: Option<f64>, paint: Paint) -> Self {
        let totals = Now::new(max_cost, String::new());
        let state = Arc::new(Mutex::new(State { rows: BTreeMap::new(), costs: BTreeMap::new(), totals }));
        let shared = Shared { state, keys, started: Instant::now(), paint };
        let bar = is_moving.then(|| shared.bar());
        Self { shared, bar }
    }

    /// A loop begins in this lane. So many tasks are done and open then.
    pub fn begin(&self, lane: u32, tasks: &TaskCounts) {
        let mut state = self.shared.state();
        state.rows.insert(lane, (NowSent::default(), Instant::now()));
        state.totals.begin_counting(tasks);
        drop(state);
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.enable_steady_tick(TURN);
        }
    }

    pub fn take(&self, lane: u32, now: NowSent) {
        let mut state = self.shared.state();
        let State { rows, costs, totals } = &mut *state;
        let Some((row, since)) = rows.get_mut(&lane) else { return };
        if now.has_begun {
            *since = Instant::now();
        }
        costs.insert(lane, now.cost);
        let cost = costs.values().fold(Cost::default(), |sum, cost| sum.plus(*cost));
        totals.count(now.tasks, cost, milliseconds(self.shared.started.elapsed()));
        *row = now;
    }

    /// The loop in this lane is over. What it cost counts.
    pub fn end(&self, lane: u32) {
        let mut state = self.shared.state();
        state.rows.remove(&lane);
        let is_empty = state.rows.is_empty();
        drop(state);
        if let Some(bar) = self.bar.as_ref().filter(|_| is_empty) {
            bar.disable_steady_tick();
            bar.finish_and_clear();
        }
    }

    /// Has lines that stay written above those that move.
    pub fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) if !self.shared.state().rows.is_empty() => bar.suspend(write),
            _ => write(),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bar(&self) -> ProgressBar {
        let target = ProgressDrawTarget::term_like(Box::new(Frame::default()));
        let (workers, below) = (self.clone(), self.clone());
        let room = || usize::from(Frame::default().width()).saturating_sub(1);
        let dim = self.paint.paint(Look::Dim, "{below}");
        let style = ProgressStyle::with_template(&format!("{{workers}}  {{spinner}}{dim}"))
            .expect("the template is well formed")
            .with_key("workers", move |_: &ProgressState, out: &mut dyn Write| {
                let rows = terminal::size().map_or(ROWS, |(_, rows)| usize::from(rows)).saturating_sub(2);
                for line in workers.state().lines(rows, room(), workers.paint, Instant::now()) {
                    // A line that cannot be drawn is drawn again soon.
                    let _drawn = writeln!(out, "{line}").is_ok();
                }
            })
            .with_key("below", move |_: &ProgressState, out: &mut dyn Write| {
                let elapsed = milliseconds(below.started.elapsed());
                let text = below.state().totals.line(elapsed, below.keys.as_ref(), room().saturating_sub(3));
                let _drawn = out.write_str(&text).is_ok();
            });
        ProgressBar::with_draw_target(None, target).with_style(style).with_finish(ProgressFinish::AndClear)
    }
}

impl State {
    /// `  [2] T012 2  1 min 4 s  Edit src/lib.rs`: at most `rows` lines of `room` columns.
    fn lines(&self, rows: usize, room: usize, paint: Paint, now: Instant) -> Vec<String> {
        let cells = self.rows.iter().map(|(lane, (at, since))| {
            let time = clock_span(milliseconds(now.saturating_duration_since(*since)));
            let time = if at.name.is_empty() { String::new() } else { time };
            [format!("[{lane}]"), at.name.clone(), time]
        });
        let cells: Vec<[String; 3]> = cells.collect();
        let widths =
            [0, 1, 2].map(|cell| cells.iter().map(|of| columns(&of[cell])).max().unwrap_or_default());
        let beside: usize = widths.iter().map(|width| width + 2).sum::<usize>() + 1;
        let mut lines = Vec::new();
        for (of, (at, _)) in cells.iter().zip(self.rows.values()) {
            let blanks = [0, 1, 2].map(|cell| " ".repeat(widths[cell] - columns(&of[cell])));
            let doing = if at.name.is_empty() { "waits for the others" } else { &at.doing };
            let [mark, name, time] = of;
            let name = paint.paint(Look::Bold, name);
            let [after_mark, after_name, after_time] = blanks;
            let doing = cut(doing, room.saturating_sub(beside));
            lines.push(format!("  {mark}{after_mark} {name}{after_name}  {time}{after_time}  {doing}"));
        }
        if lines.len() > rows {
            lines.truncate(rows.saturating_sub(1));
            lines.push(format!("  and {} more", self.rows.len() - lines.len()));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loop_has_a_line_that_fits_and_the_last_says_how_many_do_not() {
        let workers = Workers::new(false, None, None, Paint::Plain);
        let counts = TaskCounts { done: 1, open: 5 };
        for lane in [1, 2, 10] {
            workers.begin(lane, &counts);
        }
        let at = |name: &str, doing: &str, tasks, usd: f64| NowSent {
            name: name.to_owned(),
            doing: doing.to_owned(),
            has_begun: true,
            tasks,
            cost: Cost::of(usd),
            is_last: false,
        };
        workers.take(1, at("T001", "Edit src/a-long-name-of-a-file.rs", None, 1.0));
        workers.take(2, at("T002 2", "validation: cargo test", Some((3, 6)), 2.0));
        let lines = |rows, room| {
            let state = workers.shared.state();
            let since = state.rows[&10].1;
            state.lines(rows, room, Paint::Plain, since)
        };
        assert_eq!(
            lines(3, 40),
            [
                "  [1]  T001    0 s  Edit src/a-long-nam…",
                "  [2]  T002 2  0 s  validation: cargo t…",
                "  [10]              waits for the others",
            ]
        );
        assert_eq!(lines(2, 80)[1], "  and 2 more");
        let totals = |workers: &Workers| workers.shared.state().totals.line(60_000, None, 80);
        assert_eq!(totals(&workers), "   3/6 ━━━━╌╌╌╌╌   $3.00   1 min 0 s");
        // What is over costs what it cost, and who counted before counts no more.
        workers.end(2);
        workers.take(1, at("T001", "Edit", None, 1.5));
        assert_eq!((lines(9, 80).len(), totals(&workers).contains("3/6")), (2, true));
        assert!(totals(&workers).contains("$3.50"), "{}", totals(&workers));
        workers.take(2, at("T002", "too late", None, 9.0));
        assert_eq!(lines(9, 80).len(), 2);
    }
}
