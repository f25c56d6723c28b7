//! The forms in which reports are written for people.

use serde_json::Value;

/// Returns the text at a path of keys; empty if there is none.
pub(crate) fn text_at<'a>(value: &'a Value, keys: &[&str]) -> &'a str {
    keys.iter().try_fold(value, |value, key| value.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// Writes a test that failed as the runners of JavaScript do: a bullet with its name, and what is said of it.
pub(super) fn bullet(out: &mut String, name: &str, said: &str) {
    out.push_str("\n  ● ");
    out.push_str(name.trim());
    out.push_str("\n\n");
    for line in said.lines() {
        out.push_str("    ");
        out.push_str(line);
        out.push('\n');
    }
    out.push('\n');
}

/// Writes tests of pytest that failed, as it does itself.
pub(super) fn pytest(out: &mut String, name: &str, said: &str) {
    let title = name.rsplit_once(".py::").map_or(name, |(_, title)| title).replace("::", ".");
    out.push_str("=== FAILURES ===\n____ ");
    out.push_str(&title);
    out.push_str(" ____\n");
    out.push_str(said);
    out.push_str("\n====\nFAILED ");
    out.push_str(name);
    out.push('\n');
}
