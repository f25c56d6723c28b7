//! How much a line is worth that no tool explains.

use super::line_kind::{LineKind, line_kind};
use super::location::{find_location, is_external};
use super::prefilter::prefilter;
use super::words::{contains_any, starts_with_any};

/// Starts of lines that say nothing of a failure.
const NOISE: [&str; 34] = [
    "npm warn",
    "npm WARN",
    "npm notice",
    "[INFO]",
    "INFO",
    "DEBUG",
    "debug:",
    "info:",
    "Downloading",
    "Downloaded",
    "Compiling",
    "Checking",
    "Finished",
    "Running",
    "Collecting",
    "Installing",
    "Using cached",
    "Requirement already",
    "ok ",
    "PASS",
    "✓",
    "✔",
    "[DEBUG]",
    "[       OK",
    "Fetching",
    "Resolving",
    "Updating",
    "Blocking waiting",
    "added ",
    "remote: ",
    // What a shell traces before it runs it.
    "+ echo ",
    "+ exit ",
    "+ set ",
    "++ ",
];

/// Returns the worth of a line by its own words; 0 and below means nothing.
pub(super) fn score(line: &str) -> i32 {
    let text = line.trim();
    if text.is_empty() {
        return -10;
    }
    if starts_with_any(text, &NOISE) || is_passing(text) {
        return -6;
    }
    let shown = prefilter(line);
    let can_hold_value =
        text.len() < 400 && text.contains([':', '=', '<', '^', '|']) || text.starts_with(['+', '-', '(']);
    if shown.score == 0 && !shown.may_have_location && !can_hold_value {
        return 0;
    }
    let text = &text[..text.char_indices().nth(400).map_or(text.len(), |(at, _)| at)];
    let lower = text.to_ascii_lowercase();
    let mut score = shown.score.min(12);
    if starts_with_any(&lower, &["error", "fatal", "fail"]) || text.starts_with("E ") {
        score += 4;
    }
    if lower.starts_with("warn") || lower.contains("warning:") || lower.contains("deprecat") {
        score -= 6;
    }
    if contains_any(&lower, &["0 errors", "0 failed", "no errors", "0 failures"]) {
        score -= 6;
    }
    match if text.len() < 400 { line_kind(line) } else { None } {
        Some(LineKind::Value) => score += 3,
        Some(LineKind::Code) => score += 1,
        Some(LineKind::Foreign) => score -= 5,
        _ => {}
    }
    if let Some(location) = find_location(text).filter(|_| shown.may_have_location) {
        score += if is_external(location.file) || location.file.starts_with('/') { -2 } else { 4 };
    }
    // A table, or a bar.
    if text.matches(" | ").count() > 2 || text.matches('%').count() > 2 {
        score -= 6;
    }
    score
}

/// Lines that say that something went well.
fn is_passing(text: &str) -> bool {
    text.ends_with(" ok")
        || text.ends_with(" PASSED")
        || text.ends_with("... passed")
        || text.contains(" PASSED  ")
        || text.ends_with("[100%]") && !text.contains("FAIL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_trouble_count_and_noise_does_not() {
        let lines = [
            "ERROR src/a.xyz:3 expected 4 but got 5",
            "the build failed: no such widget",
            "  3 | let x",
            "loading widgets",
            "[INFO] error handling is on",
            "",
        ];
        let scores = lines.map(score);
        assert!(scores.windows(2).all(|pair| pair[0] > pair[1]), "{scores:?}");
    }
}
