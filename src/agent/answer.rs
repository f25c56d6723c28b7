//! What an agent said last, read from a transcript that was recorded.

use camino::Utf8Path;

use super::known;
use super::stream::End;
use crate::record::Parser;

/// How to read what an agent of this name prints; none where it is not a known one.
pub fn parser_of(name: &str) -> Option<Parser> {
    known::find(name).map(|known| known.parser)
}

/// The last words in a transcript, or in the end of one. Empty where it has none that can be told from the rest.
pub fn answer(parser: Parser, transcript: &[u8]) -> String {
    if parser == Parser::Text {
        return String::from_utf8_lossy(transcript).into_owned();
    }
    let mut stream = parser.stream();
    for line in transcript.split(|byte| *byte == b'\n') {
        stream.line(line, &mut |_| {});
    }
    // Nothing lies beside it.
    let end = End { code: 0, stdout: Utf8Path::new("/dev/null") };
    stream.finish(&end).map(|told| told.final_text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_found_also_where_the_begin_is_missing() {
        let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"All done."}"#;
        let cut = format!("rt of a line\"}}\n{result}\n");
        assert_eq!(answer(Parser::Claude, cut.as_bytes()), "All done.");
        assert_eq!(answer(Parser::Text, b"plain \xff"), "plain \u{fffd}");
        assert_eq!(answer(Parser::Codex, b""), "");
        assert_eq!(parser_of("claude"), Some(Parser::Claude));
        assert_eq!(parser_of("mine"), None);
    }
}
