use super::super::provider_samples::TEXTS;
use super::*;

/// A Thursday, 07:00 in New York.
const NOW: &str = "2026-11-26T12:00:00Z";

fn read_at(words: &str, now: &str) -> Option<String> {
    let local = TimeZone::get("America/New_York").unwrap();
    read(words, now.parse().unwrap(), &local).map(|at| at.to_string())
}

#[test]
fn the_texts_of_providers_say_when_their_limits_end() {
    let wrong: Vec<String> = TEXTS
        .iter()
        .map(|text| (text, read_at(&text.words, NOW), text.resets_at.map(|at| at.to_string())))
        .filter(|(_, found, wanted)| found != wanted)
        .map(|(text, found, wanted)| format!("{found:?} and not {wanted:?}: {}", text.words))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn times_come_in_many_forms() {
    for (words, wanted) in [
        ("resets 3am (UTC)", Some("2026-11-27T03:00:00Z")),
        ("Try again at 9:15 PM.", Some("2026-11-27T02:15:00Z")),
        ("try again at 21:15", Some("2026-11-27T02:15:00Z")),
        ("resets at 12:30 p.m. EST", Some("2026-11-26T17:30:00Z")),
        ("resets at 2pm +05:30", Some("2026-11-27T08:30:00Z")),
        ("resets Dec 17 at 6am (Europe/Oslo)", Some("2026-12-17T05:00:00Z")),
        ("resets Jan 3, 8am", Some("2027-01-03T13:00:00Z")),
        ("resets on Monday at 9:00 AM", Some("2026-11-30T14:00:00Z")),
        ("resets Thursday 6am", Some("2026-12-03T11:00:00Z")),
        ("available again tomorrow at 8am", Some("2026-11-27T13:00:00Z")),
        ("resets at 2026-11-27T03:04:05Z", Some("2026-11-27T03:04:05Z")),
        ("resets_at: 2026-11-27T03:04:05.678+01:00", Some("2026-11-27T02:04:05Z")),
        ("Your limit will reset at 2026-11-27 03:04:05", Some("2026-11-27T08:04:05Z")),
        ("X-RateLimit-Reset: 1795694400000", Some("2026-11-26T12:00:00Z")),
        ("limit reached|1795694400", Some("2026-11-26T12:00:00Z")),
        ("try again in 3 days 4 hours", Some("2026-11-29T16:00:00Z")),
        ("wait 2 minutes", Some("2026-11-26T12:02:00Z")),
        ("try again in 1 hour and 30 minutes.", Some("2026-11-26T13:30:00Z")),
        ("Your quota will reset after 3h12m5s.", Some("2026-11-26T15:12:05Z")),
        ("Try again in ~231 min.", Some("2026-11-26T15:51:00Z")),
        ("try again in about an hour", Some("2026-11-26T13:00:00Z")),
        ("try again in 250ms", Some("2026-11-26T12:00:01Z")),
        // What cannot be read for certain is no time.
        ("resets 6:30pm IST", None),
        ("resets 10pm (Atlantis/Capital)", None),
        ("resets 10pm (XYZ)", None),
        ("resets monthly", None),
        ("resets at 25:00", None),
        ("resets 13pm", None),
        ("resets Feb 31", None),
        ("resets 11/12", None),
        ("try again in a while", None),
        ("try again later", None),
        ("try again in 0 s", None),
        ("in 5 steps", None),
        ("retry 3 of 10", None),
        ("", None),
    ] {
        assert_eq!(read_at(words, NOW).as_deref(), wanted, "{words}");
    }
}

#[test]
fn a_time_of_the_clock_that_just_passed_is_not_tomorrows() {
    for (now, wanted) in [
        ("2026-11-27T02:59:59Z", "2026-11-27T03:00:00Z"),
        ("2026-11-27T03:10:00Z", "2026-11-27T03:00:00Z"),
        ("2026-11-27T03:15:00Z", "2026-11-28T03:00:00Z"),
    ] {
        assert_eq!(read_at("You've hit your limit · resets 10pm", now).as_deref(), Some(wanted), "{now}");
    }
}
