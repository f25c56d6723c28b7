//! What a setting may hold, and how each layer's spelling becomes it.

use std::fmt;
use std::time::Duration;

use regex::Regex;
use serde_json::Value as Json;

use super::duration::{display_duration, display_size, parse_duration, parse_size};
use super::key::{Absence, Key, STRATEGIES, ValueKind};

/// A checked value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Unset,
    Count(u64),
    Number(f64),
    Duration(Duration),
    Size(u64),
    Switch(bool),
    Text(String),
    List(Vec<String>),
}

impl Value {
    /// As it is in `config --json` and session.json: null for unset, durations and sizes as text.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Unset => Json::Null,
            Self::Count(count) => (*count).into(),
            Self::Number(number) => (*number).into(),
            Self::Switch(switch) => (*switch).into(),
            Self::List(list) => list.clone().into(),
            Self::Duration(_) | Self::Size(_) | Self::Text(_) => self.to_string().into(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => f.write_str("none"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Duration(duration) => f.write_str(&display_duration(*duration)),
            Self::Size(bytes) => f.write_str(&display_size(*bytes)),
            Self::Switch(switch) => write!(f, "{switch}"),
            Self::Text(text) => f.write_str(text),
            Self::List(list) => f.write_str(&list.join(", ")),
        }
    }
}

/// A value as a layer gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Raw {
    /// Bare text, from git, the environment or a flag: its type is not known yet.
    Bare(String),
    /// From here on: typed, from the file.
    Text(String),
    Integer(String),
    Float(String),
    Switch(bool),
    List(Vec<String>),
    /// Something that no setting takes.
    Other,
}

impl Raw {
    /// Text that can be an argument or a path: not blank, and no NUL, which no child can be given.
    pub fn line(&self) -> Option<&str> {
        let (Self::Bare(text) | Self::Text(text)) = self else { return None };
        (!text.trim().is_empty() && !text.contains('\0')).then_some(text)
    }

    pub fn list(&self) -> Option<&[String]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }
}

/// Why a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvalidValue {
    /// The form that is wanted, to be put after "expected".
    pub expected: String,
    /// What is wrong in particular, if there is more to say.
    pub detail: Option<String>,
}

impl InvalidValue {
    pub fn expected(form: impl Into<String>) -> Self {
        Self { expected: form.into(), detail: None }
    }
}

impl Key {
    /// Returns the form of a right value, in words.
    pub fn expected(&self) -> String {
        let form = match self.kind {
            ValueKind::Count { least: 0, most: u64::MAX } => "a whole number".to_owned(),
            ValueKind::Count { least, most } => format!("a whole number from {least} to {most}"),
            ValueKind::Ratio => "a number from 0 to 1".to_owned(),
            ValueKind::Money => "an amount in US dollars such as 2.50".to_owned(),
            ValueKind::Duration => "a duration such as 10s, 60m or 1h30m".to_owned(),
            ValueKind::Size => "a size such as 500KiB, 5MiB or a number of bytes".to_owned(),
            ValueKind::Switch => "true or false".to_owned(),
            ValueKind::Word(words) => words.join(", "),
            ValueKind::Words(words) => format!("a list of {}", words.join(", ")),
            ValueKind::Strategy => STRATEGIES.join(", "),
            ValueKind::Text => "text".to_owned(),
            ValueKind::Names => "a name or a list of names".to_owned(),
            ValueKind::Pattern => "a regular expression".to_owned(),
            ValueKind::Patterns => "a list of regular expressions".to_owned(),
        };
        match self.absence {
            Absence::Never => form,
            Absence::None => format!("{form}, or none"),
            Absence::NoneOrZero => format!("{form}, or none (also 0)"),
        }
    }

    /// Returns the checked value of what a layer gives.
    pub(super) fn read(&self, raw: &Raw) -> Result<Value, InvalidValue> {
        if self.is_absent(raw) {
            return Ok(Value::Unset);
        }
        let value = match (self.kind, raw) {
            (ValueKind::Count { least, most }, Raw::Bare(text) | Raw::Integer(text)) => {
                let count = text.trim().parse().ok();
                count.filter(|count| (least..=most).contains(count)).map(Value::Count)
            }
            (ValueKind::Ratio, Raw::Bare(text) | Raw::Integer(text) | Raw::Float(text)) => {
                number(text).filter(|ratio| (0.0..=1.0).contains(ratio)).map(Value::Number)
            }
            (ValueKind::Money, Raw::Bare(text) | Raw::Integer(text) | Raw::Float(text) | Raw::Text(text)) => {
                number(text.trim().trim_start_matches('$')).filter(|cost| *cost > 0.0).map(Value::Number)
            }
            (ValueKind::Duration, Raw::Bare(text) | Raw::Text(text)) => {
                parse_duration(text).filter(|duration| !duration.is_zero()).map(Value::Duration)
            }
            (ValueKind::Size, Raw::Bare(text) | Raw::Text(text) | Raw::Integer(text)) => {
                parse_size(text).filter(|bytes| *bytes > 0).map(Value::Size)
            }
            (ValueKind::Switch, Raw::Switch(switch)) => Some(Value::Switch(*switch)),
            (ValueKind::Switch, Raw::Bare(text)) => git_switch(text).map(Value::Switch),
            (ValueKind::Word(words), Raw::Bare(text) | Raw::Text(text)) => {
                words.contains(&text.trim()).then(|| Value::Text(text.trim().to_owned()))
            }
            (ValueKind::Text | ValueKind::Strategy, raw) => {
                raw.line().map(|text| Value::Text(text.to_owned()))
            }
            (ValueKind::Names, Raw::Bare(text)) => names(text.split(',')),
            (ValueKind::Names, Raw::Text(text)) => names([text.as_str()]),
            (ValueKind::Names, Raw::List(list)) => names(list.iter().map(String::as_str)),
            (ValueKind::Words(words), raw) => {
                let listed = match raw {
                    Raw::Bare(text) => names(text.split(',')),
                    Raw::Text(text) => names([text.as_str()]),
                    Raw::List(list) => names(list.iter().map(String::as_str)),
                    Raw::Integer(_) | Raw::Float(_) | Raw::Switch(_) | Raw::Other => None,
                };
                let is_word = |word: &String| words.contains(&word.as_str());
                listed.filter(|value| matches!(value, Value::List(list) if list.iter().all(is_word)))
            }
            (ValueKind::Pattern, Raw::Bare(text) | Raw::Text(text)) => {
                self.check_pattern(text)?;
                Some(Value::Text(text.clone()))
            }
            (ValueKind::Patterns, Raw::Bare(text)) => Some(self.patterns(text.lines())?),
            (ValueKind::Patterns, Raw::Text(text)) => Some(self.patterns([text.as_str()])?),
            (ValueKind::Patterns, Raw::List(list)) => Some(self.patterns(list.iter().map(String::as_str))?),
            _ => None,
        };
        value.ok_or_else(|| self.invalid(None))
    }

    fn is_absent(&self, raw: &Raw) -> bool {
        let is_zero = |text: &str| self.absence == Absence::NoneOrZero && matches!(text.trim(), "0" | "0s");
        self.absence != Absence::Never
            && match raw {
                Raw::Bare(text) | Raw::Text(text) => {
                    matches!(text.trim(), "" | "none") || text.trim() == self.unset || is_zero(text)
                }
                Raw::Integer(text) => is_zero(text),
                Raw::List(list) => list.is_empty(),
                Raw::Float(_) | Raw::Switch(_) | Raw::Other => false,
            }
    }

    fn patterns<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Result<Value, InvalidValue> {
        let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).map(str::to_owned).collect();
        texts.iter().try_for_each(|text| self.check_pattern(text))?;
        Ok(Value::List(texts))
    }

    fn check_pattern(&self, text: &str) -> Result<(), InvalidValue> {
        pattern_error(text).map_or(Ok(()), |reason| Err(self.invalid(Some(reason))))
    }

    fn invalid(&self, detail: Option<String>) -> InvalidValue {
        InvalidValue { expected: self.expected(), detail }
    }
}

/// Returns why `text` is no regular expression, in a line; `None` if it is one.
pub(super) fn pattern_error(text: &str) -> Option<String> {
    let words = Regex::new(text).err()?.to_string();
    let reason = words.lines().rev().find_map(|line| line.trim().strip_prefix("error: "));
    Some(reason.unwrap_or(&words).to_owned())
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Returns the spellings that `git config --type=bool` knows.
fn git_switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" | "" => Some(false),
        _ => None,
    }
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Value> {
    let names: Vec<_> = names.into_iter().map(|name| name.trim().to_owned()).collect();
    let are_names = !names.is_empty() && names.iter().all(|name| !name.is_empty() && !name.contains('\0'));
    are_names.then_some(Value::List(names))
}

#[cfg(test)]
mod tests {
    use super::super::settings::{KEYS, find};
    use super::*;

    #[track_caller]
    fn case(key: &str, raw: impl std::borrow::Borrow<Raw>, expected: impl Into<Option<Value>>) {
        let raw = raw.borrow();
        assert_eq!(find(key).unwrap().read(raw).ok(), expected.into(), "{key} {raw:?}");
    }

    fn bare(text: &str) -> Raw {
        Raw::Bare(text.to_owned())
    }

    #[test]
    fn every_default_fits_its_own_key() {
        for key in KEYS {
            let value = key.read(&bare(key.default));
            assert!(value.is_ok(), "{}: {value:?}", key.name);
            assert_eq!(value == Ok(Value::Unset), key.default == "none", "{}", key.name);
        }
    }

    #[test]
    fn every_doc_is_one_line_with_a_capital_and_no_full_stop() {
        for Key { name, doc, .. } in KEYS {
            assert!(doc.starts_with(char::is_uppercase) && !doc.ends_with('.'), "{name}: {doc}");
            assert!(!doc.contains('\n'), "{name}");
        }
    }

    #[test]
    fn bare_text_takes_the_type_of_its_key() {
        case("max-iterations", bare("7"), Some(Value::Count(7)));
        case("max-iterations", bare("0"), None);
        case("max-iterations", bare("-1"), None);
        case("max-iterations", bare("99999999999999999999"), None);
        case("max-iterations", bare("none"), None);
        case("skip-after", bare("0"), Some(Value::Unset));
        case("progress.max-entries", bare("0"), Some(Value::Count(0)));
        case("timeout", bare("none"), Some(Value::Unset));
        case("timeout", bare("0"), Some(Value::Unset));
        case("timeout", bare("90"), None);
        case("max-output", bare("1MiB"), Some(Value::Size(1 << 20)));
        case("snapshot-max-file", bare("0"), None);
        case("max-cost", bare("$2.50"), Some(Value::Number(2.5)));
        case("max-cost", bare("-1"), None);
        case("max-cost", bare("inf"), None);
        case("history.threshold", bare("1.1"), None);
        case("untick", bare("off"), Some(Value::Switch(false)));
        case("untick", bare("Yes"), Some(Value::Switch(true)));
        case("untick", bare("maybe"), None);
        case("completion", bare("trust"), None);
        case("model", bare("the agent's"), Some(Value::Unset));
        case("agent", bare("claude, codex"), Some(Value::List(vec!["claude".into(), "codex".into()])));
        case("agent", bare("claude,,codex"), None);
        case("redaction.rules", bare("a,b\nc+"), Some(Value::List(vec!["a,b".into(), "c+".into()])));
        case("redaction.rules", bare("("), None);
        case("capture.port", bare(r"port (\d+)"), Some(Value::Text(r"port (\d+)".into())));
    }

    #[test]
    fn the_file_must_have_the_type_itself() {
        case("max-iterations", Raw::Text("7".into()), None);
        case("untick", Raw::Text("yes".into()), None);
        case("untick", Raw::Integer("1".into()), None);
        case("timeout", Raw::Integer("0".into()), Some(Value::Unset));
        case("timeout", Raw::Integer("60".into()), None);
        case("max-output", Raw::Integer("4096".into()), Some(Value::Size(4096)));
        case("max-cost", Raw::Float("2.5".into()), Some(Value::Number(2.5)));
        case("validation.command", Raw::Text(String::new()), Some(Value::Unset));
        case("validation.command", Raw::Switch(true), None);
        case("validation.command", Raw::Text("a\0b".into()), None);
        case("agent", Raw::List(vec![]), Some(Value::Unset));
        case("agent", Raw::Text("a, b".into()), Some(Value::List(vec!["a, b".into()])));
        case("agent", Raw::Other, None);
    }
}
