//! Reports of test runners that are one JSON value: jest, vitest, mocha, `RSpec`, pytest-json-report.

use serde_json::Value;

use super::plain_form::{bullet, pytest, text_at};

/// Writes the tests that failed. Returns false if `value` is no such report.
pub(super) fn report(value: &Value, out: &mut String) -> bool {
    jest(value, out) || mocha(value, out) || rspec(value, out) || pytest_json(value, out)
}

fn items<'a>(value: &'a Value, key: &str) -> Option<&'a Vec<Value>> {
    value.get(key).and_then(Value::as_array)
}

fn jest(value: &Value, out: &mut String) -> bool {
    let Some(files) = items(value, "testResults").filter(|_| value.get("numTotalTests").is_some()) else {
        return false;
    };
    for file in files {
        let path = text_at(file, &["name"]);
        let tests = items(file, "assertionResults").map_or(&[][..], Vec::as_slice);
        let mut has_failed_test = false;
        for test in tests.iter().filter(|test| text_at(test, &["status"]) == "failed") {
            has_failed_test = true;
            let mut name: Vec<&str> =
                items(test, "ancestorTitles").into_iter().flatten().filter_map(Value::as_str).collect();
            name.push(text_at(test, &["title"]));
            let said: Vec<&str> =
                items(test, "failureMessages").into_iter().flatten().filter_map(Value::as_str).collect();
            out.push_str(&format!("FAIL {path}\n"));
            bullet(out, &name.join(" › "), &said.join("\n"));
        }
        if !has_failed_test && text_at(file, &["status"]) == "failed" {
            out.push_str(&format!("FAIL {path}\n"));
            bullet(out, "Test suite failed to run", text_at(file, &["message"]));
        }
    }
    true
}

fn mocha(value: &Value, out: &mut String) -> bool {
    let Some(failures) = items(value, "failures").filter(|_| value.get("stats").is_some()) else {
        return false;
    };
    out.push_str(&format!("\n  {} failing\n", failures.len()));
    for (number, test) in failures.iter().enumerate() {
        let title = text_at(test, &["title"]);
        let group = text_at(test, &["fullTitle"]).strip_suffix(title).unwrap_or_default().trim();
        let error = test.get("err").unwrap_or(&Value::Null);
        let said = match text_at(error, &["stack"]) {
            "" => text_at(error, &["message"]),
            said => said,
        };
        out.push_str(&format!("\n  {}) {group}\n       {title}:\n\n      ", number + 1));
        out.push_str(&said.replace('\n', "\n      "));
        out.push('\n');
    }
    true
}

fn rspec(value: &Value, out: &mut String) -> bool {
    let Some(examples) = items(value, "examples").filter(|_| value.get("summary_line").is_some()) else {
        return false;
    };
    let failed = examples.iter().filter(|test| text_at(test, &["status"]) == "failed");
    for (number, test) in failed.enumerate() {
        out.push_str(&format!("\n  {}) {}\n", number + 1, text_at(test, &["full_description"])));
        let class = text_at(test, &["exception", "class"]);
        if !class.contains("ExpectationNotMet") {
            out.push_str(&format!("     {class}:\n"));
        }
        for line in text_at(test, &["exception", "message"]).lines() {
            out.push_str(&format!("       {line}\n"));
        }
        let trace = test.pointer("/exception/backtrace").and_then(Value::as_array);
        for step in trace.into_iter().flatten().filter_map(Value::as_str) {
            out.push_str(&format!("     # {step}\n"));
        }
    }
    if let Some(Value::Array(messages)) = value.get("messages") {
        for message in messages.iter().filter_map(Value::as_str) {
            out.push_str(message);
            out.push('\n');
        }
    }
    true
}

fn pytest_json(value: &Value, out: &mut String) -> bool {
    let (Some(tests), Some(_)) = (items(value, "tests"), value.get("exitcode")) else { return false };
    for collector in items(value, "collectors").into_iter().flatten() {
        if text_at(collector, &["outcome"]) == "failed" {
            let (name, said) = (text_at(collector, &["nodeid"]), text_at(collector, &["longrepr"]));
            out.push_str(&format!("=== ERRORS ===\n____ ERROR collecting {name} ____\n{said}\n====\n"));
        }
    }
    for test in tests.iter().filter(|test| matches!(text_at(test, &["outcome"]), "failed" | "error")) {
        let stages = ["setup", "call", "teardown"].iter().filter_map(|stage| test.get(stage));
        for stage in stages.filter(|stage| text_at(stage, &["outcome"]) == "failed") {
            pytest(out, text_at(test, &["nodeid"]), text_at(stage, &["longrepr"]));
        }
    }
    true
}
