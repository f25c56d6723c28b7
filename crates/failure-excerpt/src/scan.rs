//! Goes over the lines of an output once and asks every tool whether it knows what begins there.

use std::collections::HashMap;

use super::failure::{Failure, SUITE, Severity, Stage};
use super::line_kind::LineKind;
use super::page::Page;
use super::prefilter::prefilter;
use super::tools;

/// More failures than these are only counted.
const MAX_FAILURES: usize = 4000;

/// More warnings than these are passed over: the one error may stand after thousands of them.
const MAX_WARNINGS: usize = 300;

/// Returns everything that went wrong, as far as a tool knows it, in the order of the page.
pub(super) fn scan(page: &Page) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    let mut at = 0;
    let mut runs = 0;
    let mut warnings = 0;
    // After the last failure.
    let mut ended = usize::MAX;
    while at < page.len() && failures.len() < MAX_FAILURES {
        let line = page.line(at);
        if line.is_empty() {
            at += 1;
            continue;
        }
        // A line with an arrow is recognized by the arrow, whatever the words.
        if prefilter(line).can_skip && !(at + 1..at + 5).any(|below| is_pointer(page.line(below))) {
            runs += u32::from(is_run(line));
            at += 1;
            continue;
        }
        if let Some((mut failure, next)) = tools::find(page, at) {
            // bun prints the error first, and then the name of the test.
            if failure.tool == SUITE
                && !failure.is_explained()
                && ended == at
                && let Some(error) = failures.last_mut()
                && error.tool == "error"
            {
                error.stage = Stage::Test;
                error.id = failure.id;
                error.parts.extend(failure.parts);
                at = next.max(at + 1);
                continue;
            }
            ended = next;
            let is_warning = failure.severity == Severity::Warning;
            warnings += usize::from(is_warning);
            if is_warning && warnings > MAX_WARNINGS {
                at = next.max(at + 1);
                continue;
            }
            if failure.tool == "libtest" {
                failure.run = runs;
            }
            failures.push(failure);
            at = next.max(at + 1);
        } else {
            runs += u32::from(is_run(line));
            at += 1;
        }
    }
    merge(page, failures)
}

/// `running 3 tests`
fn is_run(line: &str) -> bool {
    line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"))
}

/// Returns true if a line may be an arrow to a location.
fn is_pointer(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("--> ") || text.starts_with(['╭', '┌', '│'])
}

/// One failure for each test: runners name them in a list, print them in full, and list them again.
fn merge(page: &Page, failures: Vec<Failure>) -> Vec<Failure> {
    let mut merged: Vec<Failure> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for failure in failures {
        if failure.id.is_empty() {
            // The same words again, of a second target or a second listing.
            let key = format!(
                "\u{1}{}\u{1}{}\u{1}{}\u{1}{}",
                failure.tool,
                failure.code,
                failure.message,
                place_of(page, &failure)
            );
            if known.contains_key(&key) {
                continue;
            }
            known.insert(key, merged.len());
            merged.push(failure);
            continue;
        }
        let key = id_key(&failure.id).to_owned();
        match known.get(&key).copied() {
            Some(index) if !is_other(&merged[index], &failure) => unite(page, &mut merged[index], failure),
            _ => {
                known.insert(key, merged.len());
                merged.push(failure);
            }
        }
    }
    // A group of tests fails because one in it does: the name alone says nothing new.
    let is_any_explained =
        merged.iter().any(|failure| failure.stage != Stage::Secondary && failure.is_explained());
    if is_any_explained {
        merged.retain(|failure| failure.tool != SUITE || failure.is_explained());
    }
    if merged.iter().any(|failure| failure.severity == Severity::Error && failure.stage != Stage::Secondary) {
        merged.retain(|failure| failure.severity == Severity::Error);
    }
    merged
}

/// Returns true if two failures of one name are different ones: both have details, and the words differ.
fn is_other(one: &Failure, two: &Failure) -> bool {
    let is_name = |kind| matches!(kind, LineKind::Head | LineKind::Note | LineKind::Foreign);
    let is_full = |failure: &Failure| failure.parts.iter().any(|part| !is_name(part.1));
    is_full(one) && is_full(two) && one.message != two.message && one.tool == two.tool && one.tool != "go"
}

/// Adds what `other` says of the same test.
fn unite(page: &Page, one: &mut Failure, other: Failure) {
    if one.tool == SUITE && other.is_explained() {
        *one = other;
        return;
    }
    // The one with more details is kept; the other adds its name.
    let wealth = |failure: &Failure| {
        (failure.is_explained(), failure.has(LineKind::Location), !failure.values.is_empty())
    };
    let other = if wealth(&other) > wealth(one) && one.is_explained() {
        std::mem::replace(one, other)
    } else {
        other
    };
    let has_words = one.is_explained();
    let is_longer = other.id.len() > one.id.len();
    if !has_words {
        one.message = other.message;
        one.values = other.values;
        one.file = other.file;
        one.stage = one.stage.min(other.stage);
        one.code = if one.code.is_empty() { other.code } else { one.code.clone() };
    }
    // The longer name says more: it has the file or the group.
    if is_longer {
        one.id = other.id;
        for part in &mut one.parts {
            if part.1 == LineKind::Head && has_words {
                part.1 = LineKind::Foreign;
            }
        }
        one.parts.extend(other.parts.iter().filter(|part| part.1 == LineKind::Head));
    }
    if !has_words {
        let heads: Vec<&str> = one.parts.iter().map(|part| page.line(part.0).trim()).collect();
        let new: Vec<(usize, LineKind)> =
            other.parts.into_iter().filter(|part| !heads.contains(&page.line(part.0).trim())).collect();
        // One line with the name is enough.
        let without_name = |(line, kind)| {
            if kind == LineKind::Head && !is_longer { (line, LineKind::Foreign) } else { (line, kind) }
        };
        one.parts.extend(new.into_iter().map(without_name));
    }
}

fn place_of<'a>(page: &'a Page, failure: &Failure) -> &'a str {
    failure.parts.iter().find(|part| part.1 == LineKind::Location).map_or("", |part| page.line(part.0).trim())
}

/// What all listings of a test agree on: the last part of its name.
pub(super) fn id_key(id: &str) -> &str {
    let id = id.trim().trim_end_matches(':');
    // Parameters may hold anything.
    let (front, _) = id.split_once('[').unwrap_or((id, ""));
    let start = ["::", " › ", " > ", " » ", "."]
        .iter()
        .filter_map(|sign| front.rfind(sign).map(|at| at + sign.len()))
        .filter(|&at| at < id.len() && !id[at..].starts_with(' '))
        .max()
        .unwrap_or(0);
    let has_spaces = front.contains(' ') && !front.contains(" › ") && !front.contains(" > ");
    if has_spaces { id } else { &id[start..] }
}
