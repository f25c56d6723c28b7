//! What a secret is, what stands in its place, and how much is seen around it.

use std::collections::BTreeMap;

use super::class::Class;

/// How often each rule matched, by its name.
pub type Counts = BTreeMap<&'static str, u64>;

/// What a rule may see after the place where a secret shows itself.
pub(super) const AHEAD: usize = 64 * 1024;

/// What a rule may see before that place: enough for the name of a variable.
pub(super) const BEHIND: usize = 256;

/// A replacement begins with this. Text that holds it has been here before.
pub(super) const MARKER: &str = "[redacted:";

/// The longest name of a rule, and more.
pub(super) const MAX_NAME_BYTES: usize = 48;

/// A secret.
#[derive(Debug, Clone)]
pub(super) struct Secret {
    pub(super) rule: &'static str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The bytes of which it consists, where it is of one kind and may go on.
    pub(super) belongs: Option<Class>,
}

/// Returns the end of the replacement that begins at `at`, if one does.
pub(super) fn marker_end(bytes: &[u8], at: usize) -> Option<usize> {
    let name = bytes[at..].strip_prefix(MARKER.as_bytes())?;
    let is_name = |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-';
    let length = name.iter().take(MAX_NAME_BYTES).take_while(is_name).count();
    (name.get(length) == Some(&b']')).then_some(at + MARKER.len() + length + 1)
}
