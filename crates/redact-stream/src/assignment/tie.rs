//! The way from a name to its value.

use crate::class::is_word;
use crate::view::View;

use super::value::{MAX_SPACES, Tie, holds, quote_at, spaces};
use super::{context, name};

/// Goes over what ties a name to its value: `=`, `: `, `" => `.
pub(super) fn tie(view: &View<'_>, name_end: usize) -> Option<(Tie, usize)> {
    // Most names are words of a text.
    view.byte(name_end).filter(|byte| b" \t\r\n\x0c\\\"'`:=%<>;],&".contains(byte))?;
    let mut at = quote_at(view, name_end).map_or(name_end, |(_, end)| end);
    if at > name_end && view.byte(at) == Some(b']') {
        at += 1;
    }
    let gap = spaces(view, at);
    let name = name::start(view);
    let (is_colon, next) = match (view.byte(gap)?, view.byte(gap + 1)) {
        (b':', Some(b':')) | (b'=', Some(b'$'))
            if let Some(found) = context::tie(view, name..name_end, at, gap) =>
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
        // `variable "db_password" {`
        (b'{', _) if at > name_end => return nested(view, gap).map(|at| (Tie::Loose, at)),
        _ if gap > at && view.has(name, b"--") => return Some((Tie::Loose, gap)),
        _ if gap > at && is_login(view.before(name)) => return Some((Tie::Loose, gap)),
        _ => return context::tie(view, name..name_end, at, gap).or_else(|| value_beside(view, at)),
    };
    let after = spaces(view, next);
    if is_colon && let Some(at) = context::block(view, after) {
        return Some((Tie::Block, at));
    }
    if let Some(at) = nested(view, after) {
        return Some((Tie::Loose, at));
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

/// What the value of a secret is called in an object of its own: `{"client_secret": {"value": "..."}}`.
const VALUES: [&[u8]; 6] = [b"value", b"default", b"plaintext", b"plainText", b"secretValue", b"stringValue"];

/// Maximum number of pairs before the value.
const MAX_PAIRS: usize = 6;

/// Returns the place of the value in an object, or in the line below a name, that begins at `from`.
fn nested(view: &View<'_>, from: usize) -> Option<usize> {
    let is_object = match view.byte(from)? {
        b'{' => true,
        b'\n' | b'\r' | b'\\' => false,
        _ => return None,
    };
    let mut at = from + usize::from(is_object);
    for _ in 0..MAX_PAIRS {
        let line = at;
        at = blanks(view, at);
        if !is_object && !view.text(line, at).ends_with(b" ") {
            return None;
        }
        let word = quote_at(view, at).map_or(at, |(_, end)| end);
        let word_end = view.run_most(word, 48, |byte| is_word(byte) || byte == b'-');
        let tie = spaces(view, quote_at(view, word_end).map_or(word_end, |(_, end)| end));
        if word_end == word || !matches!(view.byte(tie), Some(b':' | b'=')) {
            return None;
        }
        at = spaces(view, tie + 1);
        if VALUES.contains(&view.text(word, word_end)) {
            return Some(at);
        }
        if !is_object {
            return None;
        }
        at = match quote_at(view, at) {
            Some((mark, start)) => view.run_most(start, 200, |byte| byte != mark && byte != b'\n') + 1,
            None => view.run_most(at, 200, |byte| !b",}\n\\".contains(&byte)),
        };
    }
    None
}

/// Returns the end of white space, with line ends escaped or not, and of a comma.
fn blanks(view: &View<'_>, from: usize) -> usize {
    view.run_of_blanks(from, 64, |byte| byte.is_ascii_whitespace() || byte == b',')
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
