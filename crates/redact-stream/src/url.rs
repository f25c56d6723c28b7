//! Credentials in addresses: `scheme://user:password@host`.

use super::secret::Secret;
use super::view::View;
use super::{assignment, first_key};

/// How an address goes on after its scheme, and the same as some programs write it in JSON.
pub(super) const MARKS: [&str; 2] = ["://", ":\\/\\/"];

/// Longer than any user or password that a person would put into an address.
const MAX_USERINFO_BYTES: usize = 32 * 1024;

/// Minimum length of a user name that is a token, as some services take it.
const TOKEN: usize = 20;

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    if !view.before(view.anchor).last().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let start = view.anchor + MARKS.iter().find(|text| view.has(view.anchor, text.as_bytes()))?.len();
    // A password may hold an `@` that should have been escaped: the last one before the path counts.
    let mut end = None;
    let mut at = start;
    while at - start < MAX_USERINFO_BYTES {
        let next = view.run_most(at, MAX_USERINFO_BYTES, is_credential);
        if view.byte(next) != Some(b'@') {
            break;
        }
        end = Some(next);
        at = next + 1;
    }
    let end = end?;
    let credentials = view.text(start, end);
    let Some(colon) = credentials.iter().position(|&byte| byte == b':') else {
        let is_token = credentials.len() >= TOKEN && assignment::is_random(credentials);
        return is_token.then_some(Secret { rule: "url-password", start, end, belongs: None });
    };
    let (user, password) = (&credentials[..colon], &credentials[colon + 1..]);
    if password.is_empty() || assignment::is_placeholder(password) {
        // `https://token:@host`
        let is_token = user.len() >= TOKEN && assignment::is_random(user);
        return is_token.then_some(Secret { rule: "url-password", start, end: start + colon, belongs: None });
    }
    // Some services take a token for the user's name.
    let start = if first_key(user, 1).is_some() || user.len() > 64 { start } else { start + colon + 1 };
    Some(Secret { rule: "url-password", start, end, belongs: None })
}

fn is_credential(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"/@\"'`<>\\?#|".contains(&byte)
}
