//! The name of a feature where a command is expected: `specify ralph 001-login`.

use std::ffi::OsString;

use anyhow::{Error, anyhow};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use ralph_core::record::RALPH;
use ralph_project::feature::is_part;
use ralph_ui::style::one_line;

use crate::cli::completions::feature_names;
use crate::cli::grammar::parse;

/// Returns an error with the command that was meant, if clap does not know a word because it names a feature.
pub fn explain(error: &clap::Error, arguments: &[OsString]) -> Option<Error> {
    let kinds = [
        (ErrorKind::InvalidSubcommand, ContextKind::InvalidSubcommand),
        (ErrorKind::UnknownArgument, ContextKind::InvalidArg),
    ];
    let (_, kind) = kinds.into_iter().find(|(kind, _)| *kind == error.kind())?;
    let Some(ContextValue::String(word)) = error.get(kind) else { return None };
    if word.starts_with('-') {
        return None;
    }
    let names = feature_names(arguments).ok()?;
    let is_typo = error.get(ContextKind::SuggestedSubcommand).is_some();
    let name = meant(word, is_typo, &names)?;
    let place = arguments.iter().position(|argument| argument.to_str() == Some(word))?;
    let mut corrected = arguments.to_vec();
    corrected.remove(place);
    corrected.extend(["--feature", name].map(OsString::from));
    parse(&corrected).ok()?;
    let words: Vec<_> = corrected.iter().map(|argument| argument.to_string_lossy()).collect();
    Some(anyhow!(
        "`{}` is a feature, not a command\nhint: `{RALPH} {}`",
        one_line(word),
        one_line(&words.join(" "))
    ))
}

/// Returns the one feature that a word names: by name, path or number, or by a part of its name unless the word is
/// likely to be a mistyped command.
fn meant<'a>(word: &str, is_typo: bool, names: &'a [String]) -> Option<&'a str> {
    let last = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let number = format!("{last}-");
    let kinds: [&dyn Fn(&str) -> bool; 3] =
        [&|name| name == last, &|name| name.starts_with(&number), &|name| !is_typo && is_part(last, name)];
    kinds.into_iter().find_map(|is_it| {
        let mut found = names.iter().filter(|name| is_it(name));
        found.next().filter(|_| found.next().is_none()).map(String::as_str)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_a_feature_by_its_name_number_or_a_unique_part() {
        let names = ["001-login", "002-logout", "003-status-page"].map(str::to_owned);
        for (word, is_typo, expected) in [
            ("001-login", true, Some("001-login")),
            ("specs/002-logout/", false, Some("002-logout")),
            ("003", true, Some("003-status-page")),
            ("login", false, Some("001-login")),
            ("LOGOUT", false, Some("002-logout")),
            ("log", false, None),
            ("stat", true, None),
            ("stat", false, Some("003-status-page")),
            ("004", false, None),
            ("", false, None),
        ] {
            assert_eq!(meant(word, is_typo, &names), expected, "{word}");
        }
    }
}
