//! The last few of what comes one after the other.

use std::collections::VecDeque;

/// The newest items up to a limit, oldest first; none if the limit is 0.
#[derive(Debug, Clone)]
pub(super) struct Newest<T> {
    entries: VecDeque<T>,
    most: usize,
}

impl<T> Newest<T> {
    pub(super) fn new(most: usize) -> Self {
        Self { entries: VecDeque::new(), most }
    }

    pub(super) fn push(&mut self, entry: T) {
        self.entries.push_back(entry);
        while self.entries.len() > self.most {
            self.entries.pop_front();
        }
    }

    pub(super) fn all(&self) -> &VecDeque<T> {
        &self.entries
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}
