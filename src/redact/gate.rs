//! Finds the places where a secret may show itself, in one pass that ordinary text goes through almost unseen.
//!
//! Every rule names a window of four bytes that each of its secrets shows somewhere. A look at every second
//! position, at three bytes that are hashed into a table of bits, meets each window once: nothing else costs
//! anything where no window is near. Letters count in either case; the rules look again.

use super::shape::Set;
use super::{Class, Rule};

/// How many bytes a window has.
pub(super) const WIDTH: usize = 4;

/// How many positions are looked at before it is asked whether one of them hit.
const BLOCK: usize = 32;

/// Sets the bit by which small letters differ from capital ones.
const FOLD: u8 = 0x20;

/// What may stand at one place of a window.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Byte(u8),
    Of(Class),
    Among(Set),
}

impl Place {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = match self {
            Self::Byte(byte) => vec![byte | FOLD],
            Self::Of(class) => (0..=u8::MAX).filter(|&byte| class(byte)).map(|byte| byte | FOLD).collect(),
            Self::Among(set) => (0..=u8::MAX).filter(|&byte| set.has(byte)).map(|byte| byte | FOLD).collect(),
        };
        bytes.sort_unstable();
        bytes.dedup();
        bytes
    }

    /// How many different bytes may stand here, with letters in one case.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Byte(_) => 1,
            Self::Of(_) => self.bytes().len(),
            Self::Among(set) => set.folded_count(),
        }
    }

    /// How seldom text has a byte of this kind: the more, the rarer.
    fn rarity(&self) -> u32 {
        match self {
            Self::Byte(byte) => byte_rarity(byte | FOLD),
            Self::Of(_) | Self::Among(_) => 60_u32.saturating_sub(10 * self.count().max(1).ilog2()),
        }
    }
}

/// How seldom text shows a window. The gate looks at its first and last three bytes, so these must be rare.
pub(super) fn rarity(window: &Window) -> u32 {
    let pair = |first: usize| match (window[first], window[first + 1]) {
        (Place::Byte(one), Place::Byte(two)) => {
            let is_common = COMMON_PAIRS.binary_search(&&[one | FOLD, two | FOLD]).is_ok();
            if is_common { 0 } else { 40 }
        }
        _ => 10,
    };
    let places: u32 = window.iter().map(Place::rarity).sum();
    let [first, middle, last] = [pair(0), pair(1), pair(2)];
    places + 2 * ((first + middle).min(middle + last) + middle)
}

/// Pairs of letters that stand in most words, sorted.
const COMMON_PAIRS: &[&[u8; 2]] = &[
    b"ab", b"ac", b"ad", b"ag", b"ai", b"al", b"am", b"an", b"ap", b"ar", b"as", b"at", b"ay", b"be", b"bl",
    b"bo", b"ca", b"ce", b"ch", b"ck", b"cl", b"co", b"cr", b"ct", b"da", b"de", b"di", b"dl", b"do", b"ea",
    b"eb", b"ec", b"ed", b"ee", b"ef", b"eg", b"el", b"em", b"en", b"ep", b"eq", b"er", b"es", b"et", b"ev",
    b"ew", b"ex", b"ey", b"fa", b"fe", b"ff", b"fi", b"fl", b"fo", b"fr", b"ge", b"gh", b"gn", b"gr", b"gu",
    b"ha", b"he", b"hi", b"ho", b"hr", b"ib", b"ic", b"id", b"ie", b"if", b"ig", b"il", b"im", b"in", b"io",
    b"ir", b"is", b"it", b"iv", b"iz", b"ke", b"ki", b"kn", b"ks", b"la", b"ld", b"le", b"lf", b"li", b"ll",
    b"lm", b"ln", b"lo", b"ls", b"lt", b"lu", b"lv", b"ly", b"ma", b"mb", b"me", b"mi", b"mm", b"mo", b"mp",
    b"ms", b"my", b"na", b"nc", b"nd", b"ne", b"ng", b"ni", b"nk", b"nn", b"no", b"ns", b"nt", b"nu", b"nv",
    b"ob", b"oc", b"od", b"of", b"og", b"oi", b"ok", b"ol", b"om", b"on", b"oo", b"op", b"or", b"os", b"ot",
    b"ou", b"ov", b"ow", b"pa", b"pe", b"pl", b"po", b"pp", b"pr", b"pt", b"pu", b"qu", b"ra", b"rc", b"rd",
    b"re", b"rg", b"ri", b"rk", b"rl", b"rm", b"rn", b"ro", b"rr", b"rs", b"rt", b"ru", b"rv", b"ry", b"sa",
    b"sc", b"se", b"sh", b"si", b"sk", b"sl", b"sm", b"so", b"sp", b"ss", b"st", b"su", b"sw", b"sy", b"ta",
    b"tc", b"te", b"th", b"ti", b"to", b"tr", b"ts", b"tt", b"tw", b"ty", b"ub", b"ud", b"ue", b"uf", b"ug",
    b"ui", b"ul", b"um", b"un", b"up", b"ur", b"us", b"ut", b"va", b"ve", b"vi", b"wa", b"we", b"wi", b"wo",
    b"wr", b"xt", b"ye",
];

/// The same for one byte, folded, by how often it stands in logs and code.
fn byte_rarity(byte: u8) -> u32 {
    match byte {
        b'e' | b' ' | b't' => 35,
        b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 40,
        b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'h' => 50,
        b'f' | b'g' | b'b' | b'y' | b'w' | b'v' | b'0' | b'1' | b'2' | b'.' | b'/' | b'"' | b'-' | b'='
        | b':' | b',' => 60,
        b'k' | b'3'..=b'9' | 0x7f | b'(' | b')' => 65,
        b'x' => 75,
        b'j' | b'q' | b'z' => 90,
        _ => 80,
    }
}

pub(super) type Window = [Place; WIDTH];

/// The window of a literal. Where it is too short, what follows it is of the `next` kind.
pub(super) fn window(literal: &str, next: Class) -> Window {
    let mut places = literal.bytes().map(Place::Byte).chain(std::iter::repeat(Place::Of(next)));
    std::array::from_fn(|_| places.next().expect("it has no end"))
}

/// Four bytes as they are compared, and what is to be asked of a place where they stand.
#[derive(Debug, Clone, Copy)]
struct Head {
    key: u32,
    /// Where in `rules` it stands: so that all heads fit into a cache.
    rule: u32,
}

#[derive(Debug)]
pub(super) struct Gate {
    threes: Bytes,
    fours: Bits,
    /// By the hash of their keys.
    heads: Vec<Head>,
    rules: Vec<Rule>,
    /// Where in `heads` those of each hash begin.
    starts: Vec<u32>,
}

impl Gate {
    pub(super) fn new(windows: impl Iterator<Item = (Window, Rule)>) -> Self {
        let mut gate = Self {
            threes: Bytes::new(),
            fours: Bits(vec![0; WORDS].into_boxed_slice().try_into().expect("it has as many")),
            heads: Vec::new(),
            rules: Vec::new(),
            starts: vec![0; BUCKETS + 1],
        };
        for (window, rule) in windows {
            let place = u32::try_from(gate.rules.len()).expect("there are some hundred rules");
            gate.rules.push(rule);
            gate.add(&window.map(|place| place.bytes()), 0, 0, place);
        }
        gate.heads.sort_by_key(|head| bucket(head.key));
        for head in &gate.heads {
            gate.starts[bucket(head.key) + 1] += 1;
        }
        for bucket in 0..BUCKETS {
            gate.starts[bucket + 1] += gate.starts[bucket];
        }
        gate
    }

    /// Adds all keys that begin with the first `done` bytes of `key`.
    fn add(&mut self, window: &[Vec<u8>; WIDTH], done: usize, key: u32, rule: u32) {
        if done == WIDTH {
            self.threes.0[slot(three(key))] = 1;
            self.threes.0[slot(three(key >> 8))] = 1;
            self.fours.set(key);
            self.heads.push(Head { key, rule });
            return;
        }
        for &byte in &window[done] {
            self.add(window, done + 1, key | u32::from(byte) << (8 * done), rule);
        }
    }

    /// The first place in `bytes[from..until]` where a window begins, or, rarely, something that looks like one.
    pub(super) fn find(&self, bytes: &[u8], from: usize, until: usize) -> Option<usize> {
        let mut at = from;
        while at < until {
            let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk) else {
                return (at..until)
                    .find(|&start| key_at(bytes, start).is_some_and(|key| self.fours.has(key)));
            };
            if let Some(found) = self.find_in(block) {
                return Some(at + found).filter(|&start| start < until);
            }
            at += BLOCK;
        }
        None
    }

    /// Where the first window begins in `block`, whose last bytes are there for windows to end in.
    fn find_in(&self, block: &[u8; BLOCK + WIDTH]) -> Option<usize> {
        let mut hits = 0_u32;
        for pair in 0..BLOCK / 2 {
            hits |= u32::from(self.threes.0[slot(three(four_at(block, 2 * pair + 1)))]) << pair;
        }
        while hits != 0 {
            // The three bytes that hit are the last of a window, or the first.
            let start = 2 * hits.trailing_zeros() as usize % BLOCK;
            if self.fours.has(four_at(block, start)) {
                return Some(start);
            }
            if self.fours.has(four_at(block, start + 1)) {
                return Some(start + 1);
            }
            hits &= hits - 1;
        }
        None
    }

    /// What is to be asked of the place `at`.
    pub(super) fn rules(&self, bytes: &[u8], at: usize) -> impl Iterator<Item = Rule> {
        let key = key_at(bytes, at).unwrap_or_default();
        let range = self.starts[bucket(key)] as usize..self.starts[bucket(key) + 1] as usize;
        self.heads[range]
            .iter()
            .filter(move |head| head.key == key)
            .map(|head| self.rules[head.rule as usize])
    }
}

const BUCKETS: usize = 16384;

fn bucket(key: u32) -> usize {
    (key.wrapping_mul(SPREAD) >> 18) as usize
}

const FOLDED: u32 = u32::from_le_bytes([FOLD; WIDTH]);

fn key_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk::<WIDTH>()?;
    Some(u32::from_le_bytes(*four) | FOLDED)
}

fn four_at(block: &[u8; BLOCK + WIDTH], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]) | FOLDED
}

const SPREAD: u32 = 0x9E37_79B1;

/// The hash of the first three bytes of `key`: the fourth is shifted out.
fn three(key: u32) -> u32 {
    key.wrapping_mul(SPREAD << 8)
}

/// A set of hashes, that may hold a few more than were put in.
#[derive(Debug)]
struct Bytes(Box<[u8; SLOTS]>);

impl Bytes {
    fn new() -> Self {
        Self(vec![0; SLOTS].into_boxed_slice().try_into().expect("it has as many"))
    }
}

const SLOT_BITS: u32 = 18;
const SLOTS: usize = 1 << SLOT_BITS;

fn slot(hash: u32) -> usize {
    (hash >> (32 - SLOT_BITS)) as usize
}

/// A set of keys, that may hold a few more than were put in.
#[derive(Debug)]
struct Bits(Box<[u32; WORDS]>);

const WORD_BITS: u32 = 15;
const WORDS: usize = 1 << WORD_BITS;

impl Bits {
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
