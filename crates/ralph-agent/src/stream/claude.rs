//! The events of Claude Code (`--output-format stream-json`), and of Qwen Code, which speaks almost the same.

use serde_json::Value;

use super::failure::{class_of, class_of_status, class_of_words, is_unreachable};
use super::fields::{inclusive_tokens, text, texts, tokens};
use super::transcript::{Failure, Transcript};
use ralph_core::record::{FailureClass, Timestamp, Tokens};

/// Who speaks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Claude,
    /// Its input holds the cached part, its messages are pieces, and its errors are in other places.
    Qwen,
}

#[derive(Debug)]
pub(super) struct ClaudeParser {
    dialect: Dialect,
    /// The id of the last message of the main thread.
    message_id: String,
    /// Tokens of the messages so far, for a stream without an end.
    spent: Tokens,
    /// Tokens of all results; each counts only its own part.
    results: Tokens,
    /// Text and tokens of the last `result` event.
    result: Option<(String, Tokens)>,
}

impl ClaudeParser {
    pub(super) fn event(&mut self, event: &Value, transcript: &mut Transcript) {
        match (text(event, "type"), text(event, "subtype")) {
            ("system", "init") => transcript.set_model(&event["model"]),
            ("system", "api_retry") => {
                let message = retry(event, transcript);
                transcript.retry(&message);
            }
            ("system", "task_started") => {
                let is_subagent = text(event, "task_type") == "local_agent";
                let (id, call) = (text(event, "task_id"), text(event, "tool_use_id"));
                transcript.begin_background(id, call, text(event, "description"), is_subagent);
            }
            ("system", "task_notification") => {
                transcript.background.end(text(event, "task_id"), text(event, "status"));
            }
            ("system", "task_updated") => match text(&event["patch"], "status") {
                "" | "pending" | "running" => {}
                status => transcript.background.end(text(event, "task_id"), status),
            },
            ("system", "retry") => transcript.retry(&retry_of_qwen(&event["data"])),
            ("rate_limit_event", _) => rate_limit(&event["rate_limit_info"], transcript),
            ("assistant", _) => self.assistant(event, transcript),
            ("user", _) => tool_results(&event["message"]["content"], transcript),
            ("result", _) => self.result(event, transcript),
            _ => {}
        }
    }

    pub(super) fn finish(&self, transcript: &mut Transcript) {
        if let Some((text, tokens)) = &self.result {
            transcript.tokens = *tokens;
            if transcript.is_complete() && !text.is_empty() {
                transcript.set_final_message(text);
            }
        }
    }

    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            message_id: String::new(),
            spent: Tokens::default(),
            results: Tokens::default(),
            result: None,
        }
    }

    fn assistant(&mut self, event: &Value, transcript: &mut Transcript) {
        let message = &event["message"];
        let no_blocks = Vec::new();
        let blocks = message["content"].as_array().unwrap_or(&no_blocks);
        // What a subagent says is no answer to us, but what it does is done.
        let is_main = event["parent_tool_use_id"].is_null();
        // A message that no model wrote: its text is an error.
        let is_synthetic = text(message, "model") == "<synthetic>";
        if let Some(error) = event["error"].as_str().filter(|_| is_main) {
            let words = blocks.iter().map(|block| text(block, "text")).collect::<Vec<_>>().join(" ");
            let class = class_of_error(error, text(event, "api_error"), &words);
            transcript.set_failure(Failure::new(class, &words));
        }
        if is_main && !is_synthetic {
            self.begin_message(message, transcript);
        }
        for block in blocks {
            match text(block, "type") {
                "text" if is_main && !is_synthetic => {
                    if transcript.has_final_message() {
                        transcript.add_to_final_message("\n");
                    }
                    transcript.add_to_final_message(text(block, "text"));
                    transcript.show(text(block, "text"));
                }
                "tool_use" => transcript.start_tool(text(block, "id"), text(block, "name"), &block["input"]),
                _ => {}
            }
        }
    }

    fn begin_message(&mut self, message: &Value, transcript: &mut Transcript) {
        let id = text(message, "id");
        // A message comes in one line for each of its parts, with the same numbers in each.
        if !id.is_empty() && id == self.message_id {
            return;
        }
        id.clone_into(&mut self.message_id);
        transcript.clear_final_message();
        if transcript.model.is_none() {
            transcript.set_model(&message["model"]);
        }
        let tokens = self.usage(&message["usage"]);
        if !tokens.is_unknown() {
            // The output count stays at 1 until the result event.
            let output = tokens.output.filter(|_| self.dialect == Dialect::Qwen);
            self.spent = self.spent.plus(&Tokens { output, ..tokens });
            transcript.set_tokens(self.spent);
        }
    }

    fn usage(&self, usage: &Value) -> Tokens {
        match self.dialect {
            Dialect::Claude => tokens(usage, SNAKE_CASE),
            Dialect::Qwen => inclusive_tokens(usage, SNAKE_CASE),
        }
    }

    fn result(&mut self, event: &Value, transcript: &mut Transcript) {
        // `subtype` is "success" even where the API failed, and `is_error` false where the turns ran out.
        let is_error = event["is_error"].as_bool().unwrap_or_default();
        if is_error || text(event, "subtype").starts_with("error") {
            let words = words_of_error(event);
            let before = transcript.failure().map(|failure| failure.class);
            transcript.fail(Failure::new(class_of_result(event, before, &words), &words));
            // Qwen Code says its error as a message first.
            if transcript.final_message() == words {
                transcript.clear_final_message();
            }
        } else {
            transcript.complete();
        }
        self.results = self.results.plus(&self.usage(&event["usage"]));
        // Of all models, subagents included; unknown in older versions.
        let models = event["modelUsage"].as_object().into_iter().flatten();
        let all_models =
            models.fold(Tokens::default(), |sum, (_, usage)| sum.plus(&tokens(usage, CAMEL_CASE)));
        let results = if all_models.is_unknown() { self.results } else { all_models };
        let tokens = if results.is_unknown() { self.spent } else { results };
        self.result = Some((text(event, "result").to_owned(), tokens));
        transcript.cost_usd = event["total_cost_usd"].as_f64();
        transcript.set_tokens(tokens);
    }
}

/// The names of input, cache reads, cache writes and output.
const SNAKE_CASE: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
const CAMEL_CASE: [&str; 4] =
    ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens"];

fn rate_limit(info: &Value, transcript: &mut Transcript) {
    if text(info, "status") == "rejected" {
        transcript.resets_at = info["resetsAt"].as_i64().map(Timestamp::from_seconds);
    }
}

fn tool_results(content: &Value, transcript: &mut Transcript) {
    for block in content.as_array().into_iter().flatten() {
        let is_error = block["is_error"].as_bool().unwrap_or(false);
        transcript.end_tool(text(block, "tool_use_id"), &texts(&block["content"]), is_error);
    }
}

/// Returns what a result says of its error, in whatever place.
fn words_of_error(event: &Value) -> String {
    let reasons = event["errors"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let places = [
        words_of_limit(event).unwrap_or_default(),
        text(event, "result").to_owned(),
        reasons.collect::<Vec<_>>().join("; "),
        text(&event["error"], "message").to_owned(),
        text(event, "terminal_reason").to_owned(),
        text(event, "subtype").replace('_', " "),
    ];
    places.into_iter().find(|words| !words.is_empty()).unwrap_or_default()
}

/// Returns which limit of its own ended it, where it says how much that was.
fn words_of_limit(event: &Value) -> Option<String> {
    match (text(event, "subtype"), text(event, "terminal_reason")) {
        ("error_max_turns", _) | (_, "max_turns") => {
            Some(format!("ran out of turns ({})", event["num_turns"].as_u64()?))
        }
        ("error_max_budget_usd", _) | (_, "budget_exhausted") => {
            Some(format!("ran out of budget (${:.2})", event["total_cost_usd"].as_f64()?))
        }
        _ => None,
    }
}

fn retry(event: &Value, transcript: &Transcript) -> String {
    let [attempt, most, delay] =
        ["attempt", "max_retries", "retry_delay_ms"].map(|key| event[key].as_u64().unwrap_or_default());
    let seconds = delay.div_ceil(1000);
    let status = event["error_status"].as_u64().map(|status| format!(", {status}")).unwrap_or_default();
    let error = transcript.summary(text(event, "error"));
    format!("retry {attempt} of {most} in {seconds} s ({error}{status})")
}

fn retry_of_qwen(data: &Value) -> String {
    match ["attempt", "maxRetries", "delayMs"].map(|key| data[key].as_u64()) {
        [Some(attempt), Some(most), Some(delay)] => {
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
        ("server_error", _) if is_unreachable(words) => FailureClass::Network,
        ("server_error", _) => FailureClass::Overloaded,
        _ => FailureClass::Other,
    }
}

/// Structured fields first: of the result, then of the error message before it. Words only as a last resort.
fn class_of_result(result: &Value, before: Option<FailureClass>, words: &str) -> FailureClass {
    if text(result, "subtype").starts_with("error_max") {
        return FailureClass::Other;
    }
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
        "rate_limit_error" => Some(class_of(Some(429), words)),
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
