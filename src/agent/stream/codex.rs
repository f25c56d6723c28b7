//! The events of `codex exec --json`.

use anyhow::Result;
use serde_json::Value;

use super::calls::Calls;
use super::failure::class_of;
use super::{Answer, End, Stream, Told, each_event, inclusive_tokens, text};
use crate::record::{AgentEvent, Tokens, summary};

const TOKENS: [&str; 4] =
    ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"];

/// What the stream told so far.
#[derive(Debug, Default)]
pub(super) struct CodexStream {
    answer: Answer,
    tokens: Tokens,
    calls: Calls,
    /// Whether the last turn came to its end.
    is_complete: bool,
    thread: Option<String>,
    /// The last thing that went wrong; a retry where nothing came after it.
    trouble: Option<String>,
}

impl CodexStream {
    fn event(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        match text(event, "type") {
            "thread.started" => self.thread = event["thread_id"].as_str().map(str::to_owned),
            "turn.started" => self.is_complete = false,
            "item.started" => self.item_started(&event["item"], say),
            "item.completed" => self.item_completed(&event["item"], say),
            "turn.completed" => {
                // The totals of the thread: the last one counts.
                self.tokens = inclusive_tokens(&event["usage"], TOKENS);
                self.is_complete = true;
                self.trouble = None;
                say(AgentEvent::Usage { tokens: self.tokens });
            }
            "turn.failed" => self.failed(text(&event["error"], "message"), say),
            "error" => {
                let message = text(event, "message");
                if message.starts_with("Reconnecting...") {
                    self.trouble = Some(message.to_owned());
                    say(AgentEvent::Retry { message: summary(message) });
                } else {
                    self.failed(message, say);
                }
            }
            _ => {}
        }
    }

    fn failed(&mut self, message: &str, say: &mut dyn FnMut(AgentEvent)) {
        self.is_complete = false;
        // It says its last error twice.
        if self.trouble.as_deref() != Some(message) {
            say(AgentEvent::Error { message: summary(message) });
        }
        self.trouble = Some(message.to_owned());
    }

    fn item_started(&mut self, item: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let name = match text(item, "type") {
            name @ ("command_execution" | "file_change" | "web_search") => name,
            "mcp_tool_call" => text(item, "tool"),
            _ => return,
        };
        let input = if item["arguments"].is_null() { item } else { &item["arguments"] };
        self.calls.start(text(item, "id"), name, input, say);
    }

    fn item_completed(&mut self, item: &Value, say: &mut dyn FnMut(AgentEvent)) {
        match text(item, "type") {
            "agent_message" => {
                let words = text(item, "text");
                self.answer = Answer::default();
                self.answer.add(words);
                say(AgentEvent::Text { text: words.to_owned() });
            }
            // Items of type `error` are warnings.
            "error" | "reasoning" | "todo_list" => {}
            _ => {
                self.item_started(item, say);
                let is_error = text(item, "status") == "failed"
                    || item["exit_code"].as_i64().is_some_and(|code| code != 0)
                    || !item["error"].is_null();
                self.calls.end(text(item, "id"), text(item, "aggregated_output"), is_error, say);
            }
        }
    }
}

impl Stream for CodexStream {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        each_event(line, &mut |event| self.event(event, say));
    }

    fn finish(self: Box<Self>, _: &End<'_>) -> Result<Told> {
        Ok(Told {
            is_success: self.is_complete,
            final_text: self.answer.0,
            tokens: self.tokens,
            tool_calls: self.calls.into_list(),
            thread: self.thread,
            error: self.trouble.map(|words| (class_of(None, &words), summary(&words))),
            ..Told::default()
        })
    }
}
