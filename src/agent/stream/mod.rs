//! What agents print while they work, each in a form of its own, brought to one meaning.
//!
//! A parser only says which event means what. [`Transcript`] has the rules that are the same for all.

mod aider;
mod claude;
mod cline;
mod codex;
mod copilot;
mod droid;
mod failure;
mod gemini;
mod opencode;
mod pi;
mod text;
mod tool_calls;
mod transcript;

use anyhow::Result;
use camino::Utf8Path;
use serde_json::Value;

use crate::record::{AgentEvent, Parser, Tokens};

use transcript::Transcript;

pub(super) use copilot::usage_file;
pub(super) use failure::{class_of, class_of_words, time_told};
pub(super) use text::FINAL_TEXT_BYTES;
pub(super) use transcript::{AgentReport, Failure};

/// Reads an output that is text. What is unknown in it is skipped, and it may end anywhere.
trait LineParser {
    /// Takes the next line.
    fn line(&mut self, line: &[u8], transcript: &mut Transcript);

    /// Takes what can be said only at the end.
    fn finish(&mut self, _: &End<'_>, _: &mut Transcript) -> Result<()> {
        Ok(())
    }
}

/// Reads an output whose lines are JSON. What is unknown in it is skipped, and it may end anywhere.
trait EventParser {
    /// Takes the next event.
    fn event(&mut self, event: &Value, transcript: &mut Transcript);

    /// Takes what can be said only at the end.
    fn finish(&mut self, _: &End<'_>, _: &mut Transcript) -> Result<()> {
        Ok(())
    }
}

impl<P: EventParser> LineParser for P {
    fn line(&mut self, line: &[u8], transcript: &mut Transcript) {
        each_event(line, &mut |event| self.event(event, transcript));
    }

    fn finish(&mut self, end: &End<'_>, transcript: &mut Transcript) -> Result<()> {
        EventParser::finish(self, end, transcript)
    }
}

/// Returns the parser of that name.
fn line_parser(parser: Parser) -> Box<dyn LineParser> {
    match parser {
        Parser::Text => Box::new(text::TextParser),
        Parser::Claude => Box::new(claude::ClaudeParser::new(claude::Dialect::Claude)),
        Parser::Qwen => Box::new(claude::ClaudeParser::new(claude::Dialect::Qwen)),
        Parser::Codex => Box::new(codex::CodexParser),
        Parser::Copilot => Box::<copilot::CopilotParser>::default(),
        Parser::Gemini => Box::<gemini::GeminiParser>::default(),
        Parser::Opencode => Box::<opencode::OpencodeParser>::default(),
        Parser::Pi => Box::<pi::PiParser>::default(),
        Parser::Droid => Box::new(droid::DroidParser),
        Parser::Cline => Box::new(cline::ClineParser),
        Parser::Aider => Box::<aider::AiderParser>::default(),
    }
}

/// How the program that printed it ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct End<'a> {
    pub code: i32,
    pub stdout: &'a Utf8Path,
}

/// An output that is being read, and what it has told so far.
pub(super) struct StreamReader {
    parser: Box<dyn LineParser>,
    transcript: Transcript,
}

impl StreamReader {
    pub(super) fn new(parser: Parser) -> Self {
        Self { parser: line_parser(parser), transcript: Transcript::default() }
    }

    /// Reads the next line, and hands on what happened by it.
    pub(super) fn line(&mut self, line: &[u8], emit: &mut dyn FnMut(AgentEvent)) {
        self.parser.line(line, &mut self.transcript);
        self.transcript.take_events().into_iter().for_each(emit);
    }

    /// Reads a part of an output from the begin of a line to the end of one.
    pub(super) fn lines(&mut self, output: &[u8], emit: &mut dyn FnMut(AgentEvent)) {
        for line in output.split(|&byte| byte == b'\n') {
            self.line(line, emit);
        }
    }

    /// Returns what the whole output says, of a program that ended like this.
    pub(super) fn finish(mut self, end: &End<'_>) -> Result<AgentReport> {
        self.parser.finish(end, &mut self.transcript)?;
        Ok(self.transcript.into_report())
    }
}

/// The events of a line: mostly one, none where it is no JSON, many where it is a list of them.
fn each_event(line: &[u8], each: &mut dyn FnMut(&Value)) {
    if line.trim_ascii().is_empty() {
        return;
    }
    let event = serde_json::from_slice::<Value>(line)
        .or_else(|_| serde_json::from_str(&String::from_utf8_lossy(line)));
    match event {
        Ok(Value::Array(events)) => events.iter().for_each(each),
        Ok(event) => each(&event),
        Err(_) => {}
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// All texts of a list of parts, as messages and results of tools have them.
fn texts(parts: &Value) -> String {
    match parts {
        Value::String(words) => words.clone(),
        Value::Array(parts) => {
            let words: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            words.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The tokens under the names of input, cache reads, cache writes and output.
fn tokens(usage: &Value, names: [&str; 4]) -> Tokens {
    let [input, cache_read, cache_write, output] = names.map(|name| usage[name].as_u64());
    Tokens { input, cache_read, cache_write, output }
}

/// As [`tokens`], where what is called input holds the cached part too.
fn inclusive_tokens(usage: &Value, names: [&str; 4]) -> Tokens {
    let tokens = tokens(usage, names);
    let cached = tokens.cache_read.unwrap_or(0).saturating_add(tokens.cache_write.unwrap_or(0));
    Tokens { input: tokens.input.map(|input| input.saturating_sub(cached)), ..tokens }
}

/// A cost that is told. Where no price is known they print zero.
fn cost(value: &Value) -> Option<f64> {
    value.as_f64().filter(|cost| *cost > 0.0 && cost.is_finite())
}

fn is_nothing(tokens: &Tokens) -> bool {
    tokens.total().unwrap_or(0) == 0
}

#[cfg(test)]
mod tests;
