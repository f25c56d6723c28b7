//! Keys that are interrupted by their medium: escapes of JSON and URLs, line breaks of terminals.

use super::class::is_word;
use super::gate::{Window, WindowByte};
use super::secret::Secret;
use super::view::View;

/// How far before an escape a key may begin, and how long one is at most.
const MAX_LEAD: usize = 160;
const MAX_KEY: usize = 1024;

/// Minimum number of columns of a line that a terminal wraps.
const MIN_COLUMNS: usize = 40;

/// Shorter texts are no keys.
const MIN_KEY: usize = 16;

/// What interrupts a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Disguise {
    Escape,
    Percent,
}

pub(super) fn windows() -> impl Iterator<Item = (Window, Disguise)> {
    let word = WindowByte::Of(is_word);
    let escape =
        [WindowByte::Byte(b'\\'), WindowByte::Byte(b'u'), WindowByte::Byte(b'0'), WindowByte::Byte(b'0')];
    let hexadecimal = WindowByte::Of(|byte| byte.is_ascii_hexdigit());
    let letter = [
        WindowByte::Byte(b'%'),
        WindowByte::Of(|byte| b"567".contains(&byte)),
        hexadecimal,
        WindowByte::Of(|byte| is_word(byte) || byte == b'%'),
    ];
    let sign = [
        WindowByte::Byte(b'%'),
        WindowByte::Byte(b'2'),
        WindowByte::Of(|byte| b"dDeE".contains(&byte)),
        word,
    ];
    [(escape, Disguise::Escape), (letter, Disguise::Percent), (sign, Disguise::Percent)].into_iter()
}

/// Returns a key around the escape at the anchor. `find_key` returns the first one in a text: its rule, start and end.
pub(super) fn find(
    view: &View<'_>,
    disguise: Disguise,
    find_key: impl FnOnce(&[u8]) -> Option<(&'static str, usize, usize)>,
) -> Option<Secret> {
    let gap = view.anchor;
    let (width, _) = gap_at(view, gap)?;
    // Mostly a blank follows, or another escape: no key goes on.
    if matches!(disguise, Disguise::Escape)
        && !view.byte(gap + width).is_some_and(|byte| is_token(byte) || byte == b'\\')
    {
        return None;
    }
    let plain = Plain::around(view, gap);
    if plain.bytes.len() < MIN_KEY || !plain.bytes.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let (rule, start, end) = find_key(&plain.bytes)?;
    let (from, to) = plain.place(start, end);
    (to - from > end - start).then_some(Secret { rule, start: from, end: to, belongs: None })
}

/// Returns the end of a key that continues after `end`, past escapes and a line break.
pub(super) fn end_of_rest(view: &View<'_>, end: usize, class: impl Fn(u8) -> bool) -> usize {
    let mut end = end;
    loop {
        let escape = gap_at(view, end).map(|(width, letter)| (width, Some(letter)));
        let Some((width, letter)) = escape.or_else(|| Some((wrap_at(view, end)?, None))) else { return end };
        let next = end + width;
        let rest = view.run_most(next, MAX_KEY, &class);
        let goes_on = match letter {
            Some(letter) => class(letter),
            None => rest > next && view.text(next, rest).iter().any(u8::is_ascii_digit),
        };
        if !goes_on {
            return end;
        }
        end = rest;
    }
}

/// Returns true if a key that begins at `start` may go on after a break or an escape.
pub(super) fn unbroken(view: &View<'_>, start: usize) -> Option<Plain> {
    let end = view.run_most(start, MAX_KEY, is_token);
    view.byte(end).filter(|byte| b"%\\\r\n".contains(byte))?;
    let goes_on = gap_at(view, end).is_some() || wrap_at(view, end).is_some();
    goes_on.then(|| Plain::from(view, start))
}

/// A text without interruptions, and the original offsets of its bytes.
pub(super) struct Plain {
    pub(super) bytes: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl Plain {
    /// What is around `gap`.
    fn around(view: &View<'_>, gap: usize) -> Self {
        let mut plain = Self { bytes: Vec::new(), places: Vec::new() };
        let is_part = |byte: &&u8| is_token(**byte) || b"%\\".contains(byte);
        let mut at = gap - view.before(gap).iter().rev().take(MAX_LEAD).take_while(is_part).count();
        while at < gap {
            if let Some(next) = plain.step(view, at) {
                at = next;
            } else {
                plain.bytes.clear();
                plain.places.clear();
                at += 1;
            }
        }
        plain.go_on(view, at);
        plain
    }

    fn from(view: &View<'_>, start: usize) -> Self {
        let mut plain = Self { bytes: Vec::new(), places: Vec::new() };
        plain.go_on(view, start);
        plain
    }

    fn go_on(&mut self, view: &View<'_>, start: usize) {
        let mut at = start;
        while self.bytes.len() < MAX_KEY {
            let next = self.step(view, at).or_else(|| Some(at + wrap_at(view, at)?));
            let Some(next) = next else { break };
            at = next;
        }
    }

    /// Takes what is at `at`, if it may be part of a key.
    fn step(&mut self, view: &View<'_>, at: usize) -> Option<usize> {
        if let Some((width, letter)) = gap_at(view, at) {
            self.bytes.push(letter);
            self.places.push((at, at + width));
            return Some(at + width);
        }
        let byte = view.byte(at).filter(|&byte| is_token(byte))?;
        self.bytes.push(byte);
        self.places.push((at, at + 1));
        Some(at + 1)
    }

    /// Returns the original offsets of a part of the text.
    pub(super) fn place(&self, start: usize, end: usize) -> (usize, usize) {
        (self.places[start].0, self.places[end - 1].1)
    }
}

/// Returns how long the escape at `at` is, and the letter of a key for which it stands.
fn gap_at(view: &View<'_>, at: usize) -> Option<(usize, u8)> {
    let (width, letter) = match view.byte(at)? {
        b'%' => (3, hexadecimal(view, at + 1)?),
        b'\\' => {
            let u = view.run_most(at, 8, |byte| byte == b'\\');
            if !view.has(u, b"u00") {
                return None;
            }
            (u + 5 - at, hexadecimal(view, u + 3)?)
        }
        _ => return None,
    };
    is_token(letter).then_some((width, letter))
}

fn hexadecimal(view: &View<'_>, at: usize) -> Option<u8> {
    let digit = |at| char::from(view.byte(at)?).to_digit(16);
    u8::try_from(digit(at)? * 16 + digit(at + 1)?).ok()
}

/// Returns how long the line break at `at` is, where a terminal may have put it.
fn wrap_at(view: &View<'_>, at: usize) -> Option<usize> {
    let width = [&b"\n"[..], b"\r\n", b"\\n", b"\\r\\n"].into_iter().find(|text| view.has(at, text))?.len();
    let before = view.before(at);
    let line = &before[before.len().saturating_sub(MIN_COLUMNS)..];
    let is_long =
        line.len() == MIN_COLUMNS && !line.contains(&b'\n') && !line.windows(2).any(|two| two == b"\\n");
    let goes_on = || view.byte(at + width).is_some_and(|byte| byte.is_ascii_alphanumeric());
    (is_long && goes_on()).then_some(width)
}

/// Returns what keys consist of.
fn is_token(byte: u8) -> bool {
    is_word(byte) || b"-.+/=~:$!".contains(&byte)
}
