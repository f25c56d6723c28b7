//! Classifies failures by status, or by the words of the final error.

use std::sync::LazyLock;

use regex::RegexSet;

use ralph_core::record::FailureClass;

/// Patterns for the words of a final error. Never applied to what a model or a tool said.
const TABLE: &str = include_str!("failure-words.tsv");

/// What is before a number that is the status of an answer: `API Error: 429 {..}`, `429 Too Many Requests`, `"code":429`.
const STATUS: &str = r"(?:^|status|error|code|http|exception|failed:|returned|rejected|\[)[^a-z0-9]{0,12}(?:code[^a-z0-9]{0,4})?\b(?:";

/// The classes of the rows of the table, and their patterns.
static WORDS: LazyLock<(Vec<FailureClass>, RegexSet)> = LazyLock::new(|| {
    let (classes, patterns): (Vec<FailureClass>, Vec<String>) = rows().unzip();
    (classes, RegexSet::new(patterns).expect("a fixed pattern is valid"))
});

fn rows() -> impl Iterator<Item = (FailureClass, String)> {
    let rows = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|line| {
        let (class, pattern) = line.split_once('\t').expect("a row has a class and a pattern");
        let pattern = pattern.replace("STATUS<", STATUS).replace('>', r")\b");
        (class.parse().expect("a row has a known class"), format!("(?i){pattern}"))
    })
}

/// Returns the class that an error's words point to, if it is one of these.
pub(crate) fn class_of_words(words: &str, wanted: &[FailureClass]) -> Option<FailureClass> {
    let (classes, patterns) = &*WORDS;
    patterns.matches(words).into_iter().map(|row| classes[row]).find(|class| wanted.contains(class))
}

/// Returns true for words that say that nobody answered at all, whatever status they come with.
pub(super) fn is_unreachable(words: &str) -> bool {
    const WORDS: [&str; 9] = [
        "connection refused",
        "connectionrefused",
        "econnrefused",
        "connection error",
        "unable to connect",
        "enotfound",
        "eai_again",
        "enetunreach",
        "ehostunreach",
    ];
    let words = words.to_lowercase();
    WORDS.iter().any(|word| words.contains(word))
}

/// Returns the class of an HTTP status, if the status alone determines one.
pub(super) fn class_of_status(status: u64, words: &str) -> Option<FailureClass> {
    match status {
        401 => Some(FailureClass::Auth),
        // Some answer a limit that passes by itself as they answer an empty account.
        402 => Some(
            class_of_words(words, &[FailureClass::Billing, FailureClass::Quota])
                .unwrap_or(FailureClass::Billing),
        ),
        403 => Some(
            class_of_words(words, &[FailureClass::Quota, FailureClass::Billing])
                .unwrap_or(FailureClass::Auth),
        ),
        404 => Some(FailureClass::Model),
        413 => Some(FailureClass::Context),
        429 => Some(
            class_of_words(words, &[FailureClass::Billing, FailureClass::Overloaded, FailureClass::Quota])
                .unwrap_or(FailureClass::RateLimit),
        ),
        500..600 if is_unreachable(words) => Some(FailureClass::Network),
        500..600 => Some(FailureClass::Overloaded),
        _ => None,
    }
}

/// Returns the class of a failure with a status, if it has one, and words.
pub(crate) fn class_of(status: Option<u64>, words: &str) -> FailureClass {
    status
        .and_then(|status| class_of_status(status, words))
        .or_else(|| class_of_words(words, FailureClass::ALL))
        .unwrap_or(FailureClass::Other)
}

#[cfg(test)]
mod tests;
