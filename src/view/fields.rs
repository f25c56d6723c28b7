//! Fields of iterations by their names: what `log --format` prints and `log --where` compares.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::record::LogEntry;
use crate::store::Row;

/// Stands in front of the name of a rule (`capture.NAME`).
pub const CAPTURED: &str = "captured.";

const FILES_CHANGED: &str = "files_changed";

/// The id, and the fields of `iteration.json` that the trailers hold.
pub struct Fields<'a>(pub &'a Row<'a>);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct WithId {
            id: String,
            #[serde(flatten)]
            entry: LogEntry,
        }
        let entry = self.0.entry().map_err(|error| S::Error::custom(format!("{error:#}")))?;
        WithId { id: format!("{}-iter-{}", entry.session, self.0.iteration), entry }.serialize(serializer)
    }
}

/// The names of fields: those of the JSON, those inside of others behind a dot; and two for people.
pub const FIELDS: &[&str] = &[
    "name",
    "subject",
    "id",
    "commit",
    "session",
    "feature",
    "iteration",
    "task",
    "title",
    "phase",
    "attempt",
    "outcome",
    "failure_class",
    "cause",
    "false_claim",
    "started_at",
    "ended_at",
    "exit.agent",
    "exit.validation",
    "duration_ms.agent",
    "duration_ms.validation",
    "agent",
    "model",
    "tokens.input",
    "tokens.cache_read",
    "tokens.cache_write",
    "tokens.output",
    "cost_usd",
    "closed",
    "tasks_done",
    "tasks_open",
    "fingerprint",
    "tests.passed",
    "tests.failed",
    "tests.skipped",
    "flags",
    "refused",
    "reopened",
    "head_before",
    "head_after",
    "snapshot",
    FILES_CHANGED,
];

/// Returns true if `name` is one of [`FIELDS`], or what a rule of the user's captured.
pub fn is_field(name: &str) -> bool {
    FIELDS.contains(&name) || name.strip_prefix(CAPTURED).is_some_and(|rule| !rule.is_empty())
}

/// Returns true if the field is in the whole record alone, not in the trailers.
pub fn is_of_record(name: &str) -> bool {
    name == FILES_CHANGED || name.starts_with(CAPTURED)
}

/// The value of a field in JSON.
pub fn lookup<'a>(record: &'a Value, name: &str) -> Option<&'a Value> {
    if let Some(rule) = name.strip_prefix(CAPTURED) {
        // The name of a rule may have dots itself.
        return record.get("facts")?.get("captured")?.get(rule);
    }
    name.split('.').try_fold(record, |value, key| value.get(key))
}

/// A value for people; what is not known is empty.
pub fn as_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(values)) => {
            values.iter().map(|value| as_text(Some(value))).collect::<Vec<_>>().join(",")
        }
        Some(other) => other.to_string(),
    }
}

/// Returns true if `value` is what `text` says; for a list, if one of its items is. What is not known is nothing.
pub fn is_value(value: &Value, text: &str) -> bool {
    match value {
        Value::Null | Value::Object(_) => false,
        Value::Bool(truth) => truth.to_string() == text,
        Value::Number(number) => number.as_f64().is_some_and(|number| text.parse() == Ok(number)),
        Value::String(string) => string == text,
        Value::Array(values) => values.iter().any(|value| is_value(value, text)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_compared_as_what_it_is_and_a_missing_one_is_nothing() {
        let record = json!({
            "task": "T001", "cost_usd": 0.25, "exit": {"agent": 0, "validation": null}, "claims": {"promise": true},
            "files_changed": ["a", "b"], "facts": {"captured": {"port": ["80", "8080"], "a.b": ["x"]}},
        });
        for (name, text, is_it) in [
            ("task", "T001", true),
            ("task", "T00", false),
            ("cost_usd", "0.250", true),
            ("cost_usd", "much", false),
            ("exit.agent", "0", true),
            ("exit.agent", "", false),
            ("exit.validation", "null", false),
            ("exit", "0", false),
            ("claims.promise", "true", true),
            ("files_changed", "b", true),
            ("files_changed", "a,b", false),
            ("captured.port", "8080", true),
            ("captured.port", "808", false),
            ("captured.a.b", "x", true),
            ("captured.none", "", false),
            ("facts.captured.port", "80", true),
            ("nothing.at.all", "x", false),
        ] {
            let found = lookup(&record, name).is_some_and(|value| is_value(value, text));
            assert_eq!(found, is_it, "{name}={text}");
        }
    }

    #[test]
    fn the_name_of_a_rule_is_a_field() {
        for (name, is_it) in
            [("captured.port", true), ("captured.", false), ("cause", true), ("nothing", false)]
        {
            assert_eq!(is_field(name), is_it, "{name}");
        }
    }
}
