//! Names of sessions and of git objects.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::Timestamp;

/// The name of a session: `20261121-204512-3f9a0c1d`. Lower case, sorts by time, unique.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SessionId(String);

impl SessionId {
    /// `salt` distinguishes two sessions that start in the same second.
    pub fn new(started_at: Timestamp, salt: u32) -> Self {
        Self(format!("{}-{salt:08x}", started_at.compact()))
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
        Self(format!("{second}-{:08x}", others_salt.saturating_add(step)))
    }

    fn parts(&self) -> (&str, u32) {
        let (second, salt) = self.0.split_at(15);
        (second, u32::from_str_radix(salt.trim_start_matches('-'), 16).expect("an id ends in 8 hex digits"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for SessionId {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

/// The id of a commit, tree or blob, in hexadecimal: 40 digits for SHA-1, 64 for SHA-256.
///
/// Ours, so that no type of the git library travels beyond the two doors to git.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ObjectId(String);

impl ObjectId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first ten digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ObjectId {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        if !matches!(text.len(), 40 | 64) || !is_hex(text) {
            bail!("`{text}` is not an object id");
        }
        Ok(Self(text.to_owned()))
    }
}

/// Without a way out of the loop all bytes are looked at together: lists hold tens of thousands of ids.
fn is_hex(text: &str) -> bool {
    text.bytes().fold(true, |is_hex, byte| is_hex & (byte.is_ascii_digit() | (b'a'..=b'f').contains(&byte)))
}

impl TryFrom<String> for ObjectId {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

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
