//! What a key of an issuer looks like: its beginning or its midst, and the bytes around that.

use std::sync::LazyLock;

use crate::class::{Class, Set, is_word};
use crate::gate::Around;

/// What the keys of one issuer look like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(super) rule: &'static str,
    pub(super) prefix: &'static str,
    /// What follows the prefix.
    pub(super) body: Class,
    pub(super) least: usize,
    pub(super) most: usize,
    pub(super) check: fn(&[u8]) -> bool,
    /// Set where the prefix is no part of the secret: of an address the host stays.
    pub(super) keeps_prefix: bool,
    /// Where in the prefix the gate looks: where letters follow each other that are rare in words.
    pub(super) shown_at: usize,
}

/// A key of two parts with something between them by which it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inner {
    pub(super) rule: &'static str,
    pub(super) before: Run,
    pub(super) mark: &'static str,
    pub(super) after: Run,
}

/// Of what, and how much of it: at least, and at most.
pub(super) type Run = (Class, usize, usize);

pub(super) const fn shape(rule: &'static str, prefix: &'static str, body: Class, least: usize) -> Shape {
    Shape { rule, prefix, body, least, most: usize::MAX, check: anything, keeps_prefix: false, shown_at: 0 }
}

pub(super) const fn exact(rule: &'static str, prefix: &'static str, body: Class, length: usize) -> Shape {
    shape(rule, prefix, body, length).most(length)
}

pub(super) const fn around(rule: &'static str, before: Run, mark: &'static str, after: Run) -> Inner {
    Inner { rule, before, mark, after }
}

impl Shape {
    pub(super) const fn most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    pub(super) const fn check(self, check: fn(&[u8]) -> bool) -> Self {
        Self { check, ..self }
    }

    pub(super) const fn random(self) -> Self {
        self.check(is_random)
    }

    pub(super) const fn shown_at(self, shown_at: usize) -> Self {
        Self { shown_at, ..self }
    }

    pub(super) const fn keep_prefix(self) -> Self {
        Self { keeps_prefix: true, ..self }
    }
}

/// What may be before a key: no word, but for the ends of escapes. See `View::is_word_start`.
static BOUNDARY: LazyLock<Set> =
    LazyLock::new(|| Set::of(|byte| !is_word(byte) || byte.is_ascii_hexdigit() || b"nrt".contains(&byte)));

/// Returns what there is to see around the window of a key of such bytes that begins `shown_at` bytes after its start.
pub(super) fn around_window(shown_at: usize, mut key: impl Iterator<Item = Set>) -> Around {
    let before = match shown_at.checked_sub(1) {
        Some(last) => key.nth(last).unwrap_or(Set::ALL),
        None => *BOUNDARY,
    };
    Around::new(before, key)
}

fn anything(_body: &[u8]) -> bool {
    true
}

/// Distinguishes keys from words joined by dashes, such as names of styles.
fn is_random(body: &[u8]) -> bool {
    body.iter().any(u8::is_ascii_digit)
        && body.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| part.len() >= 12)
}
