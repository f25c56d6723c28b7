//! Spends a budget of characters on the lines that are worth most.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::failure::{Failure, Stage};
use super::line_kind::LineKind;
use super::normalize::normalize;
use super::page::Page;
use super::prefilter::prefilter;
use super::score::score;

/// How many lines that differ in a number only get in.
const MAX_ALIKE: u32 = 3;

/// Stands for lines that were left out.
const GAP: &str = "…";

/// Returns what a line costs in worth by its kind: less is better.
fn cost(kind: LineKind) -> u32 {
    match kind {
        LineKind::Head | LineKind::Message | LineKind::Location => 0,
        LineKind::Value => 5,
        LineKind::Frame => 12,
        LineKind::Code => 22,
        LineKind::Note => 28,
        LineKind::Foreign => 60,
    }
}

/// Returns the excerpt of a page in `budget` characters.
pub(super) fn select(page: &Page, failures: &[Failure], budget: usize) -> String {
    if let Some(whole) = whole(page, budget) {
        return whole;
    }
    let (wanted, groups) = wanted(page, failures);
    let mut reserved = 0;
    let (chosen, more) = loop {
        let chosen = chosen(page, &wanted, budget, reserved);
        let more = more(failures, &groups, &chosen);
        let more = if more.len() * 4 < budget { more } else { String::new() };
        if more.len() <= reserved {
            break (chosen, more);
        }
        // What is said of the others takes room too, so that they may become more.
        reserved = more.len();
    };
    if chosen.is_empty() && budget > 0 {
        // In very little room the end of the best line is still better than nothing.
        let first = wanted.first().map(|(_, index)| page.line(*index).trim_start());
        return first.map_or_else(String::new, |line| shorten(line, budget));
    }
    let mut out = String::new();
    let mut last: Option<usize> = None;
    for (index, line) in chosen {
        if let Some(last) = last {
            out.push('\n');
            if (last + 1..index).any(|between| !page.line(between).is_empty()) {
                out.push_str(GAP);
                out.push('\n');
            }
        }
        out.push_str(&line);
        last = Some(index);
    }
    out.push_str(&more);
    out
}

/// Returns the lines that `budget` has room for beside `reserved` characters, as they are shown.
fn chosen(page: &Page, wanted: &[(u32, usize)], budget: usize, reserved: usize) -> BTreeMap<usize, String> {
    let mut texts: HashSet<&str> = HashSet::new();
    let mut alike: HashMap<String, u32> = HashMap::new();
    let mut room = budget.saturating_sub(reserved);
    // A single line never takes all.
    let longest = (budget * 3 / 5).max(80).min(budget);
    let mut shortened: BTreeMap<usize, String> = BTreeMap::new();
    for &(_, index) in wanted {
        let line = page.line(index);
        let text = line.trim();
        if text.is_empty() || shortened.contains_key(&index) || !texts.insert(text) {
            continue;
        }
        // Of a row of lines that say nothing and differ in a number only, some stand for all.
        if prefilter(line).score == 0 && text.contains(|c: char| c.is_ascii_digit()) {
            let count = alike.entry(shape(text)).or_default();
            *count += 1;
            if *count > MAX_ALIKE {
                continue;
            }
        }
        let line = shorten(line, longest);
        // Its line end, and the gap that it may leave in front.
        let price = line.chars().count() + 1 + GAP.len().min(2);
        if price > room {
            if room < 24 {
                break;
            }
            texts.remove(text);
            continue;
        }
        room -= price;
        shortened.insert(index, line);
    }
    shortened
}

/// Returns a text with each of its numbers as `#`.
fn shape(text: &str) -> String {
    let mut shape = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if shape.ends_with('#') => {}
            true => shape.push('#'),
            false => shape.push(c),
        }
    }
    shape
}

/// Returns how many failures none of the chosen lines is of.
fn more(failures: &[Failure], groups: &[u32], chosen: &BTreeMap<usize, String>) -> String {
    let is_shown = |failure: &Failure| failure.parts.iter().any(|(index, _)| chosen.contains_key(index));
    let (shown, hidden): (Vec<_>, Vec<_>) = failures
        .iter()
        .zip(groups)
        .filter(|(failure, _)| failure.stage != Stage::Secondary)
        .partition(|(failure, _)| is_shown(failure));
    let kinds: HashSet<u32> = shown.into_iter().map(|(_, group)| *group).collect();
    match hidden.len() {
        0 => String::new(),
        count if hidden.iter().all(|(_, group)| kinds.contains(group)) => {
            format!("\n+{count} more of the same kind")
        }
        count => format!("\n+{count} more"),
    }
}

/// Returns all of the page, where it fits.
fn whole(page: &Page, budget: usize) -> Option<String> {
    let mut out = String::new();
    let mut length = 0;
    let mut is_gap = false;
    for index in 0..page.len() {
        let line = page.line(index);
        if line.is_empty() && (is_gap || out.is_empty()) {
            continue;
        }
        is_gap = line.is_empty();
        length += line.chars().count() + 1;
        if length > budget + 1 {
            return None;
        }
        out.push_str(line);
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    Some(out)
}

/// Returns a line cut to `longest` characters, with less blank in front.
fn shorten(line: &str, longest: usize) -> String {
    let text = line.trim_start();
    let indent = (line.len() - text.len()).min(4);
    let length = text.chars().count();
    let mut out = " ".repeat(indent);
    if indent + length <= longest {
        out.push_str(text);
        return out;
    }
    let tail = longest / 4;
    let head = longest.saturating_sub(indent + tail + 1);
    out.extend(text.chars().take(head));
    out.push('…');
    out.extend(text.chars().skip(length - tail));
    out
}

/// Lines with what each costs, best first; and of what kind each failure is.
fn wanted(page: &Page, failures: &[Failure]) -> (Vec<(u32, usize)>, Vec<u32>) {
    let mut wanted: Vec<(u32, usize)> = Vec::new();
    let mut groups: HashMap<String, u32> = HashMap::new();
    let mut members: Vec<u32> = Vec::new();
    let mut kinds: Vec<u32> = Vec::new();
    let is_known = failures.iter().any(|failure| failure.stage != Stage::Secondary && failure.is_explained());
    for failure in failures {
        let key = format!("{}\0{}", failure.code, group_of(&failure.message));
        let next = u32::try_from(groups.len()).unwrap_or(u32::MAX);
        let group = *groups.entry(key).or_insert(next);
        kinds.push(group);
        if group as usize == members.len() {
            members.push(0);
        }
        let member = members[group as usize];
        members[group as usize] += 1;
        if failure.stage == Stage::Secondary {
            wanted.extend(failure.parts.iter().map(|part| (34, part.0)));
            continue;
        }
        if member > 40 {
            continue;
        }
        // The first groups in full, the others by their names first.
        let base = group.min(12) * 4
            + match member {
                0 => 0,
                1 => 6,
                member => 14 + member.min(20),
            };
        for &(index, kind) in &failure.parts {
            let cost = match (member, kind) {
                // The first failure gets its values before any other is named.
                (0, LineKind::Value) if group == 0 => 1,
                (0, LineKind::Frame) if group == 0 => 8,
                (0 | 1, kind) => cost(kind),
                (_, LineKind::Head) => 0,
                (_, kind) => cost(kind) + 12,
            };
            wanted.push((base + cost, index));
        }
    }
    // A hang has no message: how far it came is all there is.
    let is_enough = failures
        .iter()
        .any(|failure| !matches!(failure.stage, Stage::Secondary | Stage::Hang) && failure.is_explained());
    let explained = match (is_known, is_enough) {
        (_, true) => Explained::Enough,
        (true, false) => Explained::Partly,
        (false, false) => Explained::Nothing,
    };
    let base = unexplained(page, &mut wanted, explained);
    let last = page.len();
    // Of equals, the first of the page; what has no worth, from the end.
    wanted.sort_by_key(|&(cost, index)| (cost, if cost >= base { last - index } else { index }));
    (wanted, kinds)
}

/// How much of a failure tools have explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Explained {
    Nothing,
    Partly,
    Enough,
}

/// What a line costs at least that says nothing.
const WORTHLESS: u32 = 40;

/// How many lines at the start and at the end of a page are looked at where tools have explained the rest.
const BORDER: usize = 300;

/// Adds what no tool explains, and gives the cost from which on a line has no worth: such lines come first if no tool
/// explains anything.
fn unexplained(page: &Page, wanted: &mut Vec<(u32, usize)>, explained: Explained) -> u32 {
    let is_known = explained != Explained::Nothing;
    let known: HashSet<usize> = wanted.iter().map(|(_, index)| *index).collect();
    let base = if is_known { 26 } else { 2 };
    let last = page.len();
    let is_near_border = |index: usize| index < BORDER || last - index <= BORDER;
    let worth_of = |index: usize| match page.line(index) {
        _ if known.contains(&index) => 12,
        line if is_near_border(index) => score(line),
        line if is_known || prefilter(line).score == 0 => -10,
        line => score(line),
    };
    let scores: Vec<i32> = (0..last).map(worth_of).collect();
    for index in 0..last {
        let is_worthless = scores[index] <= -10 && !is_near_border(index);
        if is_worthless || known.contains(&index) || page.line(index).trim().is_empty() {
            continue;
        }
        let near = |at: Option<usize>| at.and_then(|at| scores.get(at)).copied().unwrap_or(0);
        let beside = near(index.checked_sub(1)).max(near(Some(index + 1)));
        let worth = if scores[index] < 0 { scores[index] } else { scores[index] + beside / 3 };
        let late = i32::from(last - index < 40);
        let price = match worth + late {
            15.. => 0,
            11..=14 => 3,
            8..=10 => 6,
            5..=7 => 12,
            2..=4 => 20,
            0..=1 => WORTHLESS,
            _ => WORTHLESS + 30,
        };
        // Where tools have explained what went wrong, what says nothing only is in the way of it.
        if explained != Explained::Enough || price < WORTHLESS {
            wanted.push((base + price, index));
        }
    }
    base + WORTHLESS
}

/// Messages that differ in numbers alone are of one group.
fn group_of(message: &str) -> String {
    normalize(message).chars().filter(|c| !c.is_ascii_digit()).collect()
}
