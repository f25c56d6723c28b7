//! Goes over the lines of an output once and asks every tool whether it knows what begins there.

use std::collections::HashMap;

use super::glance::glance;
use super::page::Page;
use super::place::is_file;
use super::role::Role;
use super::tools::{Machine, machines};
use super::trouble::{Severity, Stage, Trouble};

/// What the lines above say about those below.
#[derive(Debug, Default)]
pub(super) struct Above {
    /// The last line that was nothing but the name of a file, as linters put it above its problems.
    pub(super) file: Option<usize>,
    /// The line that says how many tests are failing, of runners that list them after it.
    pub(super) failing: Option<usize>,
    /// The number of the last item in a numbered list of failures.
    pub(super) number: u32,
    /// Whether the failures of pytest are being listed.
    pub(super) is_pytest: bool,
}

/// More troubles than these are only counted.
const MOST: usize = 4000;

/// More warnings than these are passed over: the one error may stand behind thousands of them.
const MOST_WARNINGS: usize = 300;

/// Everything that went wrong, as far as a tool knows it, in the order of the page.
pub(super) fn scan(page: &Page) -> Vec<Trouble> {
    let mut troubles: Vec<Trouble> = Vec::new();
    let mut above =
        Above { failing: (0..page.len()).find(|&at| is_failing(page.line(at))), ..Above::default() };
    let mut at = 0;
    let mut runs = 0;
    let mut warnings = 0;
    // Behind the last trouble.
    let mut ended = usize::MAX;
    while at < page.len() && troubles.len() < MOST {
        let line = page.line(at);
        if line.is_empty() {
            at += 1;
            continue;
        }
        if !line.contains(' ') && is_file(line) {
            above.file = Some(at);
            at += 1;
            continue;
        }
        // What points with an arrow is told apart by the arrow, whatever the words.
        if glance(line).is_plain && !(at + 1..at + 5).any(|below| is_pointer(page.line(below))) {
            runs += u32::from(is_run(line));
            at += 1;
            continue;
        }
        let found = machines().iter().find_map(|machine: &Machine| machine(page, at, &mut above));
        if let Some((mut trouble, next)) = found {
            // bun tells the error first, and then of which test it is.
            if trouble.tool == "suite"
                && !trouble.is_told()
                && ended == at
                && let Some(error) = troubles.last_mut()
                && error.tool == "error"
            {
                error.stage = Stage::Test;
                error.id = trouble.id;
                error.parts.extend(trouble.parts);
                at = next.max(at + 1);
                continue;
            }
            ended = next;
            let is_warning = trouble.severity == Severity::Warning;
            warnings += usize::from(is_warning);
            if is_warning && warnings > MOST_WARNINGS {
                at = next.max(at + 1);
                continue;
            }
            if trouble.tool == "libtest" {
                trouble.run = runs;
            }
            troubles.push(trouble);
            at = next.max(at + 1);
        } else {
            runs += u32::from(is_run(line));
            at += 1;
        }
    }
    merge(page, troubles)
}

/// `running 3 tests`
fn is_run(line: &str) -> bool {
    line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"))
}

/// Whether a line may be an arrow to a place.
fn is_pointer(line: &str) -> bool {
    let text = line.trim_start();
    text.starts_with("--> ") || text.starts_with(['╭', '┌', '│'])
}

/// `  3 failing`
fn is_failing(line: &str) -> bool {
    let text = line.trim();
    text.strip_suffix(" failing")
        .is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
}

/// One trouble for each test: runners name them in a list, tell them in full, and list them again.
fn merge(page: &Page, troubles: Vec<Trouble>) -> Vec<Trouble> {
    let mut merged: Vec<Trouble> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for trouble in troubles {
        if trouble.id.is_empty() {
            // The same words again, of a second target or a second listing.
            let key = format!(
                "\u{1}{}\u{1}{}\u{1}{}\u{1}{}",
                trouble.tool,
                trouble.code,
                trouble.message,
                place_of(page, &trouble)
            );
            if known.contains_key(&key) {
                continue;
            }
            known.insert(key, merged.len());
            merged.push(trouble);
            continue;
        }
        let key = id_key(&trouble.id).to_owned();
        match known.get(&key).copied() {
            Some(index) if !is_other(&merged[index], &trouble) => unite(page, &mut merged[index], trouble),
            _ => {
                known.insert(key, merged.len());
                merged.push(trouble);
            }
        }
    }
    // A group of tests fails because one in it does: the name alone says nothing new.
    let is_any_told = merged.iter().any(|trouble| trouble.stage != Stage::Echo && trouble.is_told());
    if is_any_told {
        merged.retain(|trouble| trouble.tool != "suite" || trouble.is_told());
    }
    if merged.iter().any(|trouble| trouble.severity == Severity::Error && trouble.stage != Stage::Echo) {
        merged.retain(|trouble| trouble.severity == Severity::Error);
    }
    merged
}

/// Whether two troubles of one name are two: both told in full, and with other words.
fn is_other(one: &Trouble, two: &Trouble) -> bool {
    let is_full =
        |trouble: &Trouble| trouble.parts.iter().any(|part| part.1 != Role::Head && part.1 != Role::Note);
    is_full(one) && is_full(two) && one.message != two.message && one.tool == two.tool && one.tool != "go"
}

/// Adds what `other` says of the same test.
fn unite(page: &Page, one: &mut Trouble, other: Trouble) {
    if one.tool == "suite" && other.is_told() {
        *one = other;
        return;
    }
    // What tells more is told; the other adds its name.
    let wealth =
        |trouble: &Trouble| (trouble.is_told(), trouble.has(Role::Place), !trouble.values.is_empty());
    let other =
        if wealth(&other) > wealth(one) && one.is_told() { std::mem::replace(one, other) } else { other };
    let has_words = one.is_told();
    let is_longer = other.id.len() > one.id.len();
    if !has_words {
        one.message = other.message;
        one.values = other.values;
        one.file = other.file;
        one.stage = one.stage.min(other.stage);
        one.code = if one.code.is_empty() { other.code } else { one.code.clone() };
    }
    // The longer name tells more: it has the file or the group.
    if is_longer {
        one.id = other.id;
        for part in &mut one.parts {
            if part.1 == Role::Head && has_words {
                part.1 = Role::Foreign;
            }
        }
        one.parts.extend(other.parts.iter().filter(|part| part.1 == Role::Head));
    }
    if !has_words {
        let heads: Vec<&str> = one.parts.iter().map(|part| page.line(part.0).trim()).collect();
        let new: Vec<(usize, Role)> =
            other.parts.into_iter().filter(|part| !heads.contains(&page.line(part.0).trim())).collect();
        // One line with the name is enough.
        let without_name = |(line, role)| {
            if role == Role::Head && !is_longer { (line, Role::Foreign) } else { (line, role) }
        };
        one.parts.extend(new.into_iter().map(without_name));
    }
}

fn place_of<'a>(page: &'a Page, trouble: &Trouble) -> &'a str {
    trouble.parts.iter().find(|part| part.1 == Role::Place).map_or("", |part| page.line(part.0).trim())
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
