//! A short hash that is equal for failures of one cause.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::failure::Failure;
use super::normalize::normalize;
use super::scan::id_key;
use super::words::{contains_any, starts_with_any};

/// Part of every hash, so that hashes of different versions never compare equal.
const VERSION: u32 = 2;

/// Hashes of a failure at three levels: equal ones mean the same cause, the same place, or the same kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Fingerprint {
    /// The same test, for the same reason, with the same values. This is what records keep.
    pub strict: String,
    /// The same kind of error in the same file, whatever the test and the values.
    pub loose: String,
    /// The same kind of error.
    pub tool: String,
}

impl Fingerprint {
    /// Returns the fingerprint of a failure; `tests` are the names of the tests that failed with it.
    pub(super) fn of(failure: &Failure, tests: &[&str]) -> Self {
        // Not all reporters of Catch2 name the test.
        let id = if failure.tool == "catch2" { String::new() } else { name(id_key(&failure.id)) };
        let message = plain(&failure.message);
        // Lints of rustc have no name in its short form.
        let is_lint = failure.tool == "compiler"
            && failure.code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        let code = if is_lint { String::new() } else { failure.code.clone() };
        let mut strict = vec![id.clone(), code, message.clone()];
        if !message.contains("<time>") {
            strict.extend(values(failure, &message));
        }
        if id.is_empty() {
            strict.push(failure.file.clone());
        }
        // If one of two failing tests is repaired, the fingerprint changes.
        let tests: BTreeSet<String> = tests.iter().map(|test| name(id_key(test))).collect();
        if tests.len() > 1 {
            strict.extend(tests);
        }
        let kind = if failure.code.is_empty() { template(&message) } else { failure.code.clone() };
        Self {
            strict: hash("strict", &strict),
            loose: hash("loose", &[kind.clone(), failure.file.clone()]),
            tool: hash("tool", &[failure.stage.as_str().to_owned(), kind]),
        }
    }

    /// Returns the fingerprint of an output without a recognized failure.
    pub(super) fn of_text(lines: &[&str]) -> Self {
        let lines: Vec<String> = lines.iter().map(|line| normalize(line)).collect();
        Self { strict: hash("strict", &lines), loose: hash("loose", &lines), tool: hash("tool", &[]) }
    }
}

/// Returns a name in the form that all reporters share: `PHPUnit` shows `testAddsAll` as `Adds all`.
fn name(id: &str) -> String {
    let words = id.strip_prefix("test").filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()));
    let Some(words) = words else { return normalize(id).to_lowercase() };
    let spaced =
        words.chars().flat_map(|c| [Some(' ').filter(|_| c.is_ascii_uppercase()), Some(c)]).flatten();
    spaced.collect::<String>().trim_start().to_ascii_lowercase()
}

/// Returns a message in the form that all reporters share: masked, unquoted, without the name of the error in front.
fn plain(message: &str) -> String {
    let message = normalize(message).replace('\'', "");
    let message = message.trim_start_matches("→ ").trim_start_matches("Uncaught ");
    // Catch2: `CHECK( x == y )`
    let check = message.split_once("( ").and_then(|(name, rest)| {
        let is_macro = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        rest.strip_suffix(" )").filter(|_| is_macro)
    });
    let message = check.unwrap_or(message);
    let named = message.split_once(": ").filter(|(name, rest)| {
        let name = name.split(" [").next().unwrap_or_default();
        let is_name = name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Failure");
        is_name && !name.contains(' ') && !rest.is_empty()
    });
    named.map_or(message, |(_, rest)| rest).trim_end_matches(['.', ':']).to_owned()
}

/// Returns the expected and the actual value, sorted. Empty if the message has both, as not every reporter repeats them.
fn values(failure: &Failure, message: &str) -> Vec<String> {
    let mut values: Vec<String> = failure
        .values
        .iter()
        .map(|value| normalize(value).replace('\'', "").trim_end_matches(',').to_owned())
        .filter(|value| {
            let is_legend = contains_any(value, &["actual - expected", "expected - actual"])
                || starts_with_any(value, &["- Expected", "+ Received", "help: "])
                || value.ends_with(':');
            value.contains(char::is_alphanumeric) && !is_legend
        })
        .collect();
    if values.iter().all(|value| has_word(message, bare(value))) {
        return Vec::new();
    }
    // Values that differ only in the order of their members are compared without it.
    let first = values.first().map(|first| sorted_members(first));
    let first = first.filter(|first| first.contains(' ') && values.len() > 1);
    if let Some(first) = first.filter(|first| values.iter().all(|value| sorted_members(value) == *first)) {
        return vec![first];
    }
    for value in values.iter_mut().filter(|value| value.starts_with(['+', '-'])) {
        *value = bare(value).to_owned();
    }
    values.sort_unstable();
    values.dedup();
    values
}

/// Returns a value without its label, or the sign of its side.
fn bare(value: &str) -> &str {
    let value = value.strip_prefix(['+', '-']).unwrap_or(value).trim_start();
    let label =
        value.split_once(": ").filter(|(label, _)| label.len() <= 24 && !label.contains(['{', '[', '(']));
    label.map_or(value, |(_, value)| value.trim_start())
}

/// Returns true if `words` are in `text`, and not as a part of a longer word.
fn has_word(text: &str, words: &str) -> bool {
    !words.is_empty()
        && text.match_indices(words).any(|(at, _)| {
            !text[..at].ends_with(is_word_char) && !text[at + words.len()..].starts_with(is_word_char)
        })
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn sorted_members(value: &str) -> String {
    let value = value.split_once(": ").map_or(value, |(_, value)| value);
    let words = value.split([' ', ',', '[', ']', '(', ')', '{', '}', '"']);
    let mut words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    words.join(" ")
}

/// Returns a message without its values: no digits, nothing quoted.
fn template(message: &str) -> String {
    let plain = message.split('\'').step_by(2).collect::<String>();
    plain.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn hash(level: &str, parts: &[String]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(format!("{VERSION}\0{level}"));
    for part in parts {
        hasher.update([0]);
        hasher.update(part);
    }
    hasher.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
