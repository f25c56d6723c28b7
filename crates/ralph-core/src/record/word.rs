//! A word of a record that a later version wrote, kept as it is.

use std::fmt;

use serde::{Deserialize, Serialize};

const MAX_BYTES: usize = 32;

/// Stands in an enum of words for one that this version does not know: it is shown, and written back, as it was read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Word {
    bytes: [u8; MAX_BYTES],
    length: u8,
}

impl Word {
    /// `None` if no version would write this: words are short, in lower case, with `_` and `-`.
    pub fn new(text: &str) -> Option<Self> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        let is_word = text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(is_plain);
        let length =
            u8::try_from(text.len()).ok().filter(|length| usize::from(*length) <= MAX_BYTES && is_word)?;
        let mut bytes = [0; MAX_BYTES];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Some(Self { bytes, length })
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

impl TryFrom<String> for Word {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text).ok_or("expected a short word in lower case")
    }
}

impl From<Word> for String {
    fn from(word: Word) -> Self {
        word.as_str().to_owned()
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_plain_word_is_kept_as_it_is_and_nothing_else_is_a_word() {
        for text in ["x", "lost_claim", "left-out", "h2", &"a".repeat(MAX_BYTES)] {
            assert_eq!(Word::new(text).unwrap().as_str(), text);
        }
        for text in ["", "A", "a b", "a\u{1b}", "é", "-x", "1", "a\n", &"a".repeat(MAX_BYTES + 1)] {
            assert_eq!(Word::new(text), None, "{text:?}");
        }
    }
}
