//! Walks over the lines of an output once, and asks each matcher whether a failure begins there.

use std::collections::HashMap;

use super::failure::{Failure, SUITE, Severity, Stage};
use super::line_kind::LineKind;
use super::page::Page;
use super::prefilter::prefilter;
use super::tools;

/// Maximum number of failures that are kept.
const MAX_FAILURES: usize = 4000;

/// Maximum number of warnings that are kept: the one error may come after thousands of them.
const MAX_WARNINGS: usize = 300;

/// Returns all failures that a matcher recognizes, in the order of the page.
pub(super) fn scan(page: &Page) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    let mut at = 0;
    let mut runs = 0;
    let mut warnings = 0;
    // The line after the last failure.
    let mut ended = usize::MAX;
    while at < page.len() && failures.len() < MAX_FAILURES {
        let line = page.line(at);
        // A line with an arrow is recognized by the arrow, whatever the words.
        let may_begin = !line.is_empty()
            && (!prefilter(line).can_skip || (at + 1..at + 5).any(|below| is_pointer(page.line(below))));
        let Some((mut failure, next)) = may_begin.then(|| tools::find(page, at)).flatten() else {
            // `running 3 tests`
            runs += u32::from(line.starts_with("running ") && line.trim_end_matches('s').ends_with(" test"));
            at += 1;
            continue;
        };
        let is_name = failure.tool == SUITE && !failure.is_explained() && ended == at;
        let is_warning = failure.severity == Severity::Warning;
        warnings += usize::from(is_warning);
        (at, ended) = (next.max(at + 1), next);
        match failures.last_mut() {
            // bun prints the error first, and then the name of the test.
            Some(error) if is_name && error.tool == "error" => {
                error.stage = Stage::Test;
                error.id = failure.id;
                error.parts.extend(failure.parts);
            }
            _ if is_warning && warnings > MAX_WARNINGS => {}
            _ => {
                failure.run = if failure.tool == "libtest" { runs } else { 0 };
                failures.push(failure);
            }
        }
    }
    merge(page, failures)
}

/// Returns true if a line may be an arrow to a location.
fn is_pointer(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("--> ") || text.starts_with(['╭', '┌', '│'])
}

/// Merges the failures of each test into one: runners list them, print them in full, and list them again.
fn merge(page: &Page, failures: Vec<Failure>) -> Vec<Failure> {
    let mut merged: Vec<Failure> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for failure in failures {
        let key = if failure.id.is_empty() {
            // The same words may come again, from a second target or a second listing.
            let place = failure.parts.iter().find(|part| part.1 == LineKind::Location);
            let place = place.map_or("", |part| page.line(part.0).trim());
            [failure.tool, &failure.code, &failure.message, place].join("\u{1}")
        } else {
            id_key(&failure.id).to_owned()
        };
        match known.get(&key) {
            Some(_) if failure.id.is_empty() => {}
            Some(&index) if !is_other(&merged[index], &failure) => unite(&mut merged[index], failure),
            _ => {
                known.insert(key, merged.len());
                merged.push(failure);
            }
        }
    }
    // A group fails because one of its tests does, so its name alone says nothing new.
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

/// Returns true if two failures with the same name are distinct: both have details, and their messages differ.
fn is_other(one: &Failure, two: &Failure) -> bool {
    let are_full = [one, two].iter().all(|failure| {
        let mut kinds = failure.parts.iter().map(|part| part.1);
        kinds.any(|kind| !matches!(kind, LineKind::Head | LineKind::Note | LineKind::Foreign))
    });
    are_full && one.message != two.message && one.tool == two.tool && one.tool != "go"
}

/// Merges `other`, a failure of the same test, into `one`: the more detailed one is kept, with the longer name, which has the file or the group.
fn unite(one: &mut Failure, mut other: Failure) {
    let [own_details, other_details] = [&*one, &other]
        .map(|failure| (failure.is_explained(), failure.has(LineKind::Location), !failure.values.is_empty()));
    if other_details > own_details {
        std::mem::swap(one, &mut other);
    }
    if other.id.len() > one.id.len() {
        one.id = other.id;
        for part in one.parts.iter_mut().filter(|part| part.1 == LineKind::Head) {
            part.1 = LineKind::Foreign;
        }
        one.parts.extend(other.parts.into_iter().filter(|part| part.1 == LineKind::Head));
    }
}

/// Returns the part of a test's name that all listings of it share: the last one.
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
