mod damage_tests;
mod form_tests;

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use proptest::prelude::*;
use strum::IntoEnumIterator;

use super::*;
use crate::final_message::promise;
use ralph_core::record::{FailureClass, Timestamp, Tokens, ToolKind};

const DONE: &str = "The parser is there.\n\n<promise>COMPLETE</promise>";
const HALF: &str = "Half of it is there.";

/// Returns the parsers of programs that print events. Each has a folder of its name with the same fixtures.
fn streams() -> impl Iterator<Item = (&'static str, Parser)> {
    let events = Parser::iter().filter(|parser| !matches!(parser, Parser::Text | Parser::Aider));
    events.map(|parser| (parser.into_str(), parser))
}

/// Returns all parsers that belong to an agent.
fn all() -> Vec<(&'static str, Parser)> {
    streams().chain([("aider", Parser::Aider)]).collect()
}

fn transcript(agent: &str, case: &str) -> Utf8PathBuf {
    let extension = if agent == "aider" { "txt" } else { "jsonl" };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/transcripts");
    Utf8PathBuf::from(format!("{root}/{agent}/{case}.{extension}"))
}

fn parse(parser: Parser, bytes: &[u8], code: i32, stdout: &Utf8Path) -> (AgentReport, Vec<AgentEvent>) {
    let mut stream = StreamReader::new(parser, &Redactor::default());
    let mut said = Vec::new();
    stream.lines(bytes, &mut |event| said.push(event));
    (stream.finish(code, stdout).unwrap(), said)
}

fn report_of_fixture(agent: &str, parser: Parser, case: &str, code: i32) -> (AgentReport, Vec<AgentEvent>) {
    let path = transcript(agent, case);
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("read {path}: {error}"));
    // Beside `happy.jsonl` stands what would be `happy.usage.json` beside a stdout called `happy`.
    let stdout = path.with_extension("");
    parse(parser, &bytes, code, &stdout)
}

fn tokens_of(input: u64, cache_read: u64, cache_write: Option<u64>, output: u64) -> Tokens {
    Tokens { input: Some(input), cache_read: Some(cache_read), cache_write, output: Some(output) }
}

#[test]
fn a_run_that_went_well_has_the_same_meaning_in_every_stream() {
    for (agent, parser) in streams() {
        let (report, said) = report_of_fixture(agent, parser, "happy", 0);
        assert!(report.succeeded && report.failure.is_none(), "{agent}: {report:?}");
        assert_eq!(report.final_text, DONE, "{agent}");
        // Two of them do not count what they write into a cache.
        let cache_write = (!["qwen", "gemini"].contains(&agent)).then_some(50);
        assert_eq!(report.tokens, tokens_of(700, 300, cache_write, 90), "{agent}");
        let reports_cost = ["claude", "opencode", "pi", "cline"].contains(&agent);
        assert_eq!(report.cost_usd, reports_cost.then_some(0.25), "{agent}");
        let model = match agent {
            "claude" => Some("opus-x".to_owned()),
            "copilot" => Some("gpt-x".to_owned()),
            "gemini" => Some("gemini-big".to_owned()),
            "codex" | "opencode" => None,
            _ => Some(format!("{agent}-x")),
        };
        assert_eq!(report.model, model, "{agent}");
        let kinds: Vec<_> = report.tool_calls.iter().map(|call| (call.kind, call.is_error)).collect();
        let first = if agent == "codex" { ToolKind::Shell } else { ToolKind::Read };
        assert_eq!(kinds, [(first, false), (ToolKind::Edit, false)], "{agent}");
        assert_eq!(report.tool_calls[1].arguments_summary, "src/parser.rs", "{agent}");
        let ends = said.iter().filter(|event| matches!(event, AgentEvent::ToolEnded { .. })).count();
        assert_eq!(ends, 2, "{agent}");
    }
}

#[test]
fn a_stream_that_ends_before_its_end_is_no_success() {
    for (agent, parser) in streams() {
        let text = fs::read_to_string(transcript(agent, "happy")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for count in 0..lines.len() {
            let cut = format!("{}\n{}", lines[..count].join("\n"), &lines[count][..lines[count].len() / 2]);
            let (report, _) = parse(parser, cut.as_bytes(), 0, Utf8Path::new("/nowhere/stdout"));
            assert!(!report.succeeded, "{agent}, {count} lines");
        }
    }
}

#[test]
fn a_tool_that_failed_is_marked_and_the_run_is_good() {
    for (agent, parser) in streams() {
        let (report, said) = report_of_fixture(agent, parser, "tool-failure", 0);
        assert!(report.succeeded, "{agent}");
        let [call] = report.tool_calls.as_slice() else { panic!("{agent}: {:?}", report.tool_calls) };
        assert_eq!((call.kind, call.is_error), (ToolKind::Shell, true), "{agent}");
        assert_eq!(call.arguments_summary, "cargo test", "{agent}");
        assert!(!call.result_summary.is_empty(), "{agent}");
        // It reports that a tool was refused, and no exit code.
        let is_gemini = agent == "gemini";
        assert_eq!(call.exit_code, (!is_gemini).then_some(101), "{agent}");
        assert_eq!(call.last_line, if is_gemini { "Path not in workspace" } else { "2 failed" }, "{agent}");
        let (tool_name, result) = (call.tool_name.clone(), call.last_line.clone());
        let ended = AgentEvent::ToolEnded { tool_name, is_error: true, result };
        assert!(said.contains(&ended), "{agent}");
    }
}

#[test]
fn a_command_that_ran_when_the_agent_was_stopped_failed() {
    for (agent, parser) in streams() {
        let text = fs::read_to_string(transcript(agent, "tool-failure")).unwrap();
        let start = text.find("cargo test").unwrap();
        let end = start + text[start..].find('\n').unwrap();
        let stdout = Utf8Path::new("/nowhere/stdout");
        let (report, _) = parse(parser, &text.as_bytes()[..end], -1, stdout);
        let [call] = report.tool_calls.as_slice() else { panic!("{agent}: {:?}", report.tool_calls) };
        // Opencode reports a command when it has ended.
        let last_line = if agent == "opencode" { "2 failed" } else { "did not end" };
        assert_eq!((call.is_error, call.last_line.as_str()), (true, last_line), "{agent}");
    }
}

#[test]
fn failures_have_classes_whatever_the_exit_code_says() {
    for (agent, parser) in all() {
        for (case, wanted) in [
            ("auth", FailureClass::Auth),
            ("rate-limit", FailureClass::RateLimit),
            ("cut", FailureClass::Network),
        ] {
            let (report, said) = report_of_fixture(agent, parser, case, 0);
            assert!(!report.succeeded, "{agent} {case}");
            let failure = report.failure.unwrap_or_else(|| panic!("{agent} {case} has no error"));
            let Failure { class, message: words } = failure;
            assert_eq!(class, wanted, "{agent} {case}");
            assert!(!words.is_empty(), "{agent} {case}");
            let is_silent = !said
                .iter()
                .any(|event| matches!(event, AgentEvent::Error { .. } | AgentEvent::Retry { .. }));
            // Some do not know that they were cut.
            assert!(!is_silent || case == "cut" || agent == "aider", "{agent} {case}: {said:?}");
        }
    }
}

#[test]
fn the_prompt_is_not_taken_for_the_agents_words() {
    for (agent, parser) in all() {
        let path = transcript(agent, "echo");
        assert!(fs::read_to_string(&path).unwrap().contains("<promise>COMPLETE</promise>"), "{path}");
        let (report, said) = report_of_fixture(agent, parser, "echo", 0);
        assert!(report.succeeded, "{agent}");
        assert!(!promise(&report.final_text), "{agent}: {}", report.final_text);
        assert!(report.final_text.contains(HALF), "{agent}");
        let echoes = |event: &AgentEvent| matches!(event, AgentEvent::Text { text } if promise(text));
        assert!(agent == "aider" || !said.iter().any(echoes), "{agent}");
    }
}

#[test]
fn gemini_says_with_its_code_what_it_says_nowhere_else() {
    let stdout = Utf8Path::new("/nowhere/stdout");
    for (code, class) in [(41, FailureClass::Auth), (55, FailureClass::Refused)] {
        let (report, _) = parse(Parser::Gemini, b"", code, stdout);
        assert_eq!(report.failure, Some(Failure::new(class, "")));
    }
    let failed = br#"{"type":"result","status":"error","error":{"message":"no"}}"#;
    for (code, class) in [
        (145, FailureClass::Auth),
        (173, FailureClass::RateLimit),
        (247, FailureClass::Overloaded),
        (1, FailureClass::Other),
    ] {
        let (report, _) = parse(Parser::Gemini, failed, code, stdout);
        assert_eq!(report.failure.map(|failure| failure.class), Some(class), "{code}");
    }
}

#[test]
fn a_limit_with_a_time_says_when_it_ends() {
    let (report, _) = report_of_fixture("opencode", Parser::Opencode, "rate-limit", 1);
    assert_eq!(report.resets_at, Some(Timestamp::from_seconds(1_795_294_626 + 90)));
}

#[test]
fn copilot_without_its_file_has_unknown_tokens() {
    let (report, _) = report_of_fixture("copilot", Parser::Copilot, "tool-failure", 0);
    assert!(report.tokens.is_unknown());
    let folder = tempfile::tempdir().unwrap();
    let stdout = Utf8PathBuf::from_path_buf(folder.path().join("stdout")).unwrap();
    for broken in ["", "{", "[]", r#"{"modelMetrics": 3}"#] {
        fs::write(usage_file(&stdout), broken).unwrap();
        let (report, _) = parse(Parser::Copilot, b"", 0, &stdout);
        assert!(report.tokens.is_unknown(), "{broken}");
    }
}

#[test]
fn aider_is_read_by_its_lines() {
    let (happy, _) = report_of_fixture("aider", Parser::Aider, "happy", 0);
    assert!(happy.succeeded && promise(&happy.final_text));
    assert_eq!(happy.model.as_deref(), Some("aider-x"));
    assert_eq!(happy.tokens, Tokens { input: Some(2500), output: Some(90), ..Tokens::default() });
    assert_eq!(happy.cost_usd, Some(0.25));
    let (retried, said) = report_of_fixture("aider", Parser::Aider, "retried", 0);
    assert!(retried.succeeded && retried.failure.is_none(), "{retried:?}");
    assert!(said.iter().any(|event| matches!(event, AgentEvent::Retry { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Cut anywhere, lines merged and broken, bytes replaced: read by its own parser and by one of another agent.
    #[test]
    fn no_output_is_too_odd(
        (agent, own_parser) in prop::sample::select(all()),
        (_, other_parser) in prop::sample::select(all()),
        is_own in any::<bool>(),
        case in prop::sample::select(&["happy", "auth", "rate-limit", "cut", "echo"][..]),
        cut in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        joints in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        code in any::<i32>(),
    ) {
        let mut bytes = fs::read(transcript(agent, case)).unwrap();
        for joint in joints {
            let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
            if !ends.is_empty() {
                bytes.remove(ends[joint.index(ends.len())]);
            }
        }
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let parser = if is_own { own_parser } else { other_parser };
        let (report, said) = parse(parser, &bytes, code, Utf8Path::new("/nowhere/stdout"));
        // A byte that is no text becomes a character of three.
        prop_assert!(report.final_text.len() <= bytes.len() * 3 + 1);
        // Even an empty output may cause one event.
        prop_assert!(said.len() <= bytes.len() + 1);
        for call in &report.tool_calls {
            prop_assert!(call.arguments_summary.chars().count() <= 200);
            prop_assert!(call.result_summary.chars().count() <= 200);
            prop_assert!(call.last_line.chars().count() <= 200);
        }
        prop_assert!(report.failure.is_none_or(|failure| failure.message.chars().count() <= 200));
    }

    /// Numbers of any size, of the wrong type, and missing ones.
    #[test]
    fn no_number_is_too_odd(number in "-?[0-9]{1,40}(\\.[0-9]{1,3})?(e[0-9]{1,3})?|null|\"7\"|\\[\\]|true") {
        let numbers = regex::Regex::new(r":\s*\d+(\.\d+)?").unwrap();
        for (agent, parser) in streams() {
            let text = fs::read_to_string(transcript(agent, "happy")).unwrap();
            let odd = numbers.replace_all(&text, format!(": {number}"));
            assert!(numbers.is_match(&text), "{agent}");
            parse(parser, odd.as_bytes(), 0, Utf8Path::new("/nowhere/stdout"));
        }
    }
}
