//! One short hash for one cause of failure, whatever the run looked like.

use sha2::{Digest, Sha256};

use super::failure::Failure;
use super::normalize::normalize;
use super::scan::id_key;

/// Goes into every hash, so that hashes made in another way never look equal.
const VERSION: u32 = 1;

/// A failure at three distances. Equal texts mean the same cause, the same spot, the same kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The same test, for the same reason, with the same values. This is what records keep.
    pub strict: String,
    /// The same kind of error in the same file, whatever the test and the values.
    pub loose: String,
    /// The same kind of error.
    pub tool: String,
}

impl Fingerprint {
    pub(super) fn of(failure: &Failure) -> Self {
        let id = normalize(id_key(&failure.id));
        let message = plain(&failure.message);
        let mut strict = vec![id.clone(), failure.code.clone(), message.clone()];
        if !message.contains("<time>") {
            strict.extend(values(failure));
        }
        if id.is_empty() {
            strict.push(failure.file.clone());
        }
        let kind = if failure.code.is_empty() { template(&message) } else { failure.code.clone() };
        Self {
            strict: hash("strict", strict.iter().map(String::as_str)),
            loose: hash("loose", [kind.as_str(), failure.file.as_str()].into_iter()),
            tool: hash("tool", [failure.stage.as_str(), kind.as_str()].into_iter()),
        }
    }

    /// Of an output in which nothing calls itself an error.
    pub(super) fn of_text(lines: &[&str]) -> Self {
        let lines: Vec<String> = lines.iter().map(|line| normalize(line)).collect();
        let all = || lines.iter().map(String::as_str);
        Self {
            strict: hash("strict", all()),
            loose: hash("loose", all()),
            tool: hash("tool", std::iter::empty()),
        }
    }
}

/// A message as every reporter prints it: masked, unquoted, without the name of the error in front.
fn plain(message: &str) -> String {
    let message = normalize(message).replace('\'', "");
    let message = message.trim_start_matches("Uncaught ");
    let named = message.split_once(": ").filter(|(name, rest)| {
        let name = name.split(" [").next().unwrap_or_default();
        let is_name = name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Failure");
        is_name && !name.contains(' ') && !rest.is_empty()
    });
    named.map_or(message, |(_, rest)| rest).to_owned()
}

/// What was expected and what came, in an order of its own.
fn values(failure: &Failure) -> Vec<String> {
    let is_said = |value: &String| {
        let has_words = value.chars().any(char::is_alphanumeric);
        let is_legend = value.contains("actual - expected")
            || value.starts_with("- Expected")
            || value.starts_with("+ Received");
        has_words && !is_legend
    };
    let plain = |value: &String| normalize(value).replace('\'', "").trim_end_matches(',').to_owned();
    let mut values: Vec<String> = failure.values.iter().map(plain).filter(is_said).collect();
    // Where the order of the members is the only difference, it is another in each run.
    let members: Vec<Vec<String>> = values.iter().map(|value| members(value)).collect();
    if let [first, others @ ..] = members.as_slice()
        && first.len() > 1
        && !others.is_empty()
        && others.iter().all(|other| other == first)
    {
        return first.clone();
    }
    values.sort_unstable();
    values
}

/// The words of a value, sorted, without what introduces it.
fn members(value: &str) -> Vec<String> {
    let value = value.split_once(": ").map_or(value, |(_, value)| value);
    let parts = value
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '(' | ')' | '{' | '}' | '"'));
    let mut words: Vec<String> = parts.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    words.sort_unstable();
    words
}

/// A message without its values: no digits, nothing quoted.
fn template(message: &str) -> String {
    let mut out = String::new();
    let mut is_quoted = false;
    for c in message.chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            c if is_quoted || c.is_ascii_digit() => {}
            c => out.push(c),
        }
    }
    out
}

fn hash<'a>(level: &str, parts: impl Iterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    hasher.update(format!("{VERSION}\0{level}"));
    for part in parts {
        hasher.update([0]);
        hasher.update(part);
    }
    hasher.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
