//! The events of `copilot --output-format json`, and the file beside them in which it counts tokens.

use anyhow::{Context, Result};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::command_result::ToolResult;
use super::failure::{class_of, class_of_words};
use super::fields::{inclusive_tokens, text};
use super::transcript::{Failure, Transcript};
use ralph_core::record::{FailureClass, Tokens};
use ralph_project::project_files::{MAX_SETTINGS_BYTES, open_plain, read_at_most, refused};

const TOKENS: [&str; 4] = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"];

/// Returns the file in which it counts tokens, for a run with this stdout.
pub(crate) fn usage_file(stdout: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{stdout}.usage.json"))
}

/// `refusal` is the provider's message of the last failed request.
pub(super) fn event(event: &Value, refusal: &mut String, transcript: &mut Transcript) {
    let data = &event["data"];
    match text(event, "type") {
        "assistant.message" => {
            transcript.set_model(&data["model"]);
            transcript.message(text(data, "content"));
            // Text before a tool call is not a final answer.
            if data["toolRequests"].as_array().is_some_and(|requests| !requests.is_empty()) {
                transcript.clear_final_message();
            }
        }
        "tool.execution_start" => {
            let (id, name) = (text(data, "toolCallId"), text(data, "toolName"));
            transcript.start_tool(id, name, &data["arguments"]);
        }
        "tool.execution_complete" => {
            let output =
                data["result"]["content"].as_str().unwrap_or_else(|| text(&data["error"], "message"));
            // It reports a failed command as a success.
            let is_error = data["success"].as_bool() == Some(false);
            let exit_code = data["shellExecution"]["exitCode"].as_i64();
            let result = ToolResult { output, is_error, exit_code };
            transcript.end_command(text(data, "toolCallId"), result);
        }
        "model.call_failure" => {
            *refusal = format!("{} {}", text(data, "errorCode"), text(data, "errorMessage"));
        }
        "assistant.turn_retry" => transcript.retry(&format!("retry ({})", text(data, "reason"))),
        "session.error" => transcript.fail(failure(data, refusal)),
        "result" if event["exitCode"].as_i64() != Some(0) => transcript.reopen(),
        // It may succeed in spite of an error.
        "result" if transcript.failure().is_none() => transcript.complete(),
        _ => {}
    }
}

pub(super) fn finish(stdout: &Utf8Path, transcript: &mut Transcript) -> Result<()> {
    let (tokens, busiest) = usage(&usage_file(stdout))?;
    transcript.tokens = tokens;
    transcript.model = transcript.model.take().or(busiest);
    Ok(())
}

fn failure(data: &Value, refusal: &str) -> Failure {
    let words = text(data, "message");
    let quota = class_of_words(refusal, &[FailureClass::Quota, FailureClass::Billing]);
    let class = match text(data, "errorType") {
        "authentication" | "authorization" => FailureClass::Auth,
        "quota" => FailureClass::Quota,
        "rate_limit" => quota.unwrap_or_else(|| class_of(Some(429), words)),
        _ => class_of(data["statusCode"].as_u64(), words),
    };
    Failure::new(class, words)
}

/// Returns all tokens, and the model with most requests; nothing if the file is missing or not JSON.
fn usage(path: &Utf8Path) -> Result<(Tokens, Option<String>)> {
    let read = open_plain(path).and_then(|file| match file {
        Some(mut file) => read_at_most(&mut file, MAX_SETTINGS_BYTES),
        None => Ok(Vec::new()),
    });
    let bytes = match read {
        Err(error) if refused(&error).is_some() => Vec::new(),
        read => read.with_context(|| format!("read {path}"))?,
    };
    let Ok(usage) = serde_json::from_slice::<Value>(&bytes) else { return Ok((Tokens::default(), None)) };
    let models = usage["modelMetrics"].as_object();
    let tokens = models
        .into_iter()
        .flatten()
        .map(|(_, model)| inclusive_tokens(&model["usage"], TOKENS))
        .fold(Tokens::default(), |sum, tokens| sum.plus(&tokens));
    let busiest = models.into_iter().flatten().max_by_key(|(_, model)| model["requests"]["count"].as_u64());
    Ok((tokens, busiest.map(|(name, _)| name.clone())))
}
