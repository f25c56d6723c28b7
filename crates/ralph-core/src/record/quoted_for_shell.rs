//! Words of command lines that we print.

use std::borrow::Cow;

/// Returns a word that every POSIX shell reads as it is.
pub fn quoted_for_shell(word: &str) -> Cow<'_, str> {
    if !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "/._-+,:@%".contains(c)) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}
