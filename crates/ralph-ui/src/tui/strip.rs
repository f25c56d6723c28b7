//! A session as a time line: a column for each part of its time, low where a failure was solved later.

use ralph_core::record::{Outcome, Timestamp};

use crate::local_time::clock;

use super::model::Night;
use super::row::{Look, Row};

/// A pause takes at most so large a part of the line, and one below the other part none.
const MAX_PAUSE_PART: u64 = 16;
const MIN_PAUSE_PART: u64 = 60;

/// What a column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Pause,
    Solved,
    Done,
    CutShort,
    Failed,
    Runs,
}

impl Cell {
    /// Every colour has a shape of its own.
    fn sign(self) -> (Look, &'static str) {
        match self {
            Self::Pause => (Look::Dim, "┄"),
            Self::Solved => (Look::Dim, "▂"),
            Self::Done => (Look::Good, "█"),
            Self::CutShort => (Look::Warn, "┄"),
            Self::Failed => (Look::Bad, "▙"),
            Self::Runs => (Look::Accent, "▌"),
        }
    }
}

/// Returns the line, with the column of `chosen` marked, and the hours below it. `now` is the end of what runs.
pub fn rows(night: &Night, width: usize, now: Option<Timestamp>, chosen: Option<u32>) -> [Row; 2] {
    let runs: Vec<_> = night.attempts.iter().filter(|one| one.outcome != Outcome::Skipped).collect();
    let last = runs.last().map_or(night.started_at, |one| one.ended_at);
    let mut pieces: Vec<(Timestamp, Timestamp, Cell, u32)> = Vec::new();
    let mut at = runs.first().map_or(night.started_at, |one| one.started_at);
    for one in &runs {
        let (from, to) = (one.started_at, one.ended_at);
        if at.ms_until(from) > 0 {
            pieces.push((at, from, Cell::Pause, 0));
        }
        let cell = match one.outcome {
            Outcome::Success => Cell::Done,
            Outcome::Failure if one.is_solved => Cell::Solved,
            Outcome::Failure => Cell::Failed,
            Outcome::Interrupted | Outcome::Skipped | Outcome::Later(_) => Cell::CutShort,
        };
        pieces.push((from, to, cell, one.number));
        at = to;
    }
    if let Some(now) = now {
        pieces.push((last, now, Cell::Runs, 0));
    }
    let worked: u64 = pieces
        .iter()
        .filter(|(_, _, cell, _)| *cell != Cell::Pause)
        .map(|(from, to, ..)| from.ms_until(*to))
        .sum();
    let longest = (worked / MAX_PAUSE_PART).max(1);
    // Every attempt takes some time, so that none is without a column where there is room.
    let least = (worked / (width.max(1) as u64 * 2)).max(1);
    let weights = pieces.iter().map(|(from, to, cell, _)| match (cell, from.ms_until(*to)) {
        (Cell::Pause, ms) if ms < worked / MIN_PAUSE_PART => 0,
        (Cell::Pause, ms) => ms.min(longest),
        (_, ms) => ms.max(least),
    });
    let weights: Vec<u64> = weights.collect();
    let total = weights.iter().sum::<u64>().max(1);
    // Of each column the piece that takes most of it, and when it begins.
    let mut columns: Vec<(u64, Cell, Timestamp, bool)> =
        vec![(0, Cell::Pause, night.started_at, false); width];
    let mut start = 0;
    for ((from, to, cell, number), weight) in pieces.iter().zip(weights) {
        if weight == 0 {
            continue;
        }
        let end = start + weight;
        let [first, last] = [start, end - 1]
            .map(|at| usize::try_from(at.saturating_mul(width as u64) / total).unwrap_or(width));
        for (place, shown) in columns.iter_mut().enumerate().take(last + 1).skip(first) {
            let [left, right] = [place, place + 1].map(|edge| edge as u64 * total / width as u64);
            let share = right.min(end).saturating_sub(left.max(start));
            // What still fails is not covered by what lasted longer.
            let share = if *cell == Cell::Failed { share * 3 } else { share };
            if share >= shown.0 {
                let into = left.max(start) - start;
                let ms = from.ms_until(*to).saturating_mul(into) / weight;
                let when = Timestamp::from_ms(from.ms() + i64::try_from(ms).unwrap_or(0));
                *shown = (share, *cell, when, chosen.is_some() && chosen == Some(*number));
            }
        }
        start = end;
    }
    let line = columns.iter().fold(Row::new(), |row, (_, cell, _, is_chosen)| {
        let (look, sign) = cell.sign();
        if *is_chosen { row.and(Look::Bold, "▒") } else { row.and(look, sign) }
    });
    [line, hours(&columns.iter().map(|(_, _, when, _)| clock(*when)).collect::<Vec<_>>())]
}

/// Returns the time at the start, and each hour where it begins.
fn hours(clocks: &[String]) -> Row {
    let mut words = clocks.first().cloned().unwrap_or_default();
    for pair in 1..clocks.len() {
        let [before, here] = [pair - 1, pair].map(|place| &clocks[place][..2]);
        if before != here && pair > words.len() && pair + 2 <= clocks.len() {
            words.push_str(&" ".repeat(pair - words.len()));
            words.push_str(here);
        }
    }
    Row::of(Look::Dim, words)
}
