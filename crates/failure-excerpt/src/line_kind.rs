//! The kind of a line, judged by its shape.

use super::location::{find_location, is_external};
use super::words::{contains_any, is_digits, starts_with_any, starts_with_digit};

/// The role of a line in the report of a failure, the most valuable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineKind {
    /// Names what failed.
    Head,
    /// Says why.
    Message,
    /// The first location in the project.
    Location,
    /// What was expected, and what came.
    Value,
    /// A further location in the project.
    Frame,
    /// A line of source, or what points into one.
    Code,
    /// Any other text.
    Note,
    /// A location outside the project, or a repeated line.
    Foreign,
}

/// Returns the kind of a line by its shape alone, or `None` if it is empty. Text is a [`LineKind::Note`], a location in the project
/// a [`LineKind::Frame`].
pub(super) fn line_kind(line: &str) -> Option<LineKind> {
    let text = line.trim();
    if text.bytes().all(|byte| b"-=_ |~^*.".contains(&byte)) {
        return text.contains('^').then_some(LineKind::Code);
    }
    Some(match text {
        _ if is_value(text) => LineKind::Value,
        _ if is_code(text) => LineKind::Code,
        _ if !is_frame(text) => LineKind::Note,
        _ if is_external_frame(text) => LineKind::Foreign,
        _ => LineKind::Frame,
    })
}

/// Words that introduce what was expected and what came.
const VALUE_WORDS: [&str; 47] = [
    "expected",
    "actual",
    "received",
    "got",
    "left",
    "right",
    "want",
    "wanted",
    "have",
    "but got",
    "but was",
    "but found",
    "found",
    "to equal",
    "to be",
    "to have",
    "to match",
    "to include",
    "to contain",
    "which is",
    "with expansion",
    "evaluated",
    "value of",
    "returned",
    "diff",
    "lhs",
    "rhs",
    "was",
    "is",
    "comparing",
    "difference",
    "should be",
    "should",
    "not to",
    "expect",
    "exp",
    "act",
    "required",
    "given",
    "passed in",
    "reason",
    "operator",
    "first differing element",
    "first has",
    "second has",
    "symbol",
    "location",
];

/// What compares two values.
const COMPARISONS: &[&str] =
    &[" !== ", " != ", " === ", " == ", " is not ", " but was", " but got", "> but ", " not equal to "];

/// Values with their types in front, as Lua's test libraries print them.
const TYPED_STARTS: &[&str] = &["(number)", "(string)", "(table", "(boolean)"];

/// Returns true if `text` gives an expected or an actual value.
pub(super) fn is_value(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix(['+', '-']) {
        // A line of a diff; but no list of options, and no rule across the page.
        return !rest.is_empty() && !rest.starts_with(['-', '+', '>']) && text.len() < 300;
    }
    let text = text.strip_prefix("E ").map_or(text, str::trim_start);
    let text = text.trim_start_matches(['#', '>', '│', '|']).trim_start();
    let head = text.find([':', '=', '<', '(']).map_or("", |at| text[..at].trim_end());
    if !head.is_empty() && head.len() <= 24 && text.len() > head.len() + 1 {
        let head = head.to_ascii_lowercase();
        let head = head.trim_matches(['`', '\'', '"']);
        if VALUE_WORDS.contains(&head)
            || head.ends_with(" expected")
            || head.ends_with(" actual")
            || starts_with_any(head, &["expected", "actual", "received"])
        {
            return true;
        }
    }
    text.len() < 160 && (contains_any(text, COMPARISONS) || starts_with_any(text, TYPED_STARTS))
}

/// Returns true if `text` shows source: `12 | x`, `> 14 | x`, `|   ^^^`, `^~~~`.
pub(super) fn is_code(text: &str) -> bool {
    let bare = text.trim_start_matches(['>', '→', ' ', '✖', '×', '*']);
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = bare[digits..].trim_start();
    if rest.starts_with(['|', '│', '┃']) {
        return digits > 0
            || rest.contains(['^', '~', '·', '─', '╰', '╵', '┬', '-', '+'])
            || rest.chars().count() <= 2;
    }
    text.chars().all(|c| matches!(c, '^' | '~' | ' ' | '-' | '.' | '·' | '╷' | '╵' | '╭' | '╰' | '─' | '│'))
        && !text.is_empty()
}

/// Starts of steps of a stack trace.
const FRAME_STARTS: &[&str] = &["at ", "File \"", "from ", "created by ", "stacktrace"];

/// Returns true if `text` is a step of a stack trace.
pub(super) fn is_frame(text: &str) -> bool {
    if starts_with_any(text, FRAME_STARTS) || text.starts_with("in ") && text.contains(':') {
        return true;
    }
    if let Some(rest) = text.strip_prefix('#') {
        let rest = rest.trim_start();
        return starts_with_digit(rest) || find_location(rest).is_some_and(|location| location.start <= 6);
    }
    // A number, or a location with nothing before it.
    text.split_once(": ").is_some_and(|(number, _)| (1..4).contains(&number.len()) && is_digits(number))
        || find_location(text).is_some_and(|location| location.start <= 2)
}

/// Words of steps in a runtime.
const FOREIGN_WORDS: &[&str] = &["node:internal", "(<anonymous>)", "(native)", "Native Method", "(https://"];

/// Packages of the runtimes, build tools and test libraries of the JVM and of .NET.
const FOREIGN_PACKAGES: &[&str] = &[
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "org.junit",
    "junit.",
    "org.apache.maven",
    "org.gradle",
    "kotlin.",
    "kotlinx.",
    "scala.",
    "org.scalatest",
    "sbt.",
    "org.testng",
    "org.hamcrest",
    "org.assertj",
    "org.mockito",
    "groovy.",
    "org.codehaus",
    "org.spockframework",
    "worker.org.gradle",
    "System.",
    "Xunit.",
    "NUnit.",
    "Microsoft.",
    "async node:",
    "org.opentest4j",
    "java.base/",
];

/// Returns true if a step of a stack trace is in a library or in the runtime.
pub(super) fn is_external_frame(text: &str) -> bool {
    let is_of_package = text.strip_prefix("at ").is_some_and(|rest| starts_with_any(rest, FOREIGN_PACKAGES));
    if is_of_package || contains_any(text, FOREIGN_WORDS) {
        return true;
    }
    match find_location(text) {
        Some(location) => is_external(location.file) || location.file.starts_with('/'),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_its_role_by_its_shape() {
        for (line, expected) in [
            ("", None),
            ("------", None),
            ("  left: 3", Some(LineKind::Value)),
            ("       expected: 2", Some(LineKind::Value)),
            ("            got: 1", Some(LineKind::Value)),
            ("    Expected: \"a\"", Some(LineKind::Value)),
            ("    + b", Some(LineKind::Value)),
            ("    Which is: 3", Some(LineKind::Value)),
            ("  3 !== 4", Some(LineKind::Value)),
            ("   12 | let x;", Some(LineKind::Code)),
            ("    > 14 | f()", Some(LineKind::Code)),
            ("      |     ^^^ here", Some(LineKind::Code)),
            ("     ^~~~", Some(LineKind::Code)),
            ("    at f (src/a.js:1:2)", Some(LineKind::Frame)),
            ("    at f (node:internal/x:1:2)", Some(LineKind::Foreign)),
            ("\tat org.junit.Assert.fail(Assert.java:1)", Some(LineKind::Foreign)),
            ("\tat demo.A.f(A.java:1)", Some(LineKind::Frame)),
            ("  File \"a/b.py\", line 3, in f", Some(LineKind::Frame)),
            ("  File \"/usr/lib/python3/b.py\", line 3, in f", Some(LineKind::Foreign)),
            ("     # ./spec/a_spec.rb:5:in 'x'", Some(LineKind::Frame)),
            ("    #1 0x55 in f src/a.c:3", Some(LineKind::Frame)),
            ("    #0 0x55 in memcpy ../../../../src/libsanitizer/x.inc:3", Some(LineKind::Foreign)),
            ("\tsrc/a.go:12 +0x1", Some(LineKind::Frame)),
            ("the book must balance", Some(LineKind::Note)),
        ] {
            assert_eq!(line_kind(line), expected, "{line}");
        }
    }
}
