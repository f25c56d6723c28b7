//! The events of `opencode run --format json`, and of its fork `kilo`.

use serde_json::Value;

use super::command_result::ToolResult;
use super::failure::class_of;
use super::fields::{cost, text};
use super::transcript::{Failure, Transcript};
use ralph_core::record::{FailureClass, Timestamp, Tokens};

/// The error for a model's answer without an end.
const CUT_SHORT_MESSAGE: &str = "the stream ended in the middle of an answer";

/// `reason` is why the last step ended. No other event marks the end of a run.
pub(super) fn event(event: &Value, reason: &mut String, transcript: &mut Transcript) {
    let part = &event["part"];
    match text(event, "type") {
        // The answer is the text of its last step.
        "step_start" => {
            transcript.reopen();
            transcript.clear_final_message();
            reason.clear();
        }
        // A synthetic text is its own, neither the user's nor the model's.
        "text" if part["synthetic"].as_bool() != Some(true) => {
            transcript.add_to_final_message(text(part, "text"));
            transcript.show(text(part, "text"));
        }
        "tool_use" => tool_use(part, transcript),
        "step_finish" => {
            text(part, "reason").clone_into(reason);
            step_finished(part, reason, transcript);
        }
        "error" => {
            reason.clear();
            transcript.resets_at = resets_at(event);
            transcript.fail(failure(&event["error"]));
        }
        _ => {}
    }
}

pub(super) fn finish(reason: &str, transcript: &mut Transcript) {
    if transcript.is_complete() || transcript.failure().is_some() {
        return;
    }
    match reason {
        "" => {}
        "unknown" => transcript.set_failure(Failure::new(FailureClass::Network, CUT_SHORT_MESSAGE)),
        // It exits after a tool call that needed approval.
        reason => {
            let words = format!("it ended with `{reason}`");
            transcript.set_failure(Failure::new(FailureClass::Other, &words));
        }
    }
}

fn step_finished(part: &Value, reason: &str, transcript: &mut Transcript) {
    transcript.reopen();
    match reason {
        "stop" => transcript.complete(),
        // It retries the model, without limit.
        "unknown" => transcript.retry(CUT_SHORT_MESSAGE),
        _ => {}
    }
    transcript.add_cost(cost(&part["cost"]));
    transcript.add_tokens(&tokens(&part["tokens"]));
}

fn tool_use(part: &Value, transcript: &mut Transcript) {
    let (id, state) = (text(part, "callID"), &part["state"]);
    transcript.start_tool(id, text(part, "tool"), &state["input"]);
    let result = ToolResult {
        output: state["output"].as_str().unwrap_or_else(|| text(state, "error")),
        is_error: text(state, "status") == "error",
        exit_code: state["metadata"]["exit"].as_i64(),
    };
    transcript.end_command(id, result);
}

fn tokens(usage: &Value) -> Tokens {
    let output = match (usage["output"].as_u64(), usage["reasoning"].as_u64()) {
        (Some(output), Some(reasoning)) => Some(output.saturating_add(reasoning)),
        (output, _) => output,
    };
    Tokens {
        input: usage["input"].as_u64(),
        cache_read: usage["cache"]["read"].as_u64(),
        cache_write: usage["cache"]["write"].as_u64(),
        output,
    }
}

fn failure(error: &Value) -> Failure {
    let data = &error["data"];
    let name = text(error, "name");
    let words = data["message"].as_str().unwrap_or(name);
    let class = match name {
        "ProviderAuthError" => FailureClass::Auth,
        "ContextOverflowError" => FailureClass::Context,
        _ => class_of(data["statusCode"].as_u64(), &format!("{words} {}", text(data, "responseBody"))),
    };
    Failure::new(class, words)
}

/// The event has its time, and the answer how long to wait from then.
fn resets_at(event: &Value) -> Option<Timestamp> {
    let headers = &event["error"]["data"]["responseHeaders"];
    let seconds = text(headers, "retry-after").parse::<u32>().ok()?;
    let milliseconds = event["timestamp"].as_i64()?;
    Some(Timestamp::from_seconds((milliseconds / 1000).saturating_add(i64::from(seconds))))
}
