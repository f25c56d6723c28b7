//! Converts JSON reports of test runners to the text that the same runner prints for people. A report is one value (jest, vitest, mocha,
//! `RSpec`, pytest-json-report) or one for each event (`go test -json`, cargo, libtest, pytest-reportlog).

use std::collections::BTreeMap;

use serde_json::Value;

/// Writes the tests that failed, except those of Go: `packages` gathers the output of each Go package, as packages are tested
/// in parallel and their output comes in pieces. Returns false if `value` is no such report.
pub(super) fn report(value: &Value, packages: &mut BTreeMap<String, String>, out: &mut String) -> bool {
    let reports = [cargo, libtest, report_log, jest, mocha, rspec, pytest_json];
    go(value, packages) || reports.iter().any(|report| report(value, out).is_some())
}

fn go(value: &Value, packages: &mut BTreeMap<String, String>) -> bool {
    let package = [text_at(value, "Package"), text_at(value, "ImportPath")];
    let package = package.iter().find(|package| !package.is_empty()).copied().unwrap_or_default();
    let action = text_at(value, "Action");
    if matches!(action, "output" | "build-output") && !package.is_empty() {
        packages.entry(package.to_owned()).or_default().push_str(text_at(value, "Output"));
    }
    !action.is_empty() && !package.is_empty()
}

/// Returns the text at a pointer, or at a key; empty if there is none.
pub(crate) fn text_at<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).or_else(|| value.pointer(key)).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the values at a pointer, or at a key.
fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).or_else(|| value.pointer(key)).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the texts at a key, joined by `sign`.
fn joined(value: &Value, key: &str, sign: &str) -> String {
    items(value, key).filter_map(Value::as_str).collect::<Vec<_>>().join(sign)
}

/// Writes a failed test as JavaScript runners do: a bullet with its name, and the message.
pub(super) fn bullet(out: &mut String, name: &str, said: &str) {
    out.push_str(&format!("\n  ● {}\n\n", name.trim()));
    for line in said.lines() {
        out.push_str(&format!("    {line}\n"));
    }
    out.push('\n');
}

/// Writes a failed test, or a file that cannot be loaded, as pytest does.
pub(super) fn pytest(out: &mut String, name: &str, said: &str) {
    let Some((_, title)) = name.rsplit_once(".py::") else {
        out.push_str(&format!("=== ERRORS ===\n____ ERROR collecting {name} ____\n{said}\n====\n"));
        return;
    };
    let title = title.replace("::", ".");
    out.push_str(&format!("=== FAILURES ===\n____ {title} ____\n{said}\n====\nFAILED {name}\n"));
}

/// `cargo --message-format json`, and rustc's own `--error-format json`.
fn cargo(value: &Value, out: &mut String) -> Option<()> {
    let message = match text_at(value, "reason") {
        "compiler-message" => value.get("message")?,
        "compiler-artifact" | "build-script-executed" | "build-finished" => return Some(()),
        _ => Some(value).filter(|value| text_at(value, "$message_type") == "diagnostic")?,
    };
    out.push_str(text_at(message, "rendered"));
    Some(())
}

/// `--format json` of Rust's test harness, and nextest's imitation of it.
fn libtest(value: &Value, out: &mut String) -> Option<()> {
    let kind = text_at(value, "type");
    let event = Some(text_at(value, "event")).filter(|event| !event.is_empty())?;
    match (kind, event) {
        ("suite", "started") => out.push_str("running tests\n"),
        ("test", "failed" | "timeout") => {
            let name = text_at(value, "name");
            let name = name.split_once('$').map_or(name, |(_, name)| name);
            let said = [text_at(value, "stdout"), text_at(value, "message")];
            let said = said.iter().find(|said| !said.is_empty()).copied().unwrap_or_default();
            out.push_str(&format!("---- {name} stdout ----\n{said}\n\n"));
        }
        _ => {}
    }
    matches!(kind, "test" | "suite" | "bench" | "report").then_some(())
}

/// A line of pytest-reportlog, which may have a traceback as a tree.
fn report_log(value: &Value, out: &mut String) -> Option<()> {
    if text_at(value, "$report_type").is_empty() {
        return value.get("pytest_version").map(|_| ());
    }
    if text_at(value, "outcome") == "failed" {
        let mut said = text_at(value, "longrepr").to_owned();
        for entry in items(value, "/longrepr/reprtraceback/reprentries") {
            said.push_str(&joined(entry, "/data/lines", "\n"));
            if let Some(place) = entry.pointer("/data/reprfileloc") {
                let line = place.get("lineno").and_then(Value::as_u64).unwrap_or_default();
                said.push_str(&format!(
                    "\n\n{}:{line}: {}\n",
                    text_at(place, "path"),
                    text_at(place, "message")
                ));
            }
        }
        pytest(out, text_at(value, "nodeid"), &said);
    }
    Some(())
}

fn jest(value: &Value, out: &mut String) -> Option<()> {
    value.get("numTotalTests").and(value.get("testResults"))?;
    for file in items(value, "testResults") {
        let head = format!("FAIL {}\n", text_at(file, "name"));
        let mut failed =
            items(file, "assertionResults").filter(|test| text_at(test, "status") == "failed").peekable();
        if failed.peek().is_none() && text_at(file, "status") == "failed" {
            out.push_str(&head);
            bullet(out, "Test suite failed to run", text_at(file, "message"));
        }
        for test in failed {
            let groups = items(test, "ancestorTitles").filter_map(Value::as_str);
            let names: Vec<&str> = groups.chain([text_at(test, "title")]).collect();
            out.push_str(&head);
            bullet(out, &names.join(" › "), &joined(test, "failureMessages", "\n"));
        }
    }
    Some(())
}

fn mocha(value: &Value, out: &mut String) -> Option<()> {
    value.get("stats")?;
    let failures = value.get("failures").and_then(Value::as_array)?;
    out.push_str(&format!("\n  {} failing\n", failures.len()));
    for (number, test) in (1..).zip(failures) {
        let title = text_at(test, "title");
        let group = text_at(test, "fullTitle").strip_suffix(title).unwrap_or_default().trim();
        let said = [text_at(test, "/err/stack"), text_at(test, "/err/message")];
        let said = said
            .iter()
            .find(|said| !said.is_empty())
            .map_or(String::new(), |said| said.replace('\n', "\n      "));
        out.push_str(&format!("\n  {number}) {group}\n       {title}:\n\n      {said}\n"));
    }
    Some(())
}

fn rspec(value: &Value, out: &mut String) -> Option<()> {
    value.get("summary_line").and(value.get("examples"))?;
    let failed = items(value, "examples").filter(|test| text_at(test, "status") == "failed");
    for (number, test) in (1..).zip(failed) {
        out.push_str(&format!("\n  {number}) {}\n", text_at(test, "full_description")));
        let class = text_at(test, "/exception/class");
        if !class.contains("ExpectationNotMet") {
            out.push_str(&format!("     {class}:\n"));
        }
        for line in text_at(test, "/exception/message").lines() {
            out.push_str(&format!("       {line}\n"));
        }
        for step in items(test, "/exception/backtrace").filter_map(Value::as_str) {
            out.push_str(&format!("     # {step}\n"));
        }
    }
    out.push_str(&joined(value, "messages", "\n"));
    Some(())
}

fn pytest_json(value: &Value, out: &mut String) -> Option<()> {
    value.get("exitcode").and(value.get("tests"))?;
    let tests = items(value, "tests").flat_map(|test| {
        ["setup", "call", "teardown"].iter().filter_map(move |phase| Some((test, test.get(phase)?)))
    });
    let collected = items(value, "collectors").map(|collector| (collector, collector));
    for (test, said) in collected.chain(tests).filter(|(_, said)| text_at(said, "outcome") == "failed") {
        pytest(out, text_at(test, "nodeid"), text_at(said, "longrepr"));
    }
    Some(())
}
