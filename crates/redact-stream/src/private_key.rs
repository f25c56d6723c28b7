//! Private key blocks, on many lines or with their line ends escaped.

use super::class::{base64, digit};
use super::secret::Secret;
use super::view::View;

/// How a block begins, after the dashes.
pub(super) const BEGIN: &str = "-BEGIN ";

/// How the part of a key file of `PuTTY` begins that is secret.
pub(super) const LINES: &str = "Private-Lines: ";

const RULE: &str = "private-key";
const DASHES: &[u8] = b"-----";
const MAX_LABEL_BYTES: usize = 64;

/// What a line of a key has at least, apart from the last.
const LINE: usize = 40;

/// What it has at least where the end of the block is there too.
const ENDED_LINE: usize = 16;

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    if !view.has(view.anchor, BEGIN.as_bytes()) || !view.before(view.anchor).ends_with(b"----") {
        return None;
    }
    let start = view.anchor - 4;
    let label = view.anchor + BEGIN.len();
    let label_end = view.run_most(label, MAX_LABEL_BYTES, is_label);
    let is_private = view.text(label, label_end).windows(11).any(|part| part == b"PRIVATE KEY");
    if !is_private || !view.has(label_end, DASHES) {
        return None;
    }
    let body = label_end + DASHES.len();
    let next = view.find(body, DASHES);
    let end = match end_line(view, next) {
        Some(end) if has_key(view.text(body, next)) => end,
        _ => bare_key(view, body)?,
    };
    Some(Secret { rule: RULE, start, end, belongs: None })
}

pub(super) fn find_lines(view: &View<'_>) -> Option<Secret> {
    let start = view.anchor;
    if !view.has(start, LINES.as_bytes()) {
        return None;
    }
    let number_end = view.run_most(start + LINES.len(), 4, digit);
    let end = bare_key(view, number_end)?;
    Some(Secret { rule: RULE, start: number_end, end, belongs: None })
}

/// Returns the end of the line that ends a block.
fn end_line(view: &View<'_>, at: usize) -> Option<usize> {
    const END: &[u8] = b"-----END";
    if !view.has(at, END) {
        return None;
    }
    let label_end = view.run_most(at + END.len(), MAX_LABEL_BYTES, is_label);
    view.has(label_end, DASHES).then_some(label_end + DASHES.len())
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
}

/// Returns true if there is a key in it at all; source code speaks of blocks without having one.
fn has_key(body: &[u8]) -> bool {
    body.split(|&byte| !base64(byte)).any(|line| line.len() >= ENDED_LINE)
}

/// Returns the end of a key that has no line to end it: lines of base64 and what is between them.
fn bare_key(view: &View<'_>, from: usize) -> Option<usize> {
    let mut end = None;
    let mut at = from;
    loop {
        let line = between_lines(view, at);
        at = view.run(line, base64);
        if at - line < LINE {
            // The last line is a short one. After others it is no word of what follows.
            let is_last = end.is_some() && at - line >= 2 && view.text(line, at).ends_with(b"=");
            return if is_last { Some(at) } else { end };
        }
        end = Some(at);
    }
}

/// Returns the end of white space, with line ends escaped or not.
fn between_lines(view: &View<'_>, from: usize) -> usize {
    let mut at = from;
    loop {
        at = view.run(at, |byte| byte.is_ascii_whitespace());
        let escape = view.run(at, |byte| byte == b'\\');
        match view.byte(escape) {
            Some(b'n' | b'r' | b't') if escape > at => at = escape + 1,
            _ => return at,
        }
    }
}
