//! What a rule sees: the bytes around a place, and how far it has looked.

use std::cell::Cell;

use super::class::{Class, is_word};
use super::colour::Colours;

/// How far a rule looks at the least.
const MIN_REACH: usize = 4;

/// The bytes around a keyword. No rule sees more, so that parts and whole texts come out the same.
///
/// It remembers how far ahead was looked. A finding counts only if no replacement is there: so what an
/// earlier pass over the same text let through, a later pass lets through too.
#[derive(Debug)]
pub(super) struct View<'a> {
    bytes: &'a [u8],
    /// Where the keyword begins.
    pub(super) anchor: usize,
    /// The colours of the text, and where in it the bytes begin.
    colours: Option<(&'a Colours, usize)>,
    reach: Cell<usize>,
}

impl<'a> View<'a> {
    pub(super) fn new(bytes: &'a [u8], anchor: usize) -> Self {
        Self { bytes, anchor, colours: None, reach: Cell::new(anchor + MIN_REACH) }
    }

    /// The bytes are those from `from` on of a text with these colours.
    pub(super) fn with_colours(self, colours: &'a Colours, from: usize) -> Self {
        Self { colours: Some((colours, from)), ..self }
    }

    /// Returns the end of what was looked at.
    pub(super) fn reach(&self) -> usize {
        self.reach.get()
    }

    fn look(&self, end: usize) {
        self.reach.set(self.reach.get().max(end));
    }

    /// Returns the bytes before `at`.
    pub(super) fn before(&self, at: usize) -> &'a [u8] {
        &self.bytes[..at]
    }

    /// Returns the bytes from `at` on, of which nothing counts as seen.
    pub(super) fn rest(&self, at: usize) -> &'a [u8] {
        self.bytes.get(at..).unwrap_or_default()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.look(at + 1);
        self.bytes.get(at).copied()
    }

    pub(super) fn text(&self, start: usize, end: usize) -> &'a [u8] {
        self.look(end);
        &self.bytes[start..end]
    }

    pub(super) fn has(&self, at: usize, text: &[u8]) -> bool {
        let rest = self.rest(at);
        let same = rest.iter().zip(text).take_while(|(byte, wanted)| byte == wanted).count();
        self.look(at + text.len().min(same + 1));
        same == text.len()
    }

    /// As [`View::has`], with letters in either case.
    pub(super) fn has_folded(&self, at: usize, text: &[u8]) -> bool {
        let rest = self.rest(at);
        let same =
            rest.iter().zip(text).take_while(|(byte, wanted)| byte.eq_ignore_ascii_case(wanted)).count();
        self.look(at + text.len().min(same + 1));
        same == text.len()
    }

    /// Returns the end of what is of `class` from `at` on.
    pub(super) fn run(&self, at: usize, class: Class) -> usize {
        self.run_most(at, usize::MAX, class)
    }

    /// Returns the end of the run of `class` that starts at `at`, at most `most` bytes later.
    pub(super) fn run_most(&self, at: usize, most: usize, class: impl Fn(u8) -> bool) -> usize {
        let rest = self.rest(at);
        let rest = &rest[..rest.len().min(most)];
        let end = at + rest.iter().position(|&byte| !class(byte)).unwrap_or(rest.len());
        self.look(end + 1);
        end
    }

    /// Returns where `text` begins, at or after `at`. The end if it is nowhere.
    pub(super) fn find(&self, at: usize, text: &[u8]) -> usize {
        let rest = self.rest(at);
        let found = rest.windows(text.len()).position(|window| window == text);
        let found = found.map_or(self.bytes.len(), |found| at + found);
        self.look(found + text.len());
        found
    }

    pub(super) fn is_end(&self, at: usize) -> bool {
        self.byte(at).is_none()
    }

    /// Returns true if no word goes on across `at`. Escapes as in JSON and URLs are no part of a word, and a colour
    /// ends one.
    pub(super) fn is_word_start(&self, at: usize) -> bool {
        let is_coloured = self.colours.is_some_and(|(colours, from)| colours.is_at(from + at));
        match self.before(at) {
            _ if is_coloured => true,
            [] | [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
            [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => {
                true
            }
            [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => true,
            [.., last] => !is_word(*last),
        }
    }
}
