//! A window on a file of any size: the part of it around the current position, read bit by bit.

use std::collections::VecDeque;
use std::ops::Range;

use ralph_store::Ask;

use super::model::File;
use super::row::Row;

/// Bytes of a part.
pub const PART: u64 = 256 * 1024;

/// Maximum bytes of a file that a window keeps.
const MAX_BYTES: u64 = 8 * PART;

/// Rows before the end of what is there at which more is asked for.
const AHEAD: usize = 300;

/// Which part of a file the rows of a section are.
#[derive(Debug, Clone)]
pub struct Window {
    pub file: File,
    pub start: u64,
    pub end: u64,
    /// None until something was read.
    pub total: Option<u64>,
    /// Bytes and rows of each part that was read.
    parts: VecDeque<(u64, usize)>,
    /// A requested position that is not loaded.
    pub jump: Option<Ask>,
}

impl Window {
    pub fn new(file: File, ask: Ask) -> Self {
        Self { file, start: 0, end: 0, total: None, parts: VecDeque::new(), jump: Some(ask) }
    }

    pub fn is_at_end(&self) -> bool {
        self.total.is_some_and(|total| self.end >= total)
    }

    /// Returns true if there is more of the file than it has.
    pub fn is_part(&self) -> bool {
        !self.is_at_end() || self.start > 0
    }

    /// Takes in what was asked for. Returns by how many rows those that stay have moved down.
    pub fn take(
        &mut self,
        all: &mut VecDeque<Row>,
        ask: Ask,
        Range { start, end }: Range<u64>,
        total: u64,
        rows: Vec<Row>,
    ) -> isize {
        if total < self.end {
            // It has just become a record: what was read of it stays until that is shown.
            self.jump = None;
            return 0;
        }
        self.total = Some(total);
        if self.jump == Some(ask) {
            (self.jump, self.start, self.end) = (None, start, start);
            self.parts.clear();
            all.clear();
        }
        let part = (end - start, rows.len());
        let mut moved = 0;
        if start == self.end {
            all.extend(rows);
            self.parts.push_back(part);
            self.end = end;
            while self.end - self.start > MAX_BYTES {
                let (bytes, count) = self.parts.pop_front().unwrap_or_default();
                all.drain(..count);
                self.start += bytes;
                moved -= signed(count);
            }
        } else if end == self.start {
            for row in rows.into_iter().rev() {
                all.push_front(row);
            }
            self.parts.push_front(part);
            self.start = start;
            moved = signed(part.1);
            while self.end - self.start > MAX_BYTES {
                let (bytes, count) = self.parts.pop_back().unwrap_or_default();
                all.truncate(all.len() - count);
                self.end -= bytes;
            }
        }
        moved
    }

    /// What it needs where those from `first` to `last` of its rows are on the screen.
    pub fn request(&self, first: usize, last: usize, rows: usize) -> Option<Ask> {
        if !self.is_at_end() && last + AHEAD >= rows {
            return Some(Ask::From(self.end));
        }
        (self.start > 0 && first < AHEAD).then_some(Ask::Before(self.start))
    }
}

pub fn signed(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}
