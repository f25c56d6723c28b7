//! Finds the places where a secret may show itself, in one pass that ordinary text goes through almost unseen.
//!
//! Every rule names a window of four bytes that each of its secrets shows somewhere. A look at every second
//! position, at three bytes, meets each window once: nothing else costs anything if no window is near. Letters
//! count in either case; the rules look again. `scripts/windows.py` chooses windows that text seldom has.

use super::class::{Class, Set};

/// How many bytes a window has.
pub(super) const WIDTH: usize = 4;

/// How many bytes are looked at before it is asked whether one of their positions hit.
pub(super) const BLOCK: usize = 1024;

/// Sets the bit by which small letters differ from capital ones.
const FOLD: u8 = 0x20;

/// What may be at one place of a window.
#[derive(Debug, Clone, Copy)]
pub(super) enum WindowByte {
    Byte(u8),
    Of(Class),
    Among(Set),
}

impl WindowByte {
    /// Returns the bytes that may be here, with letters in one case.
    fn bytes(self) -> Vec<u8> {
        let set = match self {
            Self::Byte(byte) => return vec![byte | FOLD],
            Self::Of(class) => Set::of(class),
            Self::Among(set) => set,
        };
        let folded = set.folded();
        (FOLD..0x80).filter(|&byte| folded.has(byte)).collect()
    }
}

pub(super) type Window = [WindowByte; WIDTH];

/// Returns the window of a literal. If it is too short, what follows it is of the `next` kind.
pub(super) fn window(literal: &str, next: Class) -> Window {
    let mut places = literal.bytes().map(WindowByte::Byte).chain(std::iter::repeat(WindowByte::Of(next)));
    std::array::from_fn(|_| places.next().expect("it has no end"))
}

/// How many bytes from the start of a window on a rule may ask for before it looks itself.
const AROUND: usize = 8;

/// What a rule needs to see around its window at the least: most windows in a text are parts of other words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    before: Set,
    /// From the start of the window on.
    bytes: [Set; AROUND],
    length: usize,
}

impl Around {
    pub(super) const ANYTHING: Self = Self { before: Set::ALL, bytes: [Set::ALL; AROUND], length: 0 };

    pub(super) fn new(before: Set, from_window: impl Iterator<Item = Set>) -> Self {
        let mut around = Self { before, ..Self::ANYTHING };
        for (place, set) in around.bytes.iter_mut().zip(from_window) {
            *place = set;
            around.length += 1;
        }
        around
    }

    /// Returns true if it is there around `at`. Nothing before `floor` is seen.
    fn is_at(&self, bytes: &[u8], at: usize, floor: usize) -> bool {
        if at > floor && bytes[at - 1].is_ascii() && !self.before.has(bytes[at - 1]) {
            return false;
        }
        let seen = self.bytes[..self.length].iter().zip(&bytes[at..]);
        let other = seen.enumerate().find(|(_, (set, byte))| !set.has(**byte));
        // After the window, a key may be broken.
        other.is_none_or(|(place, (_, byte))| place >= WIDTH && b"%\\\r\n".contains(byte))
    }
}

/// The key of a window, and where in `asked` those begin that may be of this key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    key: u32,
    first: u16,
}

/// A key, where in `rules` a rule of it stands, and where in `asked` the next of this hash does: 0 if none.
#[derive(Debug)]
struct Asked {
    key: u32,
    rule: u16,
    next: u16,
}

#[derive(Debug)]
pub(super) struct Gate<R> {
    threes: Threes,
    fours: Bits,
    /// By the hash of a key, where in `asked` the first of this hash stands: 0 if none.
    firsts: Box<[u16; FIRSTS]>,
    /// Each key with each of its rules, in the order in which they were added. The first one stands for none.
    asked: Vec<Asked>,
    rules: Vec<(R, Around)>,
}

impl<R: Copy> Gate<R> {
    /// Makes it of windows with their rules, and what these need to see around them.
    pub(super) fn new(windows: impl Iterator<Item = (Window, Around, R)>) -> Self {
        let mut gate = Self {
            threes: Threes::new(),
            fours: Bits::new(),
            firsts: vec![0; FIRSTS].into_boxed_slice().try_into().expect("it has as many"),
            asked: vec![Asked { key: 0, rule: 0, next: 0 }],
            rules: Vec::with_capacity(1 << 10),
        };
        for (window, around, rule) in windows {
            let place = u16::try_from(gate.rules.len()).expect("there are some hundred rules");
            gate.rules.push((rule, around));
            gate.add(&window.map(WindowByte::bytes), place);
        }
        gate.link_keys();
        gate
    }

    /// Adds all keys of a window.
    fn add(&mut self, window: &[Vec<u8>; WIDTH], rule: u16) {
        let [first, second, third, fourth] = window;
        for (&first, &second, &third) in
            first.iter().flat_map(|a| second.iter().flat_map(move |b| third.iter().map(move |c| (a, b, c))))
        {
            self.threes.set([first, second, third]);
            for &fourth in fourth {
                let key = u32::from_le_bytes([first, second, third, fourth]);
                self.threes.set([second, third, fourth]);
                self.fours.set(key);
                self.asked.push(Asked { key, rule, next: 0 });
            }
        }
    }

    /// Links the keys of each hash, from the last on, so that rules are asked in the order in which they were added.
    fn link_keys(&mut self) {
        for index in (1..self.asked.len()).rev() {
            let place = u16::try_from(index).expect("there are some thousand keys");
            let first = &mut self.firsts[first_place(self.asked[index].key)];
            self.asked[index].next = std::mem::replace(first, place);
        }
    }

    /// Returns true if a window may begin in `bytes`.
    pub(super) fn has_window(&self, bytes: &[u8]) -> bool {
        self.find(bytes, 0, bytes.len(), |_, _| Some(())).is_some()
    }

    /// Returns the first of the places in `bytes[from..until]` where a window may begin of which `ask` says something:
    /// it gets the place and the key of the window.
    pub(super) fn find<T>(
        &self,
        bytes: &[u8],
        from: usize,
        until: usize,
        mut ask: impl FnMut(usize, Key) -> Option<T>,
    ) -> Option<(usize, T)> {
        let mut at = from;
        let mut padded = [0; BLOCK + PADDING];
        let mut hits = [0_u16; BLOCK / 2 + 1];
        let mut places = [0_u16; BLOCK + 1];
        while at < until {
            let rest = &bytes[at..];
            let block = rest.first_chunk().unwrap_or_else(|| {
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            });
            // Without branches, as they could not be foreseen: most hits are nothing.
            let mut count = 0;
            for &start in self.threes.hits(block, until - at, &mut hits) {
                // The three bytes that hit are the last of a window, or the first.
                for start in [start, start + 1] {
                    places[count] = start;
                    count += usize::from(self.fours.has(key_at(block, start)));
                }
            }
            // Nor here, so that the tables of one place are read while those of the last are on their way.
            let mut kept = 0;
            for index in 0..count {
                let place = places[index];
                places[kept] = place;
                let key = key_at(block, place);
                let first = &self.asked[usize::from(self.firsts[first_place(key)])];
                kept += usize::from(first.key == key) | usize::from(first.next != 0);
            }
            for &place in &places[..kept] {
                let start = at + usize::from(place);
                if start >= until || start + WIDTH > bytes.len() {
                    return None;
                }
                let key = key_at(block, place);
                if let Some(found) = ask(start, Key { key, first: self.firsts[first_place(key)] }) {
                    return Some((start, found));
                }
            }
            at += BLOCK;
        }
        None
    }

    /// Returns what is to be asked of the place `at`, where a window of this key begins. Nothing before `floor` is
    /// seen.
    pub(super) fn rules(
        &self,
        bytes: &[u8],
        at: usize,
        Key { key, first }: Key,
        floor: usize,
    ) -> impl Iterator<Item = R> {
        let asked = |place: u16| (place != 0).then(|| &self.asked[usize::from(place)]);
        std::iter::successors(asked(first), move |last| asked(last.next))
            .filter(move |asked| asked.key == key)
            .map(|asked| &self.rules[usize::from(asked.rule)])
            .filter(move |(_, around)| around.is_at(bytes, at, floor))
            .map(|(rule, _)| *rule)
    }
}

const FOLDED: u32 = u32::from_le_bytes([FOLD; WIDTH]);

#[inline]
fn key_at(block: &Block, at: u16) -> u32 {
    let at = usize::from(at);
    u32::from_le_bytes(block[at..at + WIDTH].try_into().expect("it has as many")) | FOLDED
}

/// The positions of a block, and the last bytes for windows to end in.
type Block = [u8; BLOCK + PADDING];

const PADDING: usize = 8;

const SPREAD: u32 = 0x9E37_79B1;
const SPREAD_WIDE: u64 = 0x9E37_79B9_7F4A_7C15;

const FIRST_BITS: u32 = 16;
const FIRSTS: usize = 1 << FIRST_BITS;

/// Returns the hash of a key, which differs from that of [`Bits`].
fn first_place(key: u32) -> usize {
    (u64::from(key).wrapping_mul(SPREAD_WIDE) >> (u64::BITS - FIRST_BITS)) as usize
}

/// A set of three bytes: for each two, the kinds of the bytes that follow.
#[derive(Debug)]
struct Threes {
    /// By the first two, as they are in the text.
    pairs: Box<[u32; PAIRS]>,
    /// The kind of a third byte: one bit.
    kinds: [u32; 256],
}

const PAIRS: usize = 1 << 16;

impl Threes {
    fn new() -> Self {
        let kinds = std::array::from_fn(|byte| u8::try_from(byte).map_or(0, kind));
        Self { pairs: vec![0; PAIRS].into_boxed_slice().try_into().expect("it has as many"), kinds }
    }

    fn set(&mut self, [first, second, third]: [u8; 3]) {
        for first in [first, first & !FOLD] {
            for second in [second, second & !FOLD] {
                self.pairs[usize::from(u16::from_le_bytes([first, second]))] |= kind(third);
            }
        }
    }

    /// Returns the positions 0, 2, 4, ... of the first `length` of a block behind which three bytes of the set follow.
    fn hits<'a>(&self, block: &Block, length: usize, hits: &'a mut [u16; BLOCK / 2 + 1]) -> &'a [u16] {
        let (pairs, _) = block[1..=BLOCK].as_chunks::<2>();
        let (thirds, _) = block[3..BLOCK + 3].as_chunks::<2>();
        let looks = length.div_ceil(2).min(BLOCK / 2);
        let threes = pairs[..looks].iter().zip(&thirds[..looks]);
        let mut count = 0;
        for (start, (&pair, [third, _])) in (0..).step_by(2).zip(threes) {
            let kinds = self.pairs[usize::from(u16::from_le_bytes(pair))];
            hits[count] = start;
            count += usize::from(kinds & self.kinds[usize::from(*third)] != 0);
        }
        &hits[..count]
    }
}

/// Returns the kind of a third byte: a bit for each letter, one for the digits, and four for what else there is.
fn kind(byte: u8) -> u32 {
    let byte = byte | FOLD;
    match byte {
        b'a'..=b'z' => 1 << (byte - b'a'),
        b'0'..=b'9' => 1 << 26,
        0x80.. => 0,
        _ => 1 << (27 + byte % 5),
    }
}

/// A set of keys, that may hold a few more than were put in.
#[derive(Debug)]
struct Bits(Box<[u32; WORDS]>);

const WORD_BITS: u32 = 13;
const WORDS: usize = 1 << WORD_BITS;

impl Bits {
    fn new() -> Self {
        Self(vec![0; WORDS].into_boxed_slice().try_into().expect("it has as many"))
    }

    fn place(key: u32) -> (usize, u32) {
        let hash = key.wrapping_mul(SPREAD) >> (32 - 5 - WORD_BITS);
        ((hash >> 5) as usize, hash & 31)
    }

    fn set(&mut self, key: u32) {
        let (word, bit) = Self::place(key);
        self.0[word] |= 1 << bit;
    }

    fn has(&self, key: u32) -> bool {
        let (word, bit) = Self::place(key);
        self.0[word] >> bit & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{BLOCK, PADDING};
    use crate::GATE;

    /// Outputs of many tools, as they were recorded.
    fn outputs() -> Vec<u8> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/failures/outputs");
        let mut folders = vec![folder];
        let mut text = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { text.extend(fs::read(path).unwrap()) }
            }
        }
        text
    }

    #[test]
    fn ordinary_text_goes_through_almost_unseen() {
        let text = outputs();
        let blocks: Vec<_> = text.windows(BLOCK + PADDING).step_by(BLOCK).collect();
        let mut places = [0; BLOCK / 2 + 1];
        let mut hits_of =
            |block: &[u8]| GATE.threes.hits(block.first_chunk().unwrap(), BLOCK, &mut places).len();
        let hits: usize = blocks.iter().map(|block| hits_of(block)).sum();
        // Whatever the gate stops for takes time: how much of it is counted, not measured.
        let (mut windows, mut rules) = (0, 0);
        GATE.find(&text, 0, text.len(), |at, key| {
            windows += 1;
            rules += GATE.rules(&text, at, key, 0).count();
            None::<()>
        });
        let bytes_for_each = [hits, windows, rules].map(|count| text.len() / count);
        assert!(text.len() > 500_000);
        let [hits, windows, rules] = bytes_for_each;
        assert!(hits >= 20 && windows >= 50 && rules >= 80, "bytes for each: {bytes_for_each:?}");
    }
}
