//! Private key blocks, on many lines or with their line ends escaped.

use super::{Secret, View, contains, run};

pub(super) const ANCHOR: &str = "-----BEGIN";

const DASHES: &[u8] = b"-----";
const LONGEST_LABEL: usize = 64;

/// What a line of a key has at least, apart from the last.
const LINE: usize = 40;

/// What it has at least where the end of the block is there too.
const ENDED_LINE: usize = 16;

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    let label = view.rest().strip_prefix(ANCHOR.as_bytes())?;
    let length = run(&label[..label.len().min(LONGEST_LABEL)], is_label);
    let body = label[length..].strip_prefix(DASHES)?;
    if !contains(&label[..length], b"PRIVATE KEY") {
        return None;
    }
    let start = view.anchor;
    let body_start = view.bytes.len() - body.len();
    let next = body.windows(DASHES.len()).position(|window| window == DASHES).unwrap_or(body.len());
    let end = match end_line(&body[next..]) {
        Some(end_line) if has_key(&body[..next]) => body_start + next + end_line,
        _ => body_start + bare_key(&body[..next])?,
    };
    Some(Secret { rule: "private-key", start, end, belongs: None })
}

/// Length of the line that ends a block.
fn end_line(bytes: &[u8]) -> Option<usize> {
    let label = bytes.strip_prefix(b"-----END")?;
    let length = run(&label[..label.len().min(LONGEST_LABEL)], is_label);
    label[length..].starts_with(DASHES).then_some(b"-----END".len() + length + DASHES.len())
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// Whether there is a key in it at all; source code speaks of blocks without having one.
fn has_key(body: &[u8]) -> bool {
    body.split(|&byte| !is_base64(byte)).any(|line| line.len() >= ENDED_LINE)
}

/// Length of a key whose end is missing: lines of base64 and what stands between them.
fn bare_key(body: &[u8]) -> Option<usize> {
    let mut end = None;
    let mut at = 0;
    loop {
        at += between_lines(&body[at..]);
        let line = run(&body[at..], is_base64);
        if line < LINE {
            return end;
        }
        at += line;
        end = Some(at);
    }
}

/// Length of white space, with line ends escaped or not.
fn between_lines(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += run(&bytes[at..], |byte| byte.is_ascii_whitespace());
        let backslashes = run(&bytes[at..], |byte| byte == b'\\');
        match bytes.get(at + backslashes) {
            Some(b'n' | b'r') if backslashes > 0 => at += backslashes + 1,
            _ => return at,
        }
    }
}
