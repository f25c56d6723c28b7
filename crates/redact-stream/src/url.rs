//! Credentials in addresses: `scheme://user:password@host`, and signatures in their queries.

use super::class::{encoded, is_word};
use super::gate::{Window, WindowByte, window};
use super::secret::Secret;
use super::view::View;
use super::{assignment, shape};

/// How an address goes on after its scheme, and the same as some programs write it in JSON.
const MARKS: [&[u8]; 2] = [b"://", b":\\/\\/"];

/// Longer than any user or password that a person would put into an address.
const MAX_USERINFO_BYTES: usize = 32 * 1024;

/// Minimum length of a user name that is a token, as some services take it.
const TOKEN: usize = 20;

pub(super) fn windows() -> [Window; 2] {
    let scheme = WindowByte::Of(|byte| byte.is_ascii_alphanumeric());
    MARKS
        .map(|mark| [scheme, WindowByte::Byte(mark[0]), WindowByte::Byte(mark[1]), WindowByte::Byte(mark[2])])
}

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    let mark = view.anchor + 1;
    let start = mark + MARKS.iter().find(|text| view.has(mark, text))?.len();
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
    let start = if shape::is_known(user) || user.len() > 64 { start } else { start + colon + 1 };
    Some(Secret { rule: "url-password", start, end, belongs: None })
}

fn is_credential(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"/@\"'`<>\\?#|".contains(&byte)
}

/// The ends of the names of signatures, and of those what is looked for.
const SIGNATURES: [(&str, &str); 2] = [("", "sig="), ("ignat", "ure=")];

pub(super) fn signature_windows() -> [Window; 2] {
    SIGNATURES.map(|(_, text)| window(text, is_word))
}

/// Returns what makes an address a key: `?sig=`, `&X-Amz-Signature=`.
pub(super) fn find_signature(view: &View<'_>) -> Option<Secret> {
    let anchor = view.anchor;
    let is_it = |&&(front, text): &&(&str, &str)| {
        view.has(anchor, text.as_bytes()) && view.before(anchor).ends_with(front.as_bytes())
    };
    let (front, text) = SIGNATURES.iter().find(is_it)?;
    let before = view.before(anchor - front.len());
    let name = before.iter().rev().take(24).take_while(|&&byte| is_word(byte) || byte == b'-').count();
    let is_query =
        matches!(&before[..before.len() - name], [.., b'?' | b'&'] | [.., b'u', b'0', b'0', b'2', b'6'])
            || before.ends_with(b"u0026")
            || before.ends_with(b"&amp;");
    let start = anchor + text.len();
    let end = view.run_most(start, MAX_USERINFO_BYTES, encoded);
    let is_secret = is_query && end - start >= TOKEN && assignment::is_random(view.text(start, end));
    is_secret.then_some(Secret { rule: "url-signature", start, end, belongs: None })
}
