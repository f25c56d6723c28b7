//! Credentials as they are in headers and on command lines: `Bearer ...`, `Basic ...`, `Cookie: ...`, `curl -u ...`.

use super::assignment::{self, is_login, is_placeholder, is_random};
use super::class::base64;
use super::gate::{Window, window};
use super::secret::Secret;
use super::view::View;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    Bearer,
    Basic,
    Cookie,
    User,
}

/// What shows the kinds. Some do without a first letter that may be a capital.
const MARKS: [(&str, Header); 6] = [
    ("Bearer ", Header::Bearer),
    ("bearer ", Header::Bearer),
    ("asic ", Header::Basic),
    ("kie", Header::Cookie),
    (" -u ", Header::User),
    ("--user", Header::User),
];

/// The longest line of cookies, or login in base64, that is looked at.
const MAX_VALUE_BYTES: usize = 32 * 1024;

const MIN_COOKIE_BYTES: usize = 16;

pub(super) fn windows() -> impl Iterator<Item = (Window, Header)> {
    MARKS.iter().map(|(text, header)| (window(text, is_after_name), *header))
}

pub(super) fn find(view: &View<'_>, header: Header) -> Option<Secret> {
    let is_it = |mark: &&(&str, Header)| mark.1 == header && view.has(view.anchor, mark.0.as_bytes());
    let (text, _) = MARKS.iter().find(is_it)?;
    let at = view.anchor + text.len();
    let is_after =
        |letters: &[u8]| view.before(view.anchor).last().is_some_and(|last| letters.contains(last));
    match header {
        Header::Bearer if view.is_word_start(view.anchor) => {
            let value = assignment::credential(view, at);
            let is_secret = value.text.len() >= 16 && assignment::is_mixed(value.text);
            is_secret.then(|| value.secret("authorization", view))
        }
        Header::Basic if is_after(b"Bb") => {
            let end = view.run_most(at, MAX_VALUE_BYTES, base64);
            let is_secret = is_login(view.text(at, end));
            is_secret.then_some(Secret { rule: "authorization", start: at, end, belongs: None })
        }
        Header::Cookie if is_cookie(view) => cookies(view, at),
        Header::User => user(view, at),
        Header::Bearer | Header::Basic | Header::Cookie => None,
    }
}

fn is_cookie(view: &View<'_>) -> bool {
    let before = view.before(view.anchor);
    [b"Coo", b"coo"].iter().any(|word| before.ends_with(*word))
}

/// Returns what may follow the name of a header.
fn is_after_name(byte: u8) -> bool {
    b":\"'`\\".contains(&byte)
}

/// From the first value that is a secret to the end of the last one.
fn cookies(view: &View<'_>, at: usize) -> Option<Secret> {
    let at = assignment::quote_at(view, at).map_or(at, |(_, end)| end);
    if view.byte(at) != Some(b':') {
        return None;
    }
    let at = view.run_most(at + 1, 4, |byte| byte == b' ');
    let start = assignment::quote_at(view, at).map_or(at, |(_, end)| end);
    // A space stands only after a semicolon.
    let mut end = start;
    while end - start < MAX_VALUE_BYTES {
        end = view.run_most(end, MAX_VALUE_BYTES, |byte| is_in_line(byte) && byte != b' ');
        if view.byte(end) != Some(b' ') || !view.text(start, end).ends_with(b";") {
            break;
        }
        end += 1;
    }
    let line = view.text(start, end);
    let mut found: Option<(usize, usize)> = None;
    let mut at = start;
    for pair in line.split(|&byte| byte == b';') {
        if let Some(equals) = pair.iter().position(|&byte| byte == b'=') {
            let value = &pair[equals + 1..];
            if value.len() >= MIN_COOKIE_BYTES && is_random(value) && !is_placeholder(value) {
                let first = found.map_or(at + equals + 1, |(first, _)| first);
                found = Some((first, at + pair.len()));
            }
        }
        at += pair.len() + 1;
    }
    found.map(|(start, end)| Secret { rule: "cookie", start, end, belongs: None })
}

/// `curl -u user:password`
fn user(view: &View<'_>, at: usize) -> Option<Secret> {
    let before = view.before(view.anchor);
    let line = before.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
    if !["curl", "http"].iter().any(|program| line.windows(4).any(|part| part == program.as_bytes())) {
        return None;
    }
    let at = view.run_most(at, 4, |byte| byte == b' ' || byte == b'=');
    let quote = assignment::quote_at(view, at);
    let start = quote.map_or(at, |(_, end)| end);
    let colon = view.run_most(start, 128, |byte| is_in_line(byte) && byte != b':' && byte != b' ');
    if view.byte(colon) != Some(b':') {
        return None;
    }
    let password = colon + 1;
    let end = if quote.is_some() {
        view.run_most(password, 256, is_in_line)
    } else {
        view.run_most(password, 256, |byte| is_in_line(byte) && !byte.is_ascii_whitespace() && byte != b'@')
    };
    let text = view.text(password, end);
    let is_secret = text.len() >= 4 && !is_placeholder(text) && !text.iter().all(u8::is_ascii_digit);
    is_secret.then_some(Secret { rule: "password", start: password, end, belongs: None })
}

fn is_in_line(byte: u8) -> bool {
    !byte.is_ascii_control() && !b"\"'`\\<>".contains(&byte)
}
