//! Times as people read them on a screen: local. Records and JSON have UTC.

use jiff::tz::TimeZone;

use ralph_core::record::Timestamp;
use ralph_store::RemoteRun;

/// Formats `2026-11-23 02:15:07`, in the time zone that `TZ` names, or else in that of the machine.
pub fn local(at: Timestamp) -> String {
    shown(at, zone(), "%Y-%m-%d %H:%M:%S")
}

/// Formats `2026-11-23 02:15`.
pub fn local_minute(at: Timestamp) -> String {
    shown(at, zone(), "%Y-%m-%d %H:%M")
}

/// Formats `23 Nov 02:15`.
pub fn day_minute(at: Timestamp) -> String {
    shown(at, zone(), "%-d %b %H:%M")
}

fn date(at: Timestamp) -> String {
    shown(at, zone(), "%F")
}

/// Formats `02:15`.
pub fn clock(at: Timestamp) -> String {
    shown(at, zone(), "%H:%M")
}

/// Formats `02:15`, or `22 Nov 02:15` if that is another day than `now`.
pub fn clock_or_date(at: Timestamp, now: Timestamp) -> String {
    if date(at) == date(now) { clock(at) } else { day_minute(at) }
}

/// Formats `Sat 21 Nov`.
pub fn day(at: Timestamp) -> String {
    shown(at, zone(), "%a %-d %b")
}

/// Formats `21 Nov`.
pub fn short_day(at: Timestamp) -> String {
    shown(at, zone(), "%-d %b")
}

/// The same two in one: a list has thousands of them.
pub fn day_and_clock(at: Timestamp) -> [String; 2] {
    let both = shown(at, zone(), "%a %-d %b\t%H:%M");
    let (day, clock) = both.split_once('\t').unwrap_or(("", &both));
    [day, clock].map(str::to_owned)
}

/// Formats date, time and UTC offset: `2026-11-23 02:15:07 +01:00`.
pub fn local_with_offset(at: Timestamp) -> String {
    shown(at, zone(), "%Y-%m-%d %H:%M:%S %:z")
}

/// Formats a time range without a date that repeats: `Sat 21 Nov 22:41 – Sun 04:12`.
pub fn span_of(from: Timestamp, to: Timestamp) -> String {
    // Within a week, the weekday alone is unambiguous.
    let is_near = to.seconds().saturating_sub(from.seconds()) < 6 * 24 * 3600;
    let end = match (day(from) == day(to), is_near) {
        (true, true) => "%H:%M",
        (false, true) => "%a %H:%M",
        (_, false) => "%a %-d %b %H:%M",
    };
    format!("{} – {}", shown(from, zone(), "%a %-d %b %H:%M"), shown(to, zone(), end))
}

/// Returns true if the range crosses midnight and lasts from 2 to 24 hours.
pub fn is_overnight(from: Timestamp, to: Timestamp) -> bool {
    let seconds = to.seconds().saturating_sub(from.seconds());
    (2 * 3600..24 * 3600).contains(&seconds) && date(from) != date(to)
}

/// Describes a session that runs on another machine: `running on HOST as of TIME (last sync)`.
pub fn describe_remote_run(run: &RemoteRun) -> String {
    let RemoteRun { host, as_of, is_synced } = run;
    let what = if *is_synced { "last sync" } else { "last record" };
    format!("running on {host} as of {} ({what})", local(*as_of))
}

/// Jiff reads the time zone itself: libc's `localtime` is unsound in a program with threads.
fn zone() -> TimeZone {
    // Snapshots of screens are compared.
    if cfg!(test) { TimeZone::UTC } else { TimeZone::system() }
}

fn shown(at: Timestamp, zone: TimeZone, format: &str) -> String {
    match jiff::Timestamp::from_second(at.seconds()) {
        Ok(moment) => moment.to_zoned(zone).strftime(format).to_string(),
        Err(_) => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_in_the_given_zone() {
        let winter = Timestamp::from_seconds(1_795_294_626);
        let summer = Timestamp::from_seconds(1_782_000_000);
        for (zone, at, expected) in [
            ("UTC0", winter, "2026-11-21 20:57:06 +00:00"),
            ("CET-1CEST,M3.5.0,M10.5.0/3", winter, "2026-11-21 21:57:06 +01:00"),
            ("CET-1CEST,M3.5.0,M10.5.0/3", summer, "2026-06-21 02:00:00 +02:00"),
            ("<-0330>3:30", winter, "2026-11-21 17:27:06 -03:30"),
        ] {
            let zone = TimeZone::posix(zone).unwrap();
            assert_eq!(shown(at, zone, "%Y-%m-%d %H:%M:%S %:z"), expected);
        }
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let evening = at("2026-11-21T22:41:00Z");
        for (to, expected, is_night) in [
            ("2026-11-21T23:05:00Z", "Sat 21 Nov 22:41 – 23:05", false),
            ("2026-11-22T00:10:00Z", "Sat 21 Nov 22:41 – Sun 00:10", false),
            ("2026-11-22T04:12:00Z", "Sat 21 Nov 22:41 – Sun 04:12", true),
            ("2026-11-30T04:12:00Z", "Sat 21 Nov 22:41 – Mon 30 Nov 04:12", false),
        ] {
            assert_eq!(
                (span_of(evening, at(to)).as_str(), is_overnight(evening, at(to))),
                (expected, is_night)
            );
        }
        let night = at("2026-11-22T00:10:00Z");
        assert_eq!(clock_or_date(night, night), "00:10");
        assert_eq!(clock_or_date(evening, night), "21 Nov 22:41");
        for seconds in [i64::MIN, i64::MAX] {
            assert!(!local(Timestamp::from_seconds(seconds)).is_empty());
        }
    }
}
