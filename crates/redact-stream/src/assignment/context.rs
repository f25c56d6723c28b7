//! Ties between a name and its value that are none of a language, but of a file, a program or a protocol.

use std::ops::Range;

use crate::class::is_word;
use crate::view::View;

use super::value::{Tie, holds, quote_at, spaces};

/// Words after which a name and its value follow with a space between them.
const SETTERS: &[&str] = &[
    "env",
    "arg",
    "setenv",
    "fastcgi_param",
    "set -x",
    "set -gx",
    "set -ux",
    "config set",
    "configure set",
    "config --global",
    "secret put",
];

/// Functions that take a name and its value: `define('DB_PASSWORD', '...')`.
const FUNCTIONS: &[&str] = &[
    "define",
    "put",
    "set",
    "setenv",
    "putenv",
    "setItem",
    "setProperty",
    "append",
    "addEnv",
    "withEnv",
    "setHeader",
    "addHeader",
    "header",
    "setRequestHeader",
    "environment",
    "env",
    "ConvertTo",
    "add",
];

/// Returns the value of a name; `at` is after its quote, and `gap` after the spaces that follow.
pub(super) fn tie(view: &View<'_>, name: Range<usize>, at: usize, gap: usize) -> Option<(Tie, usize)> {
    let Range { start, end } = name;
    // Most names are words of a text: nothing else is looked at for them.
    let next = view.byte(gap)?;
    if gap == at && !b"<=:;],\r\n\\".contains(&next)
        || gap > at && !view.before(start).last().is_some_and(|&byte| b" _.".contains(&byte))
    {
        return None;
    }
    let before = line_before(view.before(start));
    // `git config my.password ...`
    let section = before.iter().rev().take_while(|&&byte| is_word(byte) || byte == b'.').count();
    let setter = if before.ends_with(b".") { &before[..before.len() - section] } else { before };
    match next {
        b'<' if view.has(gap, b"<<") => heredoc(view, gap).map(|at| (Tie::Block, at)),
        b'=' if view.has(gap, b"=$(cat <<") => heredoc(view, gap + 7).map(|at| (Tie::Block, at)),
        b':' if view.has(gap, b"::")
            && holds(before, b"::s")
            && ["::set-output ", "::save-state ", "::set-env "].iter().any(|word| has(before, word)) =>
        {
            Some((Tie::Tight, gap + 2))
        }
        b';' | b']' if has(before, "##vso[task.setvariable ") => {
            let close = view.run_most(gap, 60, |byte| byte != b']' && !byte.is_ascii_control());
            (view.byte(close) == Some(b']')).then_some((Tie::Tight, close + 1))
        }
        b',' if at > end => {
            let quote = before.iter().rposition(|byte| !b"\\\"'`".contains(byte))?;
            let function = before[..=quote].strip_suffix(b"(")?;
            let is_it = FUNCTIONS.iter().any(|name| ends_with_word(function, name));
            let at = spaces(view, gap + 1);
            (is_it && quote_at(view, at).is_some()).then_some((Tie::Loose, at))
        }
        b'\r' | b'\n' if at > end && has(before, "form-data; name=") => {
            let at = view.run_most(gap, 4, |byte| byte == b'\r' || byte == b'\n');
            (at - gap >= 2).then_some((Tie::Tight, at))
        }
        b'\\' if at > end && has(before, "form-data; name=") => {
            let breaks = [&b"\\r\\n\\r\\n"[..], b"\\n\\n"].into_iter().find(|text| view.has(gap, text))?;
            Some((Tie::Tight, gap + breaks.len()))
        }
        _ if gap > at && SETTERS.iter().any(|word| ends_with_word(setter.trim_ascii_end(), word)) => {
            Some((Tie::Tight, gap))
        }
        // `ALTER ROLE me WITH PASSWORD '...'`
        b'\'' | b'\\' if gap > at && is_about_users(before) => quote_at(view, gap).map(|_| (Tie::Loose, gap)),
        _ => None,
    }
}

/// `-passin pass:...`, as openssl takes it.
pub(super) fn is_pass_argument(before: &[u8]) -> bool {
    let before = line_before(before).trim_ascii_end();
    let before = before.strip_suffix(b"'").or(before.strip_suffix(b"\"")).unwrap_or(before).trim_ascii_end();
    ["-passin", "-passout", "-pass", "-password", "-srcstorepass", "\"-passin\",", "\"-pass\","]
        .iter()
        .any(|word| before.ends_with(word.as_bytes()))
}

/// Returns the place of the first line below a name that a block of lines follows: `password: |`.
pub(super) fn block(view: &View<'_>, at: usize) -> Option<usize> {
    if !matches!(view.byte(at), Some(b'|' | b'>')) {
        return None;
    }
    let at = view.run_most(at + 1, 3, |byte| b"-+0123456789".contains(&byte));
    let line = line_end(view, at)?;
    let start = view.run_most(line, 40, |byte| byte == b' ');
    (start > line).then_some(start)
}

/// Returns the first line of a here-document.
fn heredoc(view: &View<'_>, at: usize) -> Option<usize> {
    let at = view.run_most(at + 2, 1, |byte| byte == b'-' || byte == b'~');
    let at = quote_at(view, at).map_or(at, |(_, end)| end);
    let word = view.run_most(at, 32, is_word);
    let end = quote_at(view, word).filter(|_| view.byte(word) != Some(b'\\')).map_or(word, |(_, end)| end);
    if word == at {
        return None;
    }
    let line = line_end(view, end)?;
    Some(view.run_most(line, 40, |byte| byte == b' ' || byte == b'\t'))
}

/// Returns the start of the next line, if nothing else is in this one.
fn line_end(view: &View<'_>, at: usize) -> Option<usize> {
    let at = view.run_most(at, 4, |byte| byte == b' ' || byte == b'\r');
    let escape = view.run_most(at, 8, |byte| byte == b'\\');
    match view.byte(escape)? {
        b'\n' => Some(escape + 1),
        b'n' if escape > at => Some(escape + 1),
        _ => None,
    }
}

fn is_about_users(before: &[u8]) -> bool {
    let before = before.trim_ascii_end().to_ascii_lowercase();
    ["with", "encrypted", "set", "login", "="].iter().any(|word| ends_with_word(&before, word))
        && ["user", "role", "login", "password"].iter().any(|word| has(&before, word))
}

fn line_before(before: &[u8]) -> &[u8] {
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = &before[start..];
    let escaped = line.windows(2).rposition(|two| two == b"\\n").map_or(0, |at| at + 2);
    &line[escaped..]
}

fn has(text: &[u8], word: &str) -> bool {
    text.windows(word.len()).any(|part| part == word.as_bytes())
}

fn ends_with_word(text: &[u8], word: &str) -> bool {
    let Some(start) = text.len().checked_sub(word.len()) else { return false };
    text[start..].eq_ignore_ascii_case(word.as_bytes())
        && !text[..start].last().is_some_and(|&byte| is_word(byte) || byte == b'-')
}
