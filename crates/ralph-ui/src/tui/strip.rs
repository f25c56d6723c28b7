//! A session as a time line: at least a column for each attempt, low where a failure was solved later.

use ralph_core::record::{Outcome, Timestamp};

use crate::local_time::clock;

use super::model::Night;
use super::row::{Look, Row};

/// A shorter pause has no column, and others have one.
const MIN_PAUSE_MS: u64 = 15 * 60_000;

/// What a column shows; of several attempts in one, what is worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Pause,
    CutShort,
    Done,
    Solved,
    Asks,
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
            Self::Asks => (Look::Warn, "?"),
            Self::Failed => (Look::Bad, "▙"),
            Self::Runs => (Look::Accent, "▌"),
        }
    }
}

/// Returns the line, with the columns of `chosen` marked, and the hours below it. `now` is the end of what runs.
pub fn rows(night: &Night, width: usize, now: Option<Timestamp>, chosen: Option<u32>) -> [Row; 2] {
    let mut pieces: Vec<(Cell, Timestamp, u64, Option<u32>)> = Vec::new();
    let mut at = night.view.started_at();
    for one in night.attempts.iter().filter(|one| one.has_run()) {
        if at.ms_until(one.started_at) > MIN_PAUSE_MS {
            pieces.push((Cell::Pause, at, 0, None));
        }
        let cell = match one.outcome {
            Outcome::Success => Cell::Done,
            Outcome::Failure if one.is_solved => Cell::Solved,
            Outcome::Failure if one.is_question() => Cell::Asks,
            Outcome::Failure => Cell::Failed,
            Outcome::Interrupted
            | Outcome::Skipped
            | Outcome::Checked
            | Outcome::Reopened
            | Outcome::Later(_) => Cell::CutShort,
        };
        pieces.push((cell, one.started_at, one.started_at.ms_until(one.ended_at), Some(one.number)));
        at = one.ended_at;
    }
    pieces.extend(now.map(|now| (Cell::Runs, at, at.ms_until(now), None)));
    let chunks: Vec<_> = pieces.chunks(pieces.len().div_ceil(width.max(1)).max(1)).collect();
    let spare = width.saturating_sub(chunks.len()) as u64;
    let total = pieces.iter().map(|(_, _, ms, _)| ms).sum::<u64>().max(1);
    let (mut line, mut clocks, mut before) = (Row::new(), Vec::new(), 0_u64);
    for chunk in chunks {
        let ms: u64 = chunk.iter().map(|(_, _, ms, _)| ms).sum();
        let [start, end] = [before, before + ms].map(|ms| ms.saturating_mul(spare) / total);
        let columns = end - start + 1;
        before += ms;
        let worst = chunk.iter().map(|(cell, ..)| *cell).max().unwrap_or(Cell::Pause);
        let is_chosen = chosen.is_some() && chunk.iter().any(|(.., number)| *number == chosen);
        let (look, sign) = if is_chosen { (Look::Bold, "▒") } else { worst.sign() };
        for column in 0..columns {
            line = line.and(look, sign);
            let into = i64::try_from(ms.saturating_mul(column) / columns).unwrap_or(0);
            clocks.push(clock(Timestamp::from_ms(chunk[0].1.ms() + into)));
        }
    }
    [line, hours(&clocks)]
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
