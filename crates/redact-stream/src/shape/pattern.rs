//! What a key looks like, as a small part of regular expressions says it: literals, and classes with counts.

use crate::class::Set;
use crate::gate::{WIDTH, Window, WindowByte};
use crate::view::View;

#[derive(Debug)]
pub(super) struct Pattern {
    parts: Vec<PatternPart>,
    ignores_case: bool,
}

#[derive(Debug)]
enum PatternPart {
    Text(Vec<u8>),
    Run { set: Set, least: usize, most: usize },
}

/// Where the gate looks for a pattern: a window, and how far after the start of the key it may stand.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) window: Window,
    pub(super) least: usize,
    pub(super) most: usize,
}

impl Pattern {
    /// Returns `None` if `text` is not in this part of regular expressions.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (ignores_case, text) = text.strip_prefix("(?i)").map_or((false, text), |rest| (true, rest));
        let mut parts = Vec::new();
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            if byte == b'[' {
                let mut set = 0_u128;
                while let Some(first) = bytes.next().filter(|&byte| byte != b']') {
                    let first = if first == b'\\' { bytes.next().unwrap_or(first) } else { first };
                    let mut last = first;
                    if bytes.next_if_eq(&b'-').is_some() {
                        let end = bytes.next().unwrap_or(first);
                        last = if end == b'\\' { bytes.next().unwrap_or(end) } else { end };
                    }
                    set |= (u128::MAX >> (127 - (last & 127))) & (u128::MAX << (first & 127));
                }
                parts.push(PatternPart::Run { set: Set::from_bits(set), least: 1, most: 1 });
            } else if byte == b'{' {
                let counts: String =
                    bytes.by_ref().take_while(|&byte| byte != b'}').map(char::from).collect();
                let (first, last) = counts.split_once(',').unwrap_or((&counts, &counts));
                let Some(PatternPart::Run { least, most, .. }) = parts.last_mut() else { return None };
                (*least, *most) = (first.parse().ok()?, last.parse().ok()?);
            } else {
                let byte = if byte == b'\\' { bytes.next().unwrap_or(byte) } else { byte };
                match parts.last_mut() {
                    Some(PatternPart::Text(text)) => text.push(byte),
                    _ => parts.push(PatternPart::Text(vec![byte])),
                }
            }
        }
        Some(Self { parts, ignores_case })
    }

    /// Returns the end of what matches from `at` on: the longest.
    pub(super) fn end(&self, view: &View<'_>, at: usize) -> Option<usize> {
        self.end_of(&self.parts, view, at)
    }

    fn end_of(&self, parts: &[PatternPart], view: &View<'_>, at: usize) -> Option<usize> {
        let Some((first, rest)) = parts.split_first() else { return Some(at) };
        match first {
            PatternPart::Text(text) if self.ignores_case => {
                view.has_folded(at, text).then(|| self.end_of(rest, view, at + text.len()))?
            }
            PatternPart::Text(text) => {
                view.has(at, text).then(|| self.end_of(rest, view, at + text.len()))?
            }
            PatternPart::Run { set, least, most } => {
                let end = view.run_most(at, *most, |byte| set.has(byte));
                let least = at + least;
                // Where the rest begins with what the class has, the longest run is not the only one.
                (least..=end).rev().find_map(|end| self.end_of(rest, view, end))
            }
        }
    }

    /// Returns what a key is made of after its first literal.
    pub(super) fn body_start(&self) -> usize {
        match self.parts.first() {
            Some(PatternPart::Text(text)) if self.parts.len() > 1 => text.len(),
            _ => 0,
        }
    }

    /// Returns the bytes with which a key may go on after its end.
    pub(super) fn goes_on(&self, byte: u8) -> bool {
        matches!(self.parts.last(), Some(PatternPart::Run { set, .. }) if set.has(byte))
    }

    /// Returns the window at a place, as `scripts/windows.py` writes it: `1+2` is two bytes after the start of part 1,
    /// `1-2` two bytes before its end.
    pub(super) fn shown(&self, place: &str) -> Option<Shown> {
        let (index, from_start, count) = match (place.split_once('+'), place.split_once('-')) {
            (Some((index, count)), _) => (index, true, count),
            (None, Some((index, count))) => (index, false, count),
            (None, None) => return None,
        };
        let (index, count): (usize, usize) = (index.parse().ok()?, count.parse().ok()?);
        let part = self.parts.get(index)?;
        let (part_least, part_most) = part.length();
        let kept = if from_start { part_least.checked_sub(count) } else { Some(count) };
        let kept = kept.filter(|kept| (1..=part_least).contains(kept))?;
        let before =
            |length: fn(&PatternPart) -> usize| self.parts[..index].iter().map(length).sum::<usize>();
        Some(Shown {
            window: self.window(index, kept)?,
            least: before(|part| part.length().0) + part_least - kept,
            most: before(|part| part.length().1) + part_most - kept,
        })
    }

    /// Returns what every key has from its start on, as far as that is at known places.
    pub(super) fn sets(&self) -> impl Iterator<Item = Set> {
        let mut is_known = true;
        let parts = self.parts.iter().take_while(move |part| {
            let (least, most) = part.length();
            std::mem::replace(&mut is_known, least == most)
        });
        parts.flat_map(|part| match part {
            PatternPart::Text(text) => {
                let set = if self.ignores_case { Set::either } else { Set::one };
                text.iter().map(|&byte| set(byte)).collect::<Vec<_>>()
            }
            PatternPart::Run { set, least, .. } => vec![*set; *least],
        })
    }

    /// Returns the window that begins a number of bytes before the end of a part.
    fn window(&self, index: usize, kept: usize) -> Option<Window> {
        let mut places = Vec::with_capacity(2 * WIDTH);
        for (step, part) in self.parts[index..].iter().enumerate() {
            match part {
                PatternPart::Text(text) => {
                    let text = if step == 0 { &text[text.len() - kept..] } else { text };
                    places.extend(text.iter().take(WIDTH).map(|&byte| WindowByte::Byte(byte)));
                }
                PatternPart::Run { set, least, most } => {
                    let count = if step == 0 { kept } else { *least };
                    places.extend(std::iter::repeat_n(WindowByte::Among(*set), count.min(WIDTH)));
                    if places.len() < WIDTH && step > 0 && least != most {
                        return None;
                    }
                }
            }
            if places.len() >= WIDTH {
                break;
            }
        }
        places.get(..WIDTH)?.try_into().ok()
    }
}

impl PatternPart {
    fn length(&self) -> (usize, usize) {
        match self {
            Self::Text(text) => (text.len(), text.len()),
            Self::Run { least, most, .. } => (*least, *most),
        }
    }
}
