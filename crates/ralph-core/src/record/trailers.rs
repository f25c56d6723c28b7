//! The trailers of a message of ours, and their values: one line of text each, or several numbers.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::str::FromStr;

use anyhow::{Result, bail};

/// Returns the paragraph of a message that its trailers are in.
pub fn last_paragraph(message: &str) -> &str {
    message.trim_end().rsplit("\n\n").next().unwrap_or_default()
}

/// Returns the trailers of ours in a message, without `Ralph-` and as they were before they were escaped.
pub fn trailers_of(message: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    let pairs =
        last_paragraph(message).lines().filter_map(|line| line.strip_prefix("Ralph-")?.split_once(':'));
    pairs.map(|(name, value)| (name, unescape(value.trim())))
}

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
pub fn field<'a>(trailer: &'a str, name: &str) -> Option<&'a str> {
    trailer.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

/// Returns the numbers of these names in a trailer; `None` for one that is not there, or `-`, as it is not known.
pub(super) fn numbers<N: FromStr, const COUNT: usize>(
    trailer: &str,
    names: [&str; COUNT],
) -> Result<[Option<N>; COUNT]> {
    let mut numbers = [const { None }; COUNT];
    for (name, text) in trailer.split(' ').filter_map(|field| field.split_once('=')) {
        let Some(place) = names.iter().position(|wanted| *wanted == name) else { continue };
        if text != "-" && numbers[place].is_none() {
            let Ok(number) = text.parse() else { bail!("`{name}={text}` is not a number") };
            numbers[place] = Some(number);
        }
    }
    Ok(numbers)
}

pub(super) fn known(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "-".into(), |number| number.to_string())
}

/// Names with commas between them.
pub(super) fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').filter(|name| !name.is_empty())
}
