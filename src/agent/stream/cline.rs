//! The events of `cline --json`.

use anyhow::Result;
use serde_json::Value;

use super::calls::Calls;
use super::failure::class_of;
use super::{Answer, End, Stream, Told, cost, each_event, inclusive_tokens, text};
use crate::record::{AgentEvent, FailureClass, Tokens, summary};

const TOKENS: [&str; 4] = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"];

/// What the stream told so far.
#[derive(Debug, Default)]
pub(super) struct ClineStream {
    model: Option<String>,
    answer: Answer,
    tokens: Tokens,
    cost_usd: Option<f64>,
    calls: Calls,
    is_success: bool,
    error: Option<(FailureClass, String)>,
}

impl ClineStream {
    fn event(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        match text(event, "type") {
            "agent_event" => self.agent_event(&event["event"], say),
            "run_result" => self.result(event, say),
            _ => {}
        }
    }

    fn agent_event(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let id = text(event, "toolCallId");
        match (text(event, "type"), text(event, "contentType")) {
            // The pieces before it are said again as a whole at the end.
            ("content_end", "text") => {
                let words = text(event, "text");
                self.answer = Answer::default();
                self.answer.add(words);
                say(AgentEvent::Text { text: words.to_owned() });
            }
            ("content_start", "tool") => {
                self.calls.start(id, text(event, "toolName"), &event["input"], say);
            }
            ("content_end", "tool") => {
                let (words, is_error) = outcome(&event["output"]);
                self.calls.end(id, &words, is_error || event["error"].is_string(), say);
            }
            ("error", _) => self.failed(event, say),
            _ => {}
        }
    }

    fn failed(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let words = text(&event["error"], "message");
        let class = match text(event, "errorClass") {
            "auth" => FailureClass::Auth,
            _ => class_of(None, words),
        };
        say(AgentEvent::Error { message: summary(words) });
        self.error = Some((class, summary(words)));
    }

    fn result(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let whole = &event["aggregateUsage"];
        let usage = if whole.is_object() { whole } else { &event["usage"] };
        self.tokens = inclusive_tokens(usage, TOKENS);
        self.cost_usd = cost(&usage["totalCost"]);
        self.model = event["model"]["id"].as_str().map(str::to_owned);
        let words = text(event, "text");
        self.is_success = text(event, "finishReason") == "completed";
        if self.is_success {
            self.error = None;
            self.answer = Answer::default();
            self.answer.add(words);
        } else if self.error.is_none() {
            self.error = Some((class_of(None, words), summary(words)));
        }
        say(AgentEvent::Usage { tokens: self.tokens });
    }
}

/// What a tool gave back, for one thing or for a list of things, and whether any of them failed.
fn outcome(output: &Value) -> (String, bool) {
    match output {
        Value::Array(parts) => {
            parts.iter().map(outcome).fold((String::new(), false), |all, (words, is_error)| {
                (if all.0.is_empty() { words } else { format!("{} {words}", all.0) }, all.1 || is_error)
            })
        }
        Value::String(words) => (words.clone(), false),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            let words = output["result"].as_str().filter(|words| !words.is_empty());
            let is_error = output["success"].as_bool() == Some(false);
            (words.unwrap_or_else(|| text(output, "error")).to_owned(), is_error)
        }
    }
}

impl Stream for ClineStream {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        each_event(line, &mut |event| self.event(event, say));
    }

    fn finish(self: Box<Self>, _: &End<'_>) -> Result<Told> {
        Ok(Told {
            is_success: self.is_success,
            final_text: self.answer.0,
            model: self.model,
            tokens: self.tokens,
            cost_usd: self.cost_usd,
            tool_calls: self.calls.into_list(),
            error: self.error,
            ..Told::default()
        })
    }
}
