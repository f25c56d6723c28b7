//! The Test Anything Protocol, as node, bats and Perl's tools speak it.

use super::super::page::Page;
use super::super::place::place;
use super::super::role::{Role, is_value, role};
use super::super::scan::Above;
use super::super::trouble::{Stage, Trace, Trouble, indent_of};
use super::javascript::without_duration;
use super::until;

/// `not ok 3 - name`, with comments or a block of YAML below.
pub(super) fn not_ok(page: &Page, at: usize, _: &mut Above) -> Option<(Trouble, usize)> {
    let line = page.line(at);
    let rest = line.trim_start().strip_prefix("not ok")?;
    let rest = rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let name = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = name.split_once(" # ").unwrap_or((name, ""));
    if directive.to_ascii_lowercase().starts_with("todo")
        || directive.to_ascii_lowercase().starts_with("skip")
    {
        return None;
    }
    let indent = indent_of(line);
    let mut trouble = Trouble::new(Stage::Test, "tap").named(without_duration(name)).with(at, Role::Head);
    let next = at + 1;
    if page.line(next).trim() == "---" {
        let end = until(page, next + 1, |line| line.trim() == "...");
        yaml(page, &mut trouble, next + 1, end);
        return Some((trouble, end + 1));
    }
    let end = until(page, next, |line| {
        !line.trim_start().starts_with('#')
            || line.trim_start().starts_with("# Subtest")
            || indent_of(line) > indent + 4
    });
    comments(page, &mut trouble, next, end);
    Some((trouble, end))
}

/// `#   Failed test 'name'`: what Perl's tools say on stderr, where prove hides the rest.
pub(super) fn failed_test(page: &Page, at: usize, _: &mut Above) -> Option<(Trouble, usize)> {
    let text = page.line(at).trim_start().strip_prefix('#')?.trim_start();
    let rest = text.strip_prefix("Failed test")?;
    let end = until(page, at + 1, |line| {
        let Some(text) = line.trim_start().strip_prefix('#') else { return true };
        text.trim_start().starts_with("Failed test") || text.trim_start().starts_with("Looks like")
    });
    let name = rest.trim().trim_matches(['\'', '"']);
    let name =
        rest.trim().strip_prefix('\'').and_then(|rest| rest.rsplit_once('\'')).map_or(name, |(name, _)| name);
    let mut trouble = Trouble::new(Stage::Test, "tap").named(name).with(at, Role::Head);
    comments(page, &mut trouble, at + 1, end);
    Some((trouble, end))
}

/// Takes in what stands behind `#`.
pub(super) fn comments(page: &Page, trouble: &mut Trouble, from: usize, to: usize) {
    for at in from..to {
        let text = page.line(at).trim_start().trim_start_matches('#').trim();
        if text.is_empty() || text.starts_with("Looks like you failed") {
            continue;
        }
        if text.starts_with("Failed test") {
            if let Some(place) = place(text) {
                place.file.clone_into(&mut trouble.file);
            }
            trouble.add(at, Role::Place);
            continue;
        }
        if let Some(place) = place(text).filter(|place| place.start < 20)
            && trouble.file.is_empty()
        {
            place.file.clone_into(&mut trouble.file);
            trouble.add(at, Role::Place);
            if text.starts_with('(') || text.starts_with("at ") {
                continue;
            }
        }
        if trouble.message.is_empty() && role(text) != Some(Role::Value) {
            text.clone_into(&mut trouble.message);
            trouble.add(at, Role::Message);
        } else {
            // Behind a failed command stands whatever it printed.
            if trouble.values.len() < 40 && !trouble.message.starts_with('`') {
                trouble.values.push(text.to_owned());
            }
            trouble.add(at, Role::Value);
        }
    }
}

/// Takes in a block of YAML: `error`, `expected`, `actual`, `stack`.
fn yaml(page: &Page, trouble: &mut Trouble, from: usize, to: usize) {
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
                    if value.len() > 2 && trouble.message.is_empty() {
                        value.trim_matches(['\'', '"']).clone_into(&mut trouble.message);
                    }
                    trouble.add(at, Role::Message);
                }
                "expected" | "actual" | "found" | "wanted" | "got" | "diff" | "compare" => {
                    if !has_error {
                        trouble.values.push(text.to_owned());
                    }
                    trouble.add(at, Role::Value);
                }
                "location" | "at" | "file" | "line" => {
                    trouble.add(at, if place(text).is_some() { Role::Frame } else { Role::Note });
                }
                "failureType" if value.contains("subtestsFailed") => trouble.tool = "suite",
                _ => {}
            }
            continue;
        }
        match key {
            "error" | "message" if !text.is_empty() => {
                if trouble.message.is_empty() {
                    text.clone_into(&mut trouble.message);
                    trouble.add(at, Role::Message);
                } else {
                    if trouble.values.len() < 40 && is_value(text) {
                        trouble.values.push(text.to_owned());
                    }
                    trouble.add(at, Role::Value);
                }
            }
            "expected" | "actual" | "found" | "wanted" | "diff" if !text.is_empty() => {
                if trouble.values.len() < 40 && !has_error {
                    trouble.values.push(text.to_owned());
                }
                trouble.add(at, Role::Value);
            }
            "stack" | "at"
                if place(text).is_some_and(|place| {
                    !super::super::place::is_foreign(place.file) && !place.file.starts_with('/')
                }) =>
            {
                frames.push(at);
            }
            _ => {}
        }
    }
    if trouble.tool == "suite" {
        trouble.message.clear();
        trouble.values.clear();
        trouble.parts.truncate(1);
        return;
    }
    trouble.frames(page, &frames, Trace::NewestFirst);
}
