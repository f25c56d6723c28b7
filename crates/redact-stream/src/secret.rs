//! What a secret is, what stands in its place, and how much is seen around it.

use std::collections::BTreeMap;
use std::ops::Deref;

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

/// What continues a secret behind what a rule sees of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rest {
    /// Bytes of a class.
    Run(Class),
    /// Lines of a private key.
    KeyBlock,
}

/// A secret.
#[derive(Debug, Clone)]
pub(super) struct Secret {
    pub(super) rule: &'static str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// What it consists of, where it may go on.
    pub(super) belongs: Option<Rest>,
}

/// A text without secrets: only a [`Redactor`](super::Redactor) makes one. What shortens or joins texts takes this one, as half a secret
/// would not be known for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redacted(pub(super) String);

impl Redacted {
    /// Returns `part`, which was made of this text and of nothing else.
    #[must_use]
    pub fn part(&self, part: impl Into<String>) -> Self {
        Self(part.into())
    }
}

impl Deref for Redacted {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Redacted> for String {
    fn from(text: Redacted) -> Self {
        text.0
    }
}

/// Returns the end of the replacement that begins at `at`, if one does.
pub(super) fn marker_end(bytes: &[u8], at: usize) -> Option<usize> {
    let name = bytes[at..].strip_prefix(MARKER.as_bytes())?;
    let length = name
        .iter()
        .take(MAX_NAME_BYTES)
        .take_while(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-')
        .count();
    (name.get(length) == Some(&b']')).then_some(at + MARKER.len() + length + 1)
}
