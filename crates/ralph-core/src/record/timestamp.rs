//! A moment, as it is in records, trailers and progress.txt.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

/// Milliseconds since the Unix epoch. In JSON `YYYY-MM-DDTHH:MM:SS.mmmZ`, without the fraction if it is 0, as records of
/// earlier versions have it; shown to people without the fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Timestamp(i64);

impl Timestamp {
    /// Clamped to the years 0 to 9999, so that it can always be written.
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds.clamp(-62_167_219_200, 253_402_300_799) * 1000)
    }

    /// Returns a time in milliseconds since 1970, clamped to the years 0 to 9999.
    pub fn from_ms(ms: i64) -> Self {
        Self(ms.clamp(-62_167_219_200_000, 253_402_300_799_999))
    }

    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    pub fn ms(self) -> i64 {
        self.0
    }

    /// So much later.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self::from_ms(self.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    /// So much earlier.
    #[must_use]
    pub fn minus(self, time: Duration) -> Self {
        Self::from_ms(self.0.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Milliseconds from here to `later`; 0 if that is not later.
    pub fn ms_until(self, later: Self) -> u64 {
        u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0)
    }

    /// Returns the fraction of the second, in milliseconds.
    pub fn fraction(self) -> u32 {
        u32::try_from(self.0.rem_euclid(1000)).expect("less than 1000")
    }

    /// Returns the text that JSON has, with the fraction.
    pub fn precise(self) -> String {
        let digits = self.digits();
        let whole = as_text(&digits);
        match self.fraction() {
            0 => whole.to_owned(),
            fraction => format!("{}.{fraction:03}Z", whole.trim_end_matches('Z')),
        }
    }

    fn utc(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(self.seconds()).expect("clamped to what `time` can hold")
    }

    /// As in records. A list of thousands has two of each: a description that `time` goes through takes longer.
    fn digits(self) -> [u8; 20] {
        let moment = self.utc();
        let mut text = *b"0000-00-00T00:00:00Z";
        put(moment.year().unsigned_abs(), &mut text[..4]);
        let parts = [u8::from(moment.month()), moment.day(), moment.hour(), moment.minute(), moment.second()];
        for (place, part) in parts.into_iter().enumerate() {
            put(part.into(), &mut text[5 + 3 * place..][..2]);
        }
        text
    }

    /// `YYYYMMDD-HHMMSS`, as session ids begin.
    pub fn compact(self) -> String {
        self.utc()
            .format(format_description!("[year][month][day]-[hour][minute][second]"))
            .expect("every part is in the value")
    }
}

/// Writes `value` with leading zeros.
fn put(value: u32, into: &mut [u8]) {
    let mut rest = value;
    for digit in into.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
}

fn as_text(digits: &[u8; 20]) -> &str {
    std::str::from_utf8(digits).expect("they are ASCII")
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(as_text(&self.digits()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.fraction() {
            0 => serializer.serialize_str(as_text(&self.digits())),
            _ => serializer.serialize_str(&self.precise()),
        }
    }
}

impl FromStr for Timestamp {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).with_context(|| {
            format!("`{text}` is not a time; expected something like 2026-01-31T12:00:00Z")
        })?;
        Ok(Self::from_ms(moment.unix_timestamp() * 1000 + i64::from(moment.millisecond())))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for seconds in [0, 1, -1, 1_795_294_626, i64::MAX, i64::MIN] {
            let timestamp = Timestamp::from_seconds(seconds);
            assert_eq!(timestamp.to_string().parse::<Timestamp>().unwrap(), timestamp);
        }
    }

    #[test]
    fn every_part_has_its_place_and_zeros() {
        for (seconds, expected) in [
            (1_795_294_626, "2026-11-21T20:57:06Z"),
            (-62_167_219_200, "0000-01-01T00:00:00Z"),
            (-62_135_596_801, "0000-12-31T23:59:59Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            let timestamp = Timestamp::from_seconds(seconds);
            assert_eq!(timestamp.to_string(), expected);
            assert_eq!(serde_json::to_string(&timestamp).unwrap(), format!("\"{expected}\""));
        }
    }

    #[test]
    fn json_has_milliseconds_and_people_see_whole_seconds() {
        for (ms, shown, json) in [
            (1_795_294_626_007, "2026-11-21T20:57:06Z", "2026-11-21T20:57:06.007Z"),
            (1_795_294_626_999, "2026-11-21T20:57:06Z", "2026-11-21T20:57:06.999Z"),
            (-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999Z"),
            (i64::MAX, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999Z"),
        ] {
            let timestamp = Timestamp::from_ms(ms);
            assert_eq!(timestamp.to_string(), shown);
            assert_eq!(serde_json::to_string(&timestamp).unwrap(), format!("\"{json}\""));
            assert_eq!(json.parse::<Timestamp>().unwrap(), timestamp);
            assert!(timestamp.to_string().parse::<Timestamp>().unwrap() < timestamp);
        }
    }

    #[test]
    fn session_ids_begin_with_the_compact_form() {
        assert_eq!(Timestamp::from_seconds(1_795_294_626).compact(), "20261121-205706");
    }
}
