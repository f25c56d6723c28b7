//! Which class a failure is of: by its status, else by the words of the final error.

use std::sync::LazyLock;

use regex::Regex;

use crate::record::FailureClass;

/// Patterns for the words of a final error, the most telling first. Never for what a model or a tool said.
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
             fetch failed|error sending request|error decoding response|finish reason",
        ),
    ]
    .into_iter()
    .map(|(class, pattern)| (class, Regex::new(&format!("(?i){pattern}")).expect("a fixed pattern is valid")))
    .collect()
});

/// The class that an error's words point to, if it is one of these.
pub(in crate::agent) fn class_of_words(words: &str, wanted: &[FailureClass]) -> Option<FailureClass> {
    WORDS
        .iter()
        .filter(|(class, _)| wanted.contains(class))
        .find(|(_, pattern)| pattern.is_match(words))
        .map(|(class, _)| *class)
}

/// The class of an HTTP status, where it says one by itself.
pub(super) fn class_of_status(status: u64, words: &str) -> Option<FailureClass> {
    let told = |wanted: &[FailureClass]| class_of_words(words, wanted);
    match status {
        401 => Some(FailureClass::Auth),
        402 => Some(FailureClass::Billing),
        403 => Some(told(&[FailureClass::Quota, FailureClass::Billing]).unwrap_or(FailureClass::Auth)),
        404 => Some(FailureClass::Model),
        413 => Some(FailureClass::Context),
        429 => Some(told(&[FailureClass::Quota]).unwrap_or(FailureClass::RateLimit)),
        500..600 => Some(FailureClass::Overloaded),
        _ => None,
    }
}

/// The class of a failure with a status, if it has one, and words.
pub(super) fn class_of(status: Option<u64>, words: &str) -> FailureClass {
    status
        .and_then(|status| class_of_status(status, words))
        .or_else(|| class_of_words(words, FailureClass::ALL))
        .unwrap_or(FailureClass::Other)
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
            ("the cat sat on the mat, at port 42901", FailureClass::Other),
        ] {
            assert_eq!(class_of(None, words), class, "{words}");
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
