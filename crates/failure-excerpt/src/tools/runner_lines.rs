//! Lines that several test runners print alike, and the formats of busted, Julia and ava.

use super::super::failure::{Failure, Stage, split_location};
use super::super::line_kind::{LineKind, line_kind};
use super::super::location::{find_location, is_file};
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::super::words::{is_digits, strip_any};

/// Returns a name without ` (0.25ms)`, ` 12ms`, ` [3.00ms]` at its end.
pub(super) fn without_duration(name: &str) -> &str {
    let is_duration = |text: &str| {
        let text = text.trim_matches(['(', ')', '[', ']']);
        text.starts_with(|c: char| c.is_ascii_digit())
            && text
                .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | ',' | ' '))
                .trim_end_matches(['s', 'm', 'μ', 'µ', 'n', 'e', 'c', ' ', 'i', 'h'])
                .is_empty()
            && text.ends_with(|c: char| c.is_ascii_alphabetic())
    };
    match name.rsplit_once(' ') {
        Some((front, last)) if is_duration(last) => {
            let front = front.trim_end();
            // `(1.2 s)` has a space in it.
            match front.rsplit_once(" (") {
                Some((earlier, number))
                    if last.ends_with(')')
                        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') =>
                {
                    earlier
                }
                _ => front.strip_suffix(" in").unwrap_or(front).trim_end(),
            }
        }
        Some((front, "s)" | "ms)")) => front.rsplit_once(" (").map_or(name, |(front, _)| front),
        Some((front, "s]" | "ms]")) => front.rsplit_once(" [").map_or(name, |(front, _)| front),
        _ => name,
    }
}

/// Adds the TAP comments in the lines `from..to` to `failure`.
pub(super) fn add_tap_comments(page: &Page, failure: &mut Failure, from: usize, to: usize) {
    for at in from..to {
        let text = page.line(at).trim_start().trim_start_matches('#').trim();
        let text = text.strip_prefix("Failure message: ").unwrap_or(text);
        if text.is_empty() || text.starts_with("Looks like you failed") || is_busted_location(text) {
            continue;
        }
        if failure.message.is_empty()
            && let Some((file, message)) = split_location(text)
        {
            message.clone_into(&mut failure.message);
            file.clone_into(&mut failure.file);
            failure.add(at, LineKind::Location);
            continue;
        }
        if text.starts_with("Failed test") {
            if let Some(location) = find_location(text) {
                location.file.clone_into(&mut failure.file);
            }
            failure.add(at, LineKind::Location);
            continue;
        }
        if let Some(location) = find_location(text).filter(|location| location.start < 20)
            && failure.file.is_empty()
        {
            location.file.clone_into(&mut failure.file);
            failure.add(at, LineKind::Location);
            if text.starts_with('(') || text.starts_with("at ") {
                continue;
            }
        }
        if failure.message.is_empty() && line_kind(text) != Some(LineKind::Value) {
            text.clone_into(&mut failure.message);
            failure.add(at, LineKind::Message);
        } else {
            // A message in backquotes is a failed command (bats); the lines after it are its output, not values.
            if !failure.message.starts_with('`') {
                failure.add_value(split_location(text).map_or(text, |(_, value)| value));
            }
            failure.add(at, LineKind::Value);
        }
    }
}

/// Replaces ava's `Error thrown in test` with the message of the error object that it prints below.
pub(super) fn unwrap_ava_error(page: &Page, failure: &mut Failure) {
    if !failure.message.starts_with("Error thrown in test") {
        return;
    }
    let mut lines = failure.parts.iter().map(|part| page.line(part.0).trim());
    if let Some(message) = lines.find_map(|line| line.strip_prefix("message: '")) {
        failure.message = message.trim_end_matches(['\'', ',']).replace("\\'", "'");
    }
}

/// Maximum number of words of a line that are looked at for a summary.
const MAX_SUMMARY_WORDS: usize = 40;

/// Nouns beside the numbers of a runner's summary.
const SUMMARY_NOUNS: &[&str] = &[
    "failed",
    "failing",
    "failures",
    "failure",
    "passed",
    "passing",
    "errors",
    "error",
    "tests",
    "test",
    "problems",
    "problem",
    "warnings",
    "warning",
    "skipped",
    "total",
    "runs",
    "examples",
    "assertions",
    "pending",
    "suites",
    "ignored",
    "errored",
    "broken",
];

/// Returns true if a line is a summary of results: `3 failed, 10 passed in 0.12s`, `Tests: 1 failed`, `✖ 2 problems (2 errors)`.
pub(in super::super) fn is_result_summary(text: &str) -> bool {
    // `expected 3 errors` is a message.
    if text.contains("expected") || text.contains("got ") {
        return false;
    }
    let mut counts = 0;
    let mut other_words = 0;
    let mut previous = "";
    for word in text.split_whitespace().take(MAX_SUMMARY_WORDS) {
        let bare = trim_punctuation(word);
        if is_number(bare) {
            // `Failures: 3`
            counts += usize::from(previous.ends_with(':') && is_summary_noun(trim_punctuation(previous)));
        } else if is_summary_noun(bare) {
            counts += usize::from(is_number(trim_punctuation(previous)));
        } else if !bare.is_empty() {
            other_words += 1;
        }
        previous = word;
    }
    // Prose has numbers too; a summary has little else.
    counts > 0 && other_words <= counts * 2 + 2
}

fn trim_punctuation(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

fn is_summary_noun(word: &str) -> bool {
    SUMMARY_NOUNS.iter().any(|noun| word.eq_ignore_ascii_case(noun))
}

/// Returns true for `spec/a_spec.lua @ 12`, the location of a test of busted's.
pub(super) fn is_busted_location(text: &str) -> bool {
    text.rsplit_once(" @ ").is_some_and(|(file, line)| is_file(file) && !line.is_empty() && is_digits(line))
}

/// Matches Julia's `Basket: Test Failed at test/runtests.jl:9`, with the values below.
pub(super) fn julia(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let (name, rest) =
        line.split_once(": Test Failed at ").or_else(|| line.split_once(": Error During Test at "))?;
    let file = find_location(rest)?.file;
    let end = page.find_end(at + 1, |line| !line.starts_with(' '));
    Some(Failure::new(Stage::Test, "julia").with_id(name).with_file(file).in_block(page, at, end))
}

/// Matches busted's `Failure → spec/a_spec.lua @ 12`, whose next line is the name of the test.
pub(super) fn busted(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let rest = strip_any(line, &["Failure → ", "Failure -> ", "Error → ", "Error -> "])?;
    if !is_busted_location(rest) {
        return None;
    }
    let end = page.find_end(at + 1, str::is_empty);
    Some(Failure::new(Stage::Test, "busted").with_id(page.line(at + 1)).in_block(page, at + 1, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_duration() {
        for (name, expected) in [
            ("adds (0.25ms)", "adds"),
            ("adds 12ms", "adds"),
            ("adds [3.00ms]", "adds"),
            ("adds (1.2 s)", "adds"),
            ("Adds [5 ms]", "Adds"),
            ("adds in 108ms", "adds"),
            ("adds 3 items", "adds 3 items"),
            ("waits 5", "waits 5"),
        ] {
            assert_eq!(without_duration(name), expected, "{name}");
        }
    }
}
