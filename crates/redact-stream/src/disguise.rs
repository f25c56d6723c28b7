//! Keys that are interrupted by their medium: escapes of JSON and URLs, line breaks of terminals.

use regex::bytes::Regex;

use super::class::is_word;
use super::first_key;
use super::secret::Secret;
use super::view::View;

/// How far before an escape a key may begin, and how long one is at most.
const MAX_LEAD: usize = 160;
const MAX_KEY: usize = 1024;

/// Minimum number of columns of a line that a terminal wraps.
const MIN_COLUMNS: usize = 40;

/// Shorter texts are no keys.
const MIN_KEY: usize = 16;

/// What interrupts a key: escapes of JSON, and of letters and signs in addresses.
pub(super) const KEYWORDS: [&str; 6] = ["\\u00", "%5", "%6", "%7", "%2d", "%2e"];

/// Returns a key around the escape at the anchor.
pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    let escape = view.anchor;
    let (width, _) = escape_at(view, escape)?;
    // Mostly a blank follows, or another escape: no key goes on.
    let next = view.rest(escape + width).first();
    if view.byte(escape) == Some(b'\\') && !next.is_some_and(|&byte| is_token(byte) || byte == b'\\') {
        return None;
    }
    let mut start = escape
        - view
            .before(escape)
            .iter()
            .rev()
            .take(MAX_LEAD)
            .take_while(|byte| is_token(**byte) || b"%\\".contains(byte))
            .count();
    // A sign that is no escape ends what is before it.
    let mut at = start;
    while at < escape {
        let (next, _) = step(view, at).unwrap_or((at + 1, 0));
        start = if step(view, at).is_none() { next } else { start };
        at = next;
    }
    let (plain, places) = without_interruptions(view, start);
    if plain.len() < MIN_KEY || !plain.iter().any(u8::is_ascii_digit) {
        return None;
    }
    let found = first_key(&plain, plain.len())?;
    let secret = original(&found, &places);
    (secret.end - secret.start > found.end - found.start).then_some(secret)
}

/// Returns the end of a key that continues after `end`, past escapes and line breaks, with what `class` matches.
pub(super) fn end_of_rest(view: &View<'_>, end: usize, class: impl FnOnce() -> Regex) -> usize {
    if gap_at(view, end).is_none() {
        return end;
    }
    let class = class();
    let mut end = end;
    while let Some((width, letter)) = gap_at(view, end) {
        let next = view.rest(end + width);
        let piece = class.find(&next[..next.len().min(MAX_KEY)]).map_or(&b""[..], |found| found.as_bytes());
        // Behind a line break a word may stand.
        let goes_on = match letter {
            b'\n' => piece.iter().any(u8::is_ascii_digit),
            letter => class.find(&[letter]).is_some_and(|found| !found.is_empty()),
        };
        if !goes_on {
            break;
        }
        end += width + piece.len();
        view.byte(end);
    }
    end
}

/// Returns the width of what is between two pieces of a key, and the letter that it is.
fn gap_at(view: &View<'_>, end: usize) -> Option<(usize, u8)> {
    escape_at(view, end).or_else(|| Some((wrap_at(view, end)?, b'\n')))
}

/// Returns the key that `find` finds at `start` where it is interrupted.
pub(super) fn find_interrupted(
    view: &View<'_>,
    start: usize,
    find: impl FnOnce(&View<'_>) -> Option<Secret>,
) -> Option<Secret> {
    let rest = view.rest(start);
    let length = rest.iter().take(MAX_KEY).take_while(|&&byte| is_token(byte)).count();
    rest.get(length).filter(|byte| b"%\\\r\n".contains(byte))?;
    let end = start + length;
    if escape_at(view, end).is_none() && wrap_at(view, end).is_none() {
        return None;
    }
    let (plain, places) = without_interruptions(view, start);
    Some(original(&find(&View::new(&plain, 0))?, &places))
}

/// Returns the text from `start` on without interruptions, and where each of its bytes begins and ends in the original.
fn without_interruptions(view: &View<'_>, start: usize) -> (Vec<u8>, Vec<(usize, usize)>) {
    let (mut plain, mut places) = (Vec::new(), Vec::new());
    let mut at = start;
    while plain.len() < MAX_KEY {
        if let Some((next, letter)) = step(view, at) {
            plain.push(letter);
            places.push((at, next));
            at = next;
        } else if let Some(width) = wrap_at(view, at) {
            at += width;
        } else {
            break;
        }
    }
    (plain, places)
}

/// Returns where a key of such a text is in the original.
fn original(key: &Secret, places: &[(usize, usize)]) -> Secret {
    Secret { rule: key.rule, start: places[key.start].0, end: places[key.end - 1].1, belongs: None }
}

/// Returns the end of the letter of a key at `at`, and the letter.
fn step(view: &View<'_>, at: usize) -> Option<(usize, u8)> {
    let escape = escape_at(view, at).map(|(width, letter)| (at + width, letter));
    escape.or_else(|| Some((at + 1, view.byte(at).filter(|&byte| is_token(byte))?)))
}

/// Returns how long the escape at `at` is, and the letter of a key for which it stands.
fn escape_at(view: &View<'_>, at: usize) -> Option<(usize, u8)> {
    let digits = match view.byte(at)? {
        b'%' => at + 1,
        b'\\' => {
            let u = view.run_most(at, 8, |byte| byte == b'\\');
            view.has(u, b"u00").then_some(u + 3)?
        }
        _ => return None,
    };
    let high = char::from(view.byte(digits)?).to_digit(16)?;
    let low = char::from(view.byte(digits + 1)?).to_digit(16)?;
    let letter = u8::try_from(high * 16 + low).ok()?;
    is_token(letter).then_some((digits + 2 - at, letter))
}

/// Returns how long the line break at `at` is, where a terminal may have put it.
fn wrap_at(view: &View<'_>, at: usize) -> Option<usize> {
    let width = [&b"\n"[..], b"\r\n", b"\\n", b"\\r\\n"].into_iter().find(|text| view.has(at, text))?.len();
    let before = view.before(at);
    let line = &before[before.len().saturating_sub(MIN_COLUMNS)..];
    let is_long =
        line.len() == MIN_COLUMNS && !line.contains(&b'\n') && !line.windows(2).any(|two| two == b"\\n");
    (is_long && view.byte(at + width).is_some_and(|byte| byte.is_ascii_alphanumeric())).then_some(width)
}

/// Returns true for a byte that keys consist of.
fn is_token(byte: u8) -> bool {
    is_word(byte) || b"-.+/=~:$!".contains(&byte)
}
