//! The events of `droid exec -o stream-json`.

use serde_json::Value;

use super::fields::{is_nothing, text, texts, tokens};
use super::transcript::{Failure, Transcript};

const TOKENS: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];

pub(super) fn event(event: &Value, transcript: &mut Transcript) {
    match text(event, "type") {
        "system" => transcript.set_model(&event["model"]),
        // Messages of the user are the prompt, and come whenever they come.
        "message" if text(event, "role") == "assistant" => transcript.message(text(event, "text")),
        "tool_call" => {
            transcript.start_tool(text(event, "id"), text(event, "toolName"), &event["parameters"]);
        }
        "tool_result" => {
            let is_error = event["isError"].as_bool().unwrap_or(false);
            let error = event["error"]["message"].as_str();
            let words = error.map_or_else(|| texts(&event["value"]), str::to_owned);
            transcript.end_tool(text(event, "id"), &words, is_error);
        }
        "completion" => {
            transcript.complete();
            if let Some(words) = event["finalText"].as_str() {
                transcript.set_final_message(words);
            }
            transcript.set_tokens(tokens(&event["usage"], TOKENS));
        }
        "error" => {
            let words = text(event, "message");
            // What comes after the first is only that it failed.
            if transcript.failure().is_some() {
                transcript.show_error(words);
            } else {
                transcript.fail(Failure::of_words(words));
            }
        }
        _ => {}
    }
}

pub(super) fn finish(transcript: &mut Transcript) {
    // It takes an answer that was cut for a whole one, but then nothing was counted.
    if transcript.is_complete() && is_nothing(&transcript.tokens) {
        transcript.set_failure(Failure::cut_answer());
    }
}
