//! Messages about unknown keys and invalid values.

use anyhow::Error;

use crate::record::{RALPH, Refusal, did_you_mean};

use super::key::Key;
use super::origin::Origin;
use super::settings::KEYS;
use super::spelling::{git_name, variable_name};
use super::value::InvalidValue;

/// `name` is spelled as the layer of `origin` spells it.
pub(super) fn unknown(origin: &Origin, name: &str, further: &[&str]) -> Error {
    let refusal = Refusal::new(format!("{}: unknown key `{name}`", origin.place()));
    if name.replace(['_', '.'], "-") == "agent-command" {
        let hint =
            "an agent of your own is a table `[agents.NAME]` with `command = \"…\"`, and `agent = \"NAME\"`";
        return refusal.with_hint(hint).into();
    }
    let known: Vec<String> = KEYS.iter().map(|key| spelled(key, origin)).collect();
    let mut names = known.iter().map(String::as_str).chain(further.iter().copied());
    // A key that was written outside its table, or in a wrong one, is known by its last part.
    let last = name.rsplit('.').next().unwrap_or(name);
    let of_flag = KEYS.iter().zip(&known).find(|(key, _)| key.flag.is_some_and(|(long, _)| long == name));
    let suggestion = of_flag
        .map(|(_, known)| known.as_str())
        .or_else(|| did_you_mean(name, names.clone()))
        .or_else(|| names.find(|known| known.rsplit('.').next() == Some(last)));
    match suggestion {
        Some(known) => refusal.with_hint(format!("did you mean `{known}`?")),
        None => refusal.with_hint(format!("`{RALPH} help configuration` lists every key")),
    }
    .into()
}

/// A table of the file that holds no settings. It may have the name of a flag: `[validate]`.
pub(super) fn unknown_table(origin: &Origin, name: &str) -> Error {
    let refusal = Refusal::new(format!("{}: unknown table `[{name}]`", origin.place()));
    let tables = KEYS.iter().filter_map(|key| Some((key, key.name.rsplit_once('.')?.0)));
    let of_flag = tables.clone().find(|(key, _)| key.flag.is_some_and(|(long, _)| long == name));
    let names = tables.map(|(_, table)| table).chain(["agents.NAME", "loop.NAME"]);
    match of_flag.map(|(_, table)| table).or_else(|| did_you_mean(name, names)) {
        Some(table) => refusal.with_hint(format!("did you mean `[{table}]`?")),
        None => refusal.with_hint(format!("`{RALPH} help configuration` lists every key")),
    }
    .into()
}

fn spelled(key: &Key, origin: &Origin) -> String {
    match origin {
        Origin::Git { .. } => git_name(key.name),
        Origin::Environment { .. } => variable_name(key.name),
        Origin::Default | Origin::File { .. } | Origin::Flag { .. } => key.name.to_owned(),
    }
}

pub(super) fn invalid_value(origin: &Origin, name: &str, invalid: &InvalidValue) -> Error {
    let detail = invalid.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
    Refusal::new(format!("{}: invalid value for `{name}`{detail}", origin.place()))
        .with_hint(format!("expected {}", invalid.expected))
        .into()
}

/// Returns the error of a key outside of the project's file that only the file may hold.
pub(super) fn file_only(origin: &Origin, name: &str) -> Error {
    Refusal::new(format!("{}: `{name}` is not allowed here", origin.place()))
        .with_hint("set it in .specify/ralph.toml")
        .into()
}

/// Returns the error of a key in the project's file that a file which arrives with a clone must not decide.
pub(super) fn never_in_file(origin: &Origin, key: &Key) -> Error {
    Refusal::new(format!("{}: the project's file cannot set `{}`", origin.place(), key.name))
        .with_hint(format!("set it yourself: `git config {} VALUE`", git_name(key.name)))
        .into()
}
