//! Selects the most relevant lines that fit a budget of characters.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::failure::{Failure, Stage};
use super::line_kind::LineKind;
use super::normalize::normalize;
use super::page::Page;
use super::prefilter::prefilter;
use super::score::score;

/// Maximum number of selected lines that differ only in their digits.
const MAX_SIMILAR_LINES: u32 = 3;

/// Replaces lines that are left out.
const OMISSION: &str = "\n…\n";

/// Returns the base cost of a line of this kind. Cheaper lines are selected first; all costs are on one scale.
fn base_cost(kind: LineKind) -> u32 {
    match kind {
        LineKind::Head | LineKind::Message | LineKind::Location => 0,
        LineKind::Value => 5,
        LineKind::Frame => 12,
        LineKind::Code => 22,
        LineKind::Note => 28,
        LineKind::Foreign => 60,
    }
}

/// Returns an excerpt of the page of at most `budget` characters.
pub(super) fn select(page: &Page, failures: &[Failure], budget: usize) -> String {
    if let Some(text) = whole_page(page, budget) {
        return text;
    }
    let (candidates, groups) = candidates(page, failures);
    let mut reserved = 0;
    let (picked, more) = loop {
        let picked = pick(page, &candidates, budget, reserved);
        let more = hidden_failures_line(failures, &groups, &picked);
        let more = if more.len() * 4 < budget { more } else { String::new() };
        if more.len() <= reserved {
            break (picked, more);
        }
        // The `+N more` line takes characters too, which may push out further failures.
        reserved = more.len();
    };
    if picked.is_empty() && budget > 0 {
        // With a very small budget, part of the best line is better than nothing.
        let first = candidates.first().map(|candidate| page.line(candidate.1).trim_start());
        return first.map_or_else(String::new, |line| shorten(line, budget));
    }
    let mut out = String::new();
    let mut next = None;
    for (index, line) in picked {
        if let Some(next) = next {
            let is_cut = (next..index).any(|between| !page.line(between).is_empty());
            out.push_str(if is_cut { OMISSION } else { "\n" });
        }
        out.push_str(&line);
        next = Some(index + 1);
    }
    out.push_str(&more);
    out
}

/// Picks candidates until `budget - reserved` characters are used. Returns the shortened lines by index.
fn pick(page: &Page, candidates: &[Candidate], budget: usize, reserved: usize) -> BTreeMap<usize, String> {
    let mut texts: HashSet<&str> = HashSet::new();
    let mut similar: HashMap<String, u32> = HashMap::new();
    let mut room = budget.saturating_sub(reserved);
    // A single line never takes the whole budget.
    let max_line_chars = (budget * 3 / 5).max(80).min(budget);
    let mut shortened: BTreeMap<usize, String> = BTreeMap::new();
    for &(_, index) in candidates {
        let line = page.line(index);
        let text = line.trim();
        if text.is_empty() || shortened.contains_key(&index) || !texts.insert(text) {
            continue;
        }
        // Of lines without signs of failure that differ only in digits, a few are enough.
        if prefilter(line).score == 0 && text.contains(|c: char| c.is_ascii_digit()) {
            let count = similar.entry(shape(text)).or_default();
            *count += 1;
            if *count > MAX_SIMILAR_LINES {
                continue;
            }
        }
        let line = shorten(line, max_line_chars);
        // Its newline, and an omission with its newline that it may need in front.
        let width = line.chars().count() + 3;
        if width > room {
            if room < 24 {
                break;
            }
            texts.remove(text);
            continue;
        }
        room -= width;
        shortened.insert(index, line);
    }
    shortened
}

/// Returns a text without its digits, which all texts have that differ only in them.
fn shape(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Returns the `+N more` line, which counts the failures without a picked line, or an empty string.
fn hidden_failures_line(failures: &[Failure], groups: &[u32], picked: &BTreeMap<usize, String>) -> String {
    let counted = failures.iter().zip(groups).filter(|(failure, _)| failure.stage != Stage::Secondary);
    let (shown, hidden): (Vec<_>, Vec<_>) =
        counted.partition(|(failure, _)| failure.parts.iter().any(|(index, _)| picked.contains_key(index)));
    match hidden.len() {
        0 => String::new(),
        count if hidden.iter().all(|(_, group)| shown.iter().any(|(_, shown)| shown == group)) => {
            format!("\n+{count} more of the same kind")
        }
        count => format!("\n+{count} more"),
    }
}

/// Returns the whole page if it fits.
fn whole_page(page: &Page, budget: usize) -> Option<String> {
    let mut out = String::new();
    let mut room = budget + 1;
    for line in (0..page.len()).map(|at| page.line(at)) {
        if !line.is_empty() || !out.is_empty() && !out.ends_with("\n\n") {
            room = room.checked_sub(line.chars().count() + 1)?;
            out.push_str(line);
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    Some(out)
}

/// Shortens a line to `max_chars` characters in the middle, with at most 4 columns of indentation.
fn shorten(line: &str, max_chars: usize) -> String {
    let text = line.trim_start();
    let indent = (line.len() - text.len()).min(4);
    let length = text.chars().count();
    let mut out = " ".repeat(indent);
    if indent + length <= max_chars {
        out.push_str(text);
        return out;
    }
    let tail = max_chars / 4;
    let head = max_chars.saturating_sub(indent + tail + 1);
    out.extend(text.chars().take(head));
    out.push('…');
    out.extend(text.chars().skip(length - tail));
    out
}

/// A line that may be picked: its cost and its index.
type Candidate = (u32, usize);

/// Returns the candidates, cheapest first, and the group of each failure: those in one group differ only in their digits.
fn candidates(page: &Page, failures: &[Failure]) -> (Vec<Candidate>, Vec<u32>) {
    let mut candidates: Vec<Candidate> = Vec::new();
    // The number of a group, and of its members so far.
    let mut group_ids: HashMap<String, (u32, u32)> = HashMap::new();
    let mut groups: Vec<u32> = Vec::new();
    let is_known = failures.iter().any(|failure| failure.stage != Stage::Secondary && failure.is_explained());
    for failure in failures {
        let key = format!("{}\0{}", failure.code, shape(&normalize(&failure.message)));
        let next = u32::try_from(group_ids.len()).unwrap_or(u32::MAX);
        let (group, members) = group_ids.entry(key).or_insert((next, 0));
        let (group, member) = (*group, *members);
        *members += 1;
        groups.push(group);
        if failure.stage == Stage::Secondary {
            candidates.extend(failure.parts.iter().map(|part| (SECONDARY_COST, part.0)));
            continue;
        }
        if member > MAX_GROUP_MEMBERS {
            continue;
        }
        // The first groups in full; of the others, the names before the details.
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
                (0 | 1, kind) => base_cost(kind),
                (_, LineKind::Head) => 0,
                (_, kind) => base_cost(kind) + 12,
            };
            candidates.push((base + cost, index));
        }
    }
    // A hang has no message: the last lines show how far the run got.
    let is_explained = failures
        .iter()
        .any(|failure| !matches!(failure.stage, Stage::Secondary | Stage::Hang) && failure.is_explained());
    let noise_cost = add_unexplained(page, &mut candidates, is_known, is_explained);
    // Of equal cost, earlier lines come first, but of noise the later ones.
    candidates
        .sort_by_key(|&(cost, index)| (cost, if cost >= noise_cost { page.len() - index } else { index }));
    (candidates, groups)
}

/// The cost of a line of a failure that only follows from another.
const SECONDARY_COST: u32 = 34;

/// Minimum cost of a line without signs of failure if a tool explained one.
const MIN_NOISE_COST: u32 = 40;

/// Maximum number of failures of one group whose lines are candidates.
const MAX_GROUP_MEMBERS: u32 = 40;

/// Number of lines at each end of the page that are scored even if a tool explained the failure.
const EDGE_LINES: usize = 300;

/// Adds the lines that no tool explained, and returns the cost from which on a line counts as noise.
fn add_unexplained(page: &Page, candidates: &mut Vec<Candidate>, is_known: bool, is_explained: bool) -> u32 {
    let added: HashSet<usize> = candidates.iter().map(|candidate| candidate.1).collect();
    // Without a known tool, these lines are all there is.
    let base = if is_known { 26 } else { 2 };
    let line_count = page.len();
    let scores: Vec<i32> = (0..line_count)
        .map(|index| match page.line(index) {
            _ if added.contains(&index) => 12,
            line if is_near_edge(index, line_count) => score(line),
            line if is_known || prefilter(line).score == 0 => -10,
            line => score(line),
        })
        .collect();
    for index in 0..line_count {
        let is_noise = scores[index] <= -10 && !is_near_edge(index, line_count);
        if is_noise || added.contains(&index) || page.line(index).trim().is_empty() {
            continue;
        }
        let above = index.checked_sub(1).map_or(0, |above| scores[above]);
        let beside = above.max(scores.get(index + 1).copied().unwrap_or(0));
        let score = if scores[index] < 0 { scores[index] } else { scores[index] + beside / 3 };
        let is_late = i32::from(line_count - index < 40);
        let cost = match score + is_late {
            15.. => 0,
            11..=14 => 3,
            8..=10 => 6,
            5..=7 => 12,
            2..=4 => 20,
            0..=1 => MIN_NOISE_COST,
            _ => MIN_NOISE_COST + 30,
        };
        // If a tool explained the failure, noise is left out.
        if !is_explained || cost < MIN_NOISE_COST {
            candidates.push((base + cost, index));
        }
    }
    base + MIN_NOISE_COST
}

fn is_near_edge(index: usize, line_count: usize) -> bool {
    index < EDGE_LINES || line_count - index <= EDGE_LINES
}
