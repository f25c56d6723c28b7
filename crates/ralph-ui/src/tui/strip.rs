//! A session as a time line: at least a column for each attempt, low where a failure was solved later.

use ralph_core::record::{AttemptId, Timestamp};

use crate::local_time::clock;
use crate::time_line::{Fate, cells, is_gap};

use super::contents::Scene;
use super::row::{Look, Row};

/// What a column shows; of several attempts in one, what is worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Pause,
    Attempt(Fate),
    Runs,
}

impl Cell {
    /// Every colour has a shape of its own.
    fn sign(self) -> (Look, &'static str) {
        match self {
            Self::Pause => (Look::Dim, "┄"),
            Self::Attempt(Fate::Solved) => (Look::Dim, "▂"),
            Self::Attempt(Fate::Done) => (Look::Good, "█"),
            Self::Attempt(Fate::CutShort) => (Look::Warn, "┄"),
            Self::Attempt(Fate::Asks) => (Look::Warn, "?"),
            Self::Attempt(Fate::Fails) => (Look::Bad, "▙"),
            Self::Runs => (Look::Accent, "▌"),
        }
    }
}

/// Returns the line, with the columns of `chosen` marked, and the hours below it. `now` is the end of what runs.
pub fn rows(scene: &Scene<'_>, width: usize, now: Option<Timestamp>, chosen: Option<&AttemptId>) -> [Row; 2] {
    let mut pieces: Vec<(Cell, Timestamp, u64, Option<AttemptId>)> = Vec::new();
    let (mut at, mut before) = (scene.session.started_at(), None);
    for one in scene.session.iterations().filter(|one| one.is_attempt_or_cut_short()) {
        if is_gap(before, at.ms_until(one.started_at())) {
            pieces.push((Cell::Pause, at, 0, None));
        }
        let fate = Fate::of(one.outcome(), one.failure_class(), scene.feature.is_solved(one));
        let cell = Cell::Attempt(fate.unwrap_or(Fate::CutShort));
        // What ran beside others has the time since the last of them ended.
        let start = one.started_at().max(at);
        pieces.push((cell, start, start.ms_until(one.ended_at()), Some(one.id())));
        (at, before) = (one.ended_at(), one.outcome());
    }
    pieces.extend(now.map(|now| (Cell::Runs, at, at.ms_until(now), None)));
    let chunks: Vec<_> = cells(&pieces, width).collect();
    let spare = width.saturating_sub(chunks.len()) as u64;
    let total = pieces.iter().map(|(_, _, ms, _)| ms).sum::<u64>().max(1);
    let (mut line, mut clocks, mut before) = (Row::new(), Vec::new(), 0_u64);
    for chunk in chunks {
        let ms: u64 = chunk.iter().map(|(_, _, ms, _)| ms).sum();
        let [start, end] = [before, before + ms].map(|ms| ms.saturating_mul(spare) / total);
        let columns = end - start + 1;
        before += ms;
        let worst = chunk.iter().map(|(cell, ..)| *cell).max().unwrap_or(Cell::Pause);
        let is_chosen = chosen.is_some() && chunk.iter().any(|(.., id)| id.as_ref() == chosen);
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
