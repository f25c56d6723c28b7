//! The Test Anything Protocol, as node, bats and Perl's tools speak it.

use super::prelude::*;

/// `not ok 3 - name`, with comments or a block of YAML below.
pub(super) fn not_ok(page: &Page, at: usize) -> Found {
    let line = page.line(at);
    let rest = line.trim_start().strip_prefix("not ok")?;
    let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let (name, directive) = rest.strip_prefix("- ").unwrap_or(rest).split_once(" # ").unwrap_or((rest, ""));
    if starts_with_any(&directive.to_ascii_lowercase(), &["todo", "skip"]) {
        return None;
    }
    let name = name.strip_prefix("- ").unwrap_or(name);
    let mut failure =
        Failure::new(Stage::Test, "tap").with_id(without_duration(name)).with_line(at, LineKind::Head);
    // vitest nests the tests of a group in braces.
    if line.ends_with('{') {
        failure.tool = SUITE;
        return Some((failure, at + 1));
    }
    let indent = indent_of(line);
    let below = page.line(at + 1).trim();
    if below == "---" {
        let end = page.find_end(at + 2, |line| line.trim() == "...");
        yaml(page, &mut failure, at + 2, end);
        unwrap_ava_error(page, &mut failure);
        return Some((failure, end + 1));
    }
    // mocha's words follow as they are.
    if indent_of(page.line(at + 1)) > indent && !starts_with_any(below, &["#", "ok ", "not ok "]) {
        let end = page.find_end(at + 1, |line| !line.is_empty() && indent_of(line) <= indent);
        failure.add_body(page, at + 1, end, FrameOrder::NewestFirst);
        return Some((failure, end));
    }
    let end = page.find_end(at + 1, |line| {
        let text = line.trim_start();
        !text.starts_with('#') || text.starts_with("# Subtest") || indent_of(line) > indent + 4
    });
    add_comments(page, &mut failure, at + 1, end);
    Some((failure, end))
}

/// `#   Failed test 'name'`: what Perl's tools say on stderr, where prove hides the rest.
pub(super) fn failed_test(page: &Page, at: usize) -> Found {
    let text = comment(page.line(at))?;
    let name = text.strip_prefix("Failed test")?.trim();
    let end = page.find_end(at + 1, |line| {
        comment(line).is_none_or(|text| starts_with_any(text, &["Failed test", "Looks like"]))
    });
    let quoted = name.strip_prefix('\'').and_then(|rest| rest.rsplit_once('\''));
    let mut failure = Failure::new(Stage::Test, "tap")
        .with_id(quoted.map_or(name, |(name, _)| name))
        .with_line(at, LineKind::Head);
    add_comments(page, &mut failure, at + 1, end);
    Some((failure, end))
}

fn comment(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('#').map(str::trim_start)
}

/// Adds the comments in the lines `from..to` to `failure`.
pub(super) fn add_comments(page: &Page, failure: &mut Failure, from: usize, to: usize) {
    for at in from..to {
        let text = page.line(at).trim_start().trim_start_matches('#').trim();
        let text = text.strip_prefix("Failure message: ").unwrap_or(text);
        let is_busted_place =
            text.rsplit_once(" @ ").is_some_and(|(file, line)| is_file(file) && is_digits(line));
        if text.is_empty() || text.starts_with("Looks like you failed") || is_busted_place {
            continue;
        }
        let file = find_location(text).filter(|found| found.start < 20).map_or("", |found| found.file);
        let placed = split_location(text).filter(|_| failure.message.is_empty());
        let is_place = text.starts_with("Failed test");
        if let Some((_, message)) = placed {
            message.clone_into(&mut failure.message);
        }
        if placed.is_some() || is_place || !file.is_empty() && failure.file.is_empty() {
            failure.add(at, LineKind::Location);
            let file = if is_place { file_in(text) } else { file };
            if !file.is_empty() {
                file.clone_into(&mut failure.file);
            }
            if placed.is_some() || is_place || text.starts_with('(') || text.starts_with("at ") {
                continue;
            }
        }
        if failure.message.is_empty() && line_kind(text) != Some(LineKind::Value) {
            text.clone_into(&mut failure.message);
            failure.add(at, LineKind::Message);
        } else {
            // A message in backquotes is a failed command (bats); the lines after it are its output, not values.
            if !failure.message.starts_with('`') {
                failure.add_value(split_location(text).map_or(text, |(_, value)| value));
            }
            failure.add(at, LineKind::Value);
        }
    }
}

/// Takes in a block of YAML: `error`, `expected`, `actual`, `stack`.
fn yaml(page: &Page, failure: &mut Failure, from: usize, to: usize) {
    let has_error = (from..to).any(|at| page.line(at).trim_start().starts_with("error: "));
    let mut key = "";
    let mut deep = usize::MAX;
    let mut frames = Vec::new();
    for at in from..to {
        let text = page.line(at).trim();
        let indent = indent_of(page.line(at));
        let named = text.split_once(':').filter(|(name, _)| indent <= deep && !name.contains(' '));
        if let Some((name, _)) = named {
            (key, deep) = (name, indent);
        }
        // The value of a key may begin in its own line.
        let said = named.map_or(text, |(_, rest)| rest.trim());
        let said = said.strip_prefix("message: ").unwrap_or(said);
        // ava has its words as a key.
        let said = said.trim_end_matches(": |-").trim_matches(['\'', '"']);
        match key {
            _ if text.is_empty() => {}
            "error" | "message" | "details" if named.is_some() && said.len() <= 2 => {
                failure.add(at, LineKind::Message);
            }
            "error" | "message" | "details" if said.starts_with("name: ") => {}
            "error" | "message" | "details" if failure.message.is_empty() => {
                said.clone_into(&mut failure.message);
                failure.add(at, LineKind::Message);
            }
            "error" | "message" | "details" => {
                if is_value(text) && named.is_none() {
                    failure.add_value(text);
                }
                failure.add(at, LineKind::Value);
            }
            "expected" | "actual" | "found" | "wanted" | "got" | "diff" | "compare" => {
                if !has_error {
                    failure.add_value(text);
                }
                failure.add(at, LineKind::Value);
            }
            "location" | "at" | "file" | "line" if named.is_some() => {
                let is_place = find_location(text).is_some();
                failure.add(at, if is_place { LineKind::Frame } else { LineKind::Note });
            }
            "stack" | "at" => {
                if let Some(found) = find_location(text)
                    && !is_external(found.file)
                    && !found.file.starts_with('/')
                {
                    frames.push(at);
                }
            }
            "failureType" if said.contains("subtestsFailed") => failure.tool = SUITE,
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

/// Replaces ava's `Error thrown in test` with the message of the error object that it prints below.
pub(super) fn unwrap_ava_error(page: &Page, failure: &mut Failure) {
    let mut lines = failure.parts.iter().map(|part| page.line(part.0).trim());
    if failure.message.starts_with("Error thrown in test")
        && let Some(message) = lines.find_map(|line| line.strip_prefix("message: '"))
    {
        failure.message = message.trim_end_matches(['\'', ',']).replace("\\'", "'");
    }
}
