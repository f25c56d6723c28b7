//! JSON that is as safe to print as text: what a terminal would obey is written as an escape, which reads back the same.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use super::style::is_unseen;

/// Indented, and a line end.
pub fn write_pretty(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", pretty(value)?)
}

/// On one line, and its end.
pub fn write_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", harmless(serde_json::to_string(value)?))
}

/// Indented.
pub fn pretty(value: &impl Serialize) -> io::Result<String> {
    Ok(harmless(serde_json::to_string_pretty(value)?))
}

/// Characters that steer or deceive can only stand in the strings of a JSON text, and there an escape means the same.
pub fn harmless(json: String) -> String {
    let is_obeyed = |c: char| c == '\x7f' || is_unseen(c);
    if !json.contains(is_obeyed) {
        return json;
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
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_reads_back_the_same() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}31m \u{7f}\u{1b} \u{e0041} größe 🎉 \u{200d}"});
        for text in [pretty(&value).unwrap(), harmless(value.to_string())] {
            assert!(!text.contains(|c: char| c == '\x7f' || c == '\x1b' || is_unseen(c)), "{text}");
            assert!(text.contains("\\udb40\\udc41") && text.contains("größe 🎉 \u{200d}"), "{text}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        }
    }
}
