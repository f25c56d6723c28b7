//! Reports of compilers and linters that are one JSON value, recognized by their shape: whatever has a message and a line, in a
//! file that it names itself or that is above it.

use serde_json::{Map, Value};

/// Values deeper than this are not looked at.
const MAX_DEPTH: usize = 8;

const MESSAGES: [&str; 6] = ["message", "Text", "issue_text", "description", "text", "msg"];
const FILES: [&str; 9] =
    ["file", "filePath", "filename", "file_path", "path", "source", "Filename", "uri", "File"];
const LINES: [&str; 7] = ["line", "row", "startLine", "line_number", "Line", "start_line", "line_no"];
const COLUMNS: [&str; 6] = ["column", "col", "character", "startColumn", "Column", "line_pos"];
const RULES: [&str; 10] = [
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
const SEVERITIES: [&str; 5] = ["severity", "level", "type", "Severity", "issue_severity"];

/// Where a problem is, as far as it is known from the values above it.
#[derive(Debug, Clone, Copy, Default)]
struct Spot<'a> {
    file: &'a str,
    line: Option<u64>,
    column: Option<u64>,
}

/// Writes a line for each problem. Returns false if `value` names none.
pub(super) fn report(value: &Value, out: &mut String) -> bool {
    // A program's log has places and messages too.
    let is_log = value.get("level").is_some()
        && ["timestamp", "@timestamp", "time", "ts"].iter().any(|key| value.get(key).is_some());
    if is_log {
        return false;
    }
    let before = out.len();
    walk(value, Spot::default(), MAX_DEPTH, out);
    out.len() > before
}

fn walk<'a>(value: &'a Value, above: Spot<'a>, depth: usize, out: &mut String) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, above, depth - 1, out)),
        Value::Object(members) => {
            let spot = spot(members, above, MAX_DEPTH);
            if let Some(message) = message(members)
                && spot.line.is_some()
                && !spot.file.is_empty()
            {
                problem(members, spot, message, out);
                return;
            }
            for (key, member) in members {
                // PHPStan has the file as the key.
                let is_file = key.contains('.') && member.is_object();
                let spot = if is_file { Spot { file: key, ..spot } } else { spot };
                if !matches!(key.as_str(), "fix" | "fixes" | "suggestions" | "suppressedMessages" | "edits") {
                    walk(member, spot, depth - 1, out);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Members that hold the location of a problem.
const NESTED: [&str; 10] = [
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
fn spot<'a>(members: &'a Map<String, Value>, above: Spot<'a>, depth: usize) -> Spot<'a> {
    let mut spot = above;
    if let Some(file) = first_text(members, &FILES).filter(|file| file.contains(['.', '/'])) {
        spot.file = file;
    }
    let number = |keys: &[&str]| keys.iter().find_map(|key| members.get(*key).and_then(Value::as_u64));
    spot.line = number(&LINES).or(spot.line);
    spot.column = number(&COLUMNS).or(spot.column);
    for key in NESTED {
        let inner = match members.get(key) {
            Some(Value::Array(items)) => items.first(),
            inner => inner,
        };
        if let Some(inner) = inner.and_then(Value::as_object).filter(|_| depth > 0) {
            let found = self::spot(inner, spot, depth - 1);
            // `range` counts from 0, as editors do.
            let more = u64::from(key == "range");
            spot = Spot {
                file: found.file,
                line: found.line.map(|line| line + more),
                column: found.column.map(|column| column + more),
            };
        }
    }
    spot
}

/// Returns the message of a problem: SARIF has it one level deeper.
fn message(members: &Map<String, Value>) -> Option<&str> {
    let inner = members.get("message").and_then(Value::as_object);
    first_text(members, &MESSAGES).or_else(|| first_text(inner?, &["text"]))
}

fn first_text<'a>(members: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| members.get(*key).and_then(Value::as_str)).filter(|text| !text.is_empty())
}

/// `file:line:column: error: message [rule]`
fn problem(members: &Map<String, Value>, spot: Spot<'_>, message: &str, out: &mut String) {
    let severity = match SEVERITIES.iter().find_map(|key| members.get(*key)) {
        Some(Value::Number(number)) if number.as_u64() == Some(1) => "warning",
        Some(Value::String(word)) => match word.to_ascii_lowercase().as_str() {
            "warning" | "warn" | "info" | "information" | "hint" | "style" | "convention" | "refactor"
            | "note" | "low" => "warning",
            _ => "error",
        },
        _ => "error",
    };
    let (file, line) = (spot.file, spot.line.unwrap_or_default());
    let file = file.strip_prefix("file://").unwrap_or(file);
    let column = spot.column.map_or(String::new(), |column| format!(":{column}"));
    let rule = RULES.iter().find_map(|key| match members.get(*key) {
        Some(Value::String(rule)) if !rule.is_empty() => Some(rule.clone()),
        // shellcheck's rules are numbers.
        Some(Value::Number(rule)) => Some(format!("SC{rule}")),
        _ => None,
    });
    // GitLab's form has the rule before the words as well.
    let coded = rule.as_deref().and_then(|rule| message.strip_prefix(rule)?.strip_prefix(": "));
    let mut lines = coded.unwrap_or(message).lines();
    let first = lines.next().unwrap_or_default();
    let rule = rule.map_or(String::new(), |rule| format!(" [{rule}]"));
    out.push_str(&format!("{file}:{line}{column}: {severity}: {first}{rule}\n"));
    for line in lines {
        out.push_str(&format!("    {}\n", line.trim()));
    }
}
