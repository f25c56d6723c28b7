//! How much a line is worth that no tool explains.

use super::place::{is_foreign, place};
use super::role::{Role, role};

/// Words of trouble, and how much each says.
const WORDS: [(&str, i32); 44] = [
    ("error", 5),
    ("fail", 5),
    ("panic", 6),
    ("exception", 5),
    ("fatal", 6),
    ("assert", 5),
    ("expected", 5),
    ("actual", 3),
    ("received", 3),
    ("undefined", 4),
    ("not found", 5),
    ("no such", 5),
    ("cannot", 4),
    ("can't", 4),
    ("could not", 4),
    ("couldn't", 4),
    ("unable to", 4),
    ("missing", 4),
    ("invalid", 4),
    ("unexpected", 5),
    ("unknown", 3),
    ("denied", 5),
    ("refused", 4),
    ("timeout", 5),
    ("timed out", 6),
    ("abort", 5),
    ("killed", 6),
    ("segmentation", 6),
    ("overflow", 4),
    ("mismatch", 5),
    ("differ", 4),
    ("unresolved", 5),
    ("unreachable", 3),
    ("not ok", 6),
    ("broken", 4),
    ("violat", 4),
    ("must ", 2),
    ("should ", 2),
    ("instead of", 4),
    ("but ", 1),
    ("traceback", 4),
    ("deadlock", 6),
    ("leak", 3),
    ("conflict", 4),
];

/// Starts of lines that say nothing of a failure.
const NOISE: [&str; 30] = [
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
];

/// The worth of a line by its own words; 0 and below means nothing.
pub(super) fn score(line: &str) -> i32 {
    let text = line.trim();
    if text.is_empty() {
        return -10;
    }
    if NOISE.iter().any(|start| text.starts_with(start)) || is_passing(text) {
        return -6;
    }
    let text = &text[..text.char_indices().nth(400).map_or(text.len(), |(at, _)| at)];
    let lower = text.to_ascii_lowercase();
    let mut score: i32 =
        WORDS.iter().filter(|(word, _)| lower.contains(word)).map(|(_, worth)| worth).sum::<i32>().min(12);
    if lower.starts_with("error")
        || lower.starts_with("fatal")
        || lower.starts_with("fail")
        || text.starts_with("E ")
    {
        score += 4;
    }
    if lower.starts_with("warn") || lower.contains("warning:") || lower.contains("deprecat") {
        score -= 6;
    }
    if lower.contains("0 errors")
        || lower.contains("0 failed")
        || lower.contains("no errors")
        || lower.contains("0 failures")
    {
        score -= 6;
    }
    match role(line) {
        Some(Role::Value) => score += 3,
        Some(Role::Code) => score += 1,
        Some(Role::Foreign) => score -= 5,
        _ => {}
    }
    if let Some(place) = place(text) {
        score += if is_foreign(place.file) || place.file.starts_with('/') { -2 } else { 4 };
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
