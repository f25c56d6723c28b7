//! Reports of compilers and linters that are one JSON value, told by their shape: whatever has a message and a line, in a
//! file that it names itself or that stands above it.

use serde_json::{Map, Value};

/// Values deeper than this are not looked at.
const MAX_DEPTH: usize = 8;

const MESSAGES: [&str; 6] = ["message", "Text", "issue_text", "description", "text", "msg"];
const FILES: [&str; 9] =
    ["file", "filePath", "filename", "file_path", "path", "source", "Filename", "uri", "File"];
const LINES: [&str; 7] = ["line", "row", "startLine", "line_number", "Line", "start_line", "line_no"];
const COLUMNS: [&str; 6] = ["column", "col", "character", "startColumn", "Column", "line_pos"];
const RULES: [&str; 9] =
    ["ruleId", "messageId", "cop_name", "code", "rule", "test_id", "FromLinter", "check_id", "identifier"];
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
            let spot = spot(members, above);
            if let Some(message) = first_text(members, &MESSAGES)
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

/// The place that an object names, itself or in a member.
fn spot<'a>(members: &'a Map<String, Value>, above: Spot<'a>) -> Spot<'a> {
    let mut spot = above;
    let nested = ["location", "range", "start", "Pos", "physicalLocation", "artifactLocation", "region"];
    let sources = nested.iter().filter_map(|key| members.get(*key));
    // `range` counts from 0, as editors do.
    let is_range = members.contains_key("range");
    for source in std::iter::once(members).chain(sources.filter_map(Value::as_object)) {
        let inner = source.get("start").and_then(Value::as_object);
        for source in std::iter::once(source).chain(inner) {
            if let Some(file) = first_text(source, &FILES).filter(|file| file.contains(['.', '/'])) {
                spot.file = file;
            }
            let number = |keys: &[&str]| keys.iter().find_map(|key| source.get(*key).and_then(Value::as_u64));
            spot.line = number(&LINES).map(|line| line + u64::from(is_range)).or(spot.line);
            spot.column = number(&COLUMNS).map(|column| column + u64::from(is_range)).or(spot.column);
        }
    }
    spot
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
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default();
    let rule = rule.map_or(String::new(), |rule| format!(" [{rule}]"));
    out.push_str(&format!("{file}:{line}{column}: {severity}: {first}{rule}\n"));
    for line in lines {
        out.push_str(&format!("    {}\n", line.trim()));
    }
}
