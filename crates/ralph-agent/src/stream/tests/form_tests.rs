//! Forms in which results, tokens and errors arrive that the transcripts do not have.

use super::*;

struct Kind {
    parser: Parser,
    lines: &'static str,
    succeeded: bool,
    /// Input, cache reads and output.
    tokens: [Option<u64>; 3],
    cost_usd: Option<f64>,
    final_text: &'static str,
    /// What the tools gave back.
    results: &'static [&'static str],
    error: Option<&'static str>,
}

const GOOD: Kind = Kind {
    parser: Parser::Claude,
    lines: "",
    succeeded: true,
    tokens: [None; 3],
    cost_usd: None,
    final_text: "Ready.",
    results: &[],
    error: None,
};

const KINDS: &[Kind] = &[
    // What a tool of pi spent, such as a subagent, is in its result.
    Kind {
        parser: Parser::Pi,
        lines: r#"{"type":"agent_start"}
{"type":"message_end","message":{"role":"assistant","content":[],"usage":{"input":40,"output":4,"cacheRead":7,"cost":{"total":0.25}},"stopReason":"toolUse"}}
{"type":"message_end","message":{"role":"toolResult","content":[],"usage":{"input":900,"output":90,"cacheRead":3,"cost":{"total":1.5}}}}
{"type":"message_end","message":{"role":"toolResult","content":[{"type":"text","text":"without usage"}]}}
{"type":"message_end","message":{"role":"user","content":[],"usage":{"input":5,"output":5}}}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Ready."}],"usage":{"input":60,"output":6,"cost":{"total":0.25}},"stopReason":"stop"}}
{"type":"agent_end","messages":[]}"#,
        tokens: [Some(1000), Some(10), Some(100)],
        cost_usd: Some(2.0),
        ..GOOD
    },
    // The last message of pi stands once more in the list of all.
    Kind {
        parser: Parser::Pi,
        lines: r#"{"type":"agent_start"}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"I look."}],"usage":{"input":40,"output":4},"stopReason":"toolUse"}}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","te
{"type":"agent_end","messages":[{"role":"assistant","content":[{"type":"text","text":"Ready."}],"usage":{"input":60,"output":6},"stopReason":"stop"}]}"#,
        tokens: [Some(40), None, Some(4)],
        ..GOOD
    },
    // A result without counts: what the messages counted stays, whose output is not known.
    Kind {
        lines: r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"Ready."}],"usage":{"input_tokens":70,"cache_read_input_tokens":20,"output_tokens":1}}}
{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.5,"result":"Ready."}"#,
        tokens: [Some(70), Some(20), None],
        cost_usd: Some(0.5),
        ..GOOD
    },
    Kind {
        parser: Parser::Qwen,
        lines: r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"Ready."}],"usage":{"input_tokens":70,"cache_read_input_tokens":20,"output_tokens":8}}}
{"type":"result","subtype":"success","is_error":false,"result":"Ready.","usage":{}}"#,
        tokens: [Some(50), Some(20), Some(8)],
        ..GOOD
    },
    // Without `is_error` a result is good unless its subtype is an error. An empty one leaves what was said last.
    Kind { lines: r#"{"type":"result","subtype":"success","result":"Ready."}"#, ..GOOD },
    Kind { lines: r#"{"type":"result","is_error":null,"result":"Ready."}"#, ..GOOD },
    Kind {
        lines: r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"Ready."}]}}
{"type":"result","result":""}"#,
        ..GOOD
    },
    Kind {
        lines: r#"{"type":"result","subtype":"error_max_turns","errors":["too many turns"]}"#,
        succeeded: false,
        final_text: "",
        error: Some("too many turns"),
        ..GOOD
    },
    Kind {
        lines: r#"{"type":"result","subtype":"success","is_error":true,"result":"it broke"}"#,
        succeeded: false,
        final_text: "",
        error: Some("it broke"),
        ..GOOD
    },
    // Results and errors of MCP servers.
    Kind {
        parser: Parser::Codex,
        lines: r#"{"type":"item.started","item":{"id":"a","type":"mcp_tool_call","tool":"lookup","arguments":{"query":"q"}}}
{"type":"item.completed","item":{"id":"a","type":"mcp_tool_call","tool":"lookup","arguments":{"query":"q"},"result":{"content":[{"type":"text","text":"two"},{"type":"image"},{"type":"text","text":"rows"}]},"error":null,"status":"completed"}}
{"type":"item.completed","item":{"id":"b","type":"mcp_tool_call","tool":"open","arguments":{},"result":null,"error":{"message":"no route"},"status":"failed"}}
{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"ls","aggregated_output":"a.rs","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"d","type":"agent_message","text":"Ready."}}
{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":2}}"#,
        tokens: [Some(5), Some(4), Some(2)],
        results: &["two rows", "no route", "a.rs"],
        ..GOOD
    },
    // An error that comes as a message first is no answer.
    Kind {
        parser: Parser::Qwen,
        lines: r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"I look."}]}}
{"type":"assistant","message":{"id":"b","content":[{"type":"text","text":"[API Error: 404 no such model]"}],"usage":{"input_tokens":0,"output_tokens":0}}}
{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 404 no such model]"},"usage":{"input_tokens":0,"output_tokens":0}}"#,
        succeeded: false,
        tokens: [Some(0), None, Some(0)],
        final_text: "",
        error: Some("[API Error: 404 no such model]"),
        ..GOOD
    },
    // What it said in the same message stays.
    Kind {
        parser: Parser::Qwen,
        lines: r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"Half of it."}]}}
{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 500 oh]"}}"#,
        succeeded: false,
        final_text: "Half of it.",
        error: Some("[API Error: 500 oh]"),
        ..GOOD
    },
];

#[test]
fn each_form_has_its_meaning() {
    for kind in KINDS {
        let code = i32::from(!kind.succeeded);
        let (report, _) = parse(kind.parser, kind.lines.as_bytes(), code, Utf8Path::new("/nowhere"));
        let lines = kind.lines;
        assert_eq!(report.succeeded, kind.succeeded, "{lines}");
        let Tokens { input, cache_read, output, .. } = report.tokens;
        assert_eq!([input, cache_read, output], kind.tokens, "{lines}");
        assert_eq!(report.cost_usd, kind.cost_usd, "{lines}");
        assert_eq!(report.final_text, kind.final_text, "{lines}");
        let results: Vec<&str> = report.tool_calls.iter().map(|call| call.result_summary.as_str()).collect();
        assert_eq!(results, kind.results, "{lines}");
        assert_eq!(report.failure.as_ref().map(|failure| failure.message.as_str()), kind.error, "{lines}");
    }
}
