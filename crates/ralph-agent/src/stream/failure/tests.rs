use std::collections::BTreeSet;

use super::super::provider_samples::TEXTS;
use super::*;

#[test]
fn every_text_of_a_provider_has_its_class() {
    let wrong: Vec<String> = TEXTS
        .iter()
        .filter(|text| class_of(None, &text.words) != text.class)
        .map(|text| {
            format!("{}: {} and not {}: {}", text.source, class_of(None, &text.words), text.class, text.words)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_row_of_the_table_decides_for_a_text() {
    let (classes, patterns) = &*WORDS;
    let used: BTreeSet<usize> =
        TEXTS.iter().filter_map(|text| patterns.matches(&text.words).into_iter().next()).collect();
    let unused: Vec<String> = (0..classes.len())
        .filter(|row| !used.contains(row))
        .map(|row| patterns.patterns()[row].clone())
        .collect();
    assert!(unused.is_empty(), "{}", unused.join("\n"));
}

#[test]
fn there_are_texts_of_all_agents_and_some_that_are_no_errors_of_a_provider() {
    assert!(TEXTS.iter().filter(|text| !matches!(text.source, "none" | "composed")).count() >= 80);
    assert!(TEXTS.iter().filter(|text| text.source == "none").count() >= 8);
    for class in FailureClass::ALL {
        let is_by_words =
            !matches!(class, FailureClass::NotInstalled | FailureClass::Question | FailureClass::Conflict);
        assert_eq!(TEXTS.iter().any(|text| text.class == *class), is_by_words, "{class}");
    }
}

#[test]
fn a_status_counts_more_than_words() {
    for (status, words, class) in [
        (401, "connection", FailureClass::Auth),
        (402, "5-hour usage limit reached", FailureClass::Quota),
        (402, "", FailureClass::Billing),
        (429, "you exceeded your current quota", FailureClass::Quota),
        (429, "No capacity available for model x", FailureClass::Overloaded),
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
