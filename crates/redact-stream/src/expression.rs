//! Expressions on bytes, which need not be UTF-8.

use regex::bytes::{Regex, RegexBuilder};

/// Compiles one of our own expressions.
pub(super) fn expression(text: &str) -> Regex {
    // A test makes all of them.
    RegexBuilder::new(text).unicode(false).build().unwrap_or_else(|error| panic!("{error}"))
}

/// Makes functions that return true if a text matches an expression.
macro_rules! matchers {
    ($($(#[$doc:meta])* $visibility:vis fn $name:ident = $pattern:expr;)*) => {$(
        $(#[$doc])*
        $visibility fn $name(text: &[u8]) -> bool {
            static PATTERN: std::sync::LazyLock<regex::bytes::Regex> =
                std::sync::LazyLock::new(|| $crate::expression::expression($pattern));
            PATTERN.is_match(text)
        }
    )*};
}
pub(super) use matchers;
