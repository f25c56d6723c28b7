//! Dates of `--since` and `--until`: git reads them, and takes words that it does not know for the present.

use anyhow::{Context as _, Result, bail};

use ralph_core::record::Timestamp;
use ralph_os::process::Tool;
use ralph_ui::style::one_line;

use crate::cli::Context;

/// Words of a date, each also with an `s` behind it.
const WORDS: [&str; 47] = [
    "ago",
    "last",
    "now",
    "today",
    "yesterday",
    "noon",
    "midnight",
    "tea",
    "never",
    "am",
    "pm",
    "second",
    "sec",
    "minute",
    "min",
    "hour",
    "day",
    "week",
    "month",
    "year",
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "a",
    "an",
    "at",
    "on",
    "of",
    "the",
    "and",
    "st",
    "nd",
    "rd",
    "th",
    "utc",
    "gmt",
    "cet",
    "cest",
    "est",
];

/// Names of which git knows the first three letters or more.
const NAMES: [&str; 19] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// Other time zones that git knows.
const ZONES: [&str; 12] =
    ["edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "bst", "wet", "eet", "eest", "jst"];

/// Returns a time as git reads it.
///
/// # Errors
///
/// Fails if the text is not a date.
pub fn moment(context: &Context, flag: &str, text: Option<&str>) -> Result<Option<Timestamp>> {
    let Some(text) = text else { return Ok(None) };
    if !is_date(text) {
        bail!(
            "`{}` is not a date\nhint: {flag} takes what git takes: 2026-11-24, '2026-11-24 21:15', yesterday, 2.days.ago",
            one_line(text)
        );
    }
    let answer =
        Tool::git_as_called(&context.directory).args(["rev-parse", &format!("{flag}={text}")]).line()?;
    // `--max-age=1795294000`, or `--min-age`.
    let seconds = answer.rsplit('=').next().unwrap_or_default();
    let seconds = seconds.parse().with_context(|| format!("read what git makes of `{flag}={text}`"))?;
    Ok(Some(Timestamp::from_seconds(seconds)))
}

/// Returns true if all words of a text, of which it has some, can be in a date.
fn is_date(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let has_any = text.contains(|c: char| c.is_ascii_digit()) || words.clone().next().is_some();
    let is_iso = text.starts_with(|c: char| c.is_ascii_digit());
    has_any && words.all(|word| is_word(word) || is_iso && matches!(word, "t" | "z"))
}

fn is_word(word: &str) -> bool {
    let one = word.strip_suffix('s').unwrap_or(word);
    WORDS.contains(&word)
        || WORDS.contains(&one)
        || ZONES.contains(&word)
        || word.len() >= 3 && NAMES.iter().any(|name| name.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_only_words_that_git_knows() {
        for text in [
            "2026-11-24",
            "2026-11-24T21:15:46.123Z",
            "2026-11-24 21:15 +0100",
            "Nov 24 2026",
            "24 november 9am",
            "yesterday",
            "yesterday noon",
            "2.days.ago",
            "10minutes ago",
            "last tuesday",
            "a week ago",
            "1st of May",
            "@1795294000",
            "Tue, 24 Nov 2026 21:15:46 CEST",
        ] {
            assert!(is_date(text), "{text}");
        }
        for text in ["garbage", "", "--", "2 fortnightly ago", "yesterdya", "T004", "ja", "2026-11-24x"] {
            assert!(!is_date(text), "{text}");
        }
    }
}
