//! JSON that is as safe to print as text: what a terminal would obey is written as an escape, which reads back the same.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::style::is_unseen;

/// Indented, and a line end.
pub fn write_pretty(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    write(out, PrettyFormatter::new(), value)
}

/// On one line, and its end.
pub fn write_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    write(out, CompactFormatter, value)
}

fn write(out: &mut dyn Write, formatter: impl Formatter, value: &impl Serialize) -> io::Result<()> {
    let mut escaping = BufWriter::with_capacity(MANY_BYTES, Escaping(out));
    value.serialize(&mut Serializer::with_formatter(&mut escaping, formatter))?;
    escaping.write_all(b"\n")?;
    escaping.flush()
}

/// Characters that steer or deceive can only stand in the strings of a JSON text, and there an escape means the same.
fn escaped(json: &str) -> Cow<'_, str> {
    // Most of a JSON text is ASCII, whose controls the serializer has escaped.
    let is_plain = json.is_ascii() && !json.as_bytes().contains(&b'\x7f');
    if is_plain || !json.contains(is_obeyed) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        if is_obeyed(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

fn is_obeyed(c: char) -> bool {
    c == '\x7f' || is_unseen(c)
}

/// Number of bytes that are checked together.
const MANY_BYTES: usize = 16 << 10;

/// A writer for the buffer of a serializer: neither of them cuts a piece of text.
struct Escaping<'a>(&'a mut dyn Write);

impl Write for Escaping<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        self.0.write_all(escaped(text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_reads_back_the_same() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}31m \u{7f}\u{1b} \u{e0041} größe 🎉 \u{200d}"});
        for write in [write_pretty, write_line] {
            let mut text = Vec::new();
            write(&mut text, &value).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert!(!text.contains(|c: char| c == '\x7f' || c == '\x1b' || is_unseen(c)), "{text}");
            assert!(text.contains("\\udb40\\udc41") && text.contains("größe 🎉 \u{200d}"), "{text}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }
}
