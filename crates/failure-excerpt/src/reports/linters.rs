//! Reports of compilers and linters that are one JSON value, recognized by their shape: any object with a message and a line,
//! whose file is given by itself or by an object around it.

use serde_json::{Map, Value};

/// Maximum depth of nesting that is searched.
const MAX_DEPTH: usize = 8;

// The keys under which tools put each field, the most specific first.
const MESSAGE_KEYS: [&str; 6] = ["message", "Text", "issue_text", "description", "text", "msg"];
const FILE_KEYS: [&str; 9] =
    ["file", "filePath", "filename", "file_path", "path", "source", "Filename", "uri", "File"];
const LINE_KEYS: [&str; 7] = ["line", "row", "startLine", "line_number", "Line", "start_line", "line_no"];
const COLUMN_KEYS: [&str; 6] = ["column", "col", "character", "startColumn", "Column", "line_pos"];
const RULE_KEYS: [&str; 10] = [
    "ruleId",
    "messageId",
    "cop_name",
    "code",
    "rule",
    "test_id",
    "FromLinter",
    "check_id",
    "check_name",
    "identifier",
];
const SEVERITY_KEYS: [&str; 5] = ["severity", "level", "type", "Severity", "issue_severity"];

/// The location of a problem, as far as the objects around it give one.
#[derive(Debug, Clone, Copy, Default)]
struct JsonLocation<'a> {
    file: &'a str,
    line: Option<u64>,
    column: Option<u64>,
}

/// Writes a line for each problem. Returns false if `value` names none.
pub(super) fn report(value: &Value, out: &mut String) -> bool {
    // Structured logs have a file, a line and a message too.
    let is_log = value.get("level").is_some()
        && ["timestamp", "@timestamp", "time", "ts"].iter().any(|key| value.get(key).is_some());
    if is_log {
        return false;
    }
    let before = out.len();
    walk(value, JsonLocation::default(), MAX_DEPTH, out);
    out.len() > before
}

fn walk<'a>(value: &'a Value, inherited: JsonLocation<'a>, depth: usize, out: &mut String) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, inherited, depth - 1, out)),
        Value::Object(members) => {
            let location = location(members, inherited, MAX_DEPTH);
            if let Some(message) = message(members)
                && location.line.is_some()
                && !location.file.is_empty()
            {
                write_problem(members, location, message, out);
                return;
            }
            for (key, member) in members {
                // PHPStan uses file names as keys.
                let is_file = key.contains('.') && member.is_object();
                let location = if is_file { JsonLocation { file: key, ..location } } else { location };
                if !matches!(key.as_str(), "fix" | "fixes" | "suggestions" | "suppressedMessages" | "edits") {
                    walk(member, location, depth - 1, out);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Keys of the objects that hold the location of a problem.
const LOCATION_KEYS: [&str; 10] = [
    "location",
    "locations",
    "physicalLocation",
    "artifactLocation",
    "region",
    "range",
    "positions",
    "begin",
    "start",
    "Pos",
];

/// Returns the location that an object names, itself or in its members.
fn location<'a>(
    members: &'a Map<String, Value>,
    inherited: JsonLocation<'a>,
    depth: usize,
) -> JsonLocation<'a> {
    let mut location = inherited;
    if let Some(file) = first_text(members, &FILE_KEYS).filter(|file| file.contains(['.', '/'])) {
        location.file = file;
    }
    location.line = first_number(members, &LINE_KEYS).or(location.line);
    location.column = first_number(members, &COLUMN_KEYS).or(location.column);
    for key in LOCATION_KEYS {
        let inner = members.get(key).and_then(|inner| inner.get(0).unwrap_or(inner).as_object());
        if let Some(inner) = inner.filter(|_| depth > 0) {
            // The Language Server Protocol's `range` counts from 0.
            let base = u64::from(key == "range");
            let unplaced = JsonLocation { file: location.file, ..JsonLocation::default() };
            let found = self::location(inner, unplaced, depth - 1);
            location.file = found.file;
            location.line = found.line.map(|line| line.saturating_add(base)).or(location.line);
            location.column = found.column.map(|column| column.saturating_add(base)).or(location.column);
        }
    }
    location
}

/// Returns the message of a problem: SARIF has it one level deeper.
fn message(members: &Map<String, Value>) -> Option<&str> {
    let inner = members.get("message").and_then(Value::as_object);
    first_text(members, &MESSAGE_KEYS).or_else(|| first_text(inner?, &["text"]))
}

fn first_text<'a>(members: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| members.get(*key).and_then(Value::as_str)).filter(|text| !text.is_empty())
}

fn first_number(members: &Map<String, Value>, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| members.get(*key).and_then(Value::as_u64))
}

/// Severities that are no errors.
const MILD_WORDS: &[&str] =
    &["warning", "warn", "info", "information", "hint", "style", "convention", "refactor", "note", "low"];

/// Appends `file:line:column: error: message [rule]`.
fn write_problem(members: &Map<String, Value>, location: JsonLocation<'_>, message: &str, out: &mut String) {
    let is_warning = match SEVERITY_KEYS.iter().find_map(|key| members.get(*key)) {
        // ESLint's 1 is a warning; that of the Language Server Protocol, which has a `range`, an error.
        Some(Value::Number(number)) => number.as_u64() == Some(1) && !members.contains_key("range"),
        Some(Value::String(word)) => MILD_WORDS.contains(&word.to_ascii_lowercase().as_str()),
        _ => false,
    };
    let severity = if is_warning { "warning" } else { "error" };
    let (file, line) = (location.file, location.line.unwrap_or_default());
    let file = file.strip_prefix("file://").unwrap_or(file);
    let column = location.column.map_or(String::new(), |column| format!(":{column}"));
    let rule = RULE_KEYS.iter().find_map(|key| match members.get(*key) {
        Some(Value::String(rule)) if !rule.is_empty() => Some(rule.clone()),
        // shellcheck has the number of SC2086 as its `code`, beside a `level`.
        Some(Value::Number(rule)) if members.contains_key("level") => Some(format!("SC{rule}")),
        Some(Value::Number(rule)) => Some(rule.to_string()),
        _ => None,
    });
    // GitLab Code Quality repeats the rule at the start of the message.
    let without_rule = rule.as_deref().and_then(|rule| message.strip_prefix(rule)?.strip_prefix(": "));
    let mut lines = without_rule.unwrap_or(message).lines();
    let first = lines.next().unwrap_or_default();
    let rule = rule.map_or(String::new(), |rule| format!(" [{rule}]"));
    out.push_str(&format!("{file}:{line}{column}: {severity}: {first}{rule}\n"));
    for line in lines {
        out.push_str(&format!("    {}\n", line.trim()));
    }
}
