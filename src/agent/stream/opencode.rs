//! The events of `opencode run --format json`, and of its fork `kilo`.

use anyhow::Result;
use serde_json::Value;

use super::calls::Calls;
use super::failure::class_of;
use super::{Answer, End, Stream, Told, cost, each_event, text};
use crate::record::{AgentEvent, FailureClass, Timestamp, Tokens, summary};

/// What is said of an answer of the model without an end.
const CUT: &str = "the stream ended within an answer of the model";

/// What the stream told so far.
#[derive(Debug, Default)]
pub(super) struct OpencodeStream {
    /// What it said in its last step.
    answer: Answer,
    /// The sum of all steps.
    tokens: Tokens,
    cost_usd: Option<f64>,
    calls: Calls,
    /// Why the last step ended. No other event marks the end of a run.
    reason: String,
    error: Option<(FailureClass, String)>,
    resets_at: Option<Timestamp>,
}

impl OpencodeStream {
    fn event(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let part = &event["part"];
        match text(event, "type") {
            "step_start" => {
                self.answer = Answer::default();
                self.reason.clear();
            }
            // A synthetic text is one of its own that nobody said.
            "text" if part["synthetic"].as_bool() != Some(true) => {
                let words = text(part, "text");
                self.answer.add(words);
                say(AgentEvent::Text { text: words.to_owned() });
            }
            "tool_use" => self.tool(part, say),
            "step_finish" => self.step_finished(part, say),
            "error" => self.failed(event, say),
            _ => {}
        }
    }

    fn tool(&mut self, part: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let (id, state) = (text(part, "callID"), &part["state"]);
        self.calls.start(id, text(part, "tool"), &state["input"], say);
        let is_error = text(state, "status") == "error"
            || state["metadata"]["exit"].as_i64().is_some_and(|code| code != 0);
        let words = state["output"].as_str().unwrap_or_else(|| text(state, "error"));
        self.calls.end(id, words, is_error, say);
    }

    fn step_finished(&mut self, part: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let usage = &part["tokens"];
        let output = match (usage["output"].as_u64(), usage["reasoning"].as_u64()) {
            (Some(output), Some(reasoning)) => Some(output.saturating_add(reasoning)),
            (output, _) => output,
        };
        self.tokens = self.tokens.plus(&Tokens {
            input: usage["input"].as_u64(),
            cache_read: usage["cache"]["read"].as_u64(),
            cache_write: usage["cache"]["write"].as_u64(),
            output,
        });
        if let Some(step) = cost(&part["cost"]) {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + step);
        }
        text(part, "reason").clone_into(&mut self.reason);
        match self.reason.as_str() {
            "stop" => self.error = None,
            // It asks the model again, without an end if need be.
            "unknown" => say(AgentEvent::Retry { message: CUT.to_owned() }),
            _ => {}
        }
        say(AgentEvent::Usage { tokens: self.tokens });
    }

    fn failed(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let (error, data) = (&event["error"], &event["error"]["data"]);
        let name = text(error, "name");
        let words = data["message"].as_str().unwrap_or(name);
        let class = match name {
            "ProviderAuthError" => FailureClass::Auth,
            "ContextOverflowError" => FailureClass::Context,
            _ => class_of(data["statusCode"].as_u64(), &format!("{words} {}", text(data, "responseBody"))),
        };
        let seconds = text(&data["responseHeaders"], "retry-after").parse::<u32>().ok();
        // The event says when it was, and the answer how long to wait from then.
        self.resets_at = seconds.zip(event["timestamp"].as_i64()).map(|(seconds, milliseconds)| {
            Timestamp::from_seconds((milliseconds / 1000).saturating_add(i64::from(seconds)))
        });
        say(AgentEvent::Error { message: summary(words) });
        self.error = Some((class, summary(words)));
        self.reason.clear();
    }
}

impl Stream for OpencodeStream {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        each_event(line, &mut |event| self.event(event, say));
    }

    fn finish(self: Box<Self>, _: &End<'_>) -> Result<Told> {
        let is_success = self.reason == "stop" && self.error.is_none();
        let why = || match self.reason.as_str() {
            "" => None,
            "unknown" => Some((FailureClass::Network, CUT.to_owned())),
            // It ends by itself after a tool that it had to ask for.
            reason => Some((FailureClass::Other, summary(&format!("it ended with `{reason}`")))),
        };
        let error = if is_success { None } else { self.error.clone().or_else(why) };
        Ok(Told {
            is_success,
            final_text: self.answer.0,
            tokens: self.tokens,
            cost_usd: self.cost_usd,
            tool_calls: self.calls.into_list(),
            error,
            resets_at: self.resets_at,
            ..Told::default()
        })
    }
}
