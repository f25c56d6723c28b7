//! Texts against lists of words: what tools write is data, in tables beside the code that looks for it.

/// Returns true if `text` begins with one of `words`.
pub(super) fn starts_with_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.starts_with(word))
}

/// Returns true if `text` holds one of `words`.
pub(super) fn contains_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Returns what follows the first of `words` with which `text` begins.
pub(super) fn strip_any<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| text.strip_prefix(word))
}

/// Returns true if `text` begins with a digit.
pub(super) fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns true if `text` has nothing but digits.
pub(super) fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
