//! Lines that several test runners write alike.

use super::super::failure::{Failure, Stage, Trace, placed_words};
use super::super::line_kind::{LineKind, line_kind};
use super::super::page::Page;
use super::super::place::{is_file, place};
use super::super::scan_state::ScanState;
use super::super::words::{is_digits, strip_any};

/// Returns a name without ` (0.25ms)`, ` 12ms`, ` [3.00ms]` at its end.
pub(super) fn without_duration(name: &str) -> &str {
    let is_time = |text: &str| {
        let text = text.trim_matches(['(', ')', '[', ']']);
        text.starts_with(|c: char| c.is_ascii_digit())
            && text
                .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | ',' | ' '))
                .trim_end_matches(['s', 'm', 'μ', 'µ', 'n', 'e', 'c', ' ', 'i', 'h'])
                .is_empty()
            && text.ends_with(|c: char| c.is_ascii_alphabetic())
    };
    match name.rsplit_once(' ') {
        Some((front, last)) if is_time(last) => {
            let front = front.trim_end();
            // `(1.2 s)` has a blank in it.
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

/// Takes in what stands after `#`.
pub(super) fn comments(page: &Page, failure: &mut Failure, from: usize, to: usize) {
    for at in from..to {
        let text = page.line(at).trim_start().trim_start_matches('#').trim();
        let text = text.strip_prefix("Failure message: ").unwrap_or(text);
        if text.is_empty() || text.starts_with("Looks like you failed") || is_busted_place(text) {
            continue;
        }
        if failure.message.is_empty()
            && let Some((file, said)) = placed_words(text)
        {
            said.clone_into(&mut failure.message);
            file.clone_into(&mut failure.file);
            failure.add(at, LineKind::Location);
            continue;
        }
        if text.starts_with("Failed test") {
            if let Some(place) = place(text) {
                place.file.clone_into(&mut failure.file);
            }
            failure.add(at, LineKind::Location);
            continue;
        }
        if let Some(place) = place(text).filter(|place| place.start < 20)
            && failure.file.is_empty()
        {
            place.file.clone_into(&mut failure.file);
            failure.add(at, LineKind::Location);
            if text.starts_with('(') || text.starts_with("at ") {
                continue;
            }
        }
        if failure.message.is_empty() && line_kind(text) != Some(LineKind::Value) {
            text.clone_into(&mut failure.message);
            failure.add(at, LineKind::Message);
        } else {
            // After a failed command stands whatever it printed.
            if !failure.message.starts_with('`') {
                failure.value(placed_words(text).map_or(text, |(_, said)| said));
            }
            failure.add(at, LineKind::Value);
        }
    }
}

/// ava shows an error that was thrown as an object: its message is what it says.
pub(super) fn thrown(page: &Page, failure: &mut Failure) {
    if !failure.message.starts_with("Error thrown in test") {
        return;
    }
    let mut lines = failure.parts.iter().map(|part| page.line(part.0).trim());
    if let Some(said) = lines.find_map(|line| line.strip_prefix("message: '")) {
        failure.message = said.trim_end_matches(['\'', ',']).replace("\\'", "'");
    }
}

/// What summaries count.
const COUNTED: &[&str] = &[
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

/// Returns true if a line counts results: `3 failed, 10 passed in 0.12s`, `Tests: 1 failed`, `✖ 2 problems (2 errors)`.
pub(in super::super) fn is_count(text: &str) -> bool {
    // What a test expected may be a count as well.
    if text.contains("expected") || text.contains("got ") {
        return false;
    }
    let mut counts = 0;
    let mut words = 0;
    let mut before = false;
    for word in text.split_whitespace().take(40) {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_number = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let lower = bare.to_ascii_lowercase();
        if before && COUNTED.contains(&lower.as_str()) {
            counts += 1;
        } else if !is_number && !bare.is_empty() && !COUNTED.contains(&lower.as_str()) {
            words += 1;
        }
        // `Failures: 3` counts too.
        if is_number {
            let head = text[..text.find(word).unwrap_or(0)].trim_end().to_ascii_lowercase();
            counts += usize::from(COUNTED.iter().any(|counted| head.ends_with(&format!("{counted}:"))));
        }
        before = is_number;
    }
    counts > 0 && words <= counts * 2 + 2
}

/// `spec/a_spec.lua @ 12`: where busted's test begins.
pub(super) fn is_busted_place(text: &str) -> bool {
    text.rsplit_once(" @ ").is_some_and(|(file, line)| is_file(file) && !line.is_empty() && is_digits(line))
}

/// Julia's `Basket: Test Failed at test/runtests.jl:9`, with the values below.
pub(super) fn julia(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let (name, rest) =
        line.split_once(": Test Failed at ").or_else(|| line.split_once(": Error During Test at "))?;
    let file = place(rest)?.file;
    let end = page.until(at + 1, |line| !line.starts_with(' '));
    let mut failure = Failure::new(Stage::Test, "julia").named(name).at(file).with(at, LineKind::Head);
    failure.body(page, at + 1, end, Trace::NewestFirst);
    Some((failure, end))
}

/// busted's `Failure → spec/a_spec.lua @ 12`, whose next line is the name of the test.
pub(super) fn busted(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let rest = strip_any(line, &["Failure → ", "Failure -> ", "Error → ", "Error -> "])?;
    if !is_busted_place(rest) {
        return None;
    }
    let end = page.until(at + 1, str::is_empty);
    let mut failure =
        Failure::new(Stage::Test, "busted").named(page.line(at + 1)).with(at + 1, LineKind::Head);
    failure.body(page, at + 2, end, Trace::NewestFirst);
    Some((failure, end))
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
