//! Passwords in addresses: `scheme://user:password@host`.

use super::{MARKER, Secret, View, assignment, contains, run, shape};

pub(super) const ANCHOR: &str = "://";

/// Longer than any user or password that a person would put into an address.
const LONGEST: usize = 1024;

pub(super) fn find(view: &View<'_>) -> Option<Secret> {
    let before = view.bytes[..view.anchor].last()?;
    let rest = view.rest().strip_prefix(ANCHOR.as_bytes())?;
    if !before.is_ascii_alphanumeric() {
        return None;
    }
    let length = run(&rest[..rest.len().min(LONGEST)], is_credential);
    if rest.get(length) != Some(&b'@') {
        return None;
    }
    // A password may hold an `@` that should have been escaped: the last one before the path counts.
    let mut length = length;
    while let Some(more) = rest.get(length + 1..rest.len().min(LONGEST)) {
        let next = run(more, is_credential);
        if more.get(next) != Some(&b'@') {
            break;
        }
        length += 1 + next;
    }
    let credentials = &rest[..length];
    let colon = credentials.iter().position(|&byte| byte == b':')?;
    let (user, password) = (&credentials[..colon], &credentials[colon + 1..]);
    if password.is_empty() || contains(credentials, MARKER.as_bytes()) || assignment::is_placeholder(password)
    {
        return None;
    }
    let start = view.anchor + ANCHOR.len();
    let end = start + length;
    // Some services take a token for the user's name.
    let start = if shape::is_known(user) || user.len() > 64 { start } else { start + colon + 1 };
    Some(Secret { rule: "url-password", start, end, belongs: None })
}

fn is_credential(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"/@\"'`<>\\?#|".contains(&byte)
}
