//! What a setting may hold, and how each layer's spelling becomes it. A checked value is JSON: null for one that is
//! absent, durations and sizes as text.

use regex::Regex;
use serde_json::Value;

use crate::record::did_you_mean;

use super::duration::{display_duration, display_size, parse_duration, parse_size};
use super::key::{Absence, Key, ValueKind};
use super::subject::subject_error;

/// Returns a value as people read it.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(text).collect::<Vec<_>>().join(", "),
        // 2.0 is what nobody typed.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
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
    fn of_value(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(number) if number.is_f64() => Self::Float(number.to_string()),
            Value::Number(number) => Self::Integer(number.to_string()),
            Value::Bool(switch) => Self::Switch(*switch),
            Value::Array(list) => {
                let texts = list.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect::<Option<_>>().map_or(Self::Other, Self::List)
            }
            Value::Null | Value::Object(_) => Self::Other,
        }
    }

    /// Text that can be an argument or a path: not blank, and no NUL, which no child can be given.
    pub fn line(&self) -> Option<&str> {
        let (Self::Bare(text) | Self::Text(text)) = self else { return None };
        (!text.trim().is_empty() && !text.contains('\0')).then_some(text)
    }

    pub fn list(&self) -> Option<&[String]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    /// Returns names, as one text or several.
    fn names(&self) -> Option<Vec<&str>> {
        let names: Vec<&str> = match self {
            Self::Bare(text) => text.split(',').map(str::trim).collect(),
            Self::Text(text) => vec![text.trim()],
            Self::List(list) => list.iter().map(|name| name.trim()).collect(),
            Self::Integer(_) | Self::Float(_) | Self::Switch(_) | Self::Other => return None,
        };
        let are_names =
            !names.is_empty() && names.iter().all(|name| !name.is_empty() && !name.contains('\0'));
        are_names.then_some(names)
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
    /// Returns what a value must be, for a message.
    pub fn expected(&self) -> String {
        let form = match self.kind {
            ValueKind::Count { least: 0, most: u64::MAX } => "a whole number".to_owned(),
            ValueKind::Count { least, most } => format!("a whole number from {least} to {most}"),
            ValueKind::Ratio => "a number from 0 to 1".to_owned(),
            ValueKind::Money => "an amount in US dollars such as 2.50".to_owned(),
            ValueKind::Duration => "a duration such as 10s, 60m or 1h30m".to_owned(),
            ValueKind::Size => "a size such as 500KiB, 5MiB or a number of bytes".to_owned(),
            ValueKind::Switch => "true or false".to_owned(),
            ValueKind::AutoOrSwitch => "auto, true or false".to_owned(),
            ValueKind::Word(words) | ValueKind::Strategy(words) => words.join(", "),
            ValueKind::Words(words) => format!("a list of {}", words.join(", ")),
            ValueKind::Text => "text".to_owned(),
            ValueKind::Mechanism => format!("{}, or a command with {{command}}", MECHANISMS.join(", ")),
            ValueKind::Names => "a name or a list of names".to_owned(),
            ValueKind::Pattern => "a regular expression".to_owned(),
            ValueKind::Patterns => "a list of regular expressions".to_owned(),
            ValueKind::Subject => {
                "a template such as `feat({{ feature }}): {{ task }} {{ text }}`".to_owned()
            }
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
            return Ok(Value::Null);
        }
        let value = match (self.kind, raw) {
            (ValueKind::Count { least, most }, Raw::Bare(text) | Raw::Integer(text)) => {
                let count = text.trim().parse().ok();
                count.filter(|count: &u64| (least..=most).contains(count)).map(Value::from)
            }
            (ValueKind::Ratio, Raw::Bare(text) | Raw::Integer(text) | Raw::Float(text)) => {
                number(text).filter(|ratio| (0.0..=1.0).contains(ratio)).map(Value::from)
            }
            (ValueKind::Money, Raw::Bare(text) | Raw::Integer(text) | Raw::Float(text) | Raw::Text(text)) => {
                number(text.trim().trim_start_matches('$')).filter(|cost| *cost > 0.0).map(Value::from)
            }
            (ValueKind::Duration, Raw::Bare(text) | Raw::Text(text)) => {
                let read = parse_duration(text).filter(|duration| !duration.is_zero());
                read.map(|duration| display_duration(duration).into())
            }
            (ValueKind::Size, Raw::Bare(text) | Raw::Text(text) | Raw::Integer(text)) => {
                parse_size(text).filter(|bytes| *bytes > 0).map(|bytes| display_size(bytes).into())
            }
            (ValueKind::AutoOrSwitch, Raw::Bare(text) | Raw::Text(text)) if text.trim() == "auto" => {
                Some("auto".into())
            }
            (ValueKind::Switch | ValueKind::AutoOrSwitch, Raw::Switch(switch)) => Some((*switch).into()),
            (ValueKind::Switch | ValueKind::AutoOrSwitch, Raw::Bare(text)) => {
                git_switch(text).map(Value::from)
            }
            (ValueKind::Word(words), Raw::Bare(text) | Raw::Text(text)) => {
                words.contains(&text.trim()).then(|| text.trim().into())
            }
            (ValueKind::Text | ValueKind::Strategy(_), raw) => raw.line().map(Value::from),
            (ValueKind::Mechanism, Raw::Bare(text) | Raw::Text(text)) => match text.trim() {
                word if MECHANISMS.contains(&word) => Some(word.into()),
                line => command_words(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
            },
            (ValueKind::Mechanism, Raw::List(words)) => command_words(words),
            (ValueKind::Names, raw) => {
                if let Raw::Bare(text) = raw
                    && let Some(plain) = without_brackets(text)
                {
                    return Err(self.invalid(Some(format!("without brackets and quotes: `{plain}`"))));
                }
                raw.names().map(Value::from)
            }
            (ValueKind::Words(words), raw) => {
                let listed = raw.names();
                listed.filter(|list| list.iter().all(|word| words.contains(word))).map(Value::from)
            }
            (ValueKind::Pattern, Raw::Bare(text) | Raw::Text(text)) => {
                self.check_pattern(text)?;
                Some(text.as_str().into())
            }
            (ValueKind::Subject, Raw::Bare(text) | Raw::Text(text)) => match subject_error(text) {
                Some(reason) => return Err(self.invalid(Some(reason))),
                None => raw.line().map(Value::from),
            },
            (ValueKind::Patterns, Raw::Bare(text)) => Some(self.patterns(text.lines())?),
            (ValueKind::Patterns, Raw::Text(text)) => Some(self.patterns([text.as_str()])?),
            (ValueKind::Patterns, Raw::List(list)) => Some(self.patterns(list.iter().map(String::as_str))?),
            _ => None,
        };
        value.ok_or_else(|| {
            let mut invalid = self.invalid(None);
            let near = self.meant(raw).map(|word| format!("; did you mean `{word}`?"));
            invalid.expected.extend(near);
            invalid
        })
    }

    /// Refuses what is not a checked value of this setting.
    pub(super) fn check(&self, value: &Value) -> Result<(), InvalidValue> {
        let is_absent = value.is_null() && self.absence != Absence::Never;
        if is_absent || self.read(&Raw::of_value(value))? == *value {
            Ok(())
        } else {
            Err(self.invalid(None))
        }
    }

    /// Returns the known word that an unknown one of a layer is most like.
    fn meant(&self, raw: &Raw) -> Option<&'static str> {
        let (ValueKind::Word(words) | ValueKind::Words(words)) = self.kind else { return None };
        let names = raw.names()?;
        let unknown = names.iter().find(|name| !words.contains(name))?;
        did_you_mean(unknown, words.iter().copied())
    }

    fn is_absent(&self, raw: &Raw) -> bool {
        self.absence != Absence::Never
            && match raw {
                Raw::Bare(text) | Raw::Text(text) => {
                    matches!(text.trim(), "" | "none") || text.trim() == self.unset || self.is_zero(text)
                }
                Raw::Integer(text) => self.is_zero(text),
                Raw::List(list) => list.is_empty(),
                Raw::Float(_) | Raw::Switch(_) | Raw::Other => false,
            }
    }

    fn is_zero(&self, text: &str) -> bool {
        self.absence == Absence::NoneOrZero && matches!(text.trim(), "0" | "0s")
    }

    fn patterns<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Result<Value, InvalidValue> {
        let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).map(str::to_owned).collect();
        texts.iter().try_for_each(|text| self.check_pattern(text))?;
        Ok(texts.into())
    }

    fn check_pattern(&self, text: &str) -> Result<(), InvalidValue> {
        pattern_error(text).map_or(Ok(()), |reason| Err(self.invalid(Some(reason))))
    }

    fn invalid(&self, detail: Option<String>) -> InvalidValue {
        InvalidValue { expected: self.expected(), detail }
    }
}

/// What can keep commands in their place.
const MECHANISMS: &[&str] = &["auto", "srt", "bwrap"];

/// Returns the names of a list that is written as in a file, as a flag takes them; `None` for plain names.
fn without_brackets(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let names: Vec<&str> = inner.unwrap_or(text).split(',').map(str::trim).collect();
    let is_quoted = |name: &&str| {
        ['"', '\''].iter().any(|quote| name.len() > 1 && name.starts_with(*quote) && name.ends_with(*quote))
    };
    // `[ab]*` is a pattern, and a folder may be `[id]`.
    let is_list = inner.is_some() && names.len() > 1 || names.iter().any(is_quoted);
    is_list.then(|| names.iter().map(|name| name.trim_matches(['"', '\''])).collect::<Vec<_>>().join(","))
}

/// Returns a command that has a place for another.
fn command_words(words: &[String]) -> Option<Value> {
    let has_place = words.iter().skip(1).any(|word| word == "{command}");
    let are_words = words.iter().all(|word| !word.is_empty() && !word.contains('\0'));
    (has_place && are_words).then(|| words.into())
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

#[cfg(test)]
mod tests {
    use serde_json::json;

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
            assert_eq!(value == Ok(Value::Null), key.default == "none", "{}", key.name);
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
        case("max-iterations", bare("7"), Some(json!(7)));
        case("max-iterations", bare("0"), None);
        case("max-iterations", bare("-1"), None);
        case("max-iterations", bare("99999999999999999999"), None);
        case("max-iterations", bare("none"), None);
        case("skip-after", bare("0"), Some(Value::Null));
        case("progress.max-entries", bare("0"), Some(json!(0)));
        case("timeout", bare("none"), Some(Value::Null));
        case("timeout", bare("0"), Some(Value::Null));
        case("timeout", bare("90"), None);
        case("max-output", bare("1MiB"), Some(json!("1MiB")));
        case("snapshot-max-file", bare("0"), None);
        case("max-cost", bare("$2.50"), Some(json!(2.5)));
        case("max-cost", bare("-1"), None);
        case("max-cost", bare("inf"), None);
        case("history.threshold", bare("1.1"), None);
        case("untick", bare("off"), Some(json!(false)));
        case("untick", bare("Yes"), Some(json!(true)));
        case("untick", bare("maybe"), None);
        case("completion", bare("trust"), None);
        case("notify", bare("auto"), Some(json!("auto")));
        case("notify", bare("off"), Some(json!(false)));
        case("notify", Raw::Text("auto".into()), Some(json!("auto")));
        case("notify", Raw::Switch(true), Some(json!(true)));
        case("notify", bare("loud"), None);
        case("model", bare("the agent's"), Some(Value::Null));
        case("agent", bare("claude, codex"), Some(json!(["claude", "codex"])));
        case("agent", bare("claude,,codex"), None);
        case("lanes.copy", bare(r#"["x"]"#), None);
        case("lanes.copy", bare("['x', 'y']"), None);
        case("lanes.copy", bare("[x, y]"), None);
        case("lanes.copy", bare(r#""x""#), None);
        case("lanes.copy", bare("app/[id],[id]"), Some(json!(["app/[id]", "[id]"])));
        case("validation.protect", bare("[ab]*"), Some(json!(["[ab]*"])));
        case("lanes.copy", Raw::List(vec!["x".into()]), Some(json!(["x"])));
        case("redaction.rules", bare("a,b\nc+"), Some(json!(["a,b", "c+"])));
        case("redaction.rules", bare("("), None);
        case("capture.port", bare(r"port (\d+)"), Some(json!(r"port (\d+)")));
        case("sandbox", bare("bwrap"), Some(json!("bwrap")));
        case("sandbox", bare("none"), Some(Value::Null));
        case("sandbox", bare("podman run x {command}"), Some(json!(["podman", "run", "x", "{command}"])));
        case("sandbox", bare("podman"), None);
        case("sandbox.network", bare("none"), Some(Value::Null));
        case("sandbox.network", bare("a.example, b.example"), Some(json!(["a.example", "b.example"])));
    }

    #[test]
    fn a_word_that_is_almost_right_is_named() {
        for (key, text, expected) in [
            ("commit", "tasks", "off, task; did you mean `task`?"),
            ("commit", "zebra", "off, task"),
            ("validation.refuse", "focus, skpi", "or none; did you mean `skip`?"),
        ] {
            let invalid = find(key).unwrap().read(&bare(text)).unwrap_err();
            assert!(invalid.expected.ends_with(expected), "{invalid:?}");
        }
    }

    #[test]
    fn the_file_must_have_the_type_itself() {
        case("max-iterations", Raw::Text("7".into()), None);
        case("untick", Raw::Text("yes".into()), None);
        case("untick", Raw::Integer("1".into()), None);
        case("timeout", Raw::Integer("0".into()), Some(Value::Null));
        case("timeout", Raw::Integer("60".into()), None);
        case("max-output", Raw::Integer("4096".into()), Some(json!("4KiB")));
        case("max-cost", Raw::Float("2.5".into()), Some(json!(2.5)));
        case("validation.command", Raw::Text(String::new()), Some(Value::Null));
        case("validation.command", Raw::Switch(true), None);
        case("validation.command", Raw::Text("a\0b".into()), None);
        case("agent", Raw::List(vec![]), Some(Value::Null));
        case("agent", Raw::Text("a, b".into()), Some(json!(["a, b"])));
        case("agent", Raw::Other, None);
        case(
            "sandbox",
            Raw::List(vec!["podman".into(), "{command}".into()]),
            Some(json!(["podman", "{command}"])),
        );
        case("sandbox", Raw::List(vec!["{command}".into()]), None);
        case("sandbox", Raw::Switch(true), None);
    }
}
