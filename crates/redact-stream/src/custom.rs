//! The rules of the user: what is redacted beyond the built-in rules.

use anyhow::{Context, Result, bail};
use regex::bytes::{Regex, RegexBuilder};

use super::{MARKER, Secret, marker_end};

/// The rule of what the user asked for.
const RULE: &str = "custom";

pub(super) fn compile(key: &str, patterns: &[String]) -> Result<Vec<Regex>> {
    patterns
        .iter()
        .map(|pattern| {
            let regex = RegexBuilder::new(pattern)
                .multi_line(true)
                .build()
                .with_context(|| format!("read `{pattern}` of {key}"))?;
            if regex.is_match(b"") {
                bail!("`{pattern}` of {key} matches an empty text\nhint: ask for at least one character");
            }
            Ok(regex)
        })
        .collect()
}

/// The next finding of each rule, so that none is sought twice.
pub(super) struct Customs<'r> {
    next: Vec<(&'r Regex, Next)>,
}

enum Next {
    Unknown,
    None,
    Some(Secret),
}

impl<'r> Customs<'r> {
    pub(super) fn new(rules: &'r [Regex]) -> Self {
        Self { next: rules.iter().map(|rule| (rule, Next::Unknown)).collect() }
    }

    /// The first finding at or behind `at`, and in front of `barrier` as a whole.
    pub(super) fn next(&mut self, bytes: &[u8], at: usize, barrier: Option<usize>) -> Option<Secret> {
        if let Some(barrier) = barrier {
            let found = self.next.iter().filter_map(|(rule, _)| find(rule, &bytes[..barrier], at));
            return found.min_by_key(|found| found.start);
        }
        for (rule, next) in &mut self.next {
            let is_stale = match next {
                Next::Unknown => true,
                Next::None => false,
                Next::Some(found) => found.start < at,
            };
            if is_stale {
                *next = find(rule, bytes, at).map_or(Next::None, Next::Some);
            }
        }
        let found = self.next.iter().filter_map(|(_, next)| match next {
            Next::Some(found) => Some(found),
            Next::Unknown | Next::None => None,
        });
        found.min_by_key(|found| found.start).cloned()
    }
}

/// What `rule` finds in `bytes`, replacements left out.
fn find(rule: &Regex, bytes: &[u8], at: usize) -> Option<Secret> {
    let mut at = at;
    while at <= bytes.len() {
        let found = rule.find_at(bytes, at)?;
        if let Some(end) = marker_within(bytes, found.start(), found.end()) {
            at = end;
        } else if found.is_empty() {
            at = found.end() + 1;
        } else {
            return Some(Secret { rule: RULE, start: found.start(), end: found.end(), belongs: None });
        }
    }
    None
}

/// The end of the first replacement that shares a byte with what stands between `start` and `end`.
fn marker_within(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let from = start.saturating_sub(MARKER.len() + super::LONGEST_NAME);
    (from..end).filter_map(|at| marker_end(bytes, at)).find(|&marker_end| marker_end > start)
}
