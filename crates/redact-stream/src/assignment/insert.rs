//! Values of a column that promises a secret, in statements: `INSERT INTO users (name, password) VALUES (...)`, `COPY users (...) FROM`.

use crate::secret::Secret;
use crate::view::View;

use super::judge::{is_mixed, is_placeholder};

const MAX_ROWS: usize = 200;
const MAX_COLUMNS_BYTES: usize = 1000;
const MAX_VALUE_BYTES: usize = 4096;

/// Least bytes of a password.
const MIN_BYTES: usize = 4;

/// Returns the values of the column whose name is between `start` and `end`, the last one first.
pub(super) fn values(view: &View<'_>, start: usize, end: usize) -> Vec<Secret> {
    values_of(view, start, end).unwrap_or_default()
}

fn values_of(view: &View<'_>, start: usize, end: usize) -> Option<Vec<Secret>> {
    let before = view.before(start);
    let open = before.iter().rposition(|&byte| byte == b'(')?;
    let names = &before[open + 1..];
    let is_statement =
        |word: &[u8]| before[..open].windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !names.iter().all(|&byte| is_name(byte))
        || ![&b"insert into "[..], b"replace into ", b"copy "].iter().any(|word| is_statement(word))
    {
        return None;
    }
    let column = names.split(|&byte| byte == b',').count() - 1;
    let close = view.run_most(end, MAX_COLUMNS_BYTES, is_name);
    if view.byte(close) != Some(b')') {
        return None;
    }
    let mut at = blanks(view, close + 1);
    if !view.has_folded(at, b"values") {
        return None;
    }
    at = blanks(view, at + 6);
    let mut found = Vec::new();
    for _ in 0..MAX_ROWS {
        if view.byte(at) != Some(b'(') {
            break;
        }
        at += 1;
        for place in 0.. {
            at = blanks(view, at);
            let Value { start, end, next, is_quoted } = Value::read(view, at)?;
            let text = view.text(start, end);
            let is_it = place == column && is_quoted && text.len() >= MIN_BYTES && !is_placeholder(text);
            if is_it && (is_mixed(text) || !text.contains(&b' ')) {
                found.push(Secret { rule: "password", start, end, belongs: None });
            }
            at = blanks(view, next);
            match view.byte(at) {
                Some(b',') => at += 1,
                Some(b')') => break,
                _ => return None,
            }
        }
        at = blanks(view, at + 1);
        if view.byte(at) == Some(b',') {
            at = blanks(view, at + 1);
        }
    }
    found.reverse();
    Some(found)
}

/// A value of a row, without its quotes.
struct Value {
    start: usize,
    end: usize,
    /// Where what follows it begins.
    next: usize,
    is_quoted: bool,
}

impl Value {
    fn read(view: &View<'_>, at: usize) -> Option<Self> {
        let letters = view.run_most(at, 1, |byte| b"NEnex".contains(&byte));
        let at = if view.byte(letters) == Some(b'\'') { letters } else { at };
        let marks = view.run_most(at, 8, |byte| byte == b'\\');
        let Some(mark @ (b'\'' | b'"')) = view.byte(marks) else {
            let mut depth = 0_usize;
            let end = view.run_most(at, MAX_VALUE_BYTES, |byte| {
                byte != b',' && byte != b')' && byte != b'(' && byte != b'\''
            });
            let mut next = end;
            // A call: its arguments are no values of columns.
            while depth > 0 || view.byte(next) == Some(b'(') {
                match view.byte(next)? {
                    b'(' => depth += 1,
                    b')' => depth -= 1,
                    _ => {}
                }
                next += 1;
            }
            return (next > at).then_some(Self { start: at, end, next, is_quoted: false });
        };
        let start = marks + 1;
        let mut end = start;
        loop {
            end = view.run_most(end, MAX_VALUE_BYTES, |byte| byte != mark && byte != b'\\');
            if view.byte(end)? == mark {
                // A quote within is doubled.
                if view.byte(end + 1) != Some(mark) {
                    return Some(Self { start, end, next: end + 1, is_quoted: true });
                }
                end += 2;
            } else {
                let letter = view.run_most(end, 8, |byte| byte == b'\\');
                if marks > at && view.byte(letter) == Some(mark) {
                    return Some(Self { start, end, next: letter + 1, is_quoted: true });
                }
                end = letter + 1;
            }
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_, \t\r\n\"'`[].\\".contains(&byte)
}

/// Returns the end of blanks and line ends, which may be escaped.
fn blanks(view: &View<'_>, from: usize) -> usize {
    view.run_of_blanks(from, 200, |byte| byte.is_ascii_whitespace())
}
