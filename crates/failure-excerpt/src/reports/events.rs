//! Reports of one JSON value for each thing that happens: `go test -json`, cargo, libtest, pytest-reportlog.

use std::collections::HashMap;

use serde_json::Value;

use super::plain_form::{pytest, text_at};

/// What was read of such a stream so far.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// What each package of Go printed, in pieces that need not be lines; packages are tested side by side.
    packages: Vec<String>,
    /// Where each package is in them.
    indices: HashMap<String, usize>,
}

impl Events {
    /// Takes in one event. Returns false if it is none.
    pub(super) fn take(&mut self, value: &Value, out: &mut String) -> bool {
        self.go(value) || cargo(value, out) || libtest(value, out) || report_log(value, out)
    }

    /// Writes what can be written only when all was read.
    pub(super) fn finish(&self, out: &mut String) {
        for printed in &self.packages {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(printed);
        }
    }

    fn go(&mut self, value: &Value) -> bool {
        let package = match (text_at(value, &["Package"]), text_at(value, &["ImportPath"])) {
            ("", import) => import,
            (package, _) => package,
        };
        let action = text_at(value, &["Action"]);
        if action.is_empty() || package.is_empty() {
            return false;
        }
        if matches!(action, "output" | "build-output") {
            let printed = text_at(value, &["Output"]);
            if let Some(&index) = self.indices.get(package) {
                self.packages[index].push_str(printed);
            } else {
                self.indices.insert(package.to_owned(), self.packages.len());
                self.packages.push(printed.to_owned());
            }
        }
        true
    }
}

/// `cargo --message-format json`, and rustc's own `--error-format json`.
fn cargo(value: &Value, out: &mut String) -> bool {
    let message = match text_at(value, &["reason"]) {
        "compiler-message" => value.get("message"),
        "compiler-artifact" | "build-script-executed" | "build-finished" => return true,
        _ if text_at(value, &["$message_type"]) == "diagnostic" => Some(value),
        _ => None,
    };
    let Some(message) = message else { return false };
    out.push_str(text_at(message, &["rendered"]));
    true
}

/// `--format json` of Rust's test harness, and nextest's imitation of it.
fn libtest(value: &Value, out: &mut String) -> bool {
    let kind = text_at(value, &["type"]);
    let event = text_at(value, &["event"]);
    if event.is_empty() || !matches!(kind, "test" | "suite" | "bench" | "report") {
        return false;
    }
    if kind == "suite" && event == "started" {
        out.push_str("running tests\n");
    }
    if kind == "test" && matches!(event, "failed" | "timeout") {
        let name = text_at(value, &["name"]);
        let name = name.split_once('$').map_or(name, |(_, name)| name);
        let said = match text_at(value, &["stdout"]) {
            "" => text_at(value, &["message"]),
            said => said,
        };
        out.push_str(&format!("---- {name} stdout ----\n{said}\n\n"));
    }
    true
}

/// A line of pytest-reportlog.
fn report_log(value: &Value, out: &mut String) -> bool {
    let kind = text_at(value, &["$report_type"]);
    if kind.is_empty() {
        return value.get("pytest_version").is_some();
    }
    if text_at(value, &["outcome"]) == "failed" {
        let name = text_at(value, &["nodeid"]);
        let said = match value.get("longrepr") {
            Some(Value::String(said)) => said.clone(),
            Some(said) => traceback(said),
            None => String::new(),
        };
        if kind == "CollectReport" {
            out.push_str(&format!("=== ERRORS ===\n____ ERROR collecting {name} ____\n{said}\n====\n"));
        } else {
            pytest(out, name, &said);
        }
    }
    true
}

/// The lines of a traceback that pytest has written as a tree.
fn traceback(said: &Value) -> String {
    let mut out = String::new();
    let entries = said.pointer("/reprtraceback/reprentries").and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        for line in entry.pointer("/data/lines").and_then(Value::as_array).into_iter().flatten() {
            out.push_str(line.as_str().unwrap_or_default());
            out.push('\n');
        }
        if let Some(location) = entry.pointer("/data/reprfileloc") {
            let number = location.get("lineno").and_then(Value::as_u64).unwrap_or_default();
            out.push_str(&format!(
                "\n{}:{number}: {}\n",
                text_at(location, &["path"]),
                text_at(location, &["message"])
            ));
        }
    }
    out
}
