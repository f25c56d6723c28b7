//! Values that are secret because of their name: `API_TOKEN=...`, `"password": "..."`, `Authorization: Bearer ...`.

mod insert;
mod judge;
mod name;
mod table;
mod tie;
mod value;

use super::private_key;
use super::secret::Secret;
use super::view::View;

pub(super) use judge::{is_identifier, is_login, is_mixed, is_placeholder, is_random};
pub(super) use name::keywords;
pub(super) use value::{credential, quote_at};

use name::{Name, NameKind};
use value::{JUDGED, Tie, value};

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    if !name::is_end(view) {
        return None;
    }
    // Most names have no value beside them: that is asked first.
    let end = name::end(view);
    let (tie, at) = tie::tie(view, end)?;
    if tie == Tie::Block {
        return lines(view, at, end);
    }
    let name = Name::read(view, &(name::start(view)..end))?;
    if name.kind == NameKind::Authorization {
        return authorization(view, at);
    }
    let value = value(view, at, tie)?;
    // The block has a rule of its own, which takes all of its lines.
    if value.text == private_key::BLOCK_BEGIN {
        return None;
    }
    if name.is_bare && tie::is_pass_argument(view.before(name::start(view))) {
        let is_secret = value.text.len() >= 4 && !is_placeholder(value.text);
        return is_secret.then(|| value.secret("password", view));
    }
    let follows = view.byte(value.end());
    if !judge::is_secret(&name, tie, &value, follows) {
        return None;
    }
    let rule = match name.kind {
        NameKind::Password | NameKind::Short => "password",
        NameKind::Key | NameKind::Authorization | NameKind::Vague => "secret",
        NameKind::Token => "token",
    };
    private_key::wrapped(view, value.start, value.end()).or_else(|| Some(value.secret(rule, view)))
}

/// Returns the lines below a name that are indented as the first of them.
fn lines(view: &View<'_>, start: usize, name_end: usize) -> Option<Secret> {
    let name = Name::read(view, &(name::start(view)..name_end))?;
    let end = view.run_most(start, JUDGED, |byte| !byte.is_ascii_control() && byte != b'\\' && byte != b'"');
    if let Some(block) = private_key::wrapped(view, start, end) {
        return Some(block);
    }
    let text = view.text(start, end);
    let is_known = !matches!(name.kind, NameKind::Vague) && text.len() >= 4;
    let is_word = !text.contains(&b' ') || name.is_phrase;
    (is_known && is_word && !is_placeholder(text) && !text.starts_with(b"-----")).then_some(Secret {
        rule: "password",
        start,
        end,
        belongs: None,
    })
}

/// Returns the secrets of a table below a name that is a heading.
pub(super) fn find_cells(view: &View<'_>) -> Vec<Secret> {
    if !name::is_end(view) {
        return Vec::new();
    }
    let end = name::end(view);
    // Only one in thousands of names is in a table.
    let next = view.run_most(end, 64, |byte| b" \"'`*".contains(&byte));
    let follows = view.byte(next);
    if !follows.is_none_or(|byte| b"|,;)\t\r\n\\".contains(&byte) || !byte.is_ascii() || next > end + 1) {
        return Vec::new();
    }
    let start = name::start(view);
    let front = view.before(start).iter().rev().find(|byte| !b" \"'`*".contains(byte));
    let is_list =
        follows.is_none_or(|byte| b",;\t\r\n\\".contains(&byte)) && view.byte(next + 1) != Some(b' ');
    let is_heading = is_list
        || front.is_none_or(|&byte| b"|,;(\t\n".contains(&byte) || !byte.is_ascii())
        || view.before(start).ends_with(b"  ");
    let name = is_heading.then(|| Name::read(view, &(start..end))).flatten();
    let Some(Name { kind, .. }) = name.filter(|name| name.kind != NameKind::Vague) else { return Vec::new() };
    let found = insert::values(view, start, end).filter(|found| !found.is_empty());
    found.unwrap_or_else(|| table::cells(view, start, end, kind))
}

/// Returns the value of an `Authorization` header, after its scheme.
fn authorization(view: &View<'_>, at: usize) -> Option<Secret> {
    let at = quote_at(view, at).map_or(at, |(_, end)| end);
    let scheme = view.run_most(at, 16, |byte| byte.is_ascii_alphabetic());
    let has_scheme = scheme > at && view.byte(scheme) == Some(b' ');
    let value = credential(view, if has_scheme { scheme + 1 } else { at });
    let least = match (has_scheme, is_mixed(value.text)) {
        (true, true) => 6,
        (true, false) | (false, true) => 16,
        (false, false) => return None,
    };
    (value.text.len() >= least).then(|| value.secret("authorization", view))
}
