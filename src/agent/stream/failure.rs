//! Classifies failures by status, or by the words of the final error.

use std::sync::LazyLock;
use std::time::Duration;

use regex::Regex;

use crate::record::FailureClass;

/// Patterns for the words of a final error, the most specific first. Never applied to what a model or a tool said.
static WORDS: LazyLock<Vec<(FailureClass, Regex)>> = LazyLock::new(|| {
    [
        (FailureClass::Refused, "cannot be used with root|security reasons|not (a |running in a )?trusted"),
        (
            FailureClass::Quota,
            "usage limit|hit your .* limit|exhausted your|quota exceeded|exceeded your .*quota|insufficient.quota",
        ),
        (FailureClass::Billing, "credit balance|billing|payment required|insufficient credit"),
        (
            FailureClass::Context,
            "context window|too long|context.?overflow|context length|prompt budget|exceeds the .*context",
        ),
        (
            FailureClass::Auth,
            r"\b40[13]\b|authenticat|unauthori[sz]ed|api.?key|not logged in|log in|/login|no auth",
        ),
        (FailureClass::Model, r"models?\b.{0,120}\bnot (exist|found|supported)|\b404\b"),
        (FailureClass::RateLimit, r"\b429\b|rate.?limit|too many requests"),
        (
            FailureClass::Overloaded,
            r"\b5(00|02|03|04|29)\b|overloaded|high demand|internal server|service unavailable|server had an error",
        ),
        (
            FailureClass::Network,
            "connect|econnre|network|timed? ?out|timeout|getaddrinfo|socket|stream (ended|disconnected)|\
             fetch failed|error: terminated|other side closed|error sending request|error decoding response|finish reason",
        ),
    ]
    .into_iter()
    .map(|(class, pattern)| (class, Regex::new(&format!("(?i){pattern}")).expect("a fixed pattern is valid")))
    .collect()
});

/// Returns the class that an error's words point to, if it is one of these.
pub(in crate::agent) fn class_of_words(words: &str, wanted: &[FailureClass]) -> Option<FailureClass> {
    WORDS
        .iter()
        .filter(|(class, _)| wanted.contains(class))
        .find(|(_, pattern)| pattern.is_match(words))
        .map(|(class, _)| *class)
}

/// Returns the class of an HTTP status, if the status alone determines one.
pub(super) fn class_of_status(status: u64, words: &str) -> Option<FailureClass> {
    let class_in = |wanted: &[FailureClass]| class_of_words(words, wanted);
    match status {
        401 => Some(FailureClass::Auth),
        402 => Some(FailureClass::Billing),
        403 => Some(class_in(&[FailureClass::Quota, FailureClass::Billing]).unwrap_or(FailureClass::Auth)),
        404 => Some(FailureClass::Model),
        413 => Some(FailureClass::Context),
        429 => Some(class_in(&[FailureClass::Quota]).unwrap_or(FailureClass::RateLimit)),
        500..600 => Some(FailureClass::Overloaded),
        _ => None,
    }
}

/// Returns the class of a failure with a status, if it has one, and words.
pub(in crate::agent) fn class_of(status: Option<u64>, words: &str) -> FailureClass {
    status
        .and_then(|status| class_of_status(status, words))
        .or_else(|| class_of_words(words, FailureClass::ALL))
        .unwrap_or(FailureClass::Other)
}

/// `try again in 11.054s`, `retry after 5400s`, `reset after 3h12m5s`, `in 2 minutes`
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:again|retry|resets?)\b.{0,12}?\b(?:in|after) ((?:\d+(?:\.\d+)? ?(?:hours?|minutes?|seconds?|h|min|ms|m|s)\b ?|\d+[hms])+)")
        .expect("a fixed pattern is valid")
});

static PART: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\d+(?:\.\d+)?) ?([A-Za-z]+)").expect("a fixed pattern is valid"));

/// Returns the waiting time that a final error names.
pub(in crate::agent) fn wait_time_in(words: &str) -> Option<Duration> {
    let time = TIME.captures(words)?.get(1)?.as_str();
    let mut seconds = 0.0;
    for part in PART.captures_iter(time) {
        let number: f64 = part[1].parse().ok()?;
        seconds += number
            * match part[2].to_ascii_lowercase().as_str() {
                "ms" => 0.001,
                "h" | "hour" | "hours" => 3600.0,
                "m" | "min" | "minute" | "minutes" => 60.0,
                _ => 1.0,
            };
    }
    Duration::try_from_secs_f64(seconds.ceil()).ok().filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn final_words_point_to_a_class() {
        for (words, class) in [
            ("You’ve hit your usage limit. Try again at 9:15 PM.", FailureClass::Quota),
            ("Quota exceeded. See plan and billing.", FailureClass::Quota),
            ("Your credit balance is too low", FailureClass::Billing),
            ("The prompt is larger than the model's context window", FailureClass::Context),
            ("no such thing: the model `x` does not exist", FailureClass::Model),
            ("models/x is not found for this version", FailureClass::Model),
            ("API key not valid", FailureClass::Auth),
            ("No API key found for x", FailureClass::Auth),
            ("Rate limit reached for x", FailureClass::RateLimit),
            ("We are seeing high demand", FailureClass::Overloaded),
            ("Connection error.", FailureClass::Network),
            ("stream disconnected before completion", FailureClass::Network),
            ("[API Error: terminated]", FailureClass::Network),
            ("the cat sat on the mat, at port 42901", FailureClass::Other),
        ] {
            assert_eq!(class_of(None, words), class, "{words}");
        }
    }

    #[test]
    fn words_may_tell_how_long_it_takes() {
        for (words, seconds) in [
            ("Rate limit reached. Please try again in 11.054s.", Some(12)),
            ("Quota. Suggested retry after 5400s.", Some(5400)),
            ("Your quota will reset after 3h12m5s.", Some(11525)),
            ("Try again in 2 minutes", Some(120)),
            ("try again in 1 hour 30 minutes.", Some(5400)),
            ("try again in 250ms", Some(1)),
            ("try again at 10:36 PM", None),
            ("try again in a while", None),
            ("in 5 steps", None),
            ("", None),
        ] {
            assert_eq!(wait_time_in(words).map(|time| time.as_secs()), seconds, "{words}");
        }
    }

    #[test]
    fn a_status_counts_more_than_words() {
        for (status, words, class) in [
            (401, "connection", FailureClass::Auth),
            (429, "you exceeded your current quota", FailureClass::Quota),
            (429, "slow down", FailureClass::RateLimit),
            (403, "insufficient credit", FailureClass::Billing),
            (404, "", FailureClass::Model),
            (500, "rate limit", FailureClass::Overloaded),
            (400, "maximum context length", FailureClass::Context),
            (418, "teapot", FailureClass::Other),
        ] {
            assert_eq!(class_of(Some(status), words), class, "{status} {words}");
        }
    }
}
