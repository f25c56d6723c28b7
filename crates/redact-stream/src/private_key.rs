//! Private key blocks, on many lines or with their line ends escaped, and with whatever a program puts before each line:
//! the signs of a diff, numbers, names of files, times.

use std::ops::RangeInclusive;

use super::class::{base64, digit};
use super::secret::{AHEAD, Rest, Secret};
use super::view::View;

/// How a block begins, after the dashes.
pub(super) const BEGIN: &str = "-BEGIN ";

/// How the part of a key file of `PuTTY` begins that is secret.
pub(super) const LINES: &str = "Private-Lines: ";

/// Maximum number of bytes of a block that has no end.
pub(super) const MAX_BLOCK_BYTES: usize = 1024 * 1024;

const RULE: &str = "private-key";
const DASHES: &[u8] = b"-----";
pub(super) const BLOCK_BEGIN: &[u8] = b"-----BEGIN";
const BLOCK_END: &[u8] = b"-----END";
const MAX_LABEL_BYTES: usize = 64;

/// What a line of a key has at least, apart from the last.
const LINE: usize = 40;

/// What it has at least where the end of the block is there too.
const ENDED_LINE: usize = 16;

/// Most words that stand before a line of a key: its headers, or the time and the level of a log.
const MAX_OTHER_WORDS: usize = 16;

/// How the text of a block begins in base64.
const IN_BASE64: &[u8] = b"LS0tLS1CRUdJTi";

/// Lengths of the lines of a base64 that was wrapped.
const WRAPPED_LINE: RangeInclusive<usize> = 60..=80;

/// Longest word that is kept until its end was read.
const MAX_CUT_WORD: usize = 4096;

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    if !view.has(view.anchor, BEGIN.as_bytes()) || !view.before(view.anchor).ends_with(b"----") {
        return None;
    }
    let start = view.anchor - 4;
    let label = view.anchor + BEGIN.len();
    let label_end = view.run_most(label, MAX_LABEL_BYTES, is_label);
    let is_private = view.text(label, label_end).windows(11).any(|part| part == b"PRIVATE KEY");
    if !is_private || !view.has(label_end, DASHES) {
        return None;
    }
    let body = label_end + DASHES.len();
    let lines = Lines::read(view, body, None);
    if let Some(end) = lines.block_end.or_else(|| find_end(view, lines.at))
        && has_key(view.text(body, end))
    {
        return Some(Secret { rule: RULE, start, end, belongs: None });
    }
    lines.secret(view, start)
}

pub(super) fn find_lines(view: &View<'_>) -> Option<Secret> {
    let start = view.anchor;
    if !view.has(start, LINES.as_bytes()) {
        return None;
    }
    let number_end = view.run_most(start + LINES.len(), 4, digit);
    Lines::read(view, number_end, None).secret(view, number_end)
}

/// Returns the block in base64 whose first line is between `start` and `end`, if there is one.
pub(super) fn wrapped(view: &View<'_>, start: usize, end: usize) -> Option<Secret> {
    if !WRAPPED_LINE.contains(&(end - start)) || !view.has(start, IN_BASE64) {
        return None;
    }
    Lines::read(view, end, Some(end)).secret(view, start)
}

/// Returns where a block that began before `bytes` ends, or how far it goes for sure if more bytes may follow.
pub(super) fn rest(bytes: &[u8], is_last: bool) -> (usize, bool) {
    let view = View::new(bytes, 0);
    let lines = Lines::read(&view, 0, Some(0));
    let end = lines.block_end.or(lines.end).unwrap_or_default();
    if is_last || !lines.is_at_edge {
        return (end, true);
    }
    // A word of this length is a key on one line.
    let is_long = bytes.len() - lines.last_word > MAX_CUT_WORD;
    (if is_long { bytes.len() } else { end.min(lines.last_word) }, false)
}

/// The lines of a key as far as they go: a text is read word by word.
struct Lines {
    /// Where the last line of the key ends.
    end: Option<usize>,
    /// The end of the block, if one was met.
    block_end: Option<usize>,
    /// How far the text was read.
    at: usize,
    last_word: usize,
    /// True if nothing but the end of the view ended it.
    is_at_edge: bool,
}

impl Lines {
    /// `end` is where a line of the key ended just before.
    fn read(view: &View<'_>, from: usize, end: Option<usize>) -> Self {
        let mut lines = Self { end, block_end: None, at: from, last_word: from, is_at_edge: false };
        let mut others = 0;
        loop {
            let (start, is_after_blank_line) = between_words(view, lines.at);
            if is_after_blank_line && lines.end.is_some() {
                return lines;
            }
            lines.last_word = start;
            lines.at = word_end(view, start);
            if view.is_end(lines.at) {
                lines.is_at_edge = true;
            }
            let word = view.text(start, lines.at);
            if position(word, BLOCK_BEGIN).is_some() {
                return lines;
            }
            if let Some(at) = position(word, BLOCK_END) {
                lines.block_end = end_line(view, start + at);
                return lines;
            }
            if let Some(end) = key_end(word, lines.end.is_some()) {
                lines.end = Some(start + end);
                others = 0;
            } else if lines.end.is_some() && others == 0 && is_last_line(word) {
                lines.end = Some(lines.at);
            } else {
                others += 1;
            }
            if others > MAX_OTHER_WORDS || lines.is_at_edge {
                lines.is_at_edge &= others <= MAX_OTHER_WORDS;
                return lines;
            }
        }
    }

    /// Returns the key that begins at `start`, which goes on if nothing but the reach of rules ended it.
    fn secret(&self, view: &View<'_>, start: usize) -> Option<Secret> {
        let goes_on = self.is_at_edge && self.at - view.anchor >= AHEAD;
        Some(Secret { rule: RULE, start, end: self.end?, belongs: goes_on.then_some(Rest::KeyBlock) })
    }
}

/// Returns the end of the block whose end is some way after `from`, if no other begins before.
fn find_end(view: &View<'_>, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = view.find(at, DASHES);
        if view.is_end(at) || view.has(at, BLOCK_BEGIN) {
            return None;
        }
        if view.has(at, BLOCK_END) {
            return end_line(view, at);
        }
        at += 1;
    }
}

/// Returns the end of the line that ends a block.
fn end_line(view: &View<'_>, at: usize) -> Option<usize> {
    let label_end = view.run_most(at + BLOCK_END.len(), MAX_LABEL_BYTES, is_label);
    view.has(label_end, DASHES).then_some(label_end + DASHES.len())
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
}

/// Returns true if there is a key in it at all; source code speaks of blocks without having one.
fn has_key(body: &[u8]) -> bool {
    body.split(|&byte| !base64(byte)).any(|line| line.len() >= ENDED_LINE)
}

/// Returns the end of the line of a key that `word` has in it. The first line must look like chance, too.
fn key_end(word: &[u8], is_after_another: bool) -> Option<usize> {
    let mut end = 0;
    for run in word.split(|&byte| !is_escaped_base64(byte)) {
        end += run.len();
        if run.len() >= LINE && (is_after_another || is_chance(run)) {
            return Some(end);
        }
        end += 1;
    }
    None
}

/// Returns true if `word` may be the short last line of a key, and is no word of what follows it.
fn is_last_line(word: &[u8]) -> bool {
    word.len() >= 2
        && word.iter().all(|&byte| is_escaped_base64(byte))
        && (word.len() >= ENDED_LINE || word.starts_with(b"=") || word.ends_with(b"=") || is_chance(word))
}

fn is_chance(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
        && text.iter().any(u8::is_ascii_lowercase)
        && text.iter().any(u8::is_ascii_uppercase)
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Slashes may be escaped, in JSON.
fn is_escaped_base64(byte: u8) -> bool {
    base64(byte) || byte == b'\\'
}

fn word_end(view: &View<'_>, from: usize) -> usize {
    let mut at = from;
    loop {
        at = view.run(at, |byte| !byte.is_ascii_whitespace() && byte != b'\\');
        if !view.has(at, b"\\/") {
            return at;
        }
        at += 2;
    }
}

/// Returns the end of white space, with line ends escaped or not, and whether a line without anything is in it.
fn between_words(view: &View<'_>, from: usize) -> (usize, bool) {
    let mut at = from;
    let mut breaks = 0;
    loop {
        match view.byte(at) {
            Some(b'\n') => {
                breaks += 1;
                at += 1;
            }
            Some(byte) if byte.is_ascii_whitespace() => at += 1,
            Some(b'\\') if !view.has(at, b"\\/") => {
                at = view.run(at, |byte| byte == b'\\');
                if let Some(letter @ (b'n' | b'r' | b't')) = view.byte(at) {
                    breaks += usize::from(letter == b'n');
                    at += 1;
                }
            }
            _ => return (at, breaks > 1),
        }
    }
}
