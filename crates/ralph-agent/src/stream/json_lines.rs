//! Lines of JSON as programs really write them: repaired where that is certain, else unreadable.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use crate::lines::{MAX_LINE_BYTES, shortened};
use ralph_core::record::StreamCounts;

/// Levels of lists and objects that are read, as many as in `serde_json`.
const MAX_DEPTH: usize = 128;

/// What a line holds.
#[derive(Debug, PartialEq)]
pub(super) enum LineContent {
    Events(Vec<Value>),
    /// Nothing that is new: an empty line, text between the events, or the line before again.
    Nothing,
    Unreadable,
}

/// Reads the events of a stream's lines, and counts what could not be read.
#[derive(Debug, Default)]
pub(super) struct JsonLines {
    pub counts: StreamCounts,
    /// Lines that hold events.
    pub event_lines: u64,
    /// A hash of the last line with events.
    last: Option<u64>,
}

impl JsonLines {
    pub(super) fn read(&mut self, line: &[u8]) -> LineContent {
        if line.trim_ascii().is_empty() {
            return LineContent::Nothing;
        }
        self.counts.lines += 1;
        let is_too_long = line.len() > MAX_LINE_BYTES;
        let line = if is_too_long { Cow::Owned(shortened(line)) } else { Cow::Borrowed(line) };
        self.counts.too_long += u64::from(is_too_long);
        match events(&line) {
            Some(events) => {
                self.event_lines += 1;
                if self.is_repeated(&line, &events) {
                    LineContent::Nothing
                } else {
                    LineContent::Events(events)
                }
            }
            None if is_text(&line) => LineContent::Nothing,
            None => {
                self.counts.unreadable += u64::from(!is_too_long);
                LineContent::Unreadable
            }
        }
    }

    /// Returns true if it is the line before again, and what it reports would be counted twice. Errors may well be equal.
    fn is_repeated(&mut self, line: &[u8], events: &[Value]) -> bool {
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        let hash = hasher.finish();
        let is_piece = events.iter().any(|event| event["delta"] == true);
        let is_repeated = self.last.replace(hash) == Some(hash) && !is_piece;
        is_repeated
            && ["usage", "token", "cost"]
                .iter()
                .any(|word| line.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes())))
    }
}

/// Returns true for words that a program prints between its events.
fn is_text(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| {
        !line.contains(|c: char| {
            c.is_control() && !matches!(c, '\t' | '\r' | '\x1b') || matches!(c, '{' | '"')
        })
    })
}

/// Returns the events of a line: usually one, several if it is a list or holds one after the other; `None` if it is
/// not JSON.
fn events(line: &[u8]) -> Option<Vec<Value>> {
    let value = serde_json::from_slice(line).ok();
    let values = match value {
        Some(value) => vec![value],
        None => repaired(&String::from_utf8_lossy(line))?,
    };
    Some(
        values
            .into_iter()
            .flat_map(|value| if let Value::Array(events) = value { events } else { vec![value] })
            .collect(),
    )
}

/// Reads values up to the end of a line, behind words in front of the first. Parts of a broken object are never taken for events.
fn repaired(line: &str) -> Option<Vec<Value>> {
    let start = line.find('{')?;
    let is_list = line.trim_start_matches(['\u{feff}', '\0']).trim_start().starts_with('[');
    let list = is_list.then(|| values(line, line.find('[')?)).flatten();
    if list.is_some() {
        return list;
    }
    // A quote in front: the end of something else.
    let is_behind_words = !line[..start].contains('"');
    let read = is_behind_words.then(|| values(line, start)).flatten();
    read.or_else(|| behind_a_broken_one(line, start))
}

fn values(line: &str, start: usize) -> Option<Vec<Value>> {
    let mut parser = Repairing { text: line, at: start };
    let mut values = Vec::new();
    loop {
        values.push(parser.value(0)?);
        let rest = line[parser.at..].trim_start_matches(|c: char| c.is_whitespace() || c == '\0' || c == ',');
        if rest.is_empty() || !rest.contains(['"', '{', '}', '[', ']']) {
            return Some(values);
        }
        if !rest.starts_with('{') {
            return None;
        }
        parser.at = line.len() - rest.len();
    }
}

/// Returns the event that follows one which was cut: it begins where no value can, and takes the rest of the line.
fn behind_a_broken_one(line: &str, start: usize) -> Option<Vec<Value>> {
    let mut places = line.match_indices('{').map(|(at, _)| at).filter(|at| {
        *at > start && [r#"{"type""#, r#"{"ts""#].iter().any(|start| line[*at..].starts_with(start))
    });
    places.find_map(|at| {
        let is_value = line[..at].trim_end().ends_with([':', ',', '[', '\\']);
        let event: Value = if is_value { None } else { serde_json::from_str(&line[at..]).ok() }?;
        Some(vec![event])
    })
}

/// Reads a value as far as its meaning is certain.
struct Repairing<'a> {
    text: &'a str,
    at: usize,
}

impl Repairing<'_> {
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    /// Passes over a character if it is the next.
    fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        match self.peek()? {
            _ if depth > MAX_DEPTH => None,
            '{' => self.object(depth),
            '[' => self.list(depth),
            '"' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut object = Map::new();
        self.takes('{');
        while !self.takes('}') {
            if self.peek()? != '"' {
                return None;
            }
            let key = self.string()?;
            if !self.takes(':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            object.insert(key, value);
            if !self.takes(',') && self.peek()? != '}' {
                return None;
            }
        }
        Some(Value::Object(object))
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut list = Vec::new();
        self.takes('[');
        while !self.takes(']') {
            list.push(self.value(depth + 1)?);
            if !self.takes(',') && self.peek()? != ']' {
                return None;
            }
        }
        Some(Value::Array(list))
    }

    /// A number or a name. Numbers that are none, or too large, have no value.
    fn word(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'));
        let word = &rest[..end.unwrap_or(rest.len())];
        self.at += word.len();
        let is_number = word.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit());
        match word {
            "NaN" | "Infinity" | "-Infinity" | "nan" | "inf" | "-inf" | "undefined" | "None" => {
                Some(Value::Null)
            }
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            _ => serde_json::from_str(word)
                .ok()
                .or_else(|| (is_number && word.parse::<f64>().is_ok()).then_some(Value::Null)),
        }
    }

    fn string(&mut self) -> Option<String> {
        let mut string = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let end = rest.find(['"', '\\'])?;
            string.push_str(&rest[..end]);
            self.at += end + 1;
            if rest[end..].starts_with('"') {
                return Some(string);
            }
            self.escape(&mut string)?;
        }
    }

    fn escape(&mut self, string: &mut String) -> Option<()> {
        let escaped = self.text[self.at..].chars().next()?;
        self.at += escaped.len_utf8();
        string.push(match escaped {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => self.unicode(),
            other => other,
        });
        Some(())
    }

    /// The character of `\ud83d\ude00`, and U+FFFD for a half of one.
    fn unicode(&mut self) -> char {
        let Some(unit) = self.unit() else { return char::REPLACEMENT_CHARACTER };
        if (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with("\\u") {
            let first = self.at;
            self.at += 2;
            if let Some(low) = self.unit().filter(|low| (0xdc00..0xe000).contains(low)) {
                let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
            self.at = first;
        }
        char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let unit = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        self.at += 4;
        Some(unit)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(line: &[u8]) -> LineContent {
        JsonLines::default().read(line)
    }

    #[test]
    fn what_a_strict_reader_refuses_is_repaired_where_it_is_certain() {
        let one = |value| vec![value];
        for (line, wanted) in [
            (&br#"{"a":"x \ud83d y"}"#[..], one(json!({"a": "x \u{fffd} y"}))),
            (br#"{"a":"\ude00\ud83d\ude00\ud83d\u0041"}"#, one(json!({"a": "\u{fffd}\u{1f600}\u{fffd}A"}))),
            (b"{\"a\":\"tab\tand \x01 bell\"}\r", one(json!({"a": "tab\tand \u{1} bell"}))),
            (br#"{"a":1,"a":2}"#, one(json!({"a": 2}))),
            (br#"{"a":[1,2,],}"#, one(json!({"a": [1, 2]}))),
            (b"{\"a\":\"\xff\"}", one(json!({"a": "\u{fffd}"}))),
            (
                br#"{"a":NaN,"b":-Infinity,"c":1e999,"d":007}"#,
                one(json!({"a": null, "b": null, "c": null, "d": null})),
            ),
            (b"\xef\xbb\xbf{\"a\":1}\r", one(json!({"a": 1}))),
            (b"\0\0{\"a\":1}\0", one(json!({"a": 1}))),
            (br#"{"a":1}{"b":2} {"c":3}"#, vec![json!({"a": 1}), json!({"b": 2}), json!({"c": 3})]),
            (br#"[{"a":1},{"b":2}]"#, vec![json!({"a": 1}), json!({"b": 2})]),
            (br#"[{"a":"\ud83d"},{"b":2},]"#, vec![json!({"a": "\u{fffd}"}), json!({"b": 2})]),
            (br#"[12:00:01] info: {"a":1}"#, one(json!({"a": 1}))),
            (br#"{"a":1} Terminated"#, one(json!({"a": 1}))),
            (
                br#"{"type":"x","message":{"te{"type":"result","ok":true}"#,
                one(json!({"type": "result", "ok": true})),
            ),
            (
                br#"{"ts":1,"type":"a","x":"cu{"ts": 2, "type": "done"}"#,
                one(json!({"ts": 2, "type": "done"})),
            ),
            (br#"{"a":"C:\x\q\u12"}"#, one(json!({"a": "C:xq\u{fffd}12"}))),
        ] {
            assert_eq!(read(line), LineContent::Events(wanted), "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn parts_of_a_broken_line_are_no_events() {
        for line in [
            r#"{"type":"item.completed","item":{"type":"error","message":"x"}"#,
            r#"{"type":"item.completed","item":{"type":"error","message":"x"}}}"#,
            r#"{"type":"result","is_er"#,
            r#"{"type":"result"},"is_error":true}"#,
            r#"cut","item":{"type":"error"}}"#,
            r#"{"type":"result" "is_error":false}"#,
            r#"{type:"result"}"#,
            "\u{1}\u{2}",
        ] {
            assert_eq!(read(line.as_bytes()), LineContent::Unreadable, "{line}");
        }
        let deep = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
        assert_eq!(read(deep.as_bytes()), LineContent::Unreadable);
    }

    #[test]
    fn words_and_doubled_lines_are_passed_over() {
        let mut lines = JsonLines::default();
        let event = br#"{"type":"usage","tokens":5}"#;
        let piece = br#"{"type":"message","delta":true,"content":"ha"}"#;
        let kinds = [&event[..], event, b"Loading model ...", event, piece, piece, b"", b"{\"a\""]
            .map(|line| lines.read(line));
        let is_new = kinds.map(|content| matches!(content, LineContent::Events(_)));
        assert_eq!(is_new, [true, false, false, false, true, true, false, false]);
        assert_eq!(lines.counts, StreamCounts { lines: 7, unreadable: 1, too_long: 0 });
    }
}
