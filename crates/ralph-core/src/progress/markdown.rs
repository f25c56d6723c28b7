//! Putting foreign text into Markdown so that it cannot break out.

use std::fmt::Write as _;

/// `text` between fences that are longer than any run of backticks in it. Ends in a line end.
pub fn fenced(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("{fence}\n{text}\n{fence}\n")
}

/// `text` as code within a line.
pub(super) fn code(text: &str) -> String {
    let text = one_line(text);
    match longest_run(&text) {
        0 => format!("`{text}`"),
        run => {
            let mark = "`".repeat(run + 1);
            format!("{mark} {text} {mark}")
        }
    }
}

/// `text` without line ends and control characters.
pub(super) fn one_line(text: &str) -> String {
    text.trim().replace(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'), " ")
}

/// Returns `text` on one line, cut at a number of characters with an ellipsis.
pub(super) fn cut(text: &str, max_chars: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Appends a text between fences below its title, if there is one.
pub(super) fn push_section(text: &mut String, title: &str, words: &str) {
    if !words.is_empty() {
        write!(text, "\n{title}:\n\n{}", fenced(words)).expect("writing to a String cannot fail");
    }
}

/// Appends the lines of a list below its title, if there are any.
pub(super) fn push_list(text: &mut String, title: &str, lines: &str) {
    if !lines.is_empty() {
        write!(text, "\n{title}:\n\n{lines}").expect("writing to a String cannot fail");
    }
}

/// Length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
