//! Values that are secret because of their name: `API_TOKEN=...`, `"password": "..."`, `Authorization: Bearer ...`.

mod judge;
mod name;
mod value;

use super::Secret;
use super::view::View;

pub(super) use judge::{is_mixed, is_placeholder, is_random};
pub(super) use name::windows;
pub(super) use value::{credential, quote_at};

use name::{Kind, Name};
use value::{tie, value};

const MOST_SPACES: usize = 16;

/// How much of a value is looked at to judge it, so that a text of nothing but names takes no longer than others.
const JUDGED: usize = 256;

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    // Most names have no value beside them: that is asked first.
    let end = name::end(view);
    let (tie, at) = tie(view, end)?;
    let name = Name::read(view, &(name::start(view)..end))?;
    if name.kind == Kind::Authorization {
        return authorization(view, at);
    }
    let value = value(view, at, tie)?;
    let follows = view.byte(value.end());
    if !judge::is_secret(&name, tie, &value, follows) {
        return None;
    }
    let rule = match name.kind {
        Kind::Password | Kind::Short => "password",
        Kind::Key | Kind::Authorization | Kind::Vague => "secret",
        Kind::Token => "token",
    };
    Some(value.secret(rule, view))
}

/// The value of an `Authorization` header, behind its scheme.
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
