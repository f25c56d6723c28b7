//! What agents print while they work, each in a form of its own, brought to one meaning.
//!
//! A parser only says which event means what. [`Transcript`] has the rules that are the same for all.

mod aider;
mod background;
mod claude;
mod cline;
mod codex;
mod command_result;
mod copilot;
mod droid;
mod failure;
mod fields;
mod gemini;
mod json_lines;
mod opencode;
mod pi;
#[cfg(test)]
mod provider_samples;
mod reset_time;
mod run_facts;
mod text;
mod tool_calls;
mod transcript;

use anyhow::Result;
use camino::Utf8Path;
use redact_stream::Redactor;
use serde_json::Value;

use ralph_core::record::{AgentEvent, Parser, StreamCounts};

use aider::AiderParser;
use claude::{ClaudeParser, Dialect};
use json_lines::{JsonLines, LineContent};
use pi::PiParser;
use run_facts::read_facts;
use transcript::Transcript;

pub(super) use codex::codex_tokens;
pub(super) use copilot::usage_file;
pub(super) use failure::{class_of, class_of_words};
pub(super) use reset_time::reset_time_in;
pub(super) use text::FINAL_TEXT_BYTES;
pub(super) use transcript::{AgentReport, Failure};

/// The parsers of the agents' outputs, with what they keep between two lines. Unknown parts are skipped, and an output may end anywhere.
enum OutputParser {
    Text,
    Claude(ClaudeParser),
    Codex,
    Copilot { refusal: String },
    Gemini { line: String },
    Opencode { reason: String },
    Pi(PiParser),
    Droid,
    Cline,
    Aider(AiderParser),
}

impl OutputParser {
    fn new(parser: Parser) -> Self {
        match parser {
            Parser::Text => Self::Text,
            Parser::Claude => Self::Claude(ClaudeParser::new(Dialect::Claude)),
            Parser::Qwen => Self::Claude(ClaudeParser::new(Dialect::Qwen)),
            Parser::Codex => Self::Codex,
            Parser::Copilot => Self::Copilot { refusal: String::new() },
            Parser::Gemini => Self::Gemini { line: String::new() },
            Parser::Opencode => Self::Opencode { reason: String::new() },
            Parser::Pi => Self::Pi(PiParser::default()),
            Parser::Droid => Self::Droid,
            Parser::Cline => Self::Cline,
            Parser::Aider => Self::Aider(AiderParser::default()),
        }
    }

    /// Parses the next event, where the lines are JSON.
    fn event(&mut self, event: &Value, transcript: &mut Transcript) {
        match self {
            Self::Text | Self::Aider(_) => {}
            Self::Claude(parser) => parser.event(event, transcript),
            Self::Codex => codex::event(event, transcript),
            Self::Copilot { refusal } => copilot::event(event, refusal, transcript),
            Self::Gemini { line } => gemini::event(event, line, transcript),
            Self::Opencode { reason } => opencode::event(event, reason, transcript),
            Self::Pi(parser) => parser.event(event, transcript),
            Self::Droid => droid::event(event, transcript),
            Self::Cline => cline::event(event, transcript),
        }
    }

    /// Completes the transcript at the end of an output in the file `stdout`, of a program that exited with `code`.
    fn finish(&self, code: i32, stdout: &Utf8Path, transcript: &mut Transcript) -> Result<()> {
        match self {
            Self::Text => return text::finish(stdout, transcript),
            Self::Copilot { .. } => return copilot::finish(stdout, transcript),
            Self::Claude(parser) => parser.finish(transcript),
            Self::Gemini { .. } => gemini::finish(code, transcript),
            Self::Opencode { reason } => opencode::finish(reason, transcript),
            Self::Pi(parser) => parser.finish(transcript),
            Self::Droid => droid::finish(transcript),
            Self::Aider(parser) => parser.finish(transcript),
            Self::Codex | Self::Cline => {}
        }
        Ok(())
    }
}

/// An output that is being read, and what it contained so far. What is shortened of it has no secrets; whole texts are redacted by those
/// who show and record them.
pub(super) struct StreamReader {
    kind: Parser,
    parser: OutputParser,
    lines: JsonLines,
    transcript: Transcript,
}

impl StreamReader {
    pub(super) fn new(parser: Parser, redactor: &Redactor) -> Self {
        Self {
            kind: parser,
            parser: OutputParser::new(parser),
            lines: JsonLines::default(),
            transcript: Transcript::new(redactor),
        }
    }

    /// Says how long the agent has been running.
    pub(super) fn set_time(&mut self, ms: u64) {
        self.transcript.set_time(ms);
    }

    /// Reads the next line, and hands on what happened by it.
    pub(super) fn line(&mut self, line: &[u8], emit: &mut dyn FnMut(AgentEvent)) {
        let transcript = &mut self.transcript;
        match &mut self.parser {
            OutputParser::Text => text::show_line(line, transcript),
            OutputParser::Aider(parser) => parser.line(line, transcript),
            parser => match self.lines.read(line) {
                LineContent::Events(events) => {
                    for event in &events {
                        parser.event(event, transcript);
                        read_facts(self.kind, event, transcript);
                    }
                }
                LineContent::Nothing => {}
                // It may have been the end of any tool.
                LineContent::Unreadable => transcript.release_tools(),
            },
        }
        self.transcript.take_events().into_iter().for_each(emit);
    }

    /// Reads a part of an output from the start of a line to the end of one.
    pub(super) fn lines(&mut self, output: &[u8], emit: &mut dyn FnMut(AgentEvent)) {
        for line in output.split(|&byte| byte == b'\n') {
            self.line(line, emit);
        }
    }

    /// Returns how its lines could be read so far, where they are events.
    pub(super) fn counts(&self) -> Option<StreamCounts> {
        let has_events = !matches!(self.parser, OutputParser::Text | OutputParser::Aider(_));
        has_events.then_some(self.lines.counts)
    }

    /// Returns the number of its lines if they ended well, as far as it was read.
    pub(super) fn finished_lines(&self) -> Option<u64> {
        self.counts().map(|counts| counts.lines).filter(|_| self.transcript.is_complete())
    }

    /// Returns true if it has lines that are no events.
    pub(super) fn has_other_words(&self) -> bool {
        self.counts().is_some_and(|counts| counts.lines > self.lines.event_lines)
    }

    /// Returns true if a subagent works on that the stream shows as begun.
    pub(super) fn has_subagent(&self) -> bool {
        self.transcript.background.has_subagent()
    }

    /// Returns what the whole output in the file `stdout` says, of a program that exited with `code`.
    pub(super) fn finish(mut self, code: i32, stdout: &Utf8Path) -> Result<AgentReport> {
        self.parser.finish(code, stdout, &mut self.transcript)?;
        Ok(self.transcript.into_report())
    }
}

#[cfg(test)]
mod tests;
