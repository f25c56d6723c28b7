//! The final message of an agent, read from a recorded transcript.

use camino::Utf8Path;
use redact_stream::Redactor;
use serde_json::Value;

use super::known;
use super::lines::from_line;
use super::stream::{FINAL_TEXT_BYTES, StreamReader};
use ralph_core::record::Parser;

/// Returns how to read what an agent of this name printed in a session with this recorded configuration.
pub fn recorded_parser(configuration: &Value, agent: &str) -> Parser {
    let set = configuration.get(format!("agents.{agent}.parser")).and_then(Value::as_str);
    let named = set.and_then(|name| name.parse().ok());
    // A command of the user's under a known name is not the known program.
    let is_own =
        configuration.get(format!("agents.{agent}.command")).is_some_and(|command| !command.is_null());
    let known = known::find(agent).filter(|_| !is_own).map(|known| known.parser);
    named.or(known).unwrap_or_default()
}

/// Returns the last words in a transcript, or in the end of one. Empty if it has none that can be separated from the
/// rest.
pub fn answer(parser: Parser, transcript: &[u8]) -> String {
    if parser == Parser::Text {
        return String::from_utf8_lossy(from_line(transcript, FINAL_TEXT_BYTES)).into_owned();
    }
    let mut stream = StreamReader::new(parser, &Redactor::default());
    stream.lines(transcript, &mut |_| {});
    // Nothing lies beside it.
    stream.finish(0, Utf8Path::new("/dev/null")).map(|report| report.final_text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_words_are_found_also_where_the_begin_is_missing() {
        let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"All done."}"#;
        let cut = format!("rt of a line\"}}\n{result}\n");
        assert_eq!(answer(Parser::Claude, cut.as_bytes()), "All done.");
        assert_eq!(answer(Parser::Text, b"plain \xff"), "plain \u{fffd}");
        assert_eq!(answer(Parser::Codex, b""), "");
        let long = [&b"x"[..], &b"y\n".repeat(1 << 16)].concat();
        assert!(answer(Parser::Text, &long).len() <= 1 << 16);
    }

    #[test]
    fn what_the_session_set_says_how_to_read_an_agent_and_else_its_name_does() {
        let configuration = json!({
            "agents.mine.parser": "claude",
            "agents.codex.parser": "text",
            "agents.odd.parser": "of another version",
            "agents.gemini.command": ["sh", "gemini.sh"],
        });
        for (agent, expected) in [
            ("mine", Parser::Claude),
            ("codex", Parser::Text),
            ("claude", Parser::Claude),
            ("odd", Parser::Text),
            ("gemini", Parser::Text),
            ("other", Parser::Text),
        ] {
            assert_eq!(recorded_parser(&configuration, agent), expected, "{agent}");
        }
        assert_eq!(recorded_parser(&Value::Null, "claude"), Parser::Claude);
    }
}
