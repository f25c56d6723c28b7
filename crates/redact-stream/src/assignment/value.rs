//! What ties a value to its name, and where the value begins and ends.

use crate::class::{Class, is_word};
use crate::view::View;
use crate::{AHEAD, Secret};

use super::{JUDGED, MAX_SPACES, context, name};

/// How name and value are tied together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    /// `name=value`
    Tight,
    /// `name = value`, `name: value`, `--name value`
    Loose,
    /// `<name>value</name>`
    Element,
    /// Lines below the name.
    Block,
}

pub(crate) struct Value<'a> {
    pub(super) start: usize,
    pub(crate) text: &'a [u8],
    pub(super) is_quoted: bool,
    belongs: Class,
}

impl Value<'_> {
    /// Judging looks at the beginning; what is taken out is the whole.
    pub(crate) fn secret(&self, rule: &'static str, view: &View<'_>) -> Secret {
        let end = self.end();
        let end = if self.is_quoted { end } else { view.run(end, self.belongs) };
        Secret { rule, start: self.start, end, belongs: Some(self.belongs) }
    }

    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Goes over what ties a name to its value: `=`, `: `, `" => `.
pub(super) fn tie(view: &View<'_>, name_end: usize) -> Option<(Tie, usize)> {
    // Most names are words of a text.
    view.byte(name_end).filter(|byte| b" \t\r\n\x0c\\\"'`:=%<>;],".contains(byte))?;
    let mut at = quote_at(view, name_end).map_or(name_end, |(_, end)| end);
    if at > name_end && view.byte(at) == Some(b']') {
        at += 1;
    }
    let gap = spaces(view, at);
    let name = name::start(view);
    let (is_colon, next) = match (view.byte(gap)?, view.byte(gap + 1)) {
        (b':', Some(b':')) | (b'=', Some(b'$'))
            if let Some(found) = context::tie(view, (name, name_end), at, gap) =>
        {
            return Some(found);
        }
        (b'=', Some(b'=' | b'~')) | (b':', Some(b':')) => return None,
        (b':', Some(b'=')) | (b'=', Some(b'>')) => (false, gap + 2),
        (b'=', _) => (false, gap + 1),
        (b':', _) => (true, gap + 1),
        (b'%', Some(b'3')) if view.has(gap, b"%3D") || view.has(gap, b"%3A") => (false, gap + 3),
        (b'\\', Some(b'u')) if view.has(gap, b"\\u003d") => (false, gap + 6),
        (b'>', _) if view.before(name).ends_with(b"<") => return Some((Tie::Element, gap + 1)),
        _ if gap > at && view.has(name, b"--") => return Some((Tie::Loose, gap)),
        _ if gap > at && is_login(view.before(name)) => return Some((Tie::Loose, gap)),
        _ => return context::tie(view, (name, name_end), at, gap).or_else(|| value_beside(view, at)),
    };
    let after = spaces(view, next);
    if is_colon && let Some(at) = context::block(view, after) {
        return Some((Tie::Block, at));
    }
    if is_colon && let Some(at) = typed(view, after) {
        return Some((Tie::Loose, at));
    }
    let tie = if gap == at && after == next && !is_colon { Tie::Tight } else { Tie::Loose };
    Some((tie, after))
}

/// Returns true if a line of `.netrc` goes on here: `machine host login user password ...`.
fn is_login(before: &[u8]) -> bool {
    let entry = &before[before.len().saturating_sub(200)..];
    // Without a way out of the loop, so that the compiler compares many bytes at once.
    let threes = entry.iter().zip(entry.iter().skip(1)).zip(entry.iter().skip(2));
    let other = threes.fold(u8::MAX, |other, ((a, b), c)| other.min(a ^ b'c' | b ^ b'h' | c ^ b'i'));
    other == 0 && holds(entry, b"machine ") && holds(entry, b"login ")
}

/// Whether `text` has the bytes of `word`, whose number is known so that comparing them is one step.
pub(super) fn holds<const LENGTH: usize>(text: &[u8], word: &[u8; LENGTH]) -> bool {
    text.windows(LENGTH).any(|part| part == word)
}

/// Returns the place after `"value": ` where the name is a value itself: `{"name": "API_TOKEN", "value": "..."}`.
fn value_beside(view: &View<'_>, at: usize) -> Option<(Tie, usize)> {
    const WORD: &[u8] = b"value";
    let mut at = view.run_most(at, 1, |byte| byte == b',');
    for _ in 0..3 {
        at = view.run_most(at, MAX_SPACES, |byte| byte.is_ascii_whitespace());
        if view.byte(at) == Some(b'\\') && matches!(view.byte(at + 1), Some(b'n' | b'r' | b't')) {
            at += 2;
        }
    }
    let at = quote_at(view, at).map_or(at, |(_, end)| end);
    if !view.has(at, WORD) {
        return None;
    }
    let at = at + WORD.len();
    let at = quote_at(view, at).map_or(at, |(_, end)| end);
    let at = spaces(view, at);
    let is_tied = matches!(view.byte(at), Some(b':' | b'='));
    is_tied.then(|| (Tie::Loose, spaces(view, at + 1)))
}

/// Returns the place after `Type = ` where a quoted value follows.
fn typed(view: &View<'_>, from: usize) -> Option<usize> {
    let name = view.run_most(from, 48, |byte| is_word(byte) || b"&:'<>[]?.".contains(&byte));
    let at = spaces(view, name);
    if name == from || view.byte(at) != Some(b'=') || view.byte(at + 1) == Some(b'=') {
        return None;
    }
    let at = spaces(view, at + 1);
    quote_at(view, at).map(|_| at)
}

/// Returns the end of spaces.
pub(super) fn spaces(view: &View<'_>, at: usize) -> usize {
    view.run_most(at, MAX_SPACES, |byte| byte == b' ' || byte == b'\t')
}

/// Returns a quote, however often it is escaped: the mark, and where it ends.
pub(crate) fn quote_at(view: &View<'_>, at: usize) -> Option<(u8, usize)> {
    let marks = view.run_most(at, MAX_SPACES, |byte| byte == b'\\');
    let mark = view.byte(marks)?;
    b"\"'`".contains(&mark).then_some((mark, marks + 1))
}

pub(super) fn value<'a>(view: &View<'a>, at: usize, tie: Tie) -> Option<Value<'a>> {
    if tie == Tie::Element {
        let belongs: Class = |byte| !b"<\n\r".contains(&byte);
        let end = view.run_most(at, JUDGED, belongs);
        let is_closed = view.has(end, b"</");
        return is_closed.then(|| Value { start: at, text: view.text(at, end), is_quoted: true, belongs });
    }
    if let Some((mark, start)) = quote_at(view, at) {
        let depth = start - at - 1;
        let belongs: Class = match mark {
            b'"' => |byte| !b"\"\n\r".contains(&byte),
            b'\'' => |byte| !b"'\n\r".contains(&byte),
            _ => |byte| !b"`\n\r".contains(&byte),
        };
        if let Some(end) = quoted(view, start, mark, depth, belongs) {
            return Some(Value { start, text: view.text(start, end), is_quoted: true, belongs });
        }
        return Some(bare(view, start));
    }
    (!view.is_end(at)).then(|| bare(view, at))
}

fn bare<'a>(view: &View<'a>, start: usize) -> Value<'a> {
    let mut end = view.run_most(start, JUDGED, is_bare);
    // JSON may escape slashes.
    while end - start < JUDGED && view.has(end, b"\\/") {
        end = view.run_most(end + 2, JUDGED, is_bare);
    }
    Value { start, text: view.text(start, end), is_quoted: false, belongs: is_bare }
}

/// Returns the end of what is before the closing quote, which is escaped as often as the opening one, or less.
fn quoted(view: &View<'_>, start: usize, mark: u8, depth: usize, belongs: Class) -> Option<usize> {
    let mut at = start;
    loop {
        at = view.run(at, belongs);
        match view.byte(at) {
            // Longer than what rules see: a value without an end in sight.
            None => return (at - start >= AHEAD / 2).then_some(at),
            Some(byte) if byte == mark => {
                let text = view.text(start, at);
                let backslashes = text.iter().rev().take_while(|&&byte| byte == b'\\').count();
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

/// Returns what stands after the scheme of an `Authorization` header.
pub(crate) fn credential<'a>(view: &View<'a>, start: usize) -> Value<'a> {
    let end = view.run_most(start, JUDGED, is_credential);
    Value { start, text: view.text(start, end), is_quoted: false, belongs: is_credential }
}

fn is_credential(byte: u8) -> bool {
    is_word(byte) || b".~+/=:-".contains(&byte)
}
