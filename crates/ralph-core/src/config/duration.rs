//! Durations and sizes as people write them: `1h30m`, `5MiB`.

use std::time::Duration;

/// A year: longer waits are typing mistakes, and arithmetic on them would overflow.
const MAX_DURATION_MS: u64 = 365 * 24 * 3_600_000;

const UNITS: [(&str, u64); 5] =
    [("d", 24 * 3_600_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// Reads `10s`, `60m`, `1h30m`, `1h 30m`, `500ms`; at most a year.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = UNITS.iter().find(|(name, _)| *name == &rest[..letters])?.1;
        total = total.checked_add(number.checked_mul(unit)?)?;
        rest = rest[letters..].trim_start();
    }
    (total <= MAX_DURATION_MS).then(|| Duration::from_millis(total))
}

/// The shortest spelling in whole units: `1h30m`, `0s`. Below a millisecond nothing is shown.
pub fn display_duration(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if rest == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (name, unit) in UNITS {
        let count = rest / unit;
        rest %= unit;
        if count > 0 {
            text.extend([count.to_string().as_str(), name]);
        }
    }
    text
}

const SIZES: [(&str, u64); 14] = [
    ("tib", 1 << 40),
    ("gib", 1 << 30),
    ("mib", 1 << 20),
    ("kib", 1 << 10),
    ("tb", 1_000_000_000_000),
    ("gb", 1_000_000_000),
    ("mb", 1_000_000),
    ("kb", 1000),
    ("t", 1 << 40),
    ("g", 1 << 30),
    ("m", 1 << 20),
    ("k", 1 << 10),
    ("b", 1),
    ("", 1),
];

/// Reads `5MiB`, `1GB`, git's `5m`, or plain bytes.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim_start().to_ascii_lowercase();
    let (_, factor) = SIZES.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*factor)
}

/// The shortest exact spelling: `5MiB`, `1500`.
pub fn display_size(bytes: u64) -> String {
    for (name, factor) in [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1_u64 << 10)] {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{}{name}", bytes / factor);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, expected) in [
            ("10s", Some(10_000)),
            ("60m", Some(3_600_000)),
            ("1h30m", Some(5_400_000)),
            (" 1h 30m ", Some(5_400_000)),
            ("500ms", Some(500)),
            ("2d", Some(172_800_000)),
            ("0s", Some(0)),
            ("", None),
            ("10", None),
            ("m", None),
            ("-5s", None),
            ("1.5h", None),
            ("10 parsecs", None),
            ("5µs", None),
            ("366d", None),
            ("99999999999999999999s", None),
            ("9999999999999999d", None),
        ] {
            assert_eq!(parse_duration(text), expected.map(Duration::from_millis), "{text:?}");
        }
        assert_eq!(display_duration(Duration::from_mins(90)), "1h30m");
        assert_eq!(display_duration(Duration::ZERO), "0s");
    }

    #[test]
    fn sizes_are_read_as_people_and_git_write_them() {
        for (text, expected) in [
            ("5MiB", Some(5 << 20)),
            ("1GiB", Some(1 << 30)),
            ("5 mb", Some(5_000_000)),
            ("5m", Some(5 << 20)),
            ("512", Some(512)),
            ("512B", Some(512)),
            ("MiB", None),
            ("", None),
            ("-1", None),
            ("5 apples", None),
            ("18446744073709551615TiB", None),
        ] {
            assert_eq!(parse_size(text), expected, "{text:?}");
        }
        assert_eq!(display_size(1500), "1500");
        assert_eq!(display_size(0), "0");
    }

    proptest! {
        #[test]
        fn a_duration_reads_what_it_writes(ms in 0..=MAX_DURATION_MS) {
            let duration = Duration::from_millis(ms);
            prop_assert_eq!(parse_duration(&display_duration(duration)), Some(duration));
        }

        #[test]
        fn a_size_reads_what_it_writes(bytes: u64) {
            prop_assert_eq!(parse_size(&display_size(bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            prop_assert!(parse_duration(&text).is_none_or(|duration| duration.as_millis() <= MAX_DURATION_MS.into()));
            prop_assert!(parse_size(&text).is_none() || text.trim().starts_with(|c: char| c.is_ascii_digit()));
        }
    }
}
