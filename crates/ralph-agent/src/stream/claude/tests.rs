use camino::Utf8Path;
use proptest::prelude::*;
use serde_json::json;

use super::super::{AgentReport, StreamReader};
use super::*;
use ralph_core::record::{AgentEvent, Parser, ToolKind};

fn report(stream: StreamReader) -> AgentReport {
    stream.finish(0, Utf8Path::new("/nowhere")).unwrap()
}

fn read(events: &[Value]) -> (AgentReport, Vec<AgentEvent>) {
    let mut stream = StreamReader::new(Parser::Claude, &redact_stream::Redactor::default());
    let mut said = Vec::new();
    for event in events {
        stream.line(event.to_string().as_bytes(), &mut |event| said.push(event));
    }
    (report(stream), said)
}

fn init() -> Value {
    json!({"type": "system", "subtype": "init", "model": "opus-x", "cwd": "/project", "tools": []})
}

fn says(id: &str, words: &str) -> Value {
    json!({"type": "assistant", "parent_tool_use_id": null, "message": {
        "id": id, "model": "opus-x", "content": [{"type": "text", "text": words}],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 5, "output_tokens": 1},
    }})
}

fn uses(id: &str, call: &str, tool: &str, input: &Value) -> Value {
    json!({"type": "assistant", "message": {
        "id": id, "model": "opus-x",
        "content": [{"type": "tool_use", "id": call, "name": tool, "input": input}],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 5, "output_tokens": 1},
    }})
}

fn result(words: &str) -> Value {
    json!({
        "type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed",
        "total_cost_usd": 0.25, "result": words,
        "usage": {"input_tokens": 100, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 50, "output_tokens": 7},
        "modelUsage": {
            "opus-x": {"inputTokens": 100, "cacheReadInputTokens": 200, "cacheCreationInputTokens": 50, "outputTokens": 7},
            "helper": {"inputTokens": 1, "cacheReadInputTokens": 2, "cacheCreationInputTokens": 3, "outputTokens": 4},
        },
    })
}

fn tokens_of(input: u64, cache_read: u64, cache_write: u64, output: impl Into<Option<u64>>) -> Tokens {
    Tokens {
        input: Some(input),
        cache_read: Some(cache_read),
        cache_write: Some(cache_write),
        output: output.into(),
    }
}

#[test]
fn a_successful_run_is_reported_in_full() {
    let (report, said) = read(&[
        init(),
        says("m1", "Looking."),
        uses("m1", "c1", "Bash", &json!({"command": "cargo test"})),
        json!({"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "is_error": true, "content": "Exit code 3\nbad"}]}}),
        uses("m2", "c2", "Edit", &json!({"old_string": "a", "file_path": "/project/tasks.md"})),
        json!({"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "updated"}]}]}}),
        says("m3", "Done.\n<promise>COMPLETE</promise>"),
        result("Done.\n<promise>COMPLETE</promise>"),
    ]);
    assert!(report.succeeded && report.failure.is_none());
    assert_eq!(report.final_text, "Done.\n<promise>COMPLETE</promise>");
    assert_eq!(report.model.as_deref(), Some("opus-x"));
    assert_eq!(report.tokens, tokens_of(101, 202, 53, 11));
    assert_eq!(report.cost_usd, Some(0.25));
    let calls: Vec<_> = report
        .tool_calls
        .iter()
        .map(|call| (call.kind, call.arguments_summary.as_str(), call.result_summary.as_str(), call.is_error))
        .collect();
    assert_eq!(
        calls,
        [
            (ToolKind::Shell, "cargo test", "Exit code 3 bad", true),
            (ToolKind::Edit, "/project/tasks.md", "updated", false),
        ]
    );
    let failed = |event: &AgentEvent| matches!(event, AgentEvent::ToolEnded { tool_name, is_error: true, .. } if tool_name == "Bash");
    assert!(said.iter().any(failed));
    assert!(said.contains(&AgentEvent::Usage { tokens: tokens_of(20, 40, 10, None) }));
}

#[test]
fn of_several_results_the_last_one_counts() {
    let mut first = result("not yet");
    let mut second = result("now");
    for result in [&mut first, &mut second] {
        result["modelUsage"] = json!({});
    }
    let (report, _) = read(&[init(), first, init(), second]);
    assert_eq!(report.final_text, "now");
    assert_eq!(report.tokens, tokens_of(200, 400, 100, 14));
}

#[test]
fn what_a_subagent_says_is_not_the_answer_but_its_tool_calls_are_listed() {
    let mut said = says("s1", "<promise>COMPLETE</promise>");
    said["parent_tool_use_id"] = json!("c1");
    let mut used = uses("s2", "c9", "Write", &json!({"file_path": "a.rs"}));
    used["parent_tool_use_id"] = json!("c1");
    let (report, _) = read(&[init(), says("m1", "I wait."), said, used]);
    assert_eq!(report.final_text, "I wait.");
    assert_eq!(report.tool_calls.len(), 1);
    assert_eq!(report.tokens, tokens_of(10, 20, 5, None));
}

#[test]
fn a_stream_that_is_cut_is_no_success_and_tells_what_it_can() {
    let whole = says("m1", "half").to_string();
    let mut stream = StreamReader::new(Parser::Claude, &redact_stream::Redactor::default());
    for line in [init().to_string().as_bytes(), whole.as_bytes(), &whole.as_bytes()[..whole.len() / 2]] {
        stream.line(line, &mut |_| {});
    }
    let report = report(stream);
    assert!(!report.succeeded && report.failure.is_none());
    assert_eq!((report.final_text.as_str(), report.cost_usd), ("half", None));
}

#[test]
fn bytes_that_are_no_text_spoil_only_themselves() {
    let mut line = says("m1", "good ? bad").to_string().into_bytes();
    let place = line.iter().position(|byte| *byte == b'?').unwrap();
    line[place] = 0xff;
    let mut stream = StreamReader::new(Parser::Claude, &redact_stream::Redactor::default());
    stream.line(&line, &mut |_| {});
    assert_eq!(report(stream).final_text, "good \u{fffd} bad");
}

#[test]
fn a_list_of_events_is_read_as_the_events() {
    let list = json!([init(), says("m1", "hi"), result("hi")]);
    let (report, _) = read(&[list]);
    assert!(report.succeeded);
    assert_eq!(report.final_text, "hi");
}

#[track_caller]
fn fails(fields: &Value, class: FailureClass) -> AgentReport {
    let mut result = json!({"type": "result", "subtype": "success", "is_error": true,
        "terminal_reason": "api_error", "usage": {}, "modelUsage": {}});
    result.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let (report, said) = read(&[init(), says("m1", "working"), result]);
    assert!(!report.succeeded, "{fields}");
    assert_eq!(report.failure.as_ref().map(|failure| failure.class), Some(class), "{fields}");
    assert!(said.iter().any(|event| matches!(event, AgentEvent::Error { .. })));
    assert_eq!(report.final_text, "working");
    report
}

#[test]
fn fields_tell_the_class_of_a_failure_before_words_do() {
    let misleading = "the model does not exist, 401, overloaded, usage limit";
    for (fields, class) in [
        (json!({"api_error_status": 401, "result": misleading}), FailureClass::Auth),
        (
            json!({"api_error_status": 404, "api_error_type": "not_found_error", "result": "x"}),
            FailureClass::Model,
        ),
        (
            json!({"api_error_status": 429, "api_error_type": "rate_limit_error", "result": "x"}),
            FailureClass::RateLimit,
        ),
        (
            json!({"api_error_status": 429, "api_error": "usage_limit_reached", "result": "x"}),
            FailureClass::Quota,
        ),
        (
            json!({"api_error_status": 529, "api_error_type": "overloaded_error", "result": "x"}),
            FailureClass::Overloaded,
        ),
        (
            json!({"api_error_status": 500, "api_error_type": "api_error", "result": "x"}),
            FailureClass::Overloaded,
        ),
        (
            json!({"terminal_reason": "prompt_too_long", "api_error_status": 400, "result": "x"}),
            FailureClass::Context,
        ),
        (json!({"terminal_reason": "max_turns", "errors": ["Reached 401 turns"]}), FailureClass::Other),
        (json!({"result": "Not logged in · Please run /login"}), FailureClass::Auth),
        (json!({"result": "Credit balance is too low"}), FailureClass::Billing),
        (json!({"result": "something odd"}), FailureClass::Other),
    ] {
        fails(&fields, class);
    }
    let report =
        fails(&json!({"terminal_reason": "aborted_tools", "errors": ["one", "two"]}), FailureClass::Other);
    assert_eq!(report.failure.unwrap().message, "one; two");
}

#[test]
fn the_message_before_the_result_tells_too() {
    let error = |error: &str, api_error: Option<&str>| {
        json!({"type": "assistant", "error": error, "api_error": api_error, "message": {
            "id": "e1", "model": "<synthetic>", "content": [{"type": "text", "text": "It failed"}]}})
    };
    for (event, class) in [
        (error("billing_error", None), FailureClass::Billing),
        (error("authentication_failed", None), FailureClass::Auth),
        (error("model_not_found", None), FailureClass::Model),
        (error("rate_limit", Some("usage_limit_reached")), FailureClass::Quota),
        (error("server_error", Some("connection_failed")), FailureClass::Network),
    ] {
        let ended =
            json!({"type": "result", "is_error": true, "api_error_status": 400, "result": "It failed"});
        for events in [vec![event.clone(), ended], vec![event.clone()]] {
            let (report, _) = read(&events);
            assert_eq!(report.failure, Some(Failure::new(class, "It failed")), "{event}");
            assert_eq!(report.final_text, "");
        }
    }
}

#[test]
fn a_limit_that_was_hit_tells_when_it_ends() {
    let event = |status: &str| json!({"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": 1_795_300_524}});
    assert_eq!(read(&[event("allowed_warning")]).0.resets_at, None);
    assert_eq!(read(&[event("rejected")]).0.resets_at, Some(Timestamp::from_seconds(1_795_300_524)));
}

#[test]
fn a_retry_is_said_in_words() {
    let (_, said) = read(&[json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 3,
        "retry_delay_ms": 1146, "error_status": 429, "error": "rate_limit"})]);
    assert_eq!(said, [AgentEvent::Retry { message: "retry 1 of 3 in 2 s (rate_limit, 429)".to_owned() }]);
}

proptest! {
    #[test]
    fn no_line_is_too_odd(mut line in ".{0,60}", cut in 0usize..400) {
        let event = result(&line).to_string();
        line.push_str(event.get(..cut.min(event.len())).unwrap_or_default());
        let mut stream = StreamReader::new(Parser::Claude, &redact_stream::Redactor::default());
        stream.line(line.as_bytes(), &mut |_| {});
        report(stream);
    }

    #[test]
    fn fields_of_any_type_do_no_harm(kind in "(assistant|user|result|system|rate_limit_event)", odd in 0usize..5) {
        let odd = [json!(null), json!(7), json!("x"), json!([1, {"type": 3}]), json!({"content": {"a": []}})][odd].clone();
        let event = json!({"type": kind, "subtype": "init", "message": odd, "usage": odd, "model": odd,
            "result": odd, "is_error": odd, "modelUsage": odd, "errors": odd, "rate_limit_info": odd});
        read(&[event, json!({"type": kind, "message": {"content": odd, "usage": odd}})]);
    }
}
