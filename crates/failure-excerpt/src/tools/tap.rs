//! The Test Anything Protocol, as node, bats and Perl's tools speak it.

use super::super::failure::{Failure, FrameOrder, SUITE, Stage, indent_of};
use super::super::line_kind::{LineKind, is_value};
use super::super::location::find_location;
use super::super::page::Page;
use super::super::scan_state::ScanState;
use super::super::words::starts_with_any;
use super::runner_lines::{add_tap_comments, unwrap_ava_error, without_duration};

/// `not ok 3 - name`, with comments or a block of YAML below.
pub(super) fn not_ok(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let line = page.line(at);
    let rest = line.trim_start().strip_prefix("not ok")?;
    let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let name = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = name.split_once(" # ").unwrap_or((name, ""));
    if starts_with_any(&directive.to_ascii_lowercase(), &["todo", "skip"]) {
        return None;
    }
    let indent = indent_of(line);
    let mut failure =
        Failure::new(Stage::Test, "tap").with_id(without_duration(name)).with_line(at, LineKind::Head);
    // vitest nests the tests of a group in braces.
    if line.ends_with('{') {
        failure.tool = SUITE;
        return Some((failure, at + 1));
    }
    let next = at + 1;
    if page.line(next).trim() == "---" {
        let end = page.find_end(next + 1, |line| line.trim() == "...");
        yaml(page, &mut failure, next + 1, end);
        unwrap_ava_error(page, &mut failure);
        return Some((failure, end + 1));
    }
    // mocha's words follow as they are.
    let below = page.line(next).trim_start();
    if indent_of(page.line(next)) > indent && !starts_with_any(below, &["#", "ok ", "not ok "]) {
        let is_over = |line: &str| !line.is_empty() && indent_of(line) <= indent;
        let end = page.find_end(next, is_over);
        failure.add_body(page, next, end, FrameOrder::NewestFirst);
        return Some((failure, end));
    }
    let end = page.find_end(next, |line| {
        !line.trim_start().starts_with('#')
            || line.trim_start().starts_with("# Subtest")
            || indent_of(line) > indent + 4
    });
    add_tap_comments(page, &mut failure, next, end);
    Some((failure, end))
}

/// `#   Failed test 'name'`: what Perl's tools say on stderr, where prove hides the rest.
pub(super) fn failed_test(page: &Page, at: usize, _: &mut ScanState) -> Option<(Failure, usize)> {
    let text = page.line(at).trim_start().strip_prefix('#')?.trim_start();
    let rest = text.strip_prefix("Failed test")?;
    let end = page.find_end(at + 1, |line| {
        let Some(text) = line.trim_start().strip_prefix('#') else { return true };
        starts_with_any(text.trim_start(), &["Failed test", "Looks like"])
    });
    let name = rest.trim().trim_matches(['\'', '"']);
    let name =
        rest.trim().strip_prefix('\'').and_then(|rest| rest.rsplit_once('\'')).map_or(name, |(name, _)| name);
    let mut failure = Failure::new(Stage::Test, "tap").with_id(name).with_line(at, LineKind::Head);
    add_tap_comments(page, &mut failure, at + 1, end);
    Some((failure, end))
}

/// Takes in a block of YAML: `error`, `expected`, `actual`, `stack`.
fn yaml(page: &Page, failure: &mut Failure, from: usize, to: usize) {
    let has_error = (from..to).any(|at| page.line(at).trim_start().starts_with("error: "));
    let mut key = "";
    let mut deep = usize::MAX;
    let mut frames = Vec::new();
    for at in from..to {
        let line = page.line(at);
        let text = line.trim();
        let indent = indent_of(line);
        if indent <= deep
            && let Some((name, rest)) = text.split_once(':')
            && !name.contains(' ')
        {
            (key, deep) = (name, indent);
            let value = rest.trim();
            match name {
                "error" | "message" => {
                    if value.len() > 2 && failure.message.is_empty() {
                        value.trim_matches(['\'', '"']).clone_into(&mut failure.message);
                    }
                    failure.add(at, LineKind::Message);
                }
                "expected" | "actual" | "found" | "wanted" | "got" | "diff" | "compare" => {
                    if !has_error {
                        failure.add_value(text);
                    }
                    failure.add(at, LineKind::Value);
                }
                "location" | "at" | "file" | "line" => {
                    failure.add(
                        at,
                        if find_location(text).is_some() { LineKind::Frame } else { LineKind::Note },
                    );
                }
                "failureType" if value.contains("subtestsFailed") => failure.tool = SUITE,
                _ => {}
            }
            continue;
        }
        match key {
            "error" | "message" if !text.is_empty() => {
                if text.starts_with("name: ") {
                    continue;
                }
                if failure.message.is_empty() {
                    let text = text.strip_prefix("message: ").unwrap_or(text);
                    text.trim_matches(['\'', '"']).clone_into(&mut failure.message);
                    failure.add(at, LineKind::Message);
                } else {
                    if is_value(text) {
                        failure.add_value(text);
                    }
                    failure.add(at, LineKind::Value);
                }
            }
            "expected" | "actual" | "found" | "wanted" | "diff" if !text.is_empty() => {
                if !has_error {
                    failure.add_value(text);
                }
                failure.add(at, LineKind::Value);
            }
            // ava has its words as a key.
            "details" if text.ends_with(": |-") => {
                if failure.message.is_empty() {
                    text.trim_end_matches(": |-").trim_matches('\'').clone_into(&mut failure.message);
                }
                failure.add(at, LineKind::Message);
            }
            "details" if !text.is_empty() => {
                if is_value(text) {
                    failure.add_value(text);
                }
                failure.add(at, LineKind::Value);
            }
            "stack" | "at"
                if find_location(text).is_some_and(|location| {
                    !super::super::location::is_external(location.file) && !location.file.starts_with('/')
                }) =>
            {
                frames.push(at);
            }
            _ => {}
        }
    }
    if failure.tool == SUITE {
        failure.message.clear();
        failure.values.clear();
        failure.parts.truncate(1);
        return;
    }
    failure.add_frames(page, &frames, FrameOrder::NewestFirst);
}
