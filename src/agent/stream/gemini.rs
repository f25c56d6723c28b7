//! The events of `gemini --output-format stream-json`.

use anyhow::Result;
use serde_json::Value;

use super::calls::Calls;
use super::failure::{class_of, class_of_words};
use super::{Answer, End, Stream, Told, each_event, text};
use crate::record::{AgentEvent, FailureClass, Tokens, summary};

/// Bytes of a line of its words that are held back at most.
const MAX_LINE_BYTES: usize = 64 << 10;

/// What the stream told so far.
#[derive(Debug, Default)]
pub(super) struct GeminiStream {
    model: Option<String>,
    /// What it said since its last tool.
    answer: Answer,
    /// What of that has not been handed on: its words come in pieces, which only as lines can be read and redacted.
    line: String,
    tokens: Tokens,
    calls: Calls,
    is_success: bool,
    trouble: Option<String>,
}

impl GeminiStream {
    fn event(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let kind = text(event, "type");
        let is_words = kind == "message" && text(event, "role") == "assistant";
        if !is_words {
            self.say_line(self.line.len(), say);
        }
        match kind {
            "init" => self.model = event["model"].as_str().map(str::to_owned),
            // Messages of the user are the prompt.
            "message" if is_words => {
                let words = text(event, "content");
                self.answer.add(words);
                self.line.push_str(words);
                let is_piece = event["delta"].as_bool() == Some(true) && self.line.len() < MAX_LINE_BYTES;
                let end = self.line.rfind('\n').filter(|_| is_piece).map(|end| end + 1);
                self.say_line(end.unwrap_or(if is_piece { 0 } else { self.line.len() }), say);
            }
            "tool_use" => {
                self.answer = Answer::default();
                let (id, name) = (text(event, "tool_id"), text(event, "tool_name"));
                self.calls.start(id, name, &event["parameters"], say);
            }
            "tool_result" => {
                self.answer = Answer::default();
                let words = event["output"].as_str().unwrap_or_else(|| text(&event["error"], "message"));
                self.calls.end(text(event, "tool_id"), words, text(event, "status") == "error", say);
            }
            "error" => self.failed(text(event, "message"), say),
            "result" => self.result(event, say),
            _ => {}
        }
    }

    /// Hands on what it said, up to `end`.
    fn say_line(&mut self, end: usize, say: &mut dyn FnMut(AgentEvent)) {
        let rest = self.line.split_off(end);
        let line = std::mem::replace(&mut self.line, rest);
        if !line.is_empty() {
            say(AgentEvent::Text { text: line });
        }
    }

    fn failed(&mut self, message: &str, say: &mut dyn FnMut(AgentEvent)) {
        say(AgentEvent::Error { message: summary(message) });
        self.trouble = Some(message.to_owned());
    }

    fn result(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let stats = &event["stats"];
        self.tokens = tokens(stats);
        // "auto" is no model. The one that got most is the one that worked, and not the one that chose it.
        let total = |usage: &Value| usage["total_tokens"].as_u64().unwrap_or_default();
        let models = stats["models"].as_object().into_iter().flatten();
        let busiest = models.max_by_key(|(_, usage)| total(usage)).map(|(name, _)| name.clone());
        if let Some(model) = busiest {
            self.model = Some(model);
        }
        self.is_success = text(event, "status") == "success";
        if self.is_success {
            self.trouble = None;
        } else if let Some(message) = event["error"]["message"].as_str() {
            self.failed(message, say);
        }
        say(AgentEvent::Usage { tokens: self.tokens });
    }
}

/// `input` is without cache. What it thought is output too, and stands nowhere but in the total.
fn tokens(stats: &Value) -> Tokens {
    let number = |key: &str| stats[key].as_u64();
    let output = number("output_tokens").map(|output| {
        let rest = number("total_tokens").zip(number("input_tokens"));
        rest.map_or(output, |(total, input)| total.saturating_sub(input).max(output))
    });
    Tokens { input: number("input"), cache_read: number("cached"), cache_write: None, output }
}

/// Why it ended with this code, where the code alone says so.
fn class_of_code(code: i32) -> Option<FailureClass> {
    match code {
        41 => Some(FailureClass::Auth),
        55 => Some(FailureClass::Refused),
        _ => None,
    }
}

/// The HTTP status that a code stands for: it ends with what a byte holds of it.
fn status_of_code(code: i32) -> Option<u64> {
    let code = u64::try_from(code).ok().filter(|code| (144..=255).contains(code))?;
    Some(code + 256)
}

impl Stream for GeminiStream {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        each_event(line, &mut |event| self.event(event, say));
    }

    fn finish(self: Box<Self>, end: &End<'_>) -> Result<Told> {
        let error = match (class_of_code(end.code), self.trouble) {
            (Some(class), Some(words)) => Some((class, summary(&words))),
            // Its words are on stderr.
            (Some(class), None) => Some((class, String::new())),
            (None, Some(words)) => Some((class_of_error(end.code, &words), summary(&words))),
            (None, None) => None,
        };
        Ok(Told {
            is_success: self.is_success && end.code == 0,
            final_text: self.answer.0,
            model: self.model,
            tokens: self.tokens,
            tool_calls: self.calls.into_list(),
            error,
            ..Told::default()
        })
    }
}

fn class_of_error(code: i32, words: &str) -> FailureClass {
    // It calls every limit a quota; the one for minutes says how long to wait, and the daily one that it is exhausted.
    let is_short = words.contains("retry after") && !words.contains("exhausted");
    if is_short && class_of_words(words, &[FailureClass::Quota]).is_some() {
        return FailureClass::RateLimit;
    }
    class_of(status_of_code(code), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_come_in_pieces_are_handed_on_as_lines() {
        let mut stream = GeminiStream::default();
        let mut said = Vec::new();
        let mut take = |line: &str| {
            stream.line(line.as_bytes(), &mut |event| {
                said.push(if let AgentEvent::Text { text } = event { text } else { format!("{event:?}") });
            });
        };
        for piece in ["the to", "ken is a", "bc\\nand", " more"] {
            take(&format!(r#"{{"type":"message","role":"assistant","content":"{piece}","delta":true}}"#));
        }
        take(r#"{"type":"error","message":"no"}"#);
        take(r#"{"type":"message","role":"assistant","content":"whole"}"#);
        assert_eq!(said, ["the token is abc\n", "and more", "Error { message: \"no\" }", "whole"]);
    }

    #[test]
    fn codes_stand_for_statuses() {
        for (code, status) in [(145, Some(401)), (173, Some(429)), (247, Some(503)), (1, None), (-1, None)] {
            assert_eq!(status_of_code(code), status);
        }
    }
}
