//! Redaction of what a session records and shows.

use anyhow::{Context, Error, Result, anyhow};
use redact_stream::{PatternList, PatternProblem, Redactor};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Returns a redactor with the patterns of `redaction.rules` and `redaction.allow`.
pub fn redactor_of(rules: &[String], allow: &[String]) -> Result<Redactor> {
    Redactor::new(rules, allow).map_err(|error| {
        let pattern = error.pattern;
        let key = match error.list {
            PatternList::Rules => "redaction.rules",
            PatternList::Allow => "redaction.allow",
        };
        match error.problem {
            PatternProblem::Syntax(cause) => Error::new(cause).context(format!("read `{pattern}` of {key}")),
            PatternProblem::MatchesEmptyText => {
                anyhow!("`{pattern}` of {key} matches an empty text\nhint: ask for at least one character")
            }
        }
    })
}

/// Returns the value with secrets removed from all its texts.
pub fn redacted<T: Serialize + DeserializeOwned>(redactor: &Redactor, value: &T) -> Result<T> {
    let mut json = serde_json::to_value(value).context("redact the record")?;
    redact_texts(redactor, &mut json);
    serde_json::from_value(json).context("redact the record")
}

fn redact_texts(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => *text = redactor.redact_text(text).0,
        Value::Array(values) => {
            redact_words(redactor, values);
            for value in values {
                redact_texts(redactor, value);
            }
        }
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                redact_texts(redactor, value);
                redact_named(redactor, key, "=", value);
            }
            redact_keys(redactor, map);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Redacts keys that contain a secret. Keys that become equal are numbered, so that no value is lost.
fn redact_keys(redactor: &Redactor, map: &mut Map<String, Value>) {
    if map.keys().all(|key| redactor.finds_nothing(key)) {
        return;
    }
    for (key, value) in std::mem::take(map) {
        let plain = redactor.redact_text(&key).0;
        let mut unique = plain.clone();
        for number in 2.. {
            if !map.contains_key(&unique) {
                break;
            }
            unique = format!("{plain} ({number})");
        }
        map.insert(unique, value);
    }
}

/// Redacts words of a command line after an option that names a secret: `--password`, `...`.
fn redact_words(redactor: &Redactor, words: &mut [Value]) {
    for next in 1..words.len() {
        let (before, after) = words.split_at_mut(next);
        if let Some(Value::String(option)) = before.last()
            && option.starts_with('-')
        {
            redact_named(redactor, option, " ", &mut after[0]);
        }
    }
}

/// Redacts a text that is a secret because of its name.
fn redact_named(redactor: &Redactor, name: &str, tie: &str, value: &mut Value) {
    let Value::String(text) = value else { return };
    let (redacted, found) = redactor.redact_text(&format!("{name}{tie}{text}"));
    if !found.is_empty()
        && let Some(rest) = redacted.strip_prefix(name).and_then(|rest| rest.strip_prefix(tie))
    {
        rest.clone_into(text);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_broken_pattern_is_an_error_that_names_its_key() {
        let error = redactor_of(&["a(".to_owned()], &[]).unwrap_err();
        assert!(
            format!("{error:#}").starts_with("read `a(` of redaction.rules: regex parse error"),
            "{error:#}"
        );
        let error = redactor_of(&[], &["a*".to_owned()]).unwrap_err();
        assert!(error.to_string().starts_with("`a*` of redaction.allow matches an empty text\nhint: "));
    }

    #[test]
    fn keys_are_redacted_and_no_value_is_lost() {
        let redactor = Redactor::default();
        let key = |number: u32| format!("ghp_{number}a8Kd03Lx9Qw7Zr5Tn2Vb6Mc1Yf4Hg0Js3P1");
        let value = json!({"a": {key(1): 1, key(2): 2, "plain": key(3)}, "b": [{"api_token": key(4)}]});
        assert_eq!(
            redacted(&redactor, &value).unwrap(),
            json!({
                "a": {
                    "[redacted:github-token]": 1,
                    "[redacted:github-token] (2)": 2,
                    "plain": "[redacted:github-token]",
                },
                "b": [{"api_token": "[redacted:github-token]"}],
            })
        );
    }
}
