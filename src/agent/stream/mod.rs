//! What agents print while they work, each in a form of its own, brought to one meaning.

mod aider;
mod calls;
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

#[cfg(test)]
mod tests;

use anyhow::Result;
use camino::Utf8Path;
use serde_json::Value;

use crate::record::{AgentEvent, FailureClass, Parser, Timestamp, Tokens, ToolCall};

pub(super) use copilot::usage_file;
pub(super) use failure::{class_of, class_of_words, time_told};
pub(super) use text::FINAL_TEXT;

/// An output that is being read. What is unknown in it is skipped, and it may end anywhere.
pub(super) trait Stream {
    /// Takes the next line.
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent));

    /// What it all says, at its end.
    fn finish(self: Box<Self>, end: &End<'_>) -> Result<Told>;
}

/// How the program that printed it ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct End<'a> {
    pub code: i32,
    pub stdout: &'a Utf8Path,
}

/// What a whole stream says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Told {
    /// Whether it ended with a result that is no error.
    pub is_success: bool,
    /// What the agent itself said last; never what it was told.
    pub final_text: String,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub cost_usd: Option<f64>,
    pub tool_calls: Vec<ToolCall>,
    /// Without words where those are on stderr.
    pub error: Option<(FailureClass, String)>,
    pub resets_at: Option<Timestamp>,
    /// How the agent itself calls this conversation, where that leads to more.
    pub thread: Option<String>,
}

impl Parser {
    pub(super) fn stream(self) -> Box<dyn Stream> {
        match self {
            Self::Text => Box::new(text::TextStream),
            Self::Claude => Box::new(claude::ClaudeStream::new(claude::Dialect::Claude)),
            Self::Qwen => Box::new(claude::ClaudeStream::new(claude::Dialect::Qwen)),
            Self::Codex => Box::<codex::CodexStream>::default(),
            Self::Copilot => Box::<copilot::CopilotStream>::default(),
            Self::Gemini => Box::<gemini::GeminiStream>::default(),
            Self::Opencode => Box::<opencode::OpencodeStream>::default(),
            Self::Pi => Box::<pi::PiStream>::default(),
            Self::Droid => Box::<droid::DroidStream>::default(),
            Self::Cline => Box::<cline::ClineStream>::default(),
            Self::Aider => Box::<aider::AiderStream>::default(),
        }
    }
}

/// Most of an agent's last words that is kept: the end of them.
const LONGEST_ANSWER: usize = 4 << 20;

/// Text that comes in pieces, with bounded memory.
#[derive(Debug, Default)]
struct Answer(String);

impl Answer {
    fn add(&mut self, piece: &str) {
        self.0.push_str(piece);
        if self.0.len() > LONGEST_ANSWER {
            let mut cut = self.0.len() - LONGEST_ANSWER / 2;
            while !self.0.is_char_boundary(cut) {
                cut += 1;
            }
            self.0.drain(..cut);
        }
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
