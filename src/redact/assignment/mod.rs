//! Values that are secret because of their name: `API_TOKEN=...`, `"password": "..."`, `Authorization: Bearer ...`.

mod judge;

use std::ops::Range;

use super::{AHEAD, Class, Secret, View, is_word, run};

pub(super) use judge::is_placeholder;

const BEARER: &str = "earer ";

/// Parts of the names that count, in the ways they are written.
pub(super) const ANCHORS: &[&str] = &[
    "oken",
    "OKEN",
    "ecret",
    "ECRET",
    "assw",
    "ASSW",
    "assphrase",
    "ASSPHRASE",
    "uthorization",
    "UTHORIZATION",
    "pi_key",
    "PI_KEY",
    "pi-key",
    "pi-Key",
    "piKey",
    "pikey",
    "PIKEY",
    "ss_key",
    "SS_KEY",
    "ssKey",
    "te_key",
    "TE_KEY",
    "teKey",
    "ntKey",
    BEARER,
];

const LONGEST_NAME: usize = 80;
const MOST_SPACES: usize = 16;

/// How much of a value is looked at to judge it, so that a text of nothing but names takes no longer than others.
const JUDGED: usize = 256;

/// What a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Chosen by people: may be short, may be a word.
    Password,
    /// Nothing but a secret is called so.
    Key,
    /// Often something else: parsers and pages have tokens too.
    Token,
    Authorization,
}

/// What the end of a name means, written without `_` and `-`.
const ENDINGS: &[(&str, Kind)] = &[
    ("password", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("secret", Kind::Key),
    ("secretkey", Kind::Key),
    ("apikey", Kind::Key),
    ("accesskey", Kind::Key),
    ("privatekey", Kind::Key),
    ("accountkey", Kind::Key),
    ("token", Kind::Token),
    ("authorization", Kind::Authorization),
];

/// How name and value are tied together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tie {
    /// `name=value`
    Tight,
    /// `name = value`, `name: value`, `--name value`
    Loose,
}

struct Name {
    kind: Kind,
    is_screaming: bool,
    is_passphrase: bool,
}

struct Value<'a> {
    start: usize,
    text: &'a [u8],
    is_quoted: bool,
    belongs: Class,
}

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    let bytes = view.bytes;
    if view.rest().starts_with(BEARER.as_bytes()) {
        return bearer(view);
    }
    let found = name(view)?;
    let name = Name::new(&bytes[found.clone()])?;
    let (tie, at) = tie(bytes, &found)?;
    if name.kind == Kind::Authorization {
        return authorization(bytes, at);
    }
    let value = value(bytes, at)?;
    let follows = bytes.get(value.start + value.text.len()).copied();
    if !judge::is_secret(&name, tie, &value, follows) {
        return None;
    }
    let rule = match name.kind {
        Kind::Password => "password",
        Kind::Key | Kind::Authorization => "secret",
        Kind::Token => "token",
    };
    Some(value.secret(rule, bytes))
}

impl Value<'_> {
    /// Judging looks at the beginning; what is taken out is the whole.
    fn secret(&self, rule: &'static str, bytes: &[u8]) -> Secret {
        let end = self.start + self.text.len();
        let more = if self.is_quoted { 0 } else { run(&bytes[end..], self.belongs) };
        Secret { rule, start: self.start, end: end + more, belongs: Some(self.belongs) }
    }
}

impl Name {
    fn new(name: &[u8]) -> Option<Self> {
        let plain: Vec<u8> =
            name.iter().filter(|byte| !b"_-".contains(byte)).map(u8::to_ascii_lowercase).collect();
        let (ending, kind) = ENDINGS.iter().find(|(ending, _)| plain.ends_with(ending.as_bytes()))?;
        Some(Self {
            kind: *kind,
            is_screaming: !name.iter().any(u8::is_ascii_lowercase),
            is_passphrase: *ending == "passphrase",
        })
    }
}

/// The name around the anchor.
fn name(view: &View<'_>) -> Option<Range<usize>> {
    let bytes = view.bytes;
    let before = bytes[..view.anchor].iter().rev().take(LONGEST_NAME);
    let mut start = view.anchor - before.take_while(|&&byte| is_name(byte)).count();
    // `\n` in JSON: the letter is no part of the name.
    if start > 0 && bytes[start - 1] == b'\\' && b"nrt".contains(&bytes[start]) {
        start += 1;
    }
    let end = view.anchor + run(&view.rest()[..view.rest().len().min(LONGEST_NAME)], is_name);
    (start < end).then_some(start..end)
}

fn is_name(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// Goes over what ties a name to its value: `=`, `: `, `" => `.
fn tie(bytes: &[u8], name: &Range<usize>) -> Option<(Tie, usize)> {
    let mut at = name.end;
    let is_quoted = match quote_at(bytes, at) {
        Some((_, end)) => {
            at = end;
            true
        }
        None => false,
    };
    if is_quoted && bytes.get(at) == Some(&b']') {
        at += 1;
    }
    let gap = spaces(&bytes[at..]);
    at += gap;
    let (is_colon, next) = match bytes.get(at..)? {
        [b'=', b'=' | b'~', ..] | [b':', b':', ..] => return None,
        [b':', b'=', ..] | [b'=', b'>', ..] => (false, at + 2),
        [b'=', ..] => (false, at + 1),
        [b':', ..] => (true, at + 1),
        _ if gap > 0 && bytes[name.start..].starts_with(b"--") => return Some((Tie::Loose, at)),
        _ => return None,
    };
    let after = spaces(&bytes[next..]);
    if is_colon && let Some(at) = typed(bytes, next + after) {
        return Some((Tie::Loose, at));
    }
    let tie = if gap == 0 && after == 0 && !is_colon { Tie::Tight } else { Tie::Loose };
    Some((tie, next + after))
}

/// The place behind `Type = ` where a quoted value follows.
fn typed(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let name = run(&rest[..rest.len().min(48)], |byte| is_word(byte) || b"&:'<>[]?.".contains(&byte));
    let mut at = at + name;
    at += spaces(&bytes[at..]);
    if name == 0 || bytes.get(at) != Some(&b'=') || bytes.get(at + 1) == Some(&b'=') {
        return None;
    }
    at += 1;
    at += spaces(&bytes[at..]);
    quote_at(bytes, at).map(|_| at)
}

fn spaces(bytes: &[u8]) -> usize {
    run(&bytes[..bytes.len().min(MOST_SPACES)], |byte| byte == b' ' || byte == b'\t')
}

/// A quote, however often it is escaped: the mark, and where it ends.
fn quote_at(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let rest = bytes.get(at..)?;
    let backslashes = run(&rest[..rest.len().min(MOST_SPACES)], |byte| byte == b'\\');
    let mark = *rest.get(backslashes)?;
    b"\"'`".contains(&mark).then_some((mark, at + backslashes + 1))
}

fn value(bytes: &[u8], at: usize) -> Option<Value<'_>> {
    if let Some((mark, start)) = quote_at(bytes, at) {
        let depth = start - at - 1;
        let belongs: Class = match mark {
            b'"' => |byte| !b"\"\n\r".contains(&byte),
            b'\'' => |byte| !b"'\n\r".contains(&byte),
            _ => |byte| !b"`\n\r".contains(&byte),
        };
        if let Some(length) = quoted(&bytes[start..], mark, depth, belongs) {
            return Some(Value { start, text: &bytes[start..start + length], is_quoted: true, belongs });
        }
        return Some(bare(bytes, start));
    }
    (at < bytes.len()).then(|| bare(bytes, at))
}

fn bare(bytes: &[u8], start: usize) -> Value<'_> {
    let rest = &bytes[start..bytes.len().min(start + JUDGED)];
    Value { start, text: &rest[..run(rest, is_bare)], is_quoted: false, belongs: is_bare }
}

/// Length of what stands before the closing quote, which is escaped as often as the opening one, or less.
fn quoted(bytes: &[u8], mark: u8, depth: usize, belongs: Class) -> Option<usize> {
    let mut at = 0;
    loop {
        at += run(&bytes[at..], belongs);
        match bytes.get(at) {
            // Longer than what rules see: a value without an end in sight.
            None => return (at >= AHEAD / 2).then_some(at),
            Some(&byte) if byte == mark => {
                let backslashes = bytes[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
                if backslashes <= depth {
                    return Some(at - backslashes);
                }
                at += 1;
            }
            Some(_) => return None,
        }
    }
}

fn is_bare(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"\"'`,;&)}]<>|\\".contains(&byte)
}

/// `Bearer abc` without a header's name.
fn bearer(view: &View<'_>) -> Option<Secret> {
    let before = view.bytes[..view.anchor].last()?;
    if !b"Bb".contains(before) {
        return None;
    }
    let value = credential(view.bytes, view.anchor + BEARER.len());
    let is_secret = value.text.len() >= 16 && judge::is_mixed(value.text);
    is_secret.then(|| value.secret("authorization", view.bytes))
}

/// The value of an `Authorization` header, behind its scheme.
fn authorization(bytes: &[u8], at: usize) -> Option<Secret> {
    let at = quote_at(bytes, at).map_or(at, |(_, end)| end);
    let scheme = run(&bytes[at..bytes.len().min(at + 16)], |byte| byte.is_ascii_alphabetic());
    let has_scheme = scheme > 0 && bytes.get(at + scheme) == Some(&b' ');
    let value = credential(bytes, if has_scheme { at + scheme + 1 } else { at });
    let least = match (has_scheme, judge::is_mixed(value.text)) {
        (true, true) => 6,
        (true, false) | (false, true) => 16,
        (false, false) => return None,
    };
    (value.text.len() >= least).then(|| value.secret("authorization", bytes))
}

fn credential(bytes: &[u8], start: usize) -> Value<'_> {
    let rest = bytes.get(start..bytes.len().min(start + JUDGED)).unwrap_or_default();
    Value { start, text: &rest[..run(rest, is_credential)], is_quoted: false, belongs: is_credential }
}

fn is_credential(byte: u8) -> bool {
    is_word(byte) || b".~+/=:-".contains(&byte)
}
