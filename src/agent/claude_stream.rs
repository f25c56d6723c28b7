//! Reads the event stream of Claude Code (`--output-format stream-json`), leniently: what is unknown is skipped.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::record::{AgentEvent, FailureClass, Timestamp, Tokens, ToolCall, ToolKind, summary};

/// Most tool calls that are listed of one run; the transcript has them all.
const MOST_TOOL_CALLS: usize = 10_000;

/// What the stream told so far.
#[derive(Debug, Default)]
pub(super) struct ClaudeStream {
    model: Option<String>,
    /// The last message of the main thread: its id and its text.
    message: (String, String),
    /// Tokens of the messages so far, for a stream without an end.
    spent: Tokens,
    /// Tokens of all results; each counts only its own part.
    results: Tokens,
    result: Option<Ending>,
    error: Option<(FailureClass, String)>,
    resets_at: Option<Timestamp>,
    tool_calls: Vec<ToolCall>,
    /// Where in `tool_calls` the calls without an answer stand, by their ids.
    pending: HashMap<String, usize>,
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

/// What a whole stream says.
#[derive(Debug, PartialEq)]
pub(super) struct Told {
    /// Whether it ended with a result that is no error.
    pub is_success: bool,
    pub final_text: String,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub cost_usd: Option<f64>,
    pub tool_calls: Vec<ToolCall>,
    pub error: Option<(FailureClass, String)>,
    pub resets_at: Option<Timestamp>,
}

impl ClaudeStream {
    pub(super) fn read(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let event = serde_json::from_slice::<Value>(line)
            .or_else(|_| serde_json::from_str(&String::from_utf8_lossy(line)));
        match event {
            // With `--output-format json` all events are one list.
            Ok(Value::Array(events)) => events.iter().for_each(|event| self.event(event, say)),
            Ok(event) => self.event(&event, say),
            Err(_) => {}
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
                    if !self.message.1.is_empty() {
                        self.message.1.push('\n');
                    }
                    self.message.1.push_str(words);
                    say(AgentEvent::Text { text: words.to_owned() });
                }
                "tool_use" => self.tool_use(block, say),
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
        self.message = (id.to_owned(), String::new());
        if self.model.is_none() {
            self.model = message["model"].as_str().map(str::to_owned);
        }
        let tokens = tokens(&message["usage"], &SNAKE_CASE);
        if !tokens.is_unknown() {
            // The output stands at 1 until the result tells.
            self.spent = self.spent.plus(&Tokens { output: None, ..tokens });
            say(AgentEvent::Usage { tokens: self.spent });
        }
    }

    fn tool_use(&mut self, block: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let tool_name = text(block, "name").to_owned();
        let input = &block["input"];
        let arguments_summary = summary(&arguments(input));
        say(AgentEvent::ToolStarted {
            tool_name: tool_name.clone(),
            arguments_summary: arguments_summary.clone(),
        });
        if self.tool_calls.len() < MOST_TOOL_CALLS {
            self.pending.insert(text(block, "id").to_owned(), self.tool_calls.len());
            self.tool_calls.push(ToolCall {
                kind: kind(&tool_name),
                tool_name,
                arguments_summary,
                result_summary: String::new(),
                is_error: false,
            });
        }
    }

    fn tool_results(&mut self, content: &Value, say: &mut dyn FnMut(AgentEvent)) {
        for block in content.as_array().into_iter().flatten() {
            let Some(place) = self.pending.remove(text(block, "tool_use_id")) else { continue };
            let Some(call) = self.tool_calls.get_mut(place) else { continue };
            call.is_error = block["is_error"].as_bool().unwrap_or(false);
            call.result_summary = match &block["content"] {
                Value::String(words) => summary(words),
                Value::Array(parts) => {
                    let words: Vec<&str> = parts.iter().map(|part| text(part, "text")).collect();
                    summary(&words.join(" "))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
            };
            say(AgentEvent::ToolEnded { tool_name: call.tool_name.clone(), is_error: call.is_error });
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
                text(event, "terminal_reason").clone_into(&mut words);
            }
            let class = class_of_result(event, self.error.as_ref().map(|(class, _)| *class), &words);
            say(AgentEvent::Error { message: summary(&words) });
            self.error = Some((class, summary(&words)));
        } else {
            self.error = None;
        }
        self.results = self.results.plus(&tokens(&event["usage"], &SNAKE_CASE));
        let models = event["modelUsage"].as_object().into_iter().flatten();
        let all_models =
            models.fold(Tokens::default(), |sum, (_, usage)| sum.plus(&tokens(usage, &CAMEL_CASE)));
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

    /// What the stream says, at its end.
    pub(super) fn finish(self) -> Told {
        let tokens = self.tokens();
        let is_success = self.result.as_ref().is_some_and(|result| !result.is_error);
        let cost_usd = self.result.as_ref().and_then(|result| result.cost_usd);
        let final_text = match self.result {
            Some(result) if is_success && !result.text.is_empty() => result.text,
            _ => self.message.1,
        };
        Told {
            is_success,
            final_text,
            model: self.model,
            tokens,
            cost_usd,
            tool_calls: self.tool_calls,
            error: self.error,
            resets_at: self.resets_at,
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The names of input, cache reads, cache writes and output.
const SNAKE_CASE: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
const CAMEL_CASE: [&str; 4] =
    ["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "outputTokens"];

fn tokens(usage: &Value, names: &[&str; 4]) -> Tokens {
    let [input, cache_read, cache_write, output] = names.map(|name| usage[name].as_u64());
    Tokens { input, cache_read, cache_write, output }
}

fn retry(event: &Value) -> String {
    let number = |key| event[key].as_u64().unwrap_or_default();
    let seconds = number("retry_delay_ms").div_ceil(1000);
    let status = event["error_status"].as_u64().map(|status| format!(", {status}")).unwrap_or_default();
    let error = summary(text(event, "error"));
    format!("retry {} of {} in {seconds} s ({error}{status})", number("attempt"), number("max_retries"))
}

fn kind(tool_name: &str) -> ToolKind {
    match tool_name {
        "Read" | "NotebookRead" | "Glob" | "Grep" | "LS" => ToolKind::Read,
        "Write" => ToolKind::Write,
        "Edit" | "MultiEdit" | "NotebookEdit" => ToolKind::Edit,
        "Bash" => ToolKind::Shell,
        _ => ToolKind::Other,
    }
}

/// The argument that says most, else all of them.
fn arguments(input: &Value) -> String {
    ["command", "file_path", "notebook_path", "pattern", "path", "url", "query", "description"]
        .into_iter()
        .find_map(|key| input[key].as_str())
        .map_or_else(|| if input.is_null() { String::new() } else { input.to_string() }, str::to_owned)
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
    let of_status = || match result["api_error_status"].as_u64()? {
        401 | 403 => Some(FailureClass::Auth),
        402 => Some(FailureClass::Billing),
        404 => Some(FailureClass::Model),
        413 => Some(FailureClass::Context),
        429 => Some(FailureClass::RateLimit),
        500..600 => Some(FailureClass::Overloaded),
        _ => None,
    };
    of_type
        .or_else(of_status)
        .or_else(|| class_of_words(words, FailureClass::ALL))
        .unwrap_or(FailureClass::Other)
}

/// Patterns for the words of a final error, the most telling first. Never for what a model or a tool said.
static WORDS: LazyLock<Vec<(FailureClass, Regex)>> = LazyLock::new(|| {
    [
        (FailureClass::Refused, "cannot be used with root|security reasons"),
        (
            FailureClass::Quota,
            "usage limit|hit your .* limit|exhausted your|quota exceeded|insufficient.quota",
        ),
        (FailureClass::Billing, "credit balance|billing"),
        (FailureClass::Context, "context window|too long|context.?overflow"),
        (FailureClass::Model, "model .*not (exist|found)"),
        (FailureClass::Auth, r"\b401\b|authentication|invalid api key|not logged in|please run /login"),
        (FailureClass::RateLimit, r"\b429\b|rate.?limit|too many requests"),
        (FailureClass::Overloaded, r"\b5(00|02|03|04|29)\b|overloaded"),
        (FailureClass::Network, "connection|econnre|network|timed? ?out|getaddrinfo"),
    ]
    .into_iter()
    .map(|(class, pattern)| (class, Regex::new(&format!("(?i){pattern}")).expect("a fixed pattern is valid")))
    .collect()
});

/// The class that an error's words point to, if it is one of these.
pub(super) fn class_of_words(words: &str, wanted: &[FailureClass]) -> Option<FailureClass> {
    WORDS
        .iter()
        .filter(|(class, _)| wanted.contains(class))
        .find(|(_, pattern)| pattern.is_match(words))
        .map(|(class, _)| *class)
}

#[cfg(test)]
mod tests;
