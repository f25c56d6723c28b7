//! What a tool complains of: one failed test, one error of a compiler, one crash.

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
        match self {
            Self::Build => "build",
            Self::Test => "test",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::Other => "other",
            Self::Secondary => "echo",
        }
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

    #[must_use]
    pub(super) fn with_id(self, id: &str) -> Self {
        Self { id: id.trim().to_owned(), ..self }
    }

    #[must_use]
    pub(super) fn with_code(self, code: &str) -> Self {
        Self { code: code.to_owned(), ..self }
    }

    #[must_use]
    pub(super) fn with_message(self, message: &str) -> Self {
        Self { message: message.trim().to_owned(), ..self }
    }

    #[must_use]
    pub(super) fn with_file(self, file: &str) -> Self {
        Self { file: file.to_owned(), ..self }
    }

    #[must_use]
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
            let line = match line.trim_start().strip_prefix("│ ") {
                Some(rest) if !is_code(line.trim()) => rest,
                _ => line,
            };
            let Some(mut found) = line_kind(line) else { continue };
            let text = line.trim();
            if starts_with_any(text, CHATTER_PREFIXES) {
                continue;
            }
            if let Some(indent) = source_below.take()
                && indent_of(line) > indent
                && found != LineKind::Frame
                && found != LineKind::Foreign
            {
                if frames.last() == Some(&index.saturating_sub(1))
                    || frames.last() == Some(&index.saturating_sub(2))
                {
                    self.add(index, LineKind::Code);
                }
                source_below = Some(indent);
                continue;
            }
            if text.starts_with("File \"") {
                source_below = Some(indent_of(line));
            }
            if found == LineKind::Frame
                && let Some((file, said)) = split_location(text)
            {
                if self.message.is_empty() {
                    said.clone_into(&mut self.message);
                    file.clone_into(&mut self.file);
                    self.add(index, LineKind::Location);
                } else {
                    self.add_value(said);
                    self.add(index, LineKind::Value);
                }
                continue;
            }
            if self.message.is_empty() && matches!(found, LineKind::Note | LineKind::Value) {
                text.clone_into(&mut self.message);
                found = LineKind::Message;
            }
            match found {
                LineKind::Frame => {
                    is_traced |= !self.message.is_empty();
                    frames.push(index);
                }
                LineKind::Foreign => {
                    let is_near = find_location(line).is_some_and(|location| {
                        !is_external(location.file) && location.file.starts_with('/')
                    });
                    if fallback.is_none() && is_near {
                        fallback = Some(index);
                    }
                }
                LineKind::Value => {
                    // Values below the stack trace are details that not every reporter prints.
                    let is_detail = is_traced && order == FrameOrder::NewestFirst;
                    if !is_detail {
                        self.add_value(text);
                    }
                    self.add(index, found);
                }
                LineKind::Head | LineKind::Message | LineKind::Location | LineKind::Code | LineKind::Note => {
                    self.add(index, found);
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
        let newest = match order {
            FrameOrder::NewestFirst => frames.first(),
            FrameOrder::NewestLast => frames.last(),
        };
        let Some(&newest) = newest else { return };
        if self.file.is_empty() {
            file_in(page.line(newest)).clone_into(&mut self.file);
        }
        let mut seen: Vec<&str> = Vec::new();
        for &index in frames {
            let text = page.line(index).trim();
            if seen.contains(&text) {
                continue;
            }
            if seen.len() < 12 {
                seen.push(text);
            }
            let kind = if index == newest && !self.has(LineKind::Location) {
                LineKind::Location
            } else {
                LineKind::Frame
            };
            self.add(index, kind);
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
