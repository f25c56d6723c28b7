//! The events of `pi --mode json`.

use anyhow::Result;
use serde_json::Value;

use super::calls::Calls;
use super::failure::class_of;
use super::{Answer, End, Stream, Told, cost, each_event, is_nothing, text, texts, tokens};
use crate::record::{AgentEvent, FailureClass, Tokens, summary};

const TOKENS: [&str; 4] = ["input", "cacheRead", "cacheWrite", "output"];

/// What the stream told so far.
#[derive(Debug, Default)]
pub(super) struct PiStream {
    model: Option<String>,
    /// The last message of the agent.
    answer: Answer,
    /// The sum of all messages.
    tokens: Tokens,
    cost_usd: Option<f64>,
    calls: Calls,
    /// Whether nothing was counted for the last message.
    is_cut: bool,
    /// Why the last message ended.
    reason: String,
    has_ended: bool,
    error: Option<String>,
}

impl PiStream {
    fn event(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        match text(event, "type") {
            "message_end" if text(&event["message"], "role") == "assistant" => {
                self.message(&event["message"], say);
            }
            "tool_execution_start" => {
                let (id, name) = (text(event, "toolCallId"), text(event, "toolName"));
                self.calls.start(id, name, &event["args"], say);
            }
            "tool_execution_end" => {
                let is_error = event["isError"].as_bool().unwrap_or(false);
                let words = texts(&event["result"]["content"]);
                self.calls.end(text(event, "toolCallId"), &words, is_error, say);
            }
            "auto_retry_start" => {
                say(AgentEvent::Retry { message: summary(text(event, "errorMessage")) });
            }
            "auto_retry_end" if event["success"].as_bool() == Some(false) => {
                self.error = Some(text(event, "finalError").to_owned());
            }
            "agent_start" => self.has_ended = false,
            "agent_end" => self.has_ended = true,
            _ => {}
        }
    }

    fn message(&mut self, message: &Value, say: &mut dyn FnMut(AgentEvent)) {
        if let Some(model) = message["model"].as_str() {
            self.model = Some(model.to_owned());
        }
        let words = texts(&message["content"]);
        self.answer = Answer::default();
        self.answer.add(&words);
        if !words.is_empty() {
            say(AgentEvent::Text { text: words });
        }
        let spent = tokens(&message["usage"], TOKENS);
        self.tokens = self.tokens.plus(&spent);
        self.is_cut = is_nothing(&spent);
        if let Some(message) = cost(&message["usage"]["cost"]["total"]) {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + message);
        }
        say(AgentEvent::Usage { tokens: self.tokens });
        text(message, "stopReason").clone_into(&mut self.reason);
        self.error = message["errorMessage"].as_str().map(str::to_owned);
        if let Some(error) = &self.error {
            say(AgentEvent::Error { message: summary(error) });
        }
    }
}

impl Stream for PiStream {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        each_event(line, &mut |event| self.event(event, say));
    }

    fn finish(self: Box<Self>, _: &End<'_>) -> Result<Told> {
        // It ends with code 0 whatever happens, and takes an answer that was cut for a whole one.
        let is_complete = self.has_ended && self.reason == "stop" && self.error.is_none();
        let error = match self.error {
            Some(words) => Some((class_of(None, &words), summary(&words))),
            None if is_complete && self.is_cut => {
                Some((FailureClass::Network, "the answer of the model was cut".to_owned()))
            }
            None if is_complete || self.reason.is_empty() => None,
            None => Some((FailureClass::Other, summary(&format!("it ended with `{}`", self.reason)))),
        };
        Ok(Told {
            is_success: is_complete && !self.is_cut,
            final_text: self.answer.0,
            model: self.model,
            tokens: self.tokens,
            cost_usd: self.cost_usd,
            tool_calls: self.calls.into_list(),
            error,
            ..Told::default()
        })
    }
}
