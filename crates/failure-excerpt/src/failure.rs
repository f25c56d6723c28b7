//! What a tool complains of: one failed test, one error of a compiler, one crash.

use std::collections::HashSet;

use super::line_kind::{LineKind, is_code, line_kind};
use super::location::{file_in, find_location, is_external};
use super::page::Page;
use super::words::starts_with_any;

/// The step of a chain of checks that failed, the most important first: a failure of an early step hides those of later
/// ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Stage {
    /// Code that does not compile, load or parse, or that a linter complains of.
    Build,
    Test,
    /// A process that crashed.
    Crash,
    /// A test that did not finish.
    Hang,
    /// A line that looks like an error of an unknown tool.
    Other,
    /// A consequence: it only says that something before it failed.
    Secondary,
}

impl Stage {
    pub(super) fn as_str(self) -> &'static str {
        ["build", "test", "crash", "hang", "other", "echo"][self as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Severity {
    Error,
    Warning,
}

/// Maximum number of lines of one failure; further ones are left out.
const MAX_PARTS: usize = 120;

/// Maximum number of values of one failure that are compared.
const MAX_VALUES: usize = 40;

/// The `tool` of a test that failed only because tests within it failed.
pub(super) const SUITE: &str = "suite";

#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) stage: Stage,
    pub(super) severity: Severity,
    pub(super) tool: &'static str,
    /// The name of the test; empty for other failures.
    pub(super) id: String,
    /// The rule or error number, if the tool prints one.
    pub(super) code: String,
    pub(super) message: String,
    /// Lines with what was expected and what came.
    pub(super) values: Vec<String>,
    /// The number of the test run that it belongs to, where an output holds several: a failure in one may prevent the next.
    pub(super) run: u32,
    /// The file of the first location in the project.
    pub(super) file: String,
    /// Lines of the page that describe it, and the kind of each.
    pub(super) parts: Vec<(usize, LineKind)>,
}

/// The order in which a stack trace lists its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameOrder {
    /// The newest call comes first, as nearly everywhere.
    NewestFirst,
    /// The newest call comes last, as in Python.
    NewestLast,
}

impl Failure {
    pub(super) fn new(stage: Stage, tool: &'static str) -> Self {
        Self {
            stage,
            severity: Severity::Error,
            tool,
            id: String::new(),
            code: String::new(),
            message: String::new(),
            values: Vec::new(),
            run: 0,
            file: String::new(),
            parts: Vec::new(),
        }
    }

    pub(super) fn with_id(self, id: &str) -> Self {
        Self { id: id.trim().to_owned(), ..self }
    }

    pub(super) fn with_code(self, code: &str) -> Self {
        Self { code: code.to_owned(), ..self }
    }

    pub(super) fn with_message(self, message: &str) -> Self {
        Self { message: message.trim().to_owned(), ..self }
    }

    pub(super) fn with_file(self, file: &str) -> Self {
        Self { file: file.to_owned(), ..self }
    }

    pub(super) fn with_line(mut self, line: usize, kind: LineKind) -> Self {
        self.add(line, kind);
        self
    }

    pub(super) fn add(&mut self, line: usize, kind: LineKind) {
        if self.parts.len() < MAX_PARTS {
            self.parts.push((line, kind));
        }
    }

    pub(super) fn has(&self, kind: LineKind) -> bool {
        self.parts.iter().any(|part| part.1 == kind)
    }

    /// Returns the failure with line `at` as its only line, and the number of the next line.
    pub(super) fn in_line(self, at: usize) -> (Self, usize) {
        (self.with_line(at, LineKind::Head), at + 1)
    }

    /// Returns the failure with line `at` as its head and the lines below it, up to `end`, as its body; and `end`.
    pub(super) fn in_block(mut self, page: &Page, at: usize, end: usize) -> (Self, usize) {
        self.add(at, LineKind::Head);
        self.add_body(page, at + 1, end, FrameOrder::NewestFirst);
        (self, end)
    }

    /// Adds lines of one kind.
    pub(super) fn add_all(&mut self, lines: impl IntoIterator<Item = usize>, kind: LineKind) {
        lines.into_iter().for_each(|line| self.add(line, kind));
    }

    /// Adds a value, up to [`MAX_VALUES`].
    pub(super) fn add_value(&mut self, value: &str) {
        if self.values.len() < MAX_VALUES {
            self.values.push(value.to_owned());
        }
    }

    /// Adds the lines `from..to`, classified by their shape. The first text becomes the message if there is none yet.
    pub(super) fn add_body(&mut self, page: &Page, from: usize, to: usize, order: FrameOrder) {
        let mut frames: Vec<usize> = Vec::new();
        let mut fallback: Option<usize> = None;
        // The indentation of a frame of Python's, whose source follows deeper.
        let mut source_below: Option<usize> = None;
        let mut is_traced = false;
        for index in from..to.min(page.len()) {
            let line = page.line(index);
            // PHPUnit draws a bar before each line about a test.
            let barred = line.trim_start().strip_prefix("│ ").filter(|_| !is_code(line.trim()));
            let line = barred.unwrap_or(line);
            let text = line.trim();
            let Some(mut kind) = line_kind(line).filter(|_| !starts_with_any(text, CHATTER_PREFIXES)) else {
                continue;
            };
            let is_step = matches!(kind, LineKind::Frame | LineKind::Foreign);
            if let Some(indent) = source_below.take()
                && indent_of(line) > indent
                && !is_step
            {
                if frames.last().is_some_and(|last| index - last <= 2) {
                    self.add(index, LineKind::Code);
                }
                source_below = Some(indent);
                continue;
            }
            if text.starts_with("File \"") {
                source_below = Some(indent_of(line));
            }
            if let Some((file, said)) = split_location(text).filter(|_| kind == LineKind::Frame) {
                kind = if self.message.is_empty() {
                    said.clone_into(&mut self.message);
                    file.clone_into(&mut self.file);
                    LineKind::Location
                } else {
                    self.add_value(said);
                    LineKind::Value
                };
                self.add(index, kind);
                continue;
            }
            if self.message.is_empty() && matches!(kind, LineKind::Note | LineKind::Value) {
                text.clone_into(&mut self.message);
                kind = LineKind::Message;
            }
            match kind {
                LineKind::Frame => {
                    is_traced |= !self.message.is_empty();
                    frames.push(index);
                }
                LineKind::Foreign => {
                    let file = file_in(line);
                    let is_near = file.starts_with('/') && !is_external(file);
                    fallback = fallback.or(is_near.then_some(index));
                }
                kind => {
                    // Values below the stack trace are details that not every reporter prints.
                    if kind == LineKind::Value && !(is_traced && order == FrameOrder::NewestFirst) {
                        self.add_value(text);
                    }
                    self.add(index, kind);
                }
            }
        }
        if frames.is_empty() {
            frames.extend(fallback);
        }
        self.add_frames(page, &frames, order);
    }

    /// Adds the frames of a stack trace that are in the project.
    pub(super) fn add_frames(&mut self, page: &Page, frames: &[usize], order: FrameOrder) {
        let newest = if order == FrameOrder::NewestFirst { frames.first() } else { frames.last() };
        let Some(&newest) = newest else { return };
        if self.file.is_empty() {
            file_in(page.line(newest)).clone_into(&mut self.file);
        }
        let mut seen = HashSet::new();
        for &index in frames {
            let is_place = index == newest && !self.has(LineKind::Location);
            if seen.insert(page.line(index).trim()) {
                self.add(index, if is_place { LineKind::Location } else { LineKind::Frame });
            }
        }
    }

    /// Returns true if the program itself failed, which says more than an assertion that did not hold.
    pub(super) fn is_exception(&self) -> bool {
        let name = self.message.split([':', ' ']).next().unwrap_or_default();
        (name.ends_with("Error") || name.ends_with("Exception")) && !name.contains("Assert")
    }

    /// Returns true if it has more than a name: a message, values or a location.
    pub(super) fn is_explained(&self) -> bool {
        !self.message.is_empty() || !self.values.is_empty() || self.has(LineKind::Location)
    }
}

/// Splits `a_test.go:12: got 3` into the file and the message.
pub(super) fn split_location(text: &str) -> Option<(&str, &str)> {
    let location =
        find_location(text).filter(|location| location.start == 0 && !is_external(location.file))?;
    let message = text[location.end..].strip_prefix(": ")?.trim();
    (!message.is_empty()).then_some((location.file, message))
}

/// Prefixes of lines that tools print in every failure.
const CHATTER_PREFIXES: &[&str] = &[
    "Error Trace:",
    "Test: ",
    "Traceback (most recent",
    "[Previous line repeated",
    "note: run with `RUST_BACKTRACE",
    "note: Some details are omitted",
    "stack backtrace:",
    "Error Message:",
    "Stack Trace:",
    "stacktrace:",
    "[gw",
    "rerun with",
    "Did you mean",
    "For more information",
    "Help:",
    "help: for further information",
    "Use -v to get",
    "Full diff:",
    "...Full output truncated",
    "at Context.<anonymous> (node_modules",
    "duration_ms:",
    "type:",
    "failureType:",
    "exitCode:",
    "signal:",
    "Seed:",
    "Set environment variable",
];

/// Returns the number of bytes of leading white space.
pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_body(body: &str, order: FrameOrder) -> Failure {
        let page = Page::new(body, "", Some("/w/p"));
        let mut failure = Failure::new(Stage::Test, "test");
        failure.add_body(&page, 0, page.len(), order);
        failure
    }

    #[test]
    fn the_lines_of_a_body_are_classified() {
        let failure = parse_body(
            "Error: no such shelf\n\n  expected: 3\n       got: 2\n    at f (node_modules/x/y.js:1:1)\n    at g (/w/p/src/a.js:3:4)\n    at h (/w/p/src/b.js:5:6)\n",
            FrameOrder::NewestFirst,
        );
        assert_eq!((failure.message.as_str(), failure.file.as_str()), ("Error: no such shelf", "src/a.js"));
        assert_eq!(failure.values, ["expected: 3", "got: 2"]);
        assert_eq!(
            failure.parts,
            [
                (0, LineKind::Message),
                (2, LineKind::Value),
                (3, LineKind::Value),
                (5, LineKind::Location),
                (6, LineKind::Frame)
            ]
        );
    }

    #[test]
    fn the_newest_call_of_python_comes_last() {
        let failure = parse_body(
            "Traceback (most recent call last):\n  File \"/w/p/t/a.py\", line 3, in f\n    go(1)\n  File \"/w/p/src/b.py\", line 5, in go\n    raise X\n    ^^^^^^^\nValueError: x == y\n",
            FrameOrder::NewestLast,
        );
        assert_eq!((failure.message.as_str(), failure.file.as_str()), ("ValueError: x == y", "src/b.py"));
        assert!(
            failure.parts.contains(&(3, LineKind::Location)) && failure.parts.contains(&(1, LineKind::Frame))
        );
    }
}
