//! Parsers of agents' output: they translate lines or events for a [`Transcript`].

use anyhow::Result;
use camino::Utf8Path;
use serde_json::Value;

use super::json_lines::{JsonLines, LineContent};
use super::transcript::Transcript;
use ralph_core::record::StreamCounts;

/// Parses text output. Unknown parts are skipped, and it may end anywhere.
pub(super) trait LineParser {
    /// Parses the next line.
    fn line(&mut self, line: &[u8], transcript: &mut Transcript);

    /// Completes the transcript at the end of an output in the file `stdout`, of a program that exited with `code`.
    fn finish(&mut self, _code: i32, _stdout: &Utf8Path, _: &mut Transcript) -> Result<()> {
        Ok(())
    }
}

/// Parses output whose lines are JSON. Unknown parts are skipped, and it may end anywhere.
pub(super) trait EventParser {
    /// Parses the next event.
    fn event(&mut self, event: &Value, transcript: &mut Transcript);

    /// Completes the transcript at the end of an output in the file `stdout`, of a program that exited with `code`.
    fn finish(&mut self, _code: i32, _stdout: &Utf8Path, _: &mut Transcript) -> Result<()> {
        Ok(())
    }
}

/// One that keeps nothing between two events is a function.
impl<F: FnMut(&Value, &mut Transcript)> EventParser for F {
    fn event(&mut self, event: &Value, transcript: &mut Transcript) {
        self(event, transcript);
    }
}

/// A parser with what it reads.
pub(super) enum OutputParser {
    Text(Box<dyn LineParser>),
    Json(JsonLines, Box<dyn EventParser>),
}

impl OutputParser {
    pub(super) fn text(parser: impl LineParser + 'static) -> Self {
        Self::Text(Box::new(parser))
    }

    pub(super) fn json(parser: impl EventParser + 'static) -> Self {
        Self::Json(JsonLines::default(), Box::new(parser))
    }

    /// Parses the next line. One that cannot be read may have been the end of any tool.
    pub(super) fn line(&mut self, line: &[u8], transcript: &mut Transcript) {
        match self {
            Self::Text(parser) => parser.line(line, transcript),
            Self::Json(lines, parser) => match lines.read(line) {
                LineContent::Events(events) => {
                    for event in &events {
                        parser.event(event, transcript);
                    }
                }
                LineContent::Nothing => {}
                LineContent::Unreadable => transcript.release_tools(),
            },
        }
    }

    pub(super) fn finish(&mut self, code: i32, stdout: &Utf8Path, transcript: &mut Transcript) -> Result<()> {
        match self {
            Self::Text(parser) => parser.finish(code, stdout, transcript),
            Self::Json(_, parser) => parser.finish(code, stdout, transcript),
        }
    }

    /// Returns how the lines could be read, where they are events.
    pub(super) fn counts(&self) -> Option<StreamCounts> {
        match self {
            Self::Text(_) => None,
            Self::Json(lines, _) => Some(lines.counts),
        }
    }
}
