//! Names of sessions and of git objects.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize, Serializer};

use super::{LogEntry, Timestamp};

/// The name of a session: `20261121-204512-3f9a0c1d`. Lower case, sorts by time, unique.
///
/// It and [`ObjectId`] hold their text themselves: lists have tens of thousands of them, each of which would be allocated.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct SessionId([u8; 24]);

impl SessionId {
    /// `salt` distinguishes two sessions that start in the same second.
    pub fn new(started_at: Timestamp, salt: u32) -> Self {
        Self::of(&format!("{}-{salt:08x}", started_at.compact()))
    }

    /// This id, or where `other` began in the same second and would sort after it, one that sorts after `other`.
    #[must_use]
    pub fn sorted_after(self, other: &Self) -> Self {
        let (second, salt) = self.parts();
        let (others_second, others_salt) = other.parts();
        if second != others_second || salt > others_salt {
            return self;
        }
        // A large step still distinguishes two that start at once in different clones.
        let step = salt % 4096 + 1;
        Self::of(&format!("{second}-{:08x}", others_salt.saturating_add(step)))
    }

    fn of(text: &str) -> Self {
        Self(text.as_bytes().try_into().expect("an id has 24 characters"))
    }

    fn parts(&self) -> (&str, u32) {
        let (second, salt) = self.as_str().split_at(15);
        (second, u32::from_str_radix(salt.trim_start_matches('-'), 16).expect("an id ends in 8 hex digits"))
    }

    pub fn as_str(&self) -> &str {
        text_of(&self.0)
    }
}

impl FromStr for SessionId {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_id = text.len() == 24
            && text.bytes().enumerate().all(|(i, byte)| match i {
                8 | 15 => byte == b'-',
                0..15 => byte.is_ascii_digit(),
                _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            });
        if !is_id {
            bail!("`{text}` is not a session id; expected something like 20261121-204512-3f9a0c1d");
        }
        Ok(Self::of(text))
    }
}

/// The id of a commit, tree or blob, in hexadecimal: 40 digits for SHA-1, 64 for SHA-256.
///
/// Ours, so that no type of the git library travels beyond the two doors to git.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct ObjectId(Hex);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Hex {
    Sha1([u8; 40]),
    Sha256([u8; 64]),
}

impl ObjectId {
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Hex::Sha1(digits) => text_of(digits),
            Hex::Sha256(digits) => text_of(digits),
        }
    }

    /// Returns the first ten digits, for people.
    pub fn short(&self) -> &str {
        &self.as_str()[..10]
    }
}

impl FromStr for ObjectId {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let digits = text.as_bytes();
        let hex = digits.try_into().map(Hex::Sha1).or_else(|_| digits.try_into().map(Hex::Sha256));
        match hex {
            Ok(hex) if is_hex(digits) => Ok(Self(hex)),
            _ => bail!("`{text}` is not an object id"),
        }
    }
}

/// Without a way out of the loop all bytes are looked at together.
fn is_hex(digits: &[u8]) -> bool {
    digits.iter().fold(true, |is_hex, byte| is_hex & (byte.is_ascii_digit() | (b'a'..=b'f').contains(byte)))
}

fn text_of(characters: &[u8]) -> &str {
    std::str::from_utf8(characters).expect("an id is of digits and letters")
}

/// What both have of a text.
macro_rules! text {
    ($id:ident) => {
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($id)).field(&self.as_str()).finish()
            }
        }

        impl Serialize for $id {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl TryFrom<String> for $id {
            type Error = anyhow::Error;

            fn try_from(text: String) -> Result<Self> {
                text.parse()
            }
        }
    };
}

/// An iteration of a session: numbers repeat from session to session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    pub session: SessionId,
    pub number: u32,
}

impl From<(&SessionId, &LogEntry)> for AttemptId {
    fn from((session, entry): (&SessionId, &LogEntry)) -> Self {
        Self { session: session.clone(), number: entry.number() }
    }
}

/// `20261121-204512-3f9a0c1d:7`, as commands take it.
impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.session, self.number)
    }
}

text!(SessionId);
text!(ObjectId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_sessions_in_one_second_the_later_sorts_behind() {
        let at = |second: i64, salt: u32| SessionId::new(Timestamp::from_seconds(second), salt);
        assert_eq!(at(100, 7).sorted_after(&at(99, 9)), at(100, 7));
        assert_eq!(at(100, 7).sorted_after(&at(100, 6)), at(100, 7));
        assert_eq!(at(100, 7).sorted_after(&at(100, 0xffff)), at(100, 0xffff + 8));
        assert!(at(100, 7).sorted_after(&at(100, 7)) > at(100, 7));
    }

    #[test]
    fn a_session_id_reads_what_it_writes_and_nothing_else() {
        let id = SessionId::new(Timestamp::from_seconds(1_795_294_626), 0x3f9a);
        assert_eq!(id.as_str(), "20261121-205706-00003f9a");
        assert_eq!(id.as_str().parse::<SessionId>().unwrap(), id);
        for wrong in [
            "",
            "20261121-205706-00003F9A",
            "20261121-205706",
            "../../etc/passwd-00003f9a",
            "20261121_203706-00003f9a",
        ] {
            assert!(wrong.parse::<SessionId>().is_err(), "{wrong}");
        }
    }
}
