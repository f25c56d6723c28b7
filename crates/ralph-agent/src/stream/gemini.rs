//! The events of `gemini --output-format stream-json`.

use serde_json::Value;

use super::failure::{class_of, class_of_words};
use super::fields::text;
use super::transcript::{Failure, Transcript};
use ralph_core::record::{FailureClass, Tokens};

/// Bytes of a line of its words that are held back at most.
const MAX_LINE_BYTES: usize = 64 << 10;

/// `line` is what it said that was not handed on: its words come in pieces, which only as lines can be read and redacted.
pub(super) fn event(event: &Value, line: &mut String, transcript: &mut Transcript) {
    let kind = text(event, "type");
    let is_words = kind == "message" && text(event, "role") == "assistant";
    if !is_words {
        show_up_to(line.len(), line, transcript);
    }
    match kind {
        "init" => transcript.set_model(&event["model"]),
        // Messages of the user are the prompt.
        "message" if is_words => add_words(event, line, transcript),
        // The answer is what it says after its last tool.
        "tool_use" => {
            transcript.clear_final_message();
            let (id, name) = (text(event, "tool_id"), text(event, "tool_name"));
            transcript.start_tool(id, name, &event["parameters"]);
        }
        "tool_result" => {
            transcript.clear_final_message();
            let words = event["output"].as_str().unwrap_or_else(|| text(&event["error"], "message"));
            transcript.end_tool(text(event, "tool_id"), words, text(event, "status") == "error");
        }
        "error" => transcript.fail(Failure::of_words(text(event, "message"))),
        "result" => result(event, transcript),
        _ => {}
    }
}

pub(super) fn finish(code: i32, transcript: &mut Transcript) {
    if code != 0 {
        transcript.reopen();
    }
    let words = transcript.take_failure().map(|failure| failure.message);
    let class = class_of_code(code).or_else(|| Some(class_of_error(code, words.as_deref()?)));
    if let Some(class) = class {
        // Without words they are on stderr.
        transcript.set_failure(Failure::new(class, words.as_deref().unwrap_or_default()));
    }
}

fn add_words(event: &Value, line: &mut String, transcript: &mut Transcript) {
    let words = text(event, "content");
    transcript.add_to_final_message(words);
    line.push_str(words);
    let is_piece = event["delta"].as_bool() == Some(true) && line.len() < MAX_LINE_BYTES;
    let end = line.rfind('\n').filter(|_| is_piece).map(|end| end + 1);
    show_up_to(end.unwrap_or(if is_piece { 0 } else { line.len() }), line, transcript);
}

fn show_up_to(end: usize, line: &mut String, transcript: &mut Transcript) {
    transcript.show(&line[..end]);
    line.drain(..end);
}

fn result(event: &Value, transcript: &mut Transcript) {
    let stats = &event["stats"];
    // "auto" is no model. The one that got most is the one that worked, and not the one that chose it.
    let models = stats["models"].as_object().into_iter().flatten();
    let busiest = models.max_by_key(|(_, usage)| usage["total_tokens"].as_u64().unwrap_or_default());
    let busiest = busiest.map(|(name, _)| name.clone());
    transcript.model = busiest.or(transcript.model.take());
    if text(event, "status") == "success" {
        transcript.complete();
    } else if let Some(message) = event["error"]["message"].as_str() {
        transcript.fail(Failure::of_words(message));
    } else {
        transcript.reopen();
    }
    transcript.set_tokens(tokens(stats));
}

/// `input` is without cache. What it thought is output too, and stands nowhere but in the total.
fn tokens(stats: &Value) -> Tokens {
    let [input, cached, all_input, output, total] =
        ["input", "cached", "input_tokens", "output_tokens", "total_tokens"].map(|key| stats[key].as_u64());
    let output = output.map(|output| {
        let rest = total.zip(all_input);
        rest.map_or(output, |(total, input)| total.saturating_sub(input).max(output))
    });
    Tokens { input, cache_read: cached, cache_write: None, output }
}

/// Returns why it ended with this code, where the code alone says so.
fn class_of_code(code: i32) -> Option<FailureClass> {
    match code {
        41 => Some(FailureClass::Auth),
        55 => Some(FailureClass::Refused),
        _ => None,
    }
}

/// Returns the HTTP status that a code stands for: it ends with what a byte holds of it.
fn status_of_code(code: i32) -> Option<u64> {
    let code = u64::try_from(code).ok().filter(|code| (144..=255).contains(code))?;
    Some(code + 256)
}

fn class_of_error(code: i32, words: &str) -> FailureClass {
    // It calls every limit a quota; the one for minutes says how long to wait, and the daily one that it is exhausted.
    let is_short = words.contains("retry after") && !words.contains("exhausted");
    if is_short && class_of_words(words, &[FailureClass::Quota]).is_some() {
        return FailureClass::RateLimit;
    }
    class_of(status_of_code(code), words)
}

#[cfg(test)]
mod tests {
    use super::super::StreamReader;
    use super::*;
    use ralph_core::record::{AgentEvent, Parser};

    #[test]
    fn words_that_come_in_pieces_are_handed_on_as_lines() {
        let mut stream = StreamReader::new(Parser::Gemini, &redact_stream::Redactor::default());
        let mut said = Vec::new();
        let mut take = |line: &str| {
            stream.line(line.as_bytes(), &mut |event| {
                said.push(if let AgentEvent::Text { text } = event { text } else { format!("{event:?}") });
            });
        };
        for piece in ["the to", "ken is a", "bc\\nand", " more"] {
            take(&format!(r#"{{"type":"message","role":"assistant","content":"{piece}","delta":true}}"#));
        }
        take(r#"{"type":"error","message":"no"}"#);
        take(r#"{"type":"message","role":"assistant","content":"whole"}"#);
        assert_eq!(said, ["the token is abc\n", "and more", "Error { message: \"no\" }", "whole"]);
    }

    #[test]
    fn codes_stand_for_statuses() {
        for (code, status) in [(145, Some(401)), (173, Some(429)), (247, Some(503)), (1, None), (-1, None)] {
            assert_eq!(status_of_code(code), status);
        }
    }
}
