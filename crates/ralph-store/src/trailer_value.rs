//! The value of a trailer: one line of text, or several fields.

use std::borrow::Cow;
use std::fmt::Write as _;

use anyhow::{Result, bail};

/// Returns one line of printable text: control characters, `%` and blanks at the ends as `%hh`.
pub fn escape(value: &str) -> String {
    let inner = value.trim_matches(|c: char| c.is_whitespace());
    let head = value.len() - value.trim_start().len();
    let mut escaped = String::with_capacity(value.len());
    for (i, c) in value.char_indices() {
        let is_edge = i < head || i >= head + inner.len();
        if c.is_control() || c == '%' || is_edge || matches!(c, '\u{2028}' | '\u{2029}' | '\u{85}') {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(escaped, "%{byte:02x}");
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

pub fn unescape(value: &str) -> Cow<'_, str> {
    // Thousands of messages are listed, and hardly a value of them has an escape.
    if !value.contains('%') {
        return Cow::Borrowed(value);
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the field of that name in a trailer such as `agent=0 validation=101`.
pub(super) fn field<'a>(trailer: &'a str, name: &str) -> Option<&'a str> {
    trailer.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

/// Returns the number of that name in a trailer; `-` means that it is not known.
pub(super) fn number<N: std::str::FromStr>(trailer: &str, name: &str) -> Result<Option<N>> {
    match field(trailer, name) {
        None | Some("-") => Ok(None),
        Some(text) => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => bail!("`{name}={text}` is not a number"),
        },
    }
}

pub(super) fn optional(
    lines: &mut Vec<(&'static str, String)>,
    name: &'static str,
    value: Option<&impl ToString>,
) {
    if let Some(value) = value {
        lines.push((name, value.to_string()));
    }
}

pub(super) fn known(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "-".into(), |number| number.to_string())
}

/// Names with commas between them.
pub(super) fn names(list: Option<&str>) -> Vec<String> {
    let names = list.unwrap_or_default().split(',').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}
