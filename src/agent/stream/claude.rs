//! The events of Claude Code (`--output-format stream-json`), and of Qwen Code, which speaks almost the same.

use anyhow::Result;
use serde_json::Value;

use super::calls::Calls;
use super::failure::{class_of, class_of_status, class_of_words};
use super::{Answer, End, Stream, Told, each_event, inclusive_tokens, text, texts, tokens};
use crate::record::{AgentEvent, FailureClass, Timestamp, Tokens, summary};

/// Who speaks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Claude,
    /// Its input holds the cached part, its messages are pieces, and its errors are told in other places.
    Qwen,
}

/// What the stream told so far.
#[derive(Debug)]
pub(super) struct ClaudeStream {
    dialect: Dialect,
    model: Option<String>,
    /// The last message of the main thread: its id and its text.
    message: (String, Answer),
    /// Tokens of the messages so far, for a stream without an end.
    spent: Tokens,
    /// Tokens of all results; each counts only its own part.
    results: Tokens,
    result: Option<Ending>,
    error: Option<(FailureClass, String)>,
    resets_at: Option<Timestamp>,
    calls: Calls,
}

/// The last `result` event.
#[derive(Debug)]
struct Ending {
    is_error: bool,
    text: String,
    /// Of all models, subagents included; unknown in older versions.
    tokens: Tokens,
    cost_usd: Option<f64>,
}

impl ClaudeStream {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            model: None,
            message: (String::new(), Answer::default()),
            spent: Tokens::default(),
            results: Tokens::default(),
            result: None,
            error: None,
            resets_at: None,
            calls: Calls::default(),
        }
    }

    fn event(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        match (text(event, "type"), text(event, "subtype")) {
            ("system", "init") => {
                if let Some(model) = event["model"].as_str() {
                    self.model = Some(model.to_owned());
                }
            }
            ("system", "api_retry") => say(AgentEvent::Retry { message: retry(event) }),
            ("system", "retry") => say(AgentEvent::Retry { message: retry_of_qwen(&event["data"]) }),
            ("rate_limit_event", _) => self.rate_limit(&event["rate_limit_info"]),
            ("assistant", _) => self.assistant(event, say),
            ("user", _) => self.tool_results(&event["message"]["content"], say),
            ("result", _) => self.result(event, say),
            _ => {}
        }
    }

    fn rate_limit(&mut self, info: &Value) {
        if text(info, "status") == "rejected" {
            self.resets_at = info["resetsAt"].as_i64().map(Timestamp::from_seconds);
        }
    }

    fn assistant(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let message = &event["message"];
        let no_blocks = Vec::new();
        let blocks = message["content"].as_array().unwrap_or(&no_blocks);
        // What a subagent says is no answer to us, but what it does is done.
        let is_main = event["parent_tool_use_id"].is_null();
        // A message that no model wrote: its text is an error.
        let is_synthetic = text(message, "model") == "<synthetic>";
        if let Some(error) = event["error"].as_str().filter(|_| is_main) {
            let words = blocks.iter().map(|block| text(block, "text")).collect::<Vec<_>>().join(" ");
            self.error = Some((class_of_error(error, text(event, "api_error"), &words), summary(&words)));
        }
        if is_main && !is_synthetic {
            self.begin_message(message, say);
        }
        for block in blocks {
            match text(block, "type") {
                "text" if is_main && !is_synthetic => {
                    let words = text(block, "text");
                    if !self.message.1.0.is_empty() {
                        self.message.1.add("\n");
                    }
                    self.message.1.add(words);
                    say(AgentEvent::Text { text: words.to_owned() });
                }
                "tool_use" => self.calls.start(text(block, "id"), text(block, "name"), &block["input"], say),
                _ => {}
            }
        }
    }

    fn begin_message(&mut self, message: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let id = text(message, "id");
        // A message comes in one line for each of its parts, with the same numbers in each.
        if !id.is_empty() && id == self.message.0 {
            return;
        }
        self.message = (id.to_owned(), Answer::default());
        if self.model.is_none() {
            self.model = message["model"].as_str().map(str::to_owned);
        }
        let tokens = self.usage(&message["usage"]);
        if !tokens.is_unknown() {
            // The output stands at 1 until the result tells.
            let output = tokens.output.filter(|_| self.dialect == Dialect::Qwen);
            self.spent = self.spent.plus(&Tokens { output, ..tokens });
            say(AgentEvent::Usage { tokens: self.spent });
        }
    }

    fn tool_results(&mut self, content: &Value, say: &mut dyn FnMut(AgentEvent)) {
        for block in content.as_array().into_iter().flatten() {
            let is_error = block["is_error"].as_bool().unwrap_or(false);
            self.calls.end(text(block, "tool_use_id"), &texts(&block["content"]), is_error, say);
        }
    }

    fn usage(&self, usage: &Value) -> Tokens {
        match self.dialect {
            Dialect::Claude => tokens(usage, SNAKE_CASE),
            Dialect::Qwen => inclusive_tokens(usage, SNAKE_CASE),
        }
    }

    fn result(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        // `subtype` is "success" even where the API failed.
        let is_error = event["is_error"].as_bool().unwrap_or(true);
        let mut words = text(event, "result").to_owned();
        if is_error {
            if words.is_empty() {
                let reasons = event["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
                words = reasons.collect::<Vec<_>>().join("; ");
            }
            if words.is_empty() {
                text(&event["error"], "message").clone_into(&mut words);
            }
            if words.is_empty() {
                text(event, "terminal_reason").clone_into(&mut words);
            }
            let class = class_of_result(event, self.error.as_ref().map(|(class, _)| *class), &words);
            say(AgentEvent::Error { message: summary(&words) });
            self.error = Some((class, summary(&words)));
        } else {
            self.error = None;
        }
        self.results = self.results.plus(&self.usage(&event["usage"]));
        let models = event["modelUsage"].as_object().into_iter().flatten();
        let all_models =
            models.fold(Tokens::default(), |sum, (_, usage)| sum.plus(&tokens(usage, CAMEL_CASE)));
        self.result = Some(Ending {
            is_error,
            text: words,
            tokens: all_models,
            cost_usd: event["total_cost_usd"].as_f64(),
        });
        say(AgentEvent::Usage { tokens: self.tokens() });
    }

    fn tokens(&self) -> Tokens {
        match &self.result {
            None => self.spent,
            Some(result) if result.tokens.is_unknown() => self.results,
            Some(result) => result.tokens,
        }
    }

    fn told(self) -> Told {
        let tokens = self.tokens();
        let is_success = self.result.as_ref().is_some_and(|result| !result.is_error);
        let cost_usd = self.result.as_ref().and_then(|result| result.cost_usd);
        let final_text = match self.result {
            Some(result) if is_success && !result.text.is_empty() => result.text,
            _ => self.message.1.0,
        };
        Told {
            is_success,
            final_text,
            model: self.model,
            tokens,
            cost_usd,
            tool_calls: self.calls.into_list(),
            error: self.error,
            resets_at: self.resets_at,
            thread: None,
        }
    }
}

impl Stream for ClaudeStream {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        // With `--output-format json` all events are one list.
        each_event(line, &mut |event| self.event(event, say));
    }

    fn finish(self: Box<Self>, _: &End<'_>) -> Result<Told> {
        Ok(self.told())
    }
}

/// The names of input, cache reads, cache writes and output.
const SNAKE_CASE: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
const CAMEL_CASE: [&str; 4] =
    ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens"];

fn retry(event: &Value) -> String {
    let number = |key| event[key].as_u64().unwrap_or_default();
    let seconds = number("retry_delay_ms").div_ceil(1000);
    let status = event["error_status"].as_u64().map(|status| format!(", {status}")).unwrap_or_default();
    let error = summary(text(event, "error"));
    format!("retry {} of {} in {seconds} s ({error}{status})", number("attempt"), number("max_retries"))
}

fn retry_of_qwen(data: &Value) -> String {
    let number = |key| data[key].as_u64();
    match (number("attempt"), number("maxRetries"), number("delayMs")) {
        (Some(attempt), Some(most), Some(delay)) => {
            format!("retry {attempt} of {most} in {} s", delay.div_ceil(1000))
        }
        _ => "retry".to_owned(),
    }
}

fn class_of_error(error: &str, api_error: &str, words: &str) -> FailureClass {
    match (error, api_error) {
        (_, "usage_limit_reached") => FailureClass::Quota,
        (_, "connection_failed") => FailureClass::Network,
        ("authentication_failed", _) => FailureClass::Auth,
        ("billing_error", _) => FailureClass::Billing,
        ("model_not_found", _) => FailureClass::Model,
        ("rate_limit", _) => class_of_words(words, &[FailureClass::Quota]).unwrap_or(FailureClass::RateLimit),
        ("server_error", _) => FailureClass::Overloaded,
        _ => FailureClass::Other,
    }
}

/// Structured fields first: of the result, then of the error message before it. Words only as a last resort.
fn class_of_result(result: &Value, before: Option<FailureClass>, words: &str) -> FailureClass {
    match text(result, "terminal_reason") {
        "prompt_too_long" => return FailureClass::Context,
        "max_turns" | "budget_exhausted" | "aborted_tools" => return FailureClass::Other,
        _ => {}
    }
    if text(result, "api_error") == "usage_limit_reached" {
        return FailureClass::Quota;
    }
    if let Some(class) = before.filter(|class| *class != FailureClass::Other) {
        return class;
    }
    let of_type = match text(result, "api_error_type") {
        "authentication_error" | "permission_error" => Some(FailureClass::Auth),
        "billing_error" => Some(FailureClass::Billing),
        "not_found_error" => Some(FailureClass::Model),
        "rate_limit_error" => Some(FailureClass::RateLimit),
        "overloaded_error" => Some(FailureClass::Overloaded),
        _ => None,
    };
    let status = result["api_error_status"].as_u64();
    of_type
        .or_else(|| status.and_then(|status| class_of_status(status, words)))
        .unwrap_or_else(|| class_of(None, words))
}

#[cfg(test)]
mod tests;
