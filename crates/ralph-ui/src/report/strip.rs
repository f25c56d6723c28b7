//! The iterations of a session side by side, each as wide as the time that it took.

use serde::Serialize;

use crate::ending::attempts;
use crate::style::duration;
use ralph_core::record::{FailureClass, Outcome, Timestamp};

use super::headline::time;
use super::{Report, ReportIteration};

/// With more iterations, a cell stands for several.
const MAX_CELLS: usize = 200;
/// The narrowest cell, as a part of the whole.
const MIN_SHARE: f64 = 0.004;
/// Shorter pauses stay blank, in milliseconds, and so do those that are less than so small a part of the session.
const MIN_PAUSE_MS: u64 = 60_000;
const MIN_PAUSE_PART: u64 = 100;
/// The class of a pause in the style.
const PAUSE: &str = "pause";

#[derive(Serialize)]
pub(super) struct Strip {
    /// All of it in words.
    label: String,
    /// How many of the cells count as iterations, if not all.
    note: Option<String>,
    /// True if any cell is a pause.
    has_pauses: bool,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    /// The iteration that it leads to; none for a pause.
    iteration: Option<u32>,
    class: String,
    /// In percent.
    x: String,
    width: String,
    label: String,
}

/// A piece of time.
struct Piece {
    iteration: Option<u32>,
    class: String,
    label: String,
    ms: u64,
}

pub(super) fn strip(report: &Report) -> Option<Strip> {
    let step = report.iterations.len().div_ceil(MAX_CELLS).max(1);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut last: Option<&ReportIteration> = None;
    for iterations in report.iterations.chunks(step) {
        pieces.extend(
            last.and_then(|last| pause(last, iterations[0].record.started_at, report.headline.span_ms)),
        );
        pieces.push(piece(iterations));
        last = iterations.last();
    }
    let total: u64 = pieces.iter().map(|piece| piece.ms).sum::<u64>().max(1);
    let share = |piece: &Piece| (float(piece.ms) / float(total)).max(MIN_SHARE);
    let all: f64 = pieces.iter().map(share).sum();
    let mut x = 0.0;
    let cells = pieces.iter().map(|piece| {
        let width = share(piece) / all * 100.0;
        x += width;
        Cell {
            iteration: piece.iteration,
            class: piece.class.clone(),
            x: format!("{:.2}", x - width),
            width: format!("{width:.2}"),
            label: piece.label.clone(),
        }
    });
    let cells: Vec<Cell> = cells.collect();
    let note = note(report);
    let label = note.clone().map_or(String::new(), |note| format!("; {note}"));
    let label = format!("{}{label}", report.counts);
    let has_pauses = cells.iter().any(|cell| cell.class == PAUSE);
    (!cells.is_empty()).then_some(Strip { label, note, has_pauses, cells })
}

/// Why the last number is greater than the count; `None` if it is not.
fn note(report: &Report) -> Option<String> {
    let last = report.iterations.last()?.record.iteration;
    let totals = report.session_totals();
    (totals.attempts != last as usize).then(|| format!("{}, numbered up to #{last}", attempts(&totals)))
}

/// The time between two iterations.
fn pause(last: &ReportIteration, next: Timestamp, span_ms: u64) -> Option<Piece> {
    let ms = last.record.ended_at.ms_until(next);
    let is_wait = last.record.failure_class.is_some_and(FailureClass::is_transient);
    let what = if is_wait { "waited" } else { "nothing ran for" };
    let label = format!("{what} {}", duration(ms));
    let is_long = ms >= MIN_PAUSE_MS && ms.saturating_mul(MIN_PAUSE_PART) >= span_ms;
    let class = if is_long { PAUSE } else { "blank" }.to_owned();
    (ms > 1000).then_some(Piece { iteration: None, class, label, ms })
}

/// One iteration, or several in a row.
fn piece(iterations: &[ReportIteration]) -> Piece {
    let count =
        |outcome: Outcome| iterations.iter().filter(|iteration| iteration.record.outcome == outcome).count();
    let outcomes = [Outcome::Failure, Outcome::Success, Outcome::Interrupted, Outcome::Skipped];
    let most = outcomes.into_iter().rev().max_by_key(|outcome| count(*outcome)).unwrap_or(Outcome::Failure);
    let (first, ms) = (&iterations[0], iterations.iter().map(time).sum());
    let (from, to) = (first.record.iteration, iterations[iterations.len() - 1].record.iteration);
    let label = if from == to {
        format!("#{from} {}, {}", first.story, duration(ms))
    } else {
        format!("#{from} to #{to}, {} failed, {}", count(Outcome::Failure), duration(ms))
    };
    Piece { iteration: Some(from), class: most.to_string(), label, ms }
}

#[expect(clippy::cast_precision_loss, reason = "a width in a small picture")]
fn float(ms: u64) -> f64 {
    ms as f64
}

#[cfg(test)]
mod tests {
    use super::super::samples::{iterations, report};
    use super::*;

    /// Class, iteration and width of each cell, and where it begins.
    fn cells(report: &Report) -> Vec<(String, Option<u32>, String, String)> {
        let cells = strip(report).map(|strip| strip.cells).unwrap_or_default();
        cells.into_iter().map(|cell| (cell.class, cell.iteration, cell.x, cell.width)).collect()
    }

    #[test]
    fn cells_are_as_wide_as_their_time_and_pauses_lie_between_them() {
        let mut iterations = iterations("T1- T1+");
        iterations[1].record.started_at =
            Timestamp::from_seconds(iterations[0].record.ended_at.seconds() + 60);
        let mut report = report(iterations, "");
        report.headline.span_ms = 80_000;
        let cells = cells(&report);
        let cell = |class: &str, iteration, x: &str, width: &str| {
            (class.to_owned(), iteration, x.to_owned(), width.to_owned())
        };
        assert_eq!(
            cells,
            [
                cell("failure", Some(1), "0.00", "12.50"),
                cell("pause", None, "12.50", "75.00"),
                cell("success", Some(2), "87.50", "12.50"),
            ]
        );
    }

    #[test]
    fn what_has_a_number_and_is_not_counted_is_named() {
        for (words, expected) in [
            ("T1- T1+", None),
            ("T1- T1!", Some("1 attempt, numbered up to #2")),
            ("T1? T1- T1! T2!", Some("1 attempt (usage limit, went on at 12:00), numbered up to #4")),
        ] {
            assert_eq!(note(&report(iterations(words), "")).as_deref(), expected, "{words}");
        }
    }

    #[test]
    fn what_took_no_time_is_seen_and_of_many_iterations_a_cell_has_several() {
        assert!(strip(&report(Vec::new(), "")).is_none());
        let skipped = cells(&report(iterations("T1- T1!"), ""));
        assert_eq!(skipped[1].0, "skipped");
        assert!(skipped[1].3.parse::<f64>().unwrap() > 0.3, "{skipped:?}");
        let many: Vec<&str> = (0..450).map(|at| if at % 3 == 0 { "T1-" } else { "T1+" }).collect();
        let many = cells(&report(iterations(&many.join(" ")), ""));
        assert_eq!((many.len(), many[1].0.as_str(), many[1].1), (150, "success", Some(4)));
    }
}
