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

/// The other keys of the record: `log --where` compares what is in them, too.
const RECORD_KEYS: &[&str] = &[
    "schema",
    "branch",
    "loop_type",
    "task_text",
    "unit_tasks",
    "error",
    "resets_at",
    "claims",
    "evidence",
    "duration_ms.second",
    "exit_reason",
    "validation_command",
    "agent_version",
    "tool_calls",
    "stream",
    "learnings",
    "decisions",
    "approaches",
    "facts",
    "commits",
    "left_out",
    "uncommitted",
    "restored_to",
    "kept_paths",
    "git_state",
    "user_files",
    "undone",
    "lost_tasks",
    "redactions",
    "hints",
    "memory",
];

/// Returns true if a record can have such a field. What is inside of a key is not looked at, but for those of [`FIELDS`].
pub fn is_of_any_record(name: &str) -> bool {
    let key = name.split('.').next().unwrap_or(name);
    is_field(name) || RECORD_KEYS.contains(&name) || RECORD_KEYS.contains(&key)
}

/// Returns the names that `log --where` takes, but for what is inside of other fields.
pub fn compared() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().chain(RECORD_KEYS).copied()
}

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

/// Returns the values of a field that are known: of a list of objects, that of each.
pub fn values<'a>(record: &'a Value, name: &str) -> Vec<&'a Value> {
    let mut found = match lookup(record, name) {
        Some(value) => vec![value],
        None => name.split('.').fold(vec![record], |values, key| {
            let inside = |value: &'a Value| match value {
                Value::Array(items) => items.iter().filter_map(|item| item.get(key)).collect(),
                value => Vec::from_iter(value.get(key)),
            };
            values.into_iter().flat_map(inside).collect()
        }),
    };
    found.retain(|value| !value.is_null());
    found
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
    fn a_field_of_a_list_has_the_values_of_all_items() {
        let record =
            json!({"tool_calls": [{"is_error": false}, {"is_error": true}, {}], "exit": {"agent": null}});
        let texts = |name| values(&record, name).into_iter().map(Value::to_string).collect::<Vec<_>>();
        assert_eq!(texts("tool_calls.is_error"), ["false", "true"]);
        assert_eq!(texts("exit.agent"), [""; 0]);
        assert_eq!(texts("nothing.at.all"), [""; 0]);
    }

    #[test]
    fn every_key_of_a_record_is_known_and_no_other() {
        let source = include_str!("../record/iteration.rs");
        let (_, fields) = source.split_once("pub struct Iteration {\n").unwrap();
        let (fields, _) = fields.split_once("\n}").unwrap();
        let keys: Vec<&str> =
            fields.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split(':').next()).collect();
        assert!(keys.len() > 40, "{keys:?}");
        for key in &keys {
            let is_known = compared().any(|name| name.split('.').next() == Some(*key));
            assert!(is_known, "{key} is not in RECORD_KEYS");
        }
        for name in
            ["captured.port", "tool_calls.is_error", "exit.agent", "facts.levels.loose", "tests.failed"]
        {
            assert!(is_of_any_record(name), "{name}");
        }
        for name in ["nothing", "exit.agnt", "exit", "captured.", "agnt", "duration_ms"] {
            assert!(!is_of_any_record(name), "{name}");
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
