//! A moment, in whole seconds, as it stands in records, trailers and progress.txt.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

/// Seconds since the Unix epoch; `YYYY-MM-DDTHH:MM:SSZ` as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(i64);

impl Timestamp {
    /// Clamped to the years 0 to 9999, so that it can always be written.
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds.clamp(-62_167_219_200, 253_402_300_799))
    }

    pub fn seconds(self) -> i64 {
        self.0
    }

    /// So much later, in whole seconds.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self::from_seconds(self.0.saturating_add(i64::try_from(time.as_secs()).unwrap_or(i64::MAX)))
    }

    fn utc(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(self.0).expect("clamped to what `time` can hold")
    }

    /// `YYYYMMDD-HHMMSS`, as session ids begin.
    pub fn compact(self) -> String {
        self.utc()
            .format(format_description!("[year][month][day]-[hour][minute][second]"))
            .expect("every part is in the value")
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self
            .utc()
            .format(format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z"))
            .expect("every part is in the value");
        f.write_str(&text)
    }
}

impl FromStr for Timestamp {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let moment = OffsetDateTime::parse(text, &Rfc3339)
            .with_context(|| format!("`{text}` is no time like 2026-01-31T12:00:00Z"))?;
        Ok(Self::from_seconds(moment.unix_timestamp()))
    }
}

impl From<Timestamp> for String {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.to_string()
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
    fn session_ids_begin_with_the_compact_form() {
        assert_eq!(Timestamp::from_seconds(1_795_294_626).compact(), "20261121-205706");
    }
}
