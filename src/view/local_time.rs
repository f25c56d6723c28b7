//! Times as people read them on a screen: local. Records and JSON have UTC.

use jiff::tz::TimeZone;

use crate::record::Timestamp;
use crate::store::Elsewhere;

/// `2026-11-23 02:15:07`, in the time zone that `TZ` names, or else in that of the machine.
pub fn local(at: Timestamp) -> String {
    shown(at, zone(), "%Y-%m-%d %H:%M:%S")
}

/// The same with what it is ahead of UTC: `2026-11-23 02:15:07 +01:00`.
pub fn local_with_offset(at: Timestamp) -> String {
    shown(at, zone(), "%Y-%m-%d %H:%M:%S %:z")
}

/// What is known of a session that runs on another machine.
pub fn elsewhere(elsewhere: &Elsewhere) -> String {
    let Elsewhere { host, as_of, is_synced } = elsewhere;
    let what = if *is_synced { "last sync" } else { "last record" };
    format!("running on {host} as of {} ({what})", local(*as_of))
}

/// Jiff reads the time zone itself: asking libc for it is unsound beside other threads.
fn zone() -> TimeZone {
    // Pictures of screens are compared.
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
    fn a_time_is_shown_as_the_clock_on_the_wall_shows_it() {
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
        for seconds in [i64::MIN, i64::MAX] {
            assert!(!local(Timestamp::from_seconds(seconds)).is_empty());
        }
    }
}
