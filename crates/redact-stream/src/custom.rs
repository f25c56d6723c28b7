//! The rules of the user: what is redacted beyond the built-in rules.

use std::error::Error;
use std::fmt;

use regex::bytes::{Regex, RegexBuilder};

use super::secret::{MARKER, MAX_NAME_BYTES, Secret, marker_end};

/// The name of the user's rules.
const RULE: &str = "custom";

/// The two lists of patterns of a [`Redactor`](crate::Redactor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternList {
    /// Patterns of further secrets.
    Rules,
    /// Patterns of texts that are no secrets.
    Allow,
}

/// A pattern that cannot be used.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PatternError {
    /// The list that has it.
    pub list: PatternList,
    /// The pattern as it was given.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: PatternProblem,
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone)]
pub enum PatternProblem {
    /// It is not a regular expression.
    Syntax(regex::Error),
    /// It matches an empty text, and so would match everywhere.
    MatchesEmptyText,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { list, pattern, problem } = self;
        let list = match list {
            PatternList::Rules => "rules",
            PatternList::Allow => "allow",
        };
        match problem {
            PatternProblem::Syntax(_) => write!(f, "`{pattern}` of `{list}` is not a regular expression"),
            PatternProblem::MatchesEmptyText => write!(f, "`{pattern}` of `{list}` matches an empty text"),
        }
    }
}

impl Error for PatternError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.problem {
            PatternProblem::Syntax(error) => Some(error),
            PatternProblem::MatchesEmptyText => None,
        }
    }
}

pub(super) fn compile(list: PatternList, patterns: &[String]) -> Result<Vec<Regex>, PatternError> {
    patterns
        .iter()
        .map(|pattern| {
            let problem = match RegexBuilder::new(pattern).multi_line(true).build() {
                Ok(regex) if !regex.is_match(b"") => return Ok(regex),
                Ok(_) => PatternProblem::MatchesEmptyText,
                Err(error) => PatternProblem::Syntax(error),
            };
            Err(PatternError { list, pattern: pattern.clone(), problem })
        })
        .collect()
}

/// Returns the first finding at or after `at`, and before `barrier` as a whole. Each rule has its next match with it, so that
/// no text is searched twice: `None` if it is not known, or if there is none any more.
pub(super) fn next(
    rules: &mut [(&Regex, Option<Option<Secret>>)],
    bytes: &[u8],
    at: usize,
    barrier: Option<usize>,
) -> Option<Secret> {
    let found = rules.iter_mut().filter_map(|(rule, next)| match (barrier, &next) {
        (Some(barrier), _) => find(rule, &bytes[..barrier], at),
        (None, Some(found)) if found.as_ref().is_none_or(|found| found.start >= at) => found.clone(),
        (None, _) => next.insert(find(rule, bytes, at)).clone(),
    });
    found.min_by_key(|found| found.start)
}

/// Returns what `rule` finds in `bytes`, replacements left out.
fn find(rule: &Regex, bytes: &[u8], at: usize) -> Option<Secret> {
    let mut at = at;
    while at <= bytes.len() {
        let found = rule.find_at(bytes, at)?;
        // No byte of a replacement is part of a finding.
        let from = found.start().saturating_sub(MARKER.len() + MAX_NAME_BYTES);
        let mut markers = (from..found.end()).filter_map(|at| marker_end(bytes, at));
        if let Some(end) = markers.find(|&end| end > found.start()) {
            at = end;
        } else if found.is_empty() {
            at = found.end() + 1;
        } else {
            return Some(Secret { rule: RULE, start: found.start(), end: found.end(), belongs: None });
        }
    }
    None
}
