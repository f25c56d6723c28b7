//! The events of `codex exec --json`.

use serde_json::Value;

use super::command_result::ToolResult;
use super::fields::{inclusive_tokens, text, texts};
use super::transcript::{Failure, Transcript};
use ralph_core::record::Tokens;

const TOKENS: [&str; 4] =
    ["input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"];

pub(super) fn event(event: &Value, transcript: &mut Transcript) {
    match text(event, "type") {
        "thread.started" => transcript.thread = event["thread_id"].as_str().map(str::to_owned),
        "turn.started" => transcript.reopen(),
        "item.started" => item_started(&event["item"], transcript),
        "item.completed" => item_completed(&event["item"], transcript),
        "turn.completed" => {
            transcript.leave_commands();
            transcript.complete();
            // The totals of the thread: the last one counts.
            transcript.set_tokens(codex_tokens(&event["usage"]));
        }
        "turn.failed" => failed(text(&event["error"], "message"), transcript),
        "error" => {
            let message = text(event, "message");
            if message.starts_with("Reconnecting...") {
                transcript.retry(message);
                // If nothing comes after it.
                transcript.set_failure(Failure::of_words(message));
            } else {
                failed(message, transcript);
            }
        }
        _ => {}
    }
}

/// Returns the tokens of a thread, as its stream and its own file have them.
pub(crate) fn codex_tokens(usage: &Value) -> Tokens {
    inclusive_tokens(usage, TOKENS)
}

fn failed(message: &str, transcript: &mut Transcript) {
    let failure = Failure::of_words(message);
    // It says its last error twice.
    if transcript.failure() != Some(&failure) {
        transcript.fail(failure);
    }
}

fn item_started(item: &Value, transcript: &mut Transcript) {
    let name = match text(item, "type") {
        name @ ("command_execution" | "file_change" | "web_search") => name,
        "mcp_tool_call" => text(item, "tool"),
        _ => return,
    };
    let input = if item["arguments"].is_null() { item } else { &item["arguments"] };
    transcript.start_tool(text(item, "id"), name, input);
}

fn item_completed(item: &Value, transcript: &mut Transcript) {
    match text(item, "type") {
        "agent_message" => transcript.message(text(item, "text")),
        // Items of type `error` are warnings.
        "error" | "reasoning" | "todo_list" => {}
        _ => {
            item_started(item, transcript);
            // The results of MCP servers have a place of their own.
            let words = match (&item["result"]["content"], item["error"]["message"].as_str()) {
                (_, Some(error)) => error.to_owned(),
                (Value::Null, None) => text(item, "aggregated_output").to_owned(),
                (content, None) => texts(content),
            };
            let result = ToolResult {
                output: &words,
                is_error: text(item, "status") == "failed" || !item["error"].is_null(),
                exit_code: item["exit_code"].as_i64(),
            };
            transcript.end_command(text(item, "id"), result);
            transcript.background.end(text(item, "id"), "completed");
        }
    }
}
