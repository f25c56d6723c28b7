//! A window on a file of any size: the rows around the current position, read part by part.

use std::collections::VecDeque;
use std::ops::Range;

use ralph_store::Ask;

use super::model::File;
use super::row::Row;

/// Maximum number of parts of a file that a window keeps.
const MAX_PARTS: usize = 8;

/// Bytes of a part.
pub const PART: u64 = 256 * 1024;

/// Rows before the end of what is there at which more is asked for.
const AHEAD: usize = 300;

/// Rows of a file around the current position.
#[derive(Debug, Clone)]
pub struct Window {
    pub file: File,
    pub start: u64,
    pub end: u64,
    /// None until something was read.
    pub total: Option<u64>,
    pub rows: VecDeque<Row>,
    /// Bytes and rows of each part.
    parts: VecDeque<(u64, usize)>,
    /// A requested position that is not loaded.
    pub jump: Option<Ask>,
}

impl Window {
    pub fn new(file: File, ask: Ask) -> Self {
        Self {
            file,
            start: 0,
            end: 0,
            total: None,
            rows: VecDeque::new(),
            parts: VecDeque::new(),
            jump: Some(ask),
        }
    }

    pub fn is_at_end(&self) -> bool {
        self.total.is_some_and(|total| self.end >= total)
    }

    /// Returns true if there is more of the file than it has.
    pub fn is_part(&self) -> bool {
        !self.is_at_end() || self.start > 0
    }

    /// Takes in what was asked for. Gives by how many rows those that stay have moved down.
    pub fn take(&mut self, ask: Ask, range: Range<u64>, total: u64, rows: Vec<Row>) -> isize {
        let Range { start, end } = range;
        if total < self.end {
            // It has just become a record: what was read of it stays until that is shown.
            self.jump = None;
            return 0;
        }
        self.total = Some(total);
        let count = rows.len();
        if self.jump == Some(ask) {
            self.jump = None;
            (self.start, self.end) = (start, end);
            self.parts = VecDeque::from([(end - start, count)]);
            self.rows = rows.into();
            return 0;
        }
        let mut moved = 0;
        if ask == Ask::From(self.end) {
            self.rows.extend(rows);
            match self.parts.back_mut() {
                // What grows comes in crumbs.
                Some((bytes, rows)) if *bytes + (end - start) <= PART => {
                    *bytes += end - start;
                    *rows += count;
                }
                _ => self.parts.push_back((end - start, count)),
            }
            self.end = end;
            while self.parts.len() > MAX_PARTS {
                let (bytes, count) = self.parts.pop_front().unwrap_or_default();
                self.rows.drain(..count);
                self.start += bytes;
                moved -= signed(count);
            }
        } else if ask == Ask::Before(self.start) && end == self.start {
            for row in rows.into_iter().rev() {
                self.rows.push_front(row);
            }
            self.parts.push_front((end - start, count));
            self.start = start;
            moved += signed(count);
            while self.parts.len() > MAX_PARTS {
                let (bytes, count) = self.parts.pop_back().unwrap_or_default();
                self.rows.truncate(self.rows.len() - count);
                self.end -= bytes;
            }
        }
        moved
    }

    /// What it needs where the rows from `first` to `last` are on the screen.
    pub fn request(&self, first: usize, last: usize) -> Option<Ask> {
        if !self.is_at_end() && last + AHEAD >= self.rows.len() {
            return Some(Ask::From(self.end));
        }
        (self.start > 0 && first < AHEAD).then_some(Ask::Before(self.start))
    }
}

pub fn signed(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}
