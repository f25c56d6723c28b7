//! What agents print while they work, each in a form of its own, brought to one meaning.
//!
//! A parser only says which event means what. [`Transcript`] has the rules that are the same for all.

mod aider;
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
mod parser;
mod pi;
#[cfg(test)]
mod provider_samples;
mod reset_time;
mod text;
mod tool_calls;
mod transcript;

use anyhow::Result;
use camino::Utf8Path;
use redact_stream::Redactor;

use ralph_core::record::{AgentEvent, Parser, StreamCounts};

use parser::OutputParser;
use transcript::Transcript;

pub(super) use codex::codex_tokens;
pub(super) use copilot::usage_file;
pub(super) use failure::{class_of, class_of_words};
pub(super) use reset_time::reset_time_in;
pub(super) use text::FINAL_TEXT_BYTES;
pub(super) use transcript::{AgentReport, Failure};

/// Returns the parser of that name.
fn output_parser(parser: Parser) -> OutputParser {
    match parser {
        Parser::Text => OutputParser::text(text::TextParser),
        Parser::Claude => OutputParser::json(claude::ClaudeParser::new(claude::Dialect::Claude)),
        Parser::Qwen => OutputParser::json(claude::ClaudeParser::new(claude::Dialect::Qwen)),
        Parser::Codex => OutputParser::json(codex::event),
        Parser::Copilot => OutputParser::json(copilot::CopilotParser::default()),
        Parser::Gemini => OutputParser::json(gemini::GeminiParser::default()),
        Parser::Opencode => OutputParser::json(opencode::OpencodeParser::default()),
        Parser::Pi => OutputParser::json(pi::PiParser::default()),
        Parser::Droid => OutputParser::json(droid::DroidParser),
        Parser::Cline => OutputParser::json(cline::event),
        Parser::Aider => OutputParser::text(aider::AiderParser::default()),
    }
}

/// An output that is being read, and what it contained so far. What is shortened of it has no secrets; whole texts are redacted by those
/// who show and record them.
pub(super) struct StreamReader {
    parser: OutputParser,
    transcript: Transcript,
}

impl StreamReader {
    pub(super) fn new(parser: Parser, redactor: &Redactor) -> Self {
        Self { parser: output_parser(parser), transcript: Transcript::new(redactor) }
    }

    /// Says how long the agent has been running.
    pub(super) fn set_time(&mut self, ms: u64) {
        self.transcript.set_time(ms);
    }

    /// Reads the next line, and hands on what happened by it.
    pub(super) fn line(&mut self, line: &[u8], emit: &mut dyn FnMut(AgentEvent)) {
        self.parser.line(line, &mut self.transcript);
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
        self.parser.counts()
    }

    /// Returns the number of its lines if they ended well, as far as it was read.
    pub(super) fn finished_lines(&self) -> Option<u64> {
        self.counts().map(|counts| counts.lines).filter(|_| self.transcript.is_complete())
    }

    /// Returns what the whole output in the file `stdout` says, of a program that exited with `code`.
    pub(super) fn finish(mut self, code: i32, stdout: &Utf8Path) -> Result<AgentReport> {
        self.parser.finish(code, stdout, &mut self.transcript)?;
        Ok(self.transcript.into_report())
    }
}

#[cfg(test)]
mod tests;
