//! The events of `droid exec -o stream-json`.

use anyhow::Result;
use serde_json::Value;

use super::calls::Calls;
use super::failure::class_of;
use super::{Answer, End, Stream, Told, each_event, is_nothing, text, texts, tokens};
use crate::record::{AgentEvent, FailureClass, Tokens, summary};

const TOKENS: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];

/// What the stream told so far.
#[derive(Debug, Default)]
pub(super) struct DroidStream {
    model: Option<String>,
    answer: Answer,
    tokens: Tokens,
    calls: Calls,
    is_complete: bool,
    error: Option<String>,
}

impl DroidStream {
    fn event(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        match text(event, "type") {
            "system" => {
                if let Some(model) = event["model"].as_str() {
                    self.model = Some(model.to_owned());
                }
            }
            // Messages of the user are the prompt, and come whenever they come.
            "message" if text(event, "role") == "assistant" => {
                let words = text(event, "text");
                self.answer = Answer::default();
                self.answer.add(words);
                say(AgentEvent::Text { text: words.to_owned() });
            }
            "tool_call" => {
                let (id, name) = (text(event, "id"), text(event, "toolName"));
                self.calls.start(id, name, &event["parameters"], say);
            }
            "tool_result" => {
                let is_error = event["isError"].as_bool().unwrap_or(false);
                let error = event["error"]["message"].as_str();
                let words = error.map_or_else(|| texts(&event["value"]), str::to_owned);
                self.calls.end(text(event, "id"), &words, is_error, say);
            }
            "completion" => {
                self.is_complete = true;
                self.error = None;
                self.tokens = tokens(&event["usage"], TOKENS);
                if let Some(words) = event["finalText"].as_str() {
                    self.answer = Answer::default();
                    self.answer.add(words);
                }
                say(AgentEvent::Usage { tokens: self.tokens });
            }
            "error" => {
                let words = text(event, "message");
                say(AgentEvent::Error { message: summary(words) });
                self.is_complete = false;
                // What comes after the first is only that it failed.
                self.error.get_or_insert_with(|| words.to_owned());
            }
            _ => {}
        }
    }
}

impl Stream for DroidStream {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        each_event(line, &mut |event| self.event(event, say));
    }

    fn finish(self: Box<Self>, _: &End<'_>) -> Result<Told> {
        // It takes an answer that was cut for a whole one, but then nothing was counted.
        let is_cut = self.is_complete && is_nothing(&self.tokens);
        let error = match self.error {
            Some(words) => Some((class_of(None, &words), summary(&words))),
            None if is_cut => Some((FailureClass::Network, "the answer of the model was cut".to_owned())),
            None => None,
        };
        Ok(Told {
            is_success: self.is_complete && error.is_none(),
            final_text: self.answer.0,
            model: self.model,
            tokens: self.tokens,
            tool_calls: self.calls.into_list(),
            error,
            ..Told::default()
        })
    }
}
