//! The events of `pi --mode json`.

use serde_json::Value;

use super::fields::{cost, is_nothing, text, texts, tokens};
use super::transcript::{Failure, Transcript};
use ralph_core::record::FailureClass;

const TOKENS: [&str; 4] = ["input", "cacheRead", "cacheWrite", "output"];

/// What its last message was, and whether more is to come.
#[derive(Debug, Default)]
pub(super) struct PiParser {
    /// Why the last message ended.
    reason: String,
    /// True if nothing was counted for it.
    is_cut: bool,
    has_ended: bool,
}

impl PiParser {
    pub(super) fn event(&mut self, event: &Value, transcript: &mut Transcript) {
        match text(event, "type") {
            "message_end" if text(&event["message"], "role") == "assistant" => {
                self.message(&event["message"], transcript);
            }
            "tool_execution_start" => {
                let (id, name) = (text(event, "toolCallId"), text(event, "toolName"));
                transcript.start_tool(id, name, &event["args"]);
            }
            "tool_execution_end" => {
                let is_error = event["isError"].as_bool().unwrap_or(false);
                let words = texts(&event["result"]["content"]);
                transcript.end_tool(text(event, "toolCallId"), &words, is_error);
            }
            "auto_retry_start" => transcript.retry(text(event, "errorMessage")),
            "auto_retry_end" if event["success"].as_bool() == Some(false) => {
                transcript.set_failure(Failure::of_words(text(event, "finalError")));
            }
            "message_end" if text(&event["message"], "role") == "toolResult" => {
                let usage = &event["message"]["usage"];
                transcript.add_cost(cost(&usage["cost"]["total"]));
                transcript.add_tokens(&tokens(usage, TOKENS));
            }
            "agent_start" => {
                self.has_ended = false;
                transcript.reopen();
            }
            "agent_end" => {
                self.has_ended = true;
                self.last_of(&event["messages"], transcript);
                if transcript.failure().is_none() && self.reason == "stop" && !self.is_cut {
                    transcript.complete();
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(&self, transcript: &mut Transcript) {
        // pi always exits with 0, and treats an answer that was cut short as complete.
        let is_complete = self.has_ended && self.reason == "stop";
        if transcript.failure().is_some() || self.reason.is_empty() {
            // Nothing to add.
        } else if !is_complete {
            let words = format!("it ended with `{}`", self.reason);
            transcript.set_failure(Failure::new(FailureClass::Other, &words));
        } else if self.is_cut {
            transcript.set_failure(Failure::cut_answer());
        } else {
            transcript.complete();
        }
    }

    /// Takes the last message once more, from the list of all: its own line may have been unreadable.
    fn last_of(&mut self, messages: &Value, transcript: &mut Transcript) {
        let message = messages.as_array().and_then(|messages| messages.last());
        let Some(message) = message.filter(|message| text(message, "role") == "assistant") else { return };
        if text(message, "stopReason") != self.reason {
            self.end_of(message, transcript);
            transcript.set_final_message(&texts(&message["content"]));
        }
    }

    fn message(&mut self, message: &Value, transcript: &mut Transcript) {
        transcript.set_model(&message["model"]);
        transcript.message(&texts(&message["content"]));
        transcript.add_cost(cost(&message["usage"]["cost"]["total"]));
        transcript.add_tokens(&tokens(&message["usage"], TOKENS));
        self.end_of(message, transcript);
    }

    fn end_of(&mut self, message: &Value, transcript: &mut Transcript) {
        self.is_cut = is_nothing(&tokens(&message["usage"], TOKENS));
        text(message, "stopReason").clone_into(&mut self.reason);
        transcript.take_failure();
        if let Some(error) = message["errorMessage"].as_str() {
            transcript.fail(Failure::of_words(error));
        }
    }
}
