//! The events of `cline --json`.

use serde_json::Value;

use super::command_result::ToolResult;
use super::fields::{cost, inclusive_tokens, text};
use super::transcript::{Failure, Transcript};
use ralph_core::record::FailureClass;

const TOKENS: [&str; 4] = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens"];

pub(super) fn event(event: &Value, transcript: &mut Transcript) {
    match text(event, "type") {
        "agent_event" => agent_event(&event["event"], transcript),
        "run_result" => run_result(event, transcript),
        _ => {}
    }
}

fn agent_event(event: &Value, transcript: &mut Transcript) {
    let id = text(event, "toolCallId");
    match (text(event, "type"), text(event, "contentType")) {
        // The pieces before it are said again as a whole at the end.
        ("content_end", "text") => transcript.message(text(event, "text")),
        ("content_start", "tool") => transcript.start_tool(id, text(event, "toolName"), &event["input"]),
        ("content_end", "tool") => {
            let (words, is_error) = outcome(&event["output"]);
            let result = ToolResult {
                output: &words,
                is_error: is_error || event["error"].is_string(),
                exit_code: exit_code(&event["output"]),
            };
            transcript.end_command(id, result);
        }
        ("error", _) => {
            let words = text(&event["error"], "message");
            transcript.fail(match text(event, "errorClass") {
                "auth" => Failure::new(FailureClass::Auth, words),
                _ => Failure::of_words(words),
            });
        }
        _ => {}
    }
}

fn run_result(event: &Value, transcript: &mut Transcript) {
    let whole = &event["aggregateUsage"];
    let usage = if whole.is_object() { whole } else { &event["usage"] };
    transcript.cost_usd = cost(&usage["totalCost"]);
    transcript.set_model(&event["model"]["id"]);
    let words = text(event, "text");
    if text(event, "finishReason") == "completed" {
        transcript.complete();
        transcript.set_final_message(words);
    } else if transcript.failure().is_none() {
        transcript.set_failure(Failure::of_words(words));
    }
    transcript.set_tokens(inclusive_tokens(usage, TOKENS));
}

/// Returns what a tool gave back, for one thing or for a list of things, and whether any of them failed.
fn outcome(output: &Value) -> (String, bool) {
    match output {
        Value::Array(parts) => {
            parts.iter().map(outcome).fold((String::new(), false), |all, (words, is_error)| {
                (if all.0.is_empty() { words } else { format!("{}\n{words}", all.0) }, all.1 || is_error)
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

/// Returns the exit code of the last command that failed, which is in the words of its error: `Command exited with
/// code 3`.
fn exit_code(output: &Value) -> Option<i64> {
    if let Some(parts) = output.as_array() {
        return parts.iter().rev().find_map(exit_code);
    }
    text(output, "error").rsplit_once("code ")?.1.parse().ok()
}
