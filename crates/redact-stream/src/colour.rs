//! Colours of a terminal. They stand between the letters of a name or a key, and between it and its value: a text is
//! searched without them, and they are put back where they were.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::LazyLock;

use memchr::memchr2;
use regex::bytes::Regex;

use super::expression::expression;
use super::secret::MARKER;

/// An escape, also as its first byte is spelled in JSON, C, a shell's `$'...'` and `echo -e`: each JSON within JSON doubles the
/// backslashes. `tput sgr0` chooses the character set too.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    expression(r"(?:\x1b|\\{1,8}(?i:u001b|x1b|033|e))\[[0-9;:?]{0,32}[A-Za-z]|\x1b\([0-9A-Za-z]")
});

/// The longest escape.
const MAX_ESCAPE: usize = 48;

/// How many bytes of escapes at one place are taken out. What is more is text, so that memory stays bounded.
const MAX_RUN: usize = 64;

/// Returns true if an escape may be in `bytes`.
pub(super) fn may_hold_escape(bytes: &[u8]) -> bool {
    memchr2(0x1b, b'\\', bytes).is_some()
}

/// Whether bytes are the last of their stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    MoreToCome,
    Final,
}

/// The escapes that were taken out of a text and are still to be put back.
#[derive(Debug, Default)]
pub(super) struct Colours {
    /// Escapes that follow each other, with the byte of the text without escapes before which they stand.
    runs: VecDeque<(usize, Vec<u8>)>,
}

impl Colours {
    /// Returns the whole text `bytes` without its escapes.
    pub(super) fn without<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        // Most texts have none, and need no expression.
        if !may_hold_escape(bytes) || !ESCAPE.is_match(bytes) {
            return Cow::Borrowed(bytes);
        }
        let mut plain = bytes.to_vec();
        self.take_out(&mut plain, 0, End::Final);
        Cow::Owned(plain)
    }

    /// Takes the escapes out of `bytes[from..]`. Returns the bytes at the end that may begin one, if more are to come:
    /// they are taken away too, and belong before what is read next.
    pub(super) fn take_out(&mut self, bytes: &mut Vec<u8>, from: usize, end: End) -> Vec<u8> {
        if !may_hold_escape(&bytes[from..]) {
            return Vec::new();
        }
        let is_final = end == End::Final;
        let edge = if is_final { bytes.len() } else { bytes.len().saturating_sub(MAX_ESCAPE).max(from) };
        let mut plain = Vec::new();
        // What was read from `kept` on is to follow it.
        let (mut kept, mut last) = (from, from);
        for found in ESCAPE.find_iter(&bytes[from..]) {
            let (start, end) = (from + found.start(), from + found.end());
            if start >= edge {
                break;
            }
            last = end;
            // Behind a bare escape, a replacement begins like one that ends with `r`.
            if bytes[end - 2..].starts_with(MARKER.as_bytes()) {
                continue;
            }
            if self.add(from + plain.len() + start - kept, found.as_bytes()) {
                plain.extend_from_slice(&bytes[kept..start]);
                kept = end;
            }
        }
        let unsure = edge.max(last);
        let cut = memchr2(0x1b, b'\\', &bytes[unsure..]).map_or(bytes.len(), |at| unsure + at);
        let rest = bytes.split_off(cut);
        if kept > from {
            plain.extend_from_slice(&bytes[kept..]);
            bytes.truncate(from);
            bytes.append(&mut plain);
        }
        rest
    }

    /// Keeps an escape. Returns false if there are too many here.
    fn add(&mut self, at: usize, escape: &[u8]) -> bool {
        match self.runs.back_mut().filter(|(place, _)| *place == at) {
            Some((_, run)) if run.len() + escape.len() > MAX_RUN => return false,
            Some((_, run)) => run.extend_from_slice(escape),
            None => self.runs.push_back((at, escape.to_vec())),
        }
        true
    }

    /// Returns true if an escape stands before the byte `at`.
    pub(super) fn is_at(&self, at: usize) -> bool {
        !self.runs.is_empty() && self.runs.binary_search_by_key(&at, |(place, _)| *place).is_ok()
    }

    /// Returns the first place from `at` on where an escape stands.
    pub(super) fn next_place(&self, at: usize) -> Option<usize> {
        let next = self.runs.partition_point(|(place, _)| *place < at);
        self.runs.get(next).map(|(place, _)| *place)
    }

    /// Removes the first run, if it stands at `until` or before.
    pub(super) fn pop(&mut self, until: usize) -> Option<(usize, Vec<u8>)> {
        let is_due = self.runs.front().is_some_and(|(place, _)| *place <= until);
        if is_due { self.runs.pop_front() } else { None }
    }

    /// Removes what stands within a secret that ends at `end`. The last run stays: what follows has its colour.
    pub(super) fn skip(&mut self, end: usize) {
        while self.runs.get(1).is_some_and(|(next, _)| *next <= end) {
            self.runs.pop_front();
        }
    }

    /// The first `length` bytes of the text are forgotten.
    pub(super) fn forget(&mut self, length: usize) {
        for (place, _) in &mut self.runs {
            *place = place.saturating_sub(length);
        }
    }
}
