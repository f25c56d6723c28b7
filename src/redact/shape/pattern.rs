//! What a key looks like, as a small part of regular expressions says it: literals, and classes with counts.

use anyhow::{Result, bail};

use crate::redact::gate::{Place, WIDTH, Window, rarity};
use crate::redact::view::View;

/// Windows that stand for more keys than this slow the gate down.
const MAX_KEYS: usize = 2100;

/// How far in front of a window a key may begin.
const MAX_LEAD: usize = 200;

#[derive(Debug)]
pub(super) struct Pattern {
    parts: Vec<Part>,
    ignores_case: bool,
}

#[derive(Debug)]
enum Part {
    Text(Vec<u8>),
    Run { set: Set, least: usize, most: usize },
}

/// A set of ASCII bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redact) struct Set(u128);

impl Set {
    pub(in crate::redact) fn has(self, byte: u8) -> bool {
        byte.is_ascii() && self.0 >> byte & 1 == 1
    }

    /// How many bytes it has where those that differ in the bit of the case count once.
    pub(in crate::redact) fn folded_count(self) -> usize {
        const UPPER: u128 = 0xFFFF_FFFF_0000_0000_FFFF_FFFF;
        const WITH_BIT: u128 = !UPPER;
        (self.0 & WITH_BIT | (self.0 & UPPER) << 32).count_ones() as usize
    }
}

/// Where the gate looks for a pattern: a window, and how far behind the start of the key it may stand.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) window: Window,
    pub(super) least: usize,
    pub(super) most: usize,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self> {
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
                    for byte in first..=last {
                        set |= 1 << (byte & 127);
                    }
                }
                parts.push(Part::Run { set: Set(set), least: 1, most: 1 });
            } else if byte == b'{' {
                let counts: String =
                    bytes.by_ref().take_while(|&byte| byte != b'}').map(char::from).collect();
                let (first, last) = counts.split_once(',').unwrap_or((&counts, &counts));
                let Some(Part::Run { least, most, .. }) = parts.last_mut() else {
                    bail!("`{text}` has a count behind no class")
                };
                (*least, *most) = (first.parse()?, last.parse()?);
            } else {
                let byte = if byte == b'\\' { bytes.next().unwrap_or(byte) } else { byte };
                match parts.last_mut() {
                    Some(Part::Text(text)) => text.push(byte),
                    _ => parts.push(Part::Text(vec![byte])),
                }
            }
        }
        Ok(Self { parts, ignores_case })
    }

    /// The end of what matches from `at` on: the longest.
    pub(super) fn end(&self, view: &View<'_>, at: usize) -> Option<usize> {
        self.end_of(&self.parts, view, at)
    }

    fn end_of(&self, parts: &[Part], view: &View<'_>, at: usize) -> Option<usize> {
        let Some((first, rest)) = parts.split_first() else { return Some(at) };
        match first {
            Part::Text(text) if self.ignores_case => {
                view.has_folded(at, text).then(|| self.end_of(rest, view, at + text.len()))?
            }
            Part::Text(text) => view.has(at, text).then(|| self.end_of(rest, view, at + text.len()))?,
            Part::Run { set, least, most } => {
                let end = view.run_most(at, *most, |byte| set.has(byte));
                let least = at + least;
                // Where the rest begins with what the class has, the longest run is not the only one.
                (least..=end).rev().find_map(|end| self.end_of(rest, view, end))
            }
        }
    }

    /// What a key is made of behind its first literal.
    pub(super) fn body_start(&self) -> usize {
        match self.parts.first() {
            Some(Part::Text(text)) if self.parts.len() > 1 => text.len(),
            _ => 0,
        }
    }

    /// The bytes with which a key may go on behind its end.
    pub(super) fn goes_on(&self, byte: u8) -> bool {
        matches!(self.parts.last(), Some(Part::Run { set, .. }) if set.has(byte))
    }

    /// The rarest window that every key shows at a known place.
    pub(super) fn shown(&self) -> Option<Shown> {
        let mut best: Option<(u32, Shown)> = None;
        let (mut least, mut most) = (0, 0);
        for (index, part) in self.parts.iter().enumerate() {
            let (part_least, part_most) = part.length();
            let starts: Vec<(usize, usize, usize)> = match part {
                Part::Text(text) => (0..text.len()).map(|skip| (skip, skip, text.len() - skip)).collect(),
                // Counted from its end, as its length is open.
                Part::Run { .. } => {
                    (1..=part_least.min(3)).map(|kept| (part_least - kept, part_most - kept, kept)).collect()
                }
            };
            for (skip_least, skip_most, kept) in starts {
                let Some((window, rarity)) = self.window(index, kept) else { continue };
                let shown = Shown { window, least: least + skip_least, most: most + skip_most };
                if shown.most <= MAX_LEAD && best.as_ref().is_none_or(|(other, _)| rarity > *other) {
                    best = Some((rarity, shown));
                }
            }
            (least, most) = (least + part_least, most + part_most);
        }
        best.map(|(_, shown)| shown)
    }

    /// The window that begins so many bytes in front of the end of a part, and how rare it is.
    fn window(&self, index: usize, kept: usize) -> Option<(Window, u32)> {
        let mut places = Vec::new();
        for (step, part) in self.parts[index..].iter().enumerate() {
            match part {
                Part::Text(text) => {
                    let text = if step == 0 { &text[text.len() - kept..] } else { text };
                    places.extend(text.iter().map(|&byte| Place::Byte(byte)));
                }
                Part::Run { set, least, most } => {
                    let count = if step == 0 { kept } else { *least };
                    places.extend(std::iter::repeat_n(Place::Among(*set), count.min(WIDTH)));
                    if places.len() < WIDTH && step > 0 && least != most {
                        return None;
                    }
                }
            }
            if places.len() >= WIDTH {
                break;
            }
        }
        let window: Window = places.get(..WIDTH)?.try_into().ok()?;
        let keys: usize = window.iter().map(Place::count).product();
        (keys <= MAX_KEYS).then(|| (window, rarity(&window)))
    }
}

impl Part {
    fn length(&self) -> (usize, usize) {
        match self {
            Self::Text(text) => (text.len(), text.len()),
            Self::Run { least, most, .. } => (*least, *most),
        }
    }
}
