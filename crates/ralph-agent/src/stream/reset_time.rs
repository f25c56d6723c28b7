//! Reads when a limit ends from the words of an error. A time that cannot be read for certain is none.

use std::sync::LazyLock;
use std::time::Duration;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Zoned};
use regex::{Captures, Regex};

use ralph_core::record::Timestamp;

/// How long a time of the clock is taken for that of today after it passed: an error that comes late does not mean tomorrow.
const CLOCK_GRACE: SignedDuration = SignedDuration::from_mins(15);

/// Maximum number of bytes between the word that begins a time and its end.
const MAX_TIME_BYTES: usize = 120;

/// `usage limit reached|1749924000`, `"resets_at":1777936568`, `X-RateLimit-Reset: 1741305600000`
static EPOCH: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"(?:\||\bresets?(?:[_ -]?at)?["':= ]{1,6}|_reset(?:_at)?["':= ]{1,6})\s?(\d{13}|\d{10})\b"#)
});

/// `5 days 22 hours 11 minutes`, `3h12m5s`, `11.054s`, `an hour`
const SPAN: &str = r"((?:\d+(?:\.\d+)?\s?(?:weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|milliseconds?|ms|seconds?|secs?|s)\b[\s,]*(?:and\s+)?|\d+[dhms])+|an?\s+(?:hour|minute|day|week)\b)";

/// `try again in 2 minutes`, `Please wait 2 minutes`, `"retryDelay": "40s"`
static SPAN_AFTER: LazyLock<Regex> = LazyLock::new(|| {
    let vague = r"(?:about\s+|approximately\s+|around\s+|another\s+|at least\s+|~\s*)?";
    let again = r"\b(?:again|retry|retrying|resets?|available|back|renews?|refresh(?:es)?)\b[^.\d\n]{0,30}?\b(?:in|after|within)\s+";
    regex(&format!(r#"(?:(?:{again}|\bwait\s+(?:for\s+)?){vague}|retry[_-]?(?:delay|after)["':= ]+){SPAN}"#))
});

/// `retry-after: 60`, `"resets_in_seconds":13872`
static SECONDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"(?:retry[_ -]?after|resets?_in_seconds|reset_?after_?seconds)["':= ]+(\d{1,9})\b"#)
});

static PART: LazyLock<Regex> = LazyLock::new(|| regex(r"(\d+(?:\.\d+)?)\s?([a-z]+)"));

/// What a time of day or a date may follow.
static TRIGGER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(?:again|resets?(?:_at)?|until|renews?|available|wait|expires?|retry|resumes?|refresh(?:es)?)\b",
    )
});

/// The words for a moment, each with the groups that it has.
static MOMENTS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let fillers = r"^[^a-z0-9]{0,4}(?:(?:will|is|be|to|on|at|after|by|until|from|resets?|date|time|for|your|the|limit)[^a-z0-9]{1,4}){0,6}";
    let clock = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d+)?)?)?(?:\s?(?P<half>[ap])\.?m\b\.?)?";
    let zone = r"(?:\s*\((?P<within>[^)]{1,40})\)|\s*(?P<zone>(?-i:(?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d{2})?)?|[A-Z][A-Za-z]+(?:/[A-Za-z0-9_+-]+)+|[A-Z]{1,5})\b|[+-]\d{2}:?\d{2}\b))?";
    let month = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?";
    let weekday = r"(?P<weekday>mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?";
    let day = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b";
    let year = r"(?P<year>\d{4})\b";
    let later_clock = format!(r"(?:(?:,?\s+|t)(?:at\s+)?{clock})?{zone}");
    [
        format!(r"(?P<year>\d{{4}})-(?P<number>\d{{2}})-(?P<day>\d{{2}}){later_clock}"),
        format!(r"(?:{weekday},?\s+)?{month}\s+{day}(?:,?\s+{year})?{later_clock}"),
        format!(r"(?:{weekday},?\s+)?{day}\s+(?:de\s+)?{month}(?:\s+de)?(?:,?\s+{year})?{later_clock}"),
        format!(r"{weekday}{later_clock}"),
        format!(r"(?P<tomorrow>tomorrow){later_clock}"),
        format!(r"{clock}{zone}"),
    ]
    .iter()
    .map(|moment| regex(&format!("{fillers}{moment}")))
    .collect()
});

fn regex(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).expect("a fixed pattern is valid")
}

/// Returns the time at which a limit ends, by the words of a final error. A clock without a zone is the machine's.
pub(crate) fn reset_time_in(words: &str, now: Timestamp) -> Option<Timestamp> {
    read(words, now, &TimeZone::system())
}

fn read(words: &str, now: Timestamp, local: &TimeZone) -> Option<Timestamp> {
    if let Some(epoch) = EPOCH.captures(words) {
        let number: i64 = epoch[1].parse().ok()?;
        return Some(Timestamp::from_seconds(if epoch[1].len() == 13 { number / 1000 } else { number }));
    }
    if let Some(span) = SPAN_AFTER.captures(words) {
        return Some(now.plus(length(&span[1])?));
    }
    if let Some(seconds) = SECONDS.captures(words) {
        let seconds = Duration::from_secs(seconds[1].parse().ok()?);
        return (!seconds.is_zero()).then(|| now.plus(seconds));
    }
    let now = jiff::Timestamp::from_second(now.seconds()).ok()?;
    TRIGGER.find_iter(words).find_map(|trigger| {
        let rest = &words[trigger.end()..];
        let end = (0..=rest.len().min(MAX_TIME_BYTES)).rfind(|end| rest.is_char_boundary(*end))?;
        let found = MOMENTS.iter().find_map(|moment| moment.captures(&rest[..end]))?;
        moment(&found, now, local)
    })
}

/// Returns the length of a [`SPAN`], in whole seconds; `None` if it is nothing.
fn length(span: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    for part in PART.captures_iter(span) {
        seconds += part[1].parse::<f64>().ok()? * seconds_of(&part[2])?;
    }
    if let Some(unit) =
        span.split_whitespace().nth(1).filter(|_| !span.starts_with(|c: char| c.is_ascii_digit()))
    {
        seconds = seconds_of(unit)?;
    }
    Duration::try_from_secs_f64(seconds.ceil()).ok().filter(|time| !time.is_zero())
}

fn seconds_of(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    Some(match unit.as_str() {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        _ => match unit.chars().next()? {
            's' => 1.0,
            'm' => 60.0,
            'h' => 3600.0,
            'd' => 86_400.0,
            'w' => 604_800.0,
            _ => return None,
        },
    })
}

/// Returns the moment that the groups describe, the first from `now` on where they leave it open.
fn moment(found: &Captures<'_>, now: jiff::Timestamp, local: &TimeZone) -> Option<Timestamp> {
    let zone = match found.name("within").or_else(|| found.name("zone")) {
        Some(name) => zone_of(name.as_str())?,
        None => local.clone(),
    };
    let now = now.to_zoned(zone.clone());
    let time = clock(found)?;
    let date = date(found, &now)?;
    let (Some(time), date) = (time.or_else(|| date.map(|_| Time::midnight())), date) else { return None };
    let at = |date: Date| date.to_datetime(time).to_zoned(zone.clone()).ok();
    let mut at_first = at(date.unwrap_or_else(|| now.date()))?;
    if date.is_none() && at_first.duration_until(&now) >= CLOCK_GRACE {
        at_first = at(now.date().tomorrow().ok()?)?;
    } else if found.name("weekday").is_some() && found.name("day").is_none() && at_first <= now {
        at_first = at_first.checked_add(jiff::Span::new().days(7)).ok()?;
    }
    Some(Timestamp::from_seconds(at_first.timestamp().as_second()))
}

/// Returns the time of the day, `Some(None)` if none is named, and `None` if it is no time.
fn clock(found: &Captures<'_>) -> Option<Option<Time>> {
    let [hour, minute, second] =
        ["hour", "minute", "second"].map(|name| found.name(name).map(|digits| digits.as_str().parse::<i8>()));
    let Some(hour) = hour else { return Some(None) };
    let mut hour = hour.ok()?;
    match found.name("half").map(|half| half.as_str().to_ascii_lowercase()) {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(half) => hour = hour % 12 + if half == "p" { 12 } else { 0 },
        // A number alone is anything.
        None if minute.is_none() => return None,
        None => {}
    }
    let minute = minute.transpose().ok()?.unwrap_or(0);
    let second = second.transpose().ok()?.unwrap_or(0);
    Time::new(hour, minute, second, 0).ok().map(Some)
}

/// Returns the date, `Some(None)` if none is named, and `None` if there is no such date.
fn date(found: &Captures<'_>, now: &Zoned) -> Option<Option<Date>> {
    if found.name("tomorrow").is_some() {
        return now.date().tomorrow().ok().map(Some);
    }
    let Some(day) = found.name("day") else {
        let Some(weekday) = found.name("weekday") else { return Some(None) };
        let wanted = position(weekday.as_str(), &["mon", "tue", "wed", "thu", "fri", "sat", "sun"])?;
        let wanted = Weekday::from_monday_zero_offset(wanted - 1).ok()?;
        let days = now.weekday().until(wanted);
        return now.date().checked_add(jiff::Span::new().days(days)).ok().map(Some);
    };
    let day: i8 = day.as_str().parse().ok()?;
    let month = match (found.name("month"), found.name("number")) {
        (Some(name), _) => {
            let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
            position(name.as_str(), &months)?
        }
        (None, Some(number)) => number.as_str().parse().ok()?,
        (None, None) => return None,
    };
    if let Some(year) = found.name("year") {
        return Date::new(year.as_str().parse().ok()?, month, day).ok().map(Some);
    }
    // Without a year, the nearest.
    let years = (now.year() - 1)..=(now.year() + 1);
    let dates = years.filter_map(|year| Date::new(year, month, day).ok());
    dates.min_by_key(|date| date.duration_until(now.date()).abs()).map(Some)
}

/// Returns the number of the first name that `word` begins with, from 1.
fn position(word: &str, names: &[&str]) -> Option<i8> {
    let word = word.to_ascii_lowercase();
    let index = names.iter().position(|name| word.starts_with(name))?;
    i8::try_from(index + 1).ok()
}

fn fixed(minutes: i32) -> Option<TimeZone> {
    Offset::from_seconds(minutes * 60).ok().map(TimeZone::fixed)
}

/// Returns the zone of that name, if it means one zone alone.
fn zone_of(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    match name {
        "Z" | "UTC" | "GMT" => return Some(TimeZone::UTC),
        "local" | "local time" | "your local time" => return Some(TimeZone::system()),
        "PST" => return fixed(-8 * 60),
        "PDT" | "MST" => return fixed(-7 * 60),
        "MDT" => return fixed(-6 * 60),
        "EST" => return fixed(-5 * 60),
        "EDT" => return fixed(-4 * 60),
        "CET" => return fixed(60),
        "CEST" => return fixed(120),
        _ => {}
    }
    let offset = name.strip_prefix("UTC").or_else(|| name.strip_prefix("GMT")).unwrap_or(name);
    if let Some(digits) = offset.strip_prefix(['+', '-']) {
        let digits = digits.replace(':', "");
        let (hours, minutes) =
            digits.split_at_checked(if digits.len() > 2 { digits.len() - 2 } else { digits.len() })?;
        let minutes: i32 = if minutes.is_empty() { 0 } else { minutes.parse().ok()? };
        let all = hours.parse::<i32>().ok()? * 60 + minutes;
        return fixed(if offset.starts_with('-') { -all } else { all });
    }
    if name.contains('/') { TimeZone::get(name).ok() } else { None }
}

#[cfg(test)]
mod tests;
