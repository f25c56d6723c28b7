//! The events of `copilot --output-format json`, and the file beside them in which it counts tokens.

use std::io::ErrorKind;

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::calls::Calls;
use super::failure::{class_of, class_of_words};
use super::{Answer, End, Stream, Told, each_event, inclusive_tokens, text};
use crate::project_files::{MAX_SETTINGS_BYTES, open_plain, read_at_most, refused};
use crate::record::{AgentEvent, FailureClass, Tokens, summary};

const TOKENS: [&str; 4] = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"];

/// Where it is told to count tokens, for a run whose stdout goes there.
pub(in crate::agent) fn usage_file(stdout: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{stdout}.usage.json"))
}

/// What the stream told so far.
#[derive(Debug, Default)]
pub(super) struct CopilotStream {
    model: Option<String>,
    answer: Answer,
    calls: Calls,
    /// The exit code of its `result`.
    result: Option<i64>,
    /// What the provider said when a request failed last.
    refusal: String,
    error: Option<(FailureClass, String)>,
}

impl CopilotStream {
    fn event(&mut self, event: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let data = &event["data"];
        match text(event, "type") {
            "assistant.message" => {
                if let Some(model) = data["model"].as_str() {
                    self.model = Some(model.to_owned());
                }
                let words = text(data, "content");
                self.answer = Answer::default();
                // What it says on the way to a tool is no final answer.
                if data["toolRequests"].as_array().is_none_or(Vec::is_empty) {
                    self.answer.add(words);
                }
                if !words.is_empty() {
                    say(AgentEvent::Text { text: words.to_owned() });
                }
            }
            "tool.execution_start" => {
                let (id, name) = (text(data, "toolCallId"), text(data, "toolName"));
                self.calls.start(id, name, &data["arguments"], say);
            }
            "tool.execution_complete" => {
                // A command that failed is a success to it.
                let is_error = data["success"].as_bool() == Some(false)
                    || data["shellExecution"]["exitCode"].as_i64().is_some_and(|code| code != 0);
                let words =
                    data["result"]["content"].as_str().unwrap_or_else(|| text(&data["error"], "message"));
                self.calls.end(text(data, "toolCallId"), words, is_error, say);
            }
            "model.call_failure" => {
                self.refusal = format!("{} {}", text(data, "errorCode"), text(data, "errorMessage"));
            }
            "assistant.turn_retry" => {
                say(AgentEvent::Retry { message: summary(&format!("retry ({})", text(data, "reason"))) });
            }
            "session.error" => self.failed(data, say),
            "result" => self.result = event["exitCode"].as_i64(),
            _ => {}
        }
    }

    fn failed(&mut self, data: &Value, say: &mut dyn FnMut(AgentEvent)) {
        let words = text(data, "message");
        let quota = class_of_words(&self.refusal, &[FailureClass::Quota, FailureClass::Billing]);
        let class = match text(data, "errorType") {
            "authentication" | "authorization" => FailureClass::Auth,
            "quota" => FailureClass::Quota,
            "rate_limit" => quota.unwrap_or_else(|| class_of(Some(429), words)),
            _ => class_of(data["statusCode"].as_u64(), words),
        };
        say(AgentEvent::Error { message: summary(words) });
        self.error = Some((class, summary(words)));
    }
}

impl Stream for CopilotStream {
    fn line(&mut self, line: &[u8], say: &mut dyn FnMut(AgentEvent)) {
        each_event(line, &mut |event| self.event(event, say));
    }

    fn finish(self: Box<Self>, end: &End<'_>) -> Result<Told> {
        let (tokens, busiest) = usage(&usage_file(end.stdout))?;
        Ok(Told {
            is_success: self.result == Some(0) && self.error.is_none(),
            final_text: self.answer.0,
            model: self.model.or(busiest),
            tokens,
            tool_calls: self.calls.into_list(),
            error: self.error,
            ..Told::default()
        })
    }
}

/// All tokens, and the model that got most requests; nothing where the file is missing or is no JSON.
fn usage(path: &Utf8Path) -> Result<(Tokens, Option<String>)> {
    let read = open_plain(path).and_then(|mut file| read_at_most(&mut file, MAX_SETTINGS_BYTES));
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound || refused(&error).is_some() => {
            return Ok((Tokens::default(), None));
        }
        Err(error) => return Err(error).with_context(|| format!("read {path}")),
    };
    let Ok(usage) = serde_json::from_slice::<Value>(&bytes) else { return Ok((Tokens::default(), None)) };
    let models = || usage["modelMetrics"].as_object().into_iter().flatten();
    let tokens = models()
        .map(|(_, model)| inclusive_tokens(&model["usage"], TOKENS))
        .fold(Tokens::default(), |sum, tokens| sum.plus(&tokens));
    let busiest = models().max_by_key(|(_, model)| model["requests"]["count"].as_u64());
    Ok((tokens, busiest.map(|(name, _)| name.clone())))
}
